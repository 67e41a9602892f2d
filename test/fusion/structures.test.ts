/**
 * Kernels of one structure are written, merged and lowered once: plans are those of kernels that share nothing, and
 * equal kernels are one object.
 */
import { describe, expect, it } from 'vitest';
import { type Partition, partition } from '../../src/fusion/partition/partition.js';
import { Structures } from '../../src/fusion/partition/structures.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import type { Graph } from '../../src/graph/graph.js';
import { type Lazy, lazy } from '../../src/index.js';
import { generator } from '../support/random.js';
import { buildRandomProgram } from '../support/random-graph.js';

const graphOf = (results: readonly Lazy[]): Graph =>
  runPasses(canonicalize(results.map(({ expr }) => expr)).graph);

/** All that a partition decides, as text. */
function textOf(parts: Partition): string {
  const steps = parts.steps.map((step) =>
    step.kind === 'loop' ? { ...step, body: textOf(step.body) } : step,
  );
  return JSON.stringify([steps, parts.edges()], (_, value: unknown) =>
    typeof value === 'bigint' ||
    Object.is(value, -0) ||
    (typeof value === 'number' && !Number.isFinite(value))
      ? String(value)
      : value,
  );
}

const kernelsOf = (parts: Partition) =>
  parts.steps.flatMap((step) => (step.kind === 'kernel' ? [step.kernel.kernel] : []));

const SEED = 20261127;

describe('structures of kernels', () => {
  it(`make no other plans, in 50 random graphs from seed ${SEED}`, () => {
    const random = generator(SEED);
    const draw = (): number => Math.floor(random() * 2 ** 20);
    for (let k = 0; k < 50; k++) {
      const choices = Array.from({ length: 8 + (draw() % 50) }, () => ({
        action: draw(),
        a: draw(),
        b: draw(),
        c: draw(),
      }));
      const { values, code } = buildRandomProgram(choices);
      const graph = graphOf(values.slice(-1 - (k % 4)).map((value) => value.lazy));
      const apart = partition(graph, undefined, new Structures(0));
      expect(textOf(partition(graph)), code.join('\n')).toBe(textOf(apart));
      // The first structures are shared and the others are not.
      expect(textOf(partition(graph, undefined, new Structures(40))), code.join('\n')).toBe(textOf(apart));
    }
  });

  it('are one kernel for equal layers', () => {
    const row = (): Lazy => lazy(new Float32Array(64));
    const weights = lazy(new Float32Array(64 * 64), { shape: [64, 64] });
    let x: Lazy = lazy(new Float32Array(128 * 64), { shape: [128, 64] });
    for (let k = 0; k < 10; k++) {
      x = x.matmul(weights).add(row()).tanh();
      x = x.sub(x.mean(1, { keepdims: true })).div(x.std(1, { keepdims: true }));
    }
    const kernels = kernelsOf(partition(graphOf([x])));
    expect(kernels).toHaveLength(10);
    expect(new Set(kernels).size).toBe(1);
  });

  it('keep constants, shared constants, results and buffers that are read twice apart', () => {
    const x = Array.from({ length: 6 }, () => lazy(new Float32Array(1 << 20), { shape: [1 << 10, 1 << 10] }));
    const rows = (a: Lazy, b: Lazy, c: number, d: number): readonly [Lazy, Lazy] => {
      const total = a.mul(c).add(b).sum(1, { keepdims: true });
      return [total, a.mul(d).sub(total).abs()];
    };
    const results = [
      rows(x[0]!, x[1]!, 3, 5)[1],
      rows(x[1]!, x[2]!, 4, 6)[1],
      rows(x[2]!, x[2]!, 7, 8)[1],
      rows(x[3]!, x[4]!, 9, 9)[1],
      ...rows(x[4]!, x[5]!, 10, 11),
    ];
    const graph = graphOf(results);
    expect(textOf(partition(graph))).toBe(textOf(partition(graph, undefined, new Structures(0))));
    const alone = results.map((result) => textOf(partition(graphOf([result]))));
    expect(new Set(alone).size).toBeGreaterThan(4);
  });

  it('have their own constants where kernels of two are equal', () => {
    const scaled = (shape: readonly number[], factor: number): Lazy =>
      lazy(new Float32Array(64), { shape }).mul(factor).sin();
    const graph = graphOf([scaled([64], 2.5), scaled([8, 8], 2.5), scaled([8, 8], 3.5)]);
    const parts = partition(graph);
    expect(textOf(parts)).toBe(textOf(partition(graph, undefined, new Structures(0))));
    expect(new Set(kernelsOf(parts)).size).toBe(2);
  });

  it('grow with one kernel alone where no more are kept', () => {
    const text = (structures: Structures): string =>
      textOf(partition(graphOf(siblings(300)), undefined, structures));
    expect(text(new Structures(2000))).toBe(text(new Structures(0)));
    expect(text(new Structures())).toBe(text(new Structures(0)));
  });
});

function siblings(count: number): Lazy[] {
  const x = lazy(new Float32Array(1024));
  return Array.from({ length: count }, (_, k) => x.add(k));
}
