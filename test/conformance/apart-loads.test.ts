/**
 * Kernels that read a value made in tiles and a part of it that is far from each tile: they are planned within parts of what
 * the job holds, with the bits of the whole.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CPU } from '../../src/exec/targets/device.js';
import { bytesMoved } from '../../src/exec/tiles/loop-sweeps.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { compute, fromReader, type Lazy, lazy, loadNpy, npy, plan } from '../../src/index.js';
import { backends, isSimulated, runsOthers } from '../support/backends.js';
import { bitsOf, hasVendorProducts } from '../support/budget-corpus.js';
import { planOnDevice } from '../support/device-plan.js';
import { generator, randomValues } from '../support/random.js';

const random = generator(5);
const arrayOf = (...shape: readonly number[]): Lazy =>
  lazy(
    new Float32Array(shape.reduce((a, b) => a * b)).map(() => random() * 4 - 2),
    { shape },
  );
const line = (): Lazy => arrayOf(2 ** 18);
/** Small whole numbers, each beside its negative: sums of products are exact, in the order of any library. */
const wholes = (rows: number, columns: number): Lazy => {
  const data = new Float32Array(rows * columns);
  data.forEach((_, k) => {
    data[k] = k % 2 === 0 ? Math.round(random() * 16 - 8) : -data[k - 1]!;
  });
  return lazy(data, { shape: [rows, columns] });
};

/** With the least part within which each is planned. */
const JOBS: Readonly<Record<string, readonly [least: number, job: () => Lazy | readonly Lazy[]]>> = {
  'shares of the last sum': [16, () => ofLast(line().cumulativeSum())],
  'distances from the first sum': [16, () => ofFirst(line().cumulativeSum())],
  'distances from one in the middle': [
    16,
    () => {
      const sums = line().cumulativeSum();
      return sums.sub(sums.slice([100_000, 100_001]));
    },
  ],
  'the sum of shares': [16, () => ofLast(line().abs().cumulativeSum()).sum()],
  'the last but the first': [
    16,
    () => {
      const sums = line().cumulativeSum();
      return sums.slice('-1:').sub(sums.slice('0:1'));
    },
  ],
  'shares of the last row of sums of columns': [4, () => ofLast(arrayOf(2048, 128).cumulativeSum(0))],
  'shares of the last row of sums of rows': [16, () => ofLast(arrayOf(2048, 128).cumulativeSum(1))],
  'shares of the last of each row': [
    16,
    () => {
      const sums = arrayOf(2048, 128).cumulativeSum(1);
      return sums.div(sums.slice(':', '-1:'));
    },
  ],
  'softmax of what is above the least': [16, () => ofFirst(line().cumulativeMax()).softmax()],
  'deviations of what is above the least': [16, () => ofFirst(line().cumulativeSum()).std()],
  'sorted elements between the least and the greatest': [
    16,
    () => {
      const sorted = line().sort();
      return sorted.sub(sorted.slice('0:1')).div(sorted.slice('-1:').sub(sorted.slice('0:1')));
    },
  ],
  'sums and those backwards': [
    16,
    () => {
      const sums = line().cumulativeSum();
      return sums.add(sums.flip());
    },
  ],
  'several quantiles of columns': [8, () => arrayOf(2048, 64).quantile([0.1, 0.5, 0.9], 0)],
  'covariances of a few long rows': [16, () => arrayOf(64, 4096).cov()],
  'covariances of two arrays of long rows': [16, () => wholes(64, 4096).cov(wholes(32, 4096))],
  'correlations of columns': [16, () => arrayOf(4096, 64).corrcoef(undefined, { rowvar: false })],
  'sums rolled by a third': [4, () => line().cumulativeSum().roll(90_000)],
  'sums and those rolled by a third': [
    4,
    () => {
      const sums = line().cumulativeSum();
      return sums.add(sums.roll(90_000));
    },
  ],
};

/** Take long on the simulated GPU. */
const LONG = ['sorted elements between the least and the greatest'];

const ofLast = (x: Lazy): Lazy => x.div(x.slice('-1:'));
const ofFirst = (x: Lazy): Lazy => x.sub(x.slice('0:1'));

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'a value and a part of it on %s',
  (device) => {
    const isIn = (name: string): boolean => !isSimulated(device) || !LONG.includes(name);
    it.each(Object.entries(JOBS).filter(([name]) => isIn(name)))('%s', async (_, [least, job]) => {
      const results = [job()].flat() as readonly Lazy[];
      const whole = await compute(results, { device });
      const { peakBytes } = plan(results, { device });
      const isOrderedByLibrary = device === 'cpu' && hasVendorProducts(results, device);
      for (let part = isSimulated(device) ? least : 2; part <= least; part *= 2) {
        const memory = Math.floor(peakBytes / part);
        expect(plan(results, { device, memory }).peakBytes).toBeLessThanOrEqual(memory);
        const within = await compute(results, { device, memory });
        if (isOrderedByLibrary) continue;
        for (const [k, array] of within.entries()) expect(bitsOf(array).equals(bitsOf(whole[k]!))).toBe(true);
      }
    });
  },
);

describe.runIf(runsOthers)('sums of a file over the last of them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weft-apart-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('read the file twice, and little of it once more', async () => {
    const length = 2 ** 20;
    const path = join(folder, 'x.npy');
    await lazy(randomValues('float32', [length], 3).data as Float32Array).compute({ to: npy(path) });
    const sums = (await loadNpy(path)).cumulativeSum();
    const { plan: within } = planOnDevice(canonicalize([sums.div(sums.slice('-1:')).expr]), CPU, {
      budget: 2 ** 19,
    });
    // Tiles of shares begin within those of sums, some of which are made twice.
    expect(bytesMoved(within)).toBeLessThan(2.25 * 4 * length);
  });
});

describe.runIf(runsOthers)('products that fit in wide panels, or with a factor held', () => {
  const ofFile = (...shape: readonly number[]): Lazy =>
    fromReader((_, count) => new Float64Array(count), { shape, dtype: 'float64' });
  const copiedWithin = (result: Lazy, part: number): number => {
    const { peakBytes } = plan([result], { device: 'cpu' });
    const budget = Math.floor(peakBytes / part);
    return bytesMoved(planOnDevice(canonicalize([result.expr]), CPU, { budget }).plan);
  };

  it('are not cut into panels that copy more', () => {
    expect(copiedWithin(ofFile(333, 333).cov(), 2)).toBe(0);
  });
});
