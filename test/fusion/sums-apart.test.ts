/** Reductions of a kernel that have no order of their elements in common: they are kernels of their own, with a reason. */
import { describe, expect, it } from 'vitest';
import { planTape } from '../../src/codegen/cpu/tape.js';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { CPU } from '../../src/exec/targets/device.js';
import { reductionsOf } from '../../src/fusion/kernel/arithmetic.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { type Partition, partition } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import { iterate, type Lazy, lazy } from '../../src/index.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { evaluateInterpreted } from '../support/plan-interpreter.js';

/** As if no two reductions had an order in common. */
const keepsOrder = (kernel: Kernel): boolean => reductionsOf(kernel).length < 2;

/** Sums of rows of integers, in which any order gives the same, and values computed of them. */
function results(): Lazy[] {
  const numbers = Float64Array.from({ length: 40 * 60 }, (_, k) => (k * 7919) % 23);
  const x = lazy(numbers, { shape: [40, 60] });
  const ahead = x.sub(x.max(1, { keepdims: true }));
  return [x.sum(1), x.mul(x).sum(1), ahead.sum(1), x.add(ahead.sum(1, { keepdims: true }))];
}

const partsOf = (some: readonly Lazy[], keeps?: typeof keepsOrder): Partition => {
  const { graph } = canonicalize(some.map(({ expr }) => expr));
  return partition(runPasses(graph), undefined, undefined, undefined, keeps);
};

const kernelsOf = ({ steps }: Partition): Kernel[] =>
  steps.flatMap((step) => {
    if (step.kind === 'loop') return kernelsOf(step.body);
    return step.kind === 'kernel' ? [step.kernel.kernel] : [];
  });

describe('reductions without an order in common', () => {
  it('are kernels of their own, that merge with nothing', () => {
    expect(kernelsOf(partsOf(results()))).toHaveLength(1);
    const parts = partsOf(results(), keepsOrder);
    const kernels = kernelsOf(parts);
    expect(kernels.map((kernel) => reductionsOf(kernel).length).sort()).toEqual([0, 1, 1, 1, 1]);
    expect([...parts.edges(), ...parts.sharedReads()].map(({ reason }) => reason)).toContain('sum-order');
  });

  it('have the values of one kernel', () => {
    const exprs = results().map(({ expr }) => expr);
    expect(evaluateInterpreted(exprs, { keepsOrder })).toEqual(evaluateInterpreted(exprs));
  });

  it('are apart in the steps of a loop', () => {
    const x = lazy(new Float32Array(2000).fill(0.5), { shape: [40, 50] });
    const step = (s: Lazy): Lazy => s.sub(s.max(1, { keepdims: true })).div(s.sum(1, { keepdims: true }));
    const looped = [iterate(3, x, step)];
    const merged = kernelsOf(partsOf(looped));
    expect(merged.some((kernel) => !keepsOrder(kernel))).toBe(true);
    expect(kernelsOf(partsOf(looped, keepsOrder)).every(keepsOrder)).toBe(true);
  });

  it('are known by the kernel, which explain() says where none has made them apart', () => {
    // Alone, one has eight rows beside each other, the other its rows one after another.
    const b = new KernelBuilder([8], [128, 2]);
    const across = b.reduce('sum', b.load('float32', [1, 16, 8]));
    const along = b.reduce('sum', b.load('float32', [256, 2, 1]));
    const kernel = b.store(across, [1, 0, 0]).store(along, [1, 0, 0]).build();
    expect(planTape(kernel).isInOrder).toBe(false);
    expect(CPU_TARGET.keepsOrder?.(kernel)).toBe(false);
    const step = { kind: 'kernel', kernel, buffers: [], scratch: [], nodes: [] } as const;
    for (const run of ['whole', 'parts'] as const)
      expect(CPU_TARGET.explainSchedule?.(step, CPU, run)).toBe('sums in another order than alone');
    for (const only of [across, along]) {
      const alone = { ...kernel, stores: kernel.stores.filter(({ value }) => value === only) };
      expect(planTape(alone).isInOrder).toBe(true);
    }
  });
});
