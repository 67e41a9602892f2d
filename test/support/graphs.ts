/**
 * Builders of small graphs for tests of fusion, over the nodes of `graph/infer.ts`; data does not matter
 * there.
 */

import { type FusedStep, type Partition, partition } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { type PassOptions, runPasses } from '../../src/fusion/passes/pipeline.js';
import type { DType } from '../../src/graph/dtype.js';
import type { Expr, Shape } from '../../src/graph/expr.js';
import { denseStrides, sizeOfShape } from '../../src/graph/graph.js';
import { hostArray, map, reduce } from '../../src/graph/infer.js';
import type { ReductionName } from '../../src/graph/reductions.js';
import { reshape } from '../../src/graph/view-nodes.js';

/** An array of zeros on the host; shared memory keeps even large ones cheap. */
export function array(shape: Shape, dtype: DType = 'float32'): Expr {
  const data = dtype === 'float64' ? new Float64Array(1) : new Float32Array(1);
  const large = new Proxy(data, {
    get: (target, key) => (key === 'length' ? sizeOfShape(shape) : Reflect.get(target, key)),
  });
  return hostArray({ type: 'host', data: large, offset: 0, strides: denseStrides(shape) }, dtype, shape);
}

export const kept = (reduction: ReductionName, x: Expr, axis: number): Expr =>
  reshape(
    reduce(reduction, x, [axis]),
    x.shape.map((n, k) => (k === axis ? 1 : n)),
  );

/** exp(x - max) / sum(exp(x - max)) along an axis. */
export function softmax(x: Expr, axis: number): Expr {
  const e = map('exp', [map('subtract', [x, kept('max', x, axis)])]);
  return map('divide', [e, kept('sum', e, axis)]);
}

/** The steps a graph is partitioned into, every pass verified. */
export function partitionOf(outputs: readonly Expr[], options: PassOptions = {}): Partition {
  return partition(runPasses(canonicalize(outputs).graph, { ...options, verify: true }));
}

/** `map_exp`, `reduce_sum`, `matmul`: the steps by name, in order. */
export const namesOf = (steps: readonly FusedStep[]): string[] =>
  steps.map((step) => (step.kind === 'kernel' ? step.kernel.kernel.name : 'matmul'));
