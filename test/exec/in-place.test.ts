/**
 * Where a job does not fit as a whole, maps write over what ends with them before anything is cut into tiles:
 * which buffers are one, which may not be, and that bits stay.
 */
import { describe, expect, it } from 'vitest';
import type { DevicePlan } from '../../src/exec/plan/plan.js';
import { type DeviceModel, planPartition } from '../../src/exec/plan/plan-graph.js';
import { partition } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import { compute, type Lazy, lazy, MemoryError, plan } from '../../src/index.js';
import { arenaBound, MOST_OVER_BOUND } from '../support/arena-bound.js';
import { BUDGET_JOBS, budgetJob } from '../support/budget-corpus.js';

/** A device that everything is copied to, and nothing is cut on. */
const MODEL: DeviceModel = {
  scratchOf: () => [],
  workspaceOf: () => ({ most: 0, least: 0 }),
  heldBytes: ({ byteLength }) => byteLength,
  isByElement: ({ reduced }) => reduced.length === 0,
};

function planOf(results: readonly Lazy[], budget?: number): DevicePlan {
  const canonical = canonicalize(results.map(({ expr }) => expr));
  const graph = runPasses(canonical.graph, { verify: true });
  return planPartition(graph, partition(graph), canonical.sources, MODEL, { budget });
}

const matrix = (rows: number, columns: number): Lazy =>
  lazy(
    new Float32Array(rows * columns).map((_, k) => ((k * 7919) % 1009) / 1000),
    { shape: [rows, columns] },
  );
const SIDE = 64;
const BYTES = 4 * SIDE * SIDE;
const [x, w] = [matrix(SIDE, SIDE), matrix(SIDE, SIDE)];

/** The bytes that are saved where the whole does not fit; 0: it is refused. */
function saved(results: readonly Lazy[]): number {
  const { peakBytes } = planOf(results);
  try {
    return peakBytes - planOf(results, peakBytes - 1).peakBytes;
  } catch (error) {
    if (error instanceof MemoryError) return 0;
    throw error;
  }
}

describe('a map whose argument ends with it', () => {
  it('leaves it alone where all fits', () => {
    expect(planOf([x.matmul(w).tanh()]).peakBytes).toBe(4 * BYTES);
  });

  it('writes its result over it where not all fits', () => {
    expect(saved([x.matmul(w).tanh()])).toBe(BYTES);
    expect(saved([x.matmul(w).add(x.matmul(x)).tanh()])).toBe(BYTES);
  });

  it('shares its memory with the next map', () => {
    // Of three values between x and the result one is left: the others are the result's memory.
    expect(saved([x.matmul(w).tanh().matmul(w).tanh()])).toBe(BYTES);
  });

  it('does not, where the argument is needed again', () => {
    const y = x.matmul(w);
    expect(saved([y.tanh(), y.max()])).toBe(0);
  });

  it('does not, where it reads elements that it writes later', () => {
    const y = x.matmul(w);
    expect(saved([y.add(y.transpose())])).toBe(0);
    expect(saved([y.add(y.flip(0))])).toBe(0);
  });

  it('does not, where elements are of other sizes', () => {
    expect(saved([x.matmul(w).astype('float16')])).toBe(0);
    expect(saved([x.matmul(w).astype('float64').exp()])).toBe(0);
  });

  it('gives the bits of the whole on the CPU', async () => {
    const device = 'cpu';
    const y = [matrix(300, 200).matmul(matrix(200, 400)).add(matrix(1, 400)).tanh()];
    const memory = plan(y, { device }).peakBytes - 1;
    expect(plan(y, { device, memory }).sweeps).toEqual([]);
    const [wanted] = await compute(y, { device });
    const [found] = await compute(y, { device, memory });
    expect(found!.data).toEqual(wanted!.data);
  });
});

describe('the arena of a plan', () => {
  it('is hardly larger than what lives at the same time, for all jobs of the corpus', () => {
    for (let k = 0; k < BUDGET_JOBS; k++) {
      const { name, results } = budgetJob(k, 1 / 16);
      const found = planOf(results);
      expect(found.arenaByteLength, name).toBeLessThanOrEqual(MOST_OVER_BOUND * arenaBound(found));
    }
  });
});
