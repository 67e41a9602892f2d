/** Maps in the kernels of scans: what is joined, that bits are those of the maps by themselves, and what stays apart. */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, random } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomIntegers, randomValues } from '../support/random.js';

const device = 'cuda:0';
const rows = (shape: readonly number[], seed: number, dtype: 'float32' | 'float64' = 'float32'): Lazy =>
  toLazy(randomValues(dtype, shape, seed));

/** The texts of the steps of a plan. */
const stepsOf = (output: Lazy): string[] =>
  output.explain({ device }).steps.map(({ kind, text }) => `${kind} ${text}`);

/** Lines, short rows and columns, with maps before and behind. */
const JOBS: readonly (readonly [string, () => Lazy])[] = [
  [
    'a long line',
    () =>
      rows([30_001], 1)
        .mul(rows([30_001], 2))
        .cumulativeSum()
        .exp()
        .add(1),
  ],
  [
    'a long line of float64, from its end',
    () => rows([20_000], 3, 'float64').mul(3).cumulativeSum(0, { reverse: true }).mul(2),
  ],
  [
    'rows of float64',
    () =>
      rows([70, 300], 4, 'float64')
        .mul(rows([300], 5, 'float64'))
        .cumulativeSum(1)
        .sub(1),
  ],
  [
    'rows in fours of random numbers',
    () => random.normal(random.key(3), [90, 252], { dtype: 'float32' }).mul(0.1).cumulativeSum(1).exp(),
  ],
  [
    'rows of other lengths',
    () =>
      random
        .uniform(random.key(4), [33, 127], { dtype: 'float32' })
        .cumulativeSum(1, { reverse: true })
        .neg(),
  ],
  [
    'a long line of random numbers',
    () => random.normal(random.key(5), [40_000], { dtype: 'float32' }).cumulativeSum().abs(),
  ],
  [
    'columns',
    () =>
      rows([700, 40], 6)
        .sub(rows([40], 7))
        .cumulativeMax(0)
        .mul(rows([700, 1], 8)),
  ],
  [
    'products of float64',
    () =>
      rows([50, 90], 9, 'float64')
        .add(1)
        .cumulativeProd(1)
        .sub(rows([50, 90], 10, 'float64')),
  ],
  [
    'counts of a mask, as bytes',
    () => rows([20_000], 11).greater(0).cumulativeSum().remainder(200).astype('uint8'),
  ],
  [
    'booleans',
    () =>
      toLazy(randomIntegers('int32', [40, 50], 12, 0, 9))
        .greater(7)
        .cumulativeMax(1)
        .logicalNot(),
  ],
];

describe('maps before and behind a scan', () => {
  it.each(JOBS)('are one step with it, of the same bits as in tiles: %s', async (_, job) => {
    const output = job();
    const steps = stepsOf(output);
    expect(steps).toHaveLength(1);
    expect(steps[0]).toMatch(/^call scan .*with prologue and epilogue/);
    const [whole] = await compute([output], { device });
    const [alone] = await compute([output], { devices: 2 });
    expect(alone!.data).toEqual(whole!.data);
    const { peakBytes } = output.plan({ device });
    const budget = Math.floor(peakBytes * 0.9);
    try {
      const [tiled] = await compute([output], { device, memory: budget });
      expect(tiled!.data).toEqual(whole!.data);
    } catch (error) {
      expect(String(error)).toMatch(/MemoryError/);
    }
  });

  it('hold neither what is scanned nor what the scan gives', () => {
    const x = rows([100_000], 1);
    const { peakBytes } = x.mul(2).cumulativeSum().exp().plan({ device });
    expect(peakBytes).toBeLessThan(2.2 * 400_000);
  });

  it('stay apart where others read them, or neighbours', () => {
    const x = rows([30_000], 1);
    const doubled = x.mul(x);
    expect(stepsOf(doubled.cumulativeSum().add(doubled))[0]).toMatch(/^kernel/);
    const sums = x.cumulativeSum();
    expect(stepsOf(sums.slice([8, null]).sub(sums.slice([0, -8])))).toHaveLength(2);
    expect(stepsOf(x.reshape([100, 300]).T.exp().cumulativeSum(1))).toHaveLength(2);
    expect(stepsOf(sums.add(x.sum()))).toHaveLength(2);
  });
});
