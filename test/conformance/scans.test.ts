/**
 * Scans on every backend: bit by bit or near the reference interpreter, and under budgets against the whole.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type DType, isComplex, isFloat, isHalf } from '../../src/graph/dtype.js';
import {
  ArgumentError,
  compute,
  DTypeError,
  iterate,
  type Lazy,
  lazy,
  loadNpy,
  npy,
  ShapeError,
} from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { allocate, elementAt, type HostArray, sizeOf } from '../support/host.js';
import { randomIntegers, randomValues } from '../support/random.js';
import { sharedReferenceOf } from '../support/shared-reference.js';

const SUMMED: readonly DType[] = [
  'bool',
  'int8',
  'uint16',
  'int32',
  'int64',
  'uint64',
  'float16',
  'bfloat16',
  'float32',
  'float64',
  'complex64',
  'complex128',
];
const REAL = SUMMED.filter((dtype) => !isComplex(dtype));

/** Elements that are sums of parts in another order may differ by so much of the largest. */
const STEPS = 4;
const EPSILONS: Partial<Record<DType, number>> = {
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
  float32: 2 ** -23,
  float64: 2 ** -52,
  complex64: 2 ** -23,
  complex128: 2 ** -52,
};

function partsOf({ dtype, data, shape }: HostArray): number[] {
  return Array.from({ length: sizeOf(shape) }, (_, k) => elementAt(dtype, data, k)).flatMap((value) =>
    typeof value === 'object' ? [value.re, value.im] : [Number(value)],
  );
}

function expectNear(actual: HostArray, wanted: HostArray): void {
  expect(actual.dtype).toBe(wanted.dtype);
  expect(actual.shape).toEqual(wanted.shape);
  const epsilon = EPSILONS[wanted.dtype];
  if (epsilon === undefined) {
    expect(actual.data).toEqual(wanted.data);
    return;
  }
  const [a, b] = [partsOf(actual), partsOf(wanted)];
  for (const [k, expected] of b.entries()) {
    const own = a[k]!;
    if (Object.is(own, expected) || own === expected) continue;
    const scale = Math.max(1, Math.abs(expected));
    expect(Math.abs(own - expected), `element ${k}: ${own}, not ${expected}`).toBeLessThanOrEqual(
      STEPS * epsilon * scale * (wanted.dtype === 'float64' || wanted.dtype === 'complex128' ? 64 : 1),
    );
  }
}

async function expectScans(device: string, outputs: readonly Lazy[]): Promise<void> {
  const expected = sharedReferenceOf(device, outputs);
  const actual = device === 'reference' ? expected : await run(device, outputs);
  for (const [k, own] of actual.entries()) expectNear(own, expected[k]!);
}

const rowsOf = (dtype: DType, shape: readonly number[], seed: number): Lazy =>
  toLazy(
    isFloat(dtype) || isComplex(dtype)
      ? randomValues(dtype, shape, seed, isHalf(dtype) ? 0 : -2, 2)
      : randomIntegers(dtype, shape, seed, 0, dtype === 'bool' ? 1 : 5),
  );

/**
 * Columns of one tile, of several, and of a tile that ends within one; few are moved apart, others scanned as
 * they lie.
 */
const COLUMNS: readonly (readonly [number, number, number])[] = [
  [1, 256, 32],
  [2, 300, 40],
  [3, 129, 17],
  [1, 1100, 5],
];

const four = (x: Lazy, axis?: number | null): Lazy[] => [
  x.cumulativeSum(axis),
  x.cumulativeProd(axis),
  x.cumulativeMin(axis),
  x.cumulativeMax(axis, { reverse: true }),
];

describe.each(backends())('on %s, a scan', (device) => {
  it.each(SUMMED)('sums and multiplies rows of %s', async (dtype) => {
    const x = rowsOf(dtype, [5, 37], 3);
    await expectScans(device, [x.cumulativeSum(1), x.cumulativeProd(1)]);
  });

  it.each(REAL)('has the extremes of rows of %s', async (dtype) => {
    const x = rowsOf(dtype, [5, 37], 4);
    await expectScans(device, [x.cumulativeMin(1), x.cumulativeMax(1)]);
  });

  it.each([1, 2, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 4097, 8192, 8193, 20_001])(
    'goes over rows of %i elements, by themselves and beside others',
    async (length) => {
      await expectScans(device, [
        ...four(rowsOf('float32', [1, length], length), 1),
        ...four(rowsOf('int64', [3, length], length), 1),
      ]);
    },
  );

  it.each(COLUMNS)('goes along columns of (%i, %i, %i)', async (...shape) => {
    await expectScans(device, [
      ...four(rowsOf('float32', shape, 7), 1),
      rowsOf('complex128', shape, 8).cumulativeSum(1, { reverse: true }),
      rowsOf('int64', shape, 9).cumulativeSum(1, { reverse: true, includeInitial: true }),
      rowsOf('float16', shape, 10).cumulativeSum(1, { exclusive: true }),
    ]);
  });

  it('sums exponentials without overflow', async () => {
    const x = rowsOf('float32', [3, 9001], 12).mul(300);
    await expectScans(device, [
      x.cumulativeLogsumexp(1),
      x.cumulativeLogsumexp(1, { reverse: true }),
      rowsOf('float64', [300, 20], 13).cumulativeLogsumexp(0),
      rowsOf('int32', [40], 14).cumulativeLogsumexp(),
      rowsOf('float16', [2, 33], 15).cumulativeLogsumexp(1),
    ]);
    const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
    const specials = lazy(Float64Array.of(-inf, -inf, 0, -inf, 1000, inf, 0, nan, 1));
    const [sums] = await run(device, [specials.cumulativeLogsumexp()]);
    expect([...(sums!.data as Float64Array)]).toEqual([-inf, -inf, 0, 0, 1000, inf, inf, nan, nan]);
  });

  it('goes along any axis, over all elements, from the end, and with what is before each', async () => {
    const x = rowsOf('float64', [4, 5, 6], 3);
    await expectScans(device, [
      ...[0, 1, -1, null].flatMap((axis) => four(x, axis)),
      x.cumulativeSum(1, { includeInitial: true }),
      x.cumulativeProd(0, { exclusive: true }),
      x.cumulativeSum(2, { exclusive: true, reverse: true }),
      x.cumulativeSum(0, { dtype: 'float32' }),
      toLazy(randomIntegers('int32', [9, 40], 4, 0, 100)).cumulativeSum(1, { dtype: 'int8' }),
      rowsOf('bool', [50], 5).cumulativeSum(),
    ]);
  });

  it('stands between maps, views, reductions and loops', async () => {
    const x = toLazy(randomIntegers('float32', [40, 33], 8));
    const window = x
      .cumulativeSum(1)
      .slice([], [8, null])
      .sub(x.cumulativeSum(1).slice([], [0, -8]))
      .div(8);
    await expectScans(device, [
      x.mul(2).cumulativeSum(0).slice([1, null, 3]).add(1),
      window,
      x.transpose().cumulativeMax(1).sum(1),
      x.cumulativeSum(1).sort(1).cumulativeMin(0),
      iterate(3, x, (rows) => rows.cumulativeMax(1).mul(0.5)),
    ]);
  });

  it('keeps NaN, infinities and -0 as NumPy does', async () => {
    const values = [-0, -0, 1, Number.POSITIVE_INFINITY, 2, Number.NEGATIVE_INFINITY, 3, Number.NaN, 4];
    const x = lazy(Float32Array.from(values));
    const [sums, least, most] = await run(device, [x.cumulativeSum(), x.cumulativeMin(), x.cumulativeMax()]);
    const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
    expect([...(sums!.data as Float32Array)]).toEqual([-0, -0, 1, inf, inf, nan, nan, nan, nan]);
    expect([...(least!.data as Float32Array)]).toEqual([-0, -0, -0, -0, -0, -inf, -inf, nan, nan]);
    expect([...(most!.data as Float32Array)]).toEqual([-0, -0, 1, inf, inf, inf, inf, nan, nan]);
  });

  it('multiplies large and small numbers by turns without parts that overflow', async () => {
    for (const dtype of ['float32', 'float64', 'complex128'] as const) {
      const x = lazy(Float64Array.from({ length: 60_002 }, (_, i) => (i % 2 === 0 ? 2 ** 40 : 2 ** -40)));
      const products = x.astype(dtype).cumulativeProd();
      const [all, rows] = await run(device, [
        products,
        x.astype(dtype).reshape([2, 30_001]).cumulativeProd(1),
      ]);
      const re = (of: HostArray, k: number): number => {
        const value = elementAt(dtype, of.data, k);
        return typeof value === 'object' ? value.re : Number(value);
      };
      for (const k of [0, 1, 8191, 8192, 40_000, 60_001]) expect(re(all!, k)).toBe(k % 2 === 0 ? 2 ** 40 : 1);
      expect(re(rows!, 60_001)).toBe(2 ** -40);
    }
  });

  it('gives arrays without elements, and single ones', async () => {
    const empty = (shape: readonly number[]): Lazy =>
      lazy({ data: allocate('float32', sizeOf(shape)), shape, dtype: 'float32' });
    await expectScans(
      device,
      [[0], [0, 3], [3, 0], [1], [4, 1]].flatMap((shape) => [
        ...four(empty(shape), -1),
        empty(shape).cumulativeSum(-1, { includeInitial: true }),
        empty(shape).cumulativeSum(-1, { exclusive: true }),
      ]),
    );
  });
});

describe('a scan', () => {
  const x = lazy(new Float32Array(6)).reshape([2, 3]);
  it('needs an axis where there are several', () => {
    expect(() => x.cumulativeSum()).toThrow(ArgumentError);
    expect(() => lazy(1).cumulativeSum()).toThrow(ArgumentError);
    expect(() => x.cumulativeSum(2)).toThrow(ShapeError);
  });
  it('refuses options that it has not, and complex numbers that have no order', () => {
    expect(() => x.cumulativeSum(0, { includeInitial: true, exclusive: true })).toThrow(/not both/);
    expect(() => x.cumulativeSum(0, { reverse: 1 as unknown as boolean })).toThrow(ArgumentError);
    expect(() => x.cumulativeMin(0, { dtype: 'int8' } as never)).toThrow(ArgumentError);
    expect(() => x.astype('complex64').cumulativeMax(0)).toThrow(DTypeError);
    expect(() => x.astype('complex64').cumulativeLogsumexp(0)).toThrow(/cumulativeLogsumexp/);
  });
});

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

describe.each(devices)('on %s, scans under a budget', (device) => {
  it.each([
    ['short rows', [6000, 33], [900, 33], [300_000, 33], -1],
    ['long rows', [12, 16_384], [8, 16_384], [12, 901_120], -1],
    ['rows that end within a tile', [12, 18_000], [9, 9000], [12, 900_001], -1],
    ['one row', [400_001], [300_001], [10_000_001], -1],
    ['columns', [4000, 64], [1100, 64], [300_000, 64], 0],
    ['columns in several lines', [12, 768, 40], [8, 300, 40], [12, 9000, 40], 1],
  ] as const)('give the bits of the whole with %s', async (_, onCpu, simulated, onGpu, axis) => {
    const shape = device === 'cpu' ? onCpu : isSimulated(device) ? simulated : onGpu;
    const x = toLazy(randomValues('float32', shape, 21));
    // On the CPU a budget bounds what is between inputs and results.
    const output = device === 'cpu' ? x.cumulativeSum(axis).sum(-1) : x.mul(2).cumulativeSum(axis);
    const [whole] = await compute([output], { device });
    const budget = Math.ceil(0.7 * output.plan({ device }).peakBytes);
    expect(output.plan({ device, memory: budget }).peakBytes).toBeLessThanOrEqual(budget);
    const [tiled] = await compute([output], { device, memory: budget });
    const bytes = ({ data }: HostArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    expect(Buffer.compare(bytes(tiled!), bytes(whole!))).toBe(0);
  });

  // Totals that wait beside the sweeps: some columns of all tiles at a time are combined.
  const isSized = device === 'cpu' || isSimulated(device);
  const why = isSized ? '' : ' (skipped: its sizes are for the CPU and the simulated GPU)';
  it.runIf(isSized)(`combine tiles in columns within budgets${why}`, async () => {
    const shape = device === 'cpu' ? [3000, 500] : [2600, 130];
    const source = toLazy(randomValues('complex128', shape, 22));
    const memory = device === 'cpu' ? 2 ** 20 : 300_000;
    // On the CPU a budget bounds what is between inputs and results.
    const output = device === 'cpu' ? source.cumulativeSum(0).sum(1) : source.cumulativeSum(0);
    const within = output.plan({ device, memory });
    expect(within.peakBytes).toBeLessThanOrEqual(memory);
    expect(String(within)).toMatch(/scanBefore .* in columns/);
    const [whole, tiled] = [await output.compute({ device }), await output.compute({ device, memory })];
    expect(tiled.data).toEqual(whole.data);
  });

  // A tile takes 32 KiB, and as much of the result.
  it.runIf(device === 'cpu')('go through lines of 64-bit numbers in files tile by tile', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weft-scans-'));
    try {
      const [from, to] = [join(folder, 'from.npy'), join(folder, 'to.npy')];
      await toLazy(randomValues('float64', [20_000], 23)).compute({ device, to: npy(from) });
      const output = (await loadNpy(from)).cumulativeSum();
      await output.compute({ device, memory: 80 * 2 ** 10, to: npy(to) });
      const [whole, tiled] = await compute([output, await loadNpy(to)], { device });
      expect(tiled!.data).toEqual(whole!.data);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
