/**
 * Rows in bins on every backend: bins that fit a block and bins that do not, many units, keys out of range,
 * special values, and under budgets the bits of the whole. (NumPy's own values: functions.test.ts.)
 */
import { describe, expect, it } from 'vitest';
import { compute, histogram, iterate, type Lazy, lazy, RangeArgumentError } from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import type { HostArray } from '../support/host.js';
import { randomIntegers, randomValues } from '../support/random.js';
import { sharedReferenceOf } from '../support/shared-reference.js';

const bytes = ({ data }: HostArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

async function expectReference(device: string, outputs: readonly Lazy[]): Promise<void> {
  const expected = sharedReferenceOf(device, outputs);
  const actual = device === 'reference' ? expected : await run(device, outputs);
  for (const [k, own] of actual.entries()) {
    expect(own.dtype).toBe(expected[k]!.dtype);
    expect(own.data).toEqual(expected[k]!.data);
  }
}

const keysOf = (count: number, bins: number): Lazy =>
  toLazy(randomIntegers('int32', [count], 7, 0, bins - 1));

describe.each(backends())('on %s, bins', (device) => {
  it.each([
    ['that fit a block', 17_000, 37],
    ['that do not', 1_500, 8_401],
  ] as const)('%s gather the same in any order', async (_, rows, bins) => {
    const keys = keysOf(rows, bins);
    const whole = toLazy(randomIntegers('int64', [rows], 3, -1000, 1000));
    const real = toLazy(randomValues('float32', [rows], 4));
    const wide = toLazy(randomValues('float64', [rows], 5));
    await expectReference(device, [
      keys.bincount(bins),
      keys.bincount(bins, wide),
      whole.segmentSum(keys, bins),
      whole.segmentMin(keys, bins),
      whole.astype('uint32').segmentMax(keys, bins),
      real.segmentSum(keys, bins),
      real.segmentMax(keys, bins),
      wide.segmentMin(keys, bins),
      real.reshape([rows / 5, 5]).segmentSum(keys.slice([0, rows / 5]), bins),
    ]);
  });

  it('multiply rows in one order, in pieces where there are many', async () => {
    const rows = 9000;
    // Scaled exactly, so that no device rounds the sum twice.
    const near = toLazy(randomValues('float32', [rows], 8))
      .mul(2 ** -10)
      .add(1);
    const odd = toLazy(randomIntegers('int64', [rows], 9, -1000, 1000))
      .mul(2)
      .add(1);
    const [one, few, many] = [1, 3, 12_000].map((bins) => keysOf(rows, bins));
    await expectReference(device, [
      near.segmentProd(one!, 1),
      near.astype('float64').segmentProd(few!, 3),
      near.reshape([rows / 3, 3]).segmentProd(few!.slice([0, rows / 3]), 3),
      odd.segmentProd(one!, 1),
      odd.astype('uint32').segmentProd(few!, 3),
      near.segmentProd(many!, 12_000),
    ]);
  });

  it('mean what a mode says where keys are out of range', async () => {
    const dtypes = ['int8', 'uint64'] as const;
    const modes = ['wrap', 'clip', 'drop'] as const;
    const x = lazy(Float64Array.from([1, 2, 4, 8, 16, 32]));
    await expectReference(
      device,
      dtypes.flatMap((dtype) => {
        const ids = lazy(Float64Array.from([-1, 100, 2, -5, 3, 0]))
          .maximum(dtype.startsWith('u') ? 0 : -128)
          .astype(dtype);
        return modes.flatMap((mode) => [
          ids.bincount(4, null, { mode }),
          x.segmentSum(ids, 4, { mode }),
          x.segmentProd(ids, 4, { mode }),
        ]);
      }),
    );
  });

  it('give 0 for sums of -0, and keep a -0 that they are added to, as NumPy does', async () => {
    const minus = lazy(new Float32Array([-0, -0]));
    const ids = lazy(new BigInt64Array(2));
    const sums = [minus.sum(), ids.bincount(1, minus), minus.segmentSum(ids, 1)];
    // As many as are summed in one pass.
    const keys = lazy(new Int32Array(5000));
    const many = [lazy(new Float32Array(5000).fill(-0)), lazy(new Float64Array(5000).fill(-0))];
    const sumsOfMany = many.flatMap((x) => [keys.bincount(1, x), x.segmentSum(keys, 1)]);
    const kept = [minus.cumulativeSum().slice(1), minus.slice([0, 1]).at(ids).add(minus)];
    const found = await run(device, [...sums, ...sumsOfMany, ...kept]);
    expect(found.map(({ data }) => data[0])).toEqual([0, 0, 0, 0, 0, 0, 0, -0, -0]);
  });

  it('hold infinities, NaN and -0 as sums of floats do', async () => {
    const { NaN: nan, POSITIVE_INFINITY: inf, MAX_VALUE: most, MIN_VALUE: least } = Number;
    const groups = [
      [inf, 1],
      [inf, -inf],
      [-inf, -inf],
      [nan, inf],
      [-0, -0],
      [1, -1],
      [],
      [most, most],
      [least, least],
    ];
    const values = groups.flat();
    const ids = Int32Array.from(groups.flatMap((group, k) => group.map(() => k)));
    const x = lazy(Float64Array.from(values));
    const [sums, narrow, mins, maxs] = await run(device, [
      x.segmentSum(lazy(ids), 9),
      x.astype('float32').segmentSum(lazy(ids), 9),
      x.segmentMin(lazy(ids), 9),
      x.segmentMax(lazy(ids), 9),
    ]);
    expect([...(sums!.data as Float64Array)]).toEqual([inf, nan, -inf, nan, 0, 0, 0, inf, 2 * least]);
    expect([...(narrow!.data as Float32Array)]).toEqual([inf, nan, -inf, nan, 0, 0, 0, inf, 0]);
    expect([...(mins!.data as Float64Array)]).toEqual([1, -inf, -inf, nan, -0, -1, inf, most, least]);
    expect([...(maxs!.data as Float64Array)]).toEqual([inf, inf, -inf, nan, -0, 1, -inf, most, least]);
  });

  it('add up floats of any size as if rounded once', async () => {
    const x = Float64Array.from({ length: 3000 }, (_, k) => (k % 3 === 0 ? 1e16 : k % 3 === 1 ? 1 : -1e16));
    const ids = new Uint8Array(3000);
    const [sum, narrow] = await run(device, [
      lazy(x).segmentSum(lazy(ids), 1),
      lazy(Float32Array.from(x)).segmentSum(lazy(ids), 1),
    ]);
    expect([...(sum!.data as Float64Array)]).toEqual([1000]);
    expect(Math.abs((narrow!.data as Float32Array)[0]! - 1000)).toBeLessThan(1e16 * 2 ** -24);
  });

  it('stand between maps, reductions and loops, and are counted of nothing', async () => {
    const keys = keysOf(3000, 50);
    await expectReference(device, [
      keys.add(1).bincount(51).mul(2).sum(),
      toLazy(randomIntegers('float32', [3000], 8))
        .mul(0.5)
        .segmentSum(keys, 50)
        .add(1)
        .sort(),
      iterate(2, keys, (k) =>
        k.add(k.bincount(60, null, { mode: 'drop' }).argmax().astype('int32')).remainder(50),
      ),
      lazy(new Int32Array(0)).bincount(3),
      lazy(new Float32Array(0)).segmentMean(lazy(new Int32Array(0)), 2),
      lazy(new Int32Array(0)).bincount(0),
      lazy(new Float32Array(0))
        .reshape([4, 0])
        .segmentSum(lazy(new Uint8Array(4)), 2),
    ]);
  });

  it('of histograms are found beside edges as NumPy finds them', async () => {
    const edges = Float32Array.from({ length: 12 }, (_, k) => Math.fround(k * 0.1));
    const near = [...edges].flatMap((e) => [e, e * (1 + 2 ** -23), e * (1 - 2 ** -23)]);
    const beyond = [-1e-45, -1e-7, 1.2, 1e7, -1e7, 1.3e7, 3e38, -3e38, Infinity, -Infinity, Number.NaN];
    const points = lazy(Float32Array.from([...near, ...beyond]));
    await expectReference(device, [
      histogram(points, 11, { range: [0, 1.1] })[0],
      histogram(points, lazy(edges))[0],
      histogram(points, 9000, { range: [0, 1.1] })[0],
      histogram(points.add(1000), 7, { range: [1000, 1000.5] })[0],
      histogram(points, 3, { range: [1, 1] })[0],
      histogram(toLazy(randomValues('float32', [9000], 6)), 20)[0],
    ]);
  });
});

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

describe.each(devices)('on %s, bins', (device) => {
  it('sum many float32 exactly, of rows in any order and of sorted ones', async () => {
    const [rows, bins] = [135_200, 4200];
    const specials = [Infinity, -Infinity, Number.NaN, 0, -0, 1e-45, -1e-40, 3e38, -3e38];
    const value = (k: number): number =>
      k % 10_007 === 5 ? specials[(k % 97) % 9]! : Math.sin(k) * 10 ** ((k % 60) - 30);
    const order = Int32Array.from({ length: rows }, (_, k) => (k * 7919) % rows);
    const sums = (place: (k: number) => number): Lazy => {
      const keys = Int32Array.from({ length: rows }, (_, k) => Math.floor((place(k) * bins) / rows));
      return lazy(Float32Array.from({ length: rows }, (_, k) => value(place(k)))).segmentSum(keys, bins);
    };
    const sorted = sums((k) => k);
    await expectReference(device, [sorted]);
    const [here, there] = await compute([sorted, sums((k) => order[k]!)], { device });
    expect(bytes(there!)).toEqual(bytes(here!));
  });

  it('are refused keys out of range, by the name of the function', async () => {
    const keys = lazy(Int32Array.from([0, 4, -1]));
    const x = lazy(new Float32Array(3));
    const none = keys.bincount(5).compute({ device });
    await expect(none).rejects.toThrow(RangeArgumentError);
    await expect(none).rejects.toThrow(/\[bincount\].* from 0 to 4 .*: -1\n +made at .*binning\.test\.ts/s);
    await expect(x.segmentSum(keys, 4).compute({ device })).rejects.toThrow(
      /\[segmentSum\].* from -4 to 3 .*: 4/,
    );
    const counted = iterate(2, keys, (k) => k.add(k.bincount(5).sum().astype('int32')));
    await expect(counted.compute({ device })).rejects.toThrow(/\[bincount\].* from 0 to 4 .*: -1/);
    const sums = await x.add(1).segmentSum(keys, 5).compute({ device });
    expect([...sums.data]).toEqual([1, 0, 0, 0, 2]);
  });

  it('have the bits of the whole within a budget', async () => {
    const rows = device === 'cpu' ? 400_000 : isSimulated(device) ? 60_000 : 20_000_000;
    const keys = keysOf(rows, 100);
    const x = toLazy(randomValues('float32', [rows], 21));
    for (const output of [
      x.mul(2).segmentSum(keys, 100),
      x.mul(3).segmentMin(keys, 100),
      histogram(x.mul(2), 50, { range: [-1, 1] })[0],
    ]) {
      const [whole] = await compute([output], { device });
      // On the CPU, whose memory arguments are in, a whole job may hold the bins alone.
      const budget = Math.max(2 ** 15, Math.ceil(0.7 * output.plan({ device }).peakBytes));
      expect(output.plan({ device, memory: budget }).peakBytes).toBeLessThanOrEqual(budget);
      const [tiled] = await compute([output], { device, memory: budget });
      expect(Buffer.compare(bytes(tiled!), bytes(whole!))).toBe(0);
    }
  });
});
