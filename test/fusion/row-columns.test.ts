/** Reductions of rows and of their few columns: one kernel, which reads each row once. */
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import type { Lazy } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';
import { describePrograms, x } from '../support/ordinary-programs.js';
import { mixtureStep, ROW_COLUMN_PROGRAMS } from '../support/row-column-programs.js';

describePrograms(ROW_COLUMN_PROGRAMS);

describePrograms({
  'a step of a mixture of more values than a kernel walks twice': {
    inputs: [x([200_000]), x([4]), x([4])],
    build: (values, means, widths) => mixtureStep(values!, means!, widths!),
    kernels: 2,
    moved: 2.05,
    reasons: ['needs-result'],
  },
});

describe.each([
  ['the CPU', CPU_TARGET],
  ['CUDA', CUDA_TARGET],
])('results of rows on %s', (_, { passes, wholePasses }) => {
  const kernelsOf = (...results: Lazy[]): number =>
    partitionOf(
      results.map(({ expr }) => expr),
      { passes, last: wholePasses },
    ).steps.length;
  /** Sums by the shares of so many scores in the largest, of rows that lie as columns of memory, or as rows. */
  const sumsOf = (scores: Lazy): Lazy => scores.div(scores.max(1, { keepdims: true })).sum(0);

  it('are one kernel where rows lie side by side, up to 16 of them', () => {
    expect(kernelsOf(sumsOf(x([65_536, 16])))).toBe(1);
    expect(kernelsOf(sumsOf(x([65_536, 17])))).toBeGreaterThan(1);
  });

  it('are one kernel of up to 16 accumulators where columns lie side by side', () => {
    const rows = x([8, 65_536]).transpose();
    const shares = rows.div(rows.max(1, { keepdims: true }));
    const products = (columns: number): Lazy => shares.transpose().matmul(x([columns, 65_536]).transpose());
    expect(kernelsOf(products(2))).toBe(1);
    expect(kernelsOf(products(4))).toBeGreaterThan(1);
  });

  it.each([
    ['a quotient of sums of columns', (y: Lazy) => y.exp().sum(0).div(y.square().sum(0))],
    ['a deviation by moments', (y: Lazy) => y.exp().mean(0).sub(y.exp().mean(0).square()).sqrt()],
  ])('take up small maps: %s', (_, build) => {
    expect(kernelsOf(build(x([65_536, 8])))).toBe(1);
  });

  /** Results that have an accumulator each in a kernel of all of them. */
  const resultsTogether = (...results: Lazy[]): number => {
    const { steps } = partitionOf(
      results.map(({ expr }) => expr),
      { passes, last: wholePasses },
    );
    return Math.max(...steps.map((step) => (step.kind === 'kernel' ? step.kernel.kernel.stores.length : 0)));
  };
  /** Sums of two columns by the places of the least of so many elements, for each of some parts of a row. */
  const byPlaces = (parts: number, elements: number): Lazy => {
    const places = x([65_536, parts, elements]).argmin(2).astype('float32');
    return places
      .slice(null, null, 'newaxis')
      .mul(x([65_536, parts, 2]))
      .sum(0);
  };

  it('are apart where their places would take too many ops', () => {
    expect(resultsTogether(byPlaces(3, 8))).toBe(6);
    expect(resultsTogether(byPlaces(12, 16))).toBeLessThan(24);
  });

  /** The largest shares of columns, of so many steps, and all that they are computed of. */
  const largestShares = (steps: number): Lazy[] => {
    let scores = x([65_536, 8]);
    for (let k = 0; k < steps; k++) scores = scores.mul(0.5).add(k).tanh();
    return [scores, scores.div(scores.sum(1, { keepdims: true })).max(0)];
  };

  it('are apart where what is stored for others would take too many ops', () => {
    expect(resultsTogether(largestShares(2)[1]!)).toBe(8);
    expect(resultsTogether(...largestShares(30))).toBeLessThan(8);
  });
});
