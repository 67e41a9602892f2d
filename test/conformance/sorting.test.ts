/** Sorting on every backend, bit by bit against the reference interpreter, and under budgets against the whole. */
import { describe, expect, it } from 'vitest';
import { DTYPES, type DType, isComplex, isFloat } from '../../src/graph/dtype.js';
import {
  ArgumentError,
  compute,
  iterate,
  type Lazy,
  lazy,
  lexsort,
  ShapeError,
  topK,
  zeros,
} from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { allocate, type HostArray, setElement, sizeOf } from '../support/host.js';
import { generator, randomIntegers, randomValues } from '../support/random.js';
import { sharedReferenceOf } from '../support/shared-reference.js';

const SPECIALS = [Number.NaN, 0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1, -1, 1];

/** Values that repeat, with every special one among them. */
function rowsOf(dtype: DType, shape: readonly number[], seed: number): Lazy {
  const array =
    isFloat(dtype) || isComplex(dtype) ? specialValues(dtype, shape, seed) : integersOf(dtype, shape, seed);
  return toLazy(array);
}

const integersOf = (dtype: DType, shape: readonly number[], seed: number): HostArray =>
  randomIntegers(
    dtype,
    shape,
    seed,
    dtype === 'bool' || dtype.startsWith('u') ? 0 : -100,
    dtype === 'bool' ? 1 : 100,
  );

function specialValues(dtype: DType, shape: readonly number[], seed: number): HostArray {
  const { data } = randomValues(dtype, shape, seed);
  const [re, im] = [
    randomIntegers('int32', shape, seed + 1, 0, 40),
    randomIntegers('int32', shape, seed + 2, 0, 40),
  ];
  for (let k = 0; k < sizeOf(shape); k++) {
    const [a, b] = [SPECIALS[Number(re.data[k])], SPECIALS[Number(im.data[k])]];
    if (isComplex(dtype)) setElement(dtype, data, k, { re: a ?? 1, im: b ?? (k % 7) - 3 });
    else if (a !== undefined) setElement(dtype, data, k, a);
  }
  return { dtype, shape, data };
}

/** Bytes, in which every NaN is the same one. */
function bitsOf({ dtype, data }: HostArray): Uint8Array {
  if (dtype === 'float32' || dtype === 'float64' || isComplex(dtype)) {
    const copy = (data as Float32Array).slice();
    copy.forEach((value, k) => {
      if (Number.isNaN(value)) copy[k] = Number.NaN;
    });
    return new Uint8Array(copy.buffer);
  }
  if (dtype === 'float16' || dtype === 'bfloat16') {
    const [infinity, nan] = dtype === 'float16' ? [0x7c00, 0x7e00] : [0x7f80, 0x7fc0];
    return new Uint8Array(
      (data as Uint16Array).map((bits) => ((bits & 0x7fff) > infinity ? nan : bits)).buffer,
    );
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

async function expectSorted(device: string, outputs: readonly Lazy[]): Promise<void> {
  const expected = sharedReferenceOf(device, outputs);
  const actual = device === 'reference' ? expected : await run(device, outputs);
  for (const [k, own] of actual.entries()) {
    expect(own.dtype).toBe(expected[k]!.dtype);
    expect(own.shape).toEqual(expected[k]!.shape);
    expect(Buffer.compare(bitsOf(own), bitsOf(expected[k]!)), `output ${k} of ${outputs.length}`).toBe(0);
  }
}

const both = (x: Lazy, axis?: number | null): Lazy[] =>
  [false, true].flatMap((descending) => [x.sort(axis, { descending }), x.argsort(axis, { descending })]);

describe.each(backends())('on %s, sorting', (device) => {
  it.each(DTYPES)('orders short rows of %s', async (dtype) => {
    await expectSorted(device, both(rowsOf(dtype, [9, 37], 5)));
  });

  it.each(DTYPES)('orders long rows of %s', async (dtype) => {
    const x = rowsOf(dtype, [1, 4301], 11);
    await expectSorted(device, [x.sort(), x.argsort(1, { descending: true })]);
  });

  it.each(['uint8', 'float32', 'int64', 'complex128'] as const)(
    'orders rows of several tiles of %s',
    async (dtype) => {
      await expectSorted(device, [
        rowsOf(dtype, [2, 9001], 12).argsort(),
        rowsOf(dtype, [1, 9001], 13).sort(),
      ]);
    },
  );

  it('orders rows in which some digits, or all, are the same', async () => {
    const few = toLazy(randomIntegers('uint32', [3, 5000], 4, 0, 3)).mul(0x10001);
    const rows = few.mul(lazy([[1], [0], [256]]).astype('uint32')).add(7);
    await expectSorted(device, [...both(rows), ...both(rows.astype('float64'))]);
  });

  it.each([1, 2, 3, 31, 64, 255, 256, 257, 1025, 4096, 4097])(
    'orders rows of %i elements',
    async (length) => {
      await expectSorted(device, both(rowsOf('float32', [3, length], length)));
    },
  );

  it('goes along any axis, or all of them', async () => {
    const x = rowsOf('float64', [4, 5, 6], 3);
    await expectSorted(
      device,
      [0, 1, 2, -3, null].flatMap((axis) => both(x, axis)),
    );
  });

  it('stands between maps, views and reductions', async () => {
    const x = toLazy(randomIntegers('float32', [40, 33], 8));
    const order = x.sum(1).argsort();
    await expectSorted(device, [
      x.mul(2).sort(0).slice([1, null, 3]).add(1),
      x.take(order, 0).slice([0, 3]),
      x.sort(1).slice([], -1).sub(x.sort(1).slice([], 0)).max(),
      x.transpose().sort().flip(1).argsort(0),
    ]);
  });

  it('gives ranks as the positions that sort positions', async () => {
    const x = rowsOf('float32', [5, 301], 14);
    await expectSorted(device, [
      x.argsort(1).argsort(1),
      x.argsort(0).argsort(0, { descending: true }),
      x.argsort(1).argsort(0),
      x.slice(0).argsort().flip(0).argsort(),
    ]);
    const [ranks] = await run(device, [lazy([30, 10, 20, 10]).argsort().argsort()]);
    expect([ranks!.dtype, ...(ranks!.data as BigInt64Array)]).toEqual(['int64', 3n, 0n, 2n, 1n]);
  });

  it('gives arrays without elements, and single ones', async () => {
    const outputs = [[0], [0, 3], [3, 0], [1], [4, 1]].flatMap((shape) => both(lazy(allocateOf(shape)), -1));
    await expectSorted(device, outputs);
  });

  it('runs in loops', async () => {
    const x = toLazy(randomIntegers('int32', [6, 50], 4));
    await expectSorted(device, [iterate(4, x, (rows) => rows.sort(1).mul(3).remainder(17))]);
  });
});

/** Of a long row that is selected from and not sorted. */
const LONG = 66_001;

/** The first and the last elements, quantiles, and a partition. */
const selections = (x: Lazy, k: number, axis = -1): Lazy[] => {
  const [most, least] = [topK(x, k, { axis }), topK(x, k, { axis, largest: false })];
  return [most.values, most.indices, least.values, least.indices, x.argpartition([k, 0], axis)];
};

describe.each(backends())('on %s, selecting', (device) => {
  it.each(DTYPES)('gives the first elements of short rows of %s', async (dtype) => {
    await expectSorted(device, selections(rowsOf(dtype, [4, 37], 6), 5));
  });

  it.each(['float32', 'float64', 'bfloat16', 'int64'] as const)(
    'gives elements of long rows of %s',
    async (dtype) => {
      // The second of two rows does not begin with a pack of 16 bytes.
      const x = rowsOf(dtype, [dtype === 'int64' ? 1 : 2, LONG], 12);
      const [most, least] = [topK(x, 100), topK(x, 9, { largest: false })];
      const places = x.quantile([0, 0.2, 0.2001, 1], 1, { method: 'lower' });
      await expectSorted(device, [most.values, most.indices, least.indices, places]);
    },
  );

  it('takes the first of equal elements', async () => {
    const ties = lazy(new Float32Array(LONG)).mul(-1);
    const [{ indices }, { indices: least }] = [topK(ties, 2000), topK(ties, 3, { largest: false })];
    const [most, few, order] = await run(device, [indices, least, ties.argpartition(LONG - 1)]);
    expect([...(most!.data as BigInt64Array)]).toEqual(Array.from({ length: 2000 }, (_, k) => BigInt(k)));
    expect([...(few!.data as BigInt64Array)]).toEqual([0n, 1n, 2n]);
    expect(order!.data.at(-1)).toBe(BigInt(LONG - 1));
  });

  it('finds the first elements where they stand together, and among NaN', async () => {
    const ascending = Float32Array.from({ length: LONG }, (_, k) => k);
    const rare = new Float32Array(LONG).fill(Number.NaN);
    for (const [k, value] of [3, -0, 0, 3].entries()) rare[(k + 1) * 13_000] = value;
    await expectSorted(
      device,
      [ascending, rare].flatMap((row) => Object.values(topK(lazy(row), 100))),
    );
  });

  it.each(['float32', 'float64'] as const)('finds infinities of %s among NaN', async (dtype) => {
    const row = new (dtype === 'float32' ? Float32Array : Float64Array)(2 ** 16).fill(Number.NaN);
    for (let k = 0; k < 8 * 512; k++)
      row[3 * 512 * Math.floor(k / 512) + (k % 512)] = Number.POSITIVE_INFINITY;
    const x = lazy(row);
    const { indices: least } = topK(x, 8, { largest: false });
    const { indices: most } = topK(x.negative(), 1);
    const [some, one] = await run(device, [least, most]);
    expect(some!.data).toEqual(BigInt64Array.from([0, 1, 2, 3, 4, 5, 6, 7], BigInt));
    expect(one!.data).toEqual(BigInt64Array.of(0n));
  });

  it('finds the first elements among few candidates, of which many are equal or one is far from the others', async () => {
    const random = generator(20261127);
    const below = (): Float32Array => Float32Array.from({ length: LONG }, () => random() / 2);
    const [equal, far] = [below(), below()];
    // 90 that are greater, and more equal ones than a block sorts.
    for (let k = 0; k < 690; k++) equal[k * 95 + (k % 3)] = k % 8 === 0 ? 1 + random() : 1;
    far[40_000] = Number.POSITIVE_INFINITY;
    far[41_000] = 1e30;
    await expectSorted(
      device,
      [equal, far].flatMap((row) => Object.values(topK(lazy(row), 100))),
    );
  });

  it('finds the first elements among more candidates than threads hold', async () => {
    const random = generator(20261128);
    const row = Float32Array.from({ length: 2 ** 18 }, (_, k) => (k % 128 < 32 ? random() : 0));
    // Not among those that are sampled.
    for (let k = 0; k < 7400; k++) row[128 * (k % 2048) + 40 + 8 * Math.floor(k / 2048)] = 1 + random();
    const order = Array.from(row.keys()).filter((k) => row[k]! >= 1);
    const first = order.sort((i, j) => row[j]! - row[i]! || i - j).slice(0, 1100);
    const { values, indices } = topK(lazy(row), 1100);
    const [found, places] = await run(device, [values, indices]);
    expect(places!.data).toEqual(BigInt64Array.from(first, BigInt));
    expect(found!.data).toEqual(Float32Array.from(first, (k) => row[k]!));
  });

  it('goes along any axis, and gives no elements where none are wanted', async () => {
    const x = rowsOf('int32', [7, 5, 3], 9);
    await expectSorted(
      device,
      [0, 1, 2].flatMap((axis) => selections(x, 2, axis)),
    );
    const { values, indices } = topK(x, 0, { axis: 1 });
    const none = topK(zeros([0, LONG]), 5);
    const found = await run(device, [
      ...[values, indices, none.values, none.indices, zeros([0, LONG]).median(1)],
      lazy(new Float32Array(0)).argpartition([]),
    ]);
    expect(found.map(({ shape }) => shape)).toEqual([[7, 0, 3], [7, 0, 3], [0, 5], [0, 5], [0], [0]]);
  });

  it('puts the places of a partition where sorting would', async () => {
    const x = toLazy(randomValues('float32', [LONG], 13));
    const places = [-1, 7, 1234, 65_000];
    const [parted, sorted] = await run(device, [x.partition(places), x.sort()]);
    const [found, ordered] = [parted!.data as Float32Array, sorted!.data as Float32Array];
    for (const place of places) expect(found.at(place)).toBe(ordered.at(place));
    expect(Math.max(...found.subarray(0, 7))).toBeLessThanOrEqual(found[7]!);
    expect(Float32Array.from(found).sort()).toEqual(ordered);
  });
});

const allocateOf = (shape: readonly number[]) => ({
  data: allocate('float32', sizeOf(shape)),
  shape,
  dtype: 'float32' as const,
});

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

describe.each(devices)('on %s, sorting a set', (device) => {
  it('goes before a search for integers in a set, on the CPU by a routine', async () => {
    const [x, set] = [integersOf('int32', [3, 700], 4), integersOf('int32', [40], 5)].map(toLazy) as [
      Lazy,
      Lazy,
    ];
    await expectSorted(device, [x.isin(set), x.isin(set, { invert: true })]);
    expect(/^step \d+: members/m.test(x.isin(set).explain({ device }).toString())).toBe(device === 'cpu');
  });
});

describe.each(devices)('on %s, sorting under a budget', (device) => {
  it.each([
    ['short rows', [6000, 33], [900, 33], [300_000, 33]],
    ['long rows', [12, 9000], [12, 4600], [12, 900_000]],
  ] as const)('gives the bits of the whole with %s', async (_, onCpu, simulated, onGpu) => {
    // A GPU's pool rounds to megabytes.
    const shape = device === 'cpu' ? onCpu : isSimulated(device) ? simulated : onGpu;
    const x = toLazy(randomValues('float32', shape, 21));
    const made = x.mul(2);
    // On the CPU a budget bounds what is between inputs and results.
    const outputs =
      device === 'cpu' ? [made.sort(1).min(1), made.argsort(1).sum(1)] : [made.sort(1), made.argsort(1)];
    for (const output of outputs) {
      const [whole] = await compute([output], { device });
      const peak = output.plan({ device }).peakBytes;
      const budget = Math.ceil(0.7 * peak);
      const plan = output.plan({ device, memory: budget });
      expect(plan.peakBytes).toBeLessThanOrEqual(budget);
      const [tiled] = await compute([output], { device, memory: budget });
      expect(Buffer.compare(bitsOf(tiled!), bitsOf(whole!))).toBe(0);
    }
  });
});

describe('sorting', () => {
  const x = lazy([[3, 1, 2]]);

  it('refuses axes that are not there, and other options', () => {
    expect(() => x.sort(2)).toThrow(RangeError);
    expect(() => x.argsort(0.5)).toThrow(/argsort/);
    expect(() => x.sort(0, { descending: 1 as unknown as boolean })).toThrow(ArgumentError);
    expect(() => x.sort(0, { order: 'f' } as object)).toThrow(ArgumentError);
  });

  it('selects within the axis', () => {
    expect(() => topK(x, 4)).toThrow(RangeError);
    expect(() => topK(x, -1)).toThrow(RangeError);
    expect(() => topK(x, 1.5)).toThrow(/topK/);
    expect(() => topK(x, 1, { largest: 0 as unknown as boolean })).toThrow(ArgumentError);
    expect(() => x.partition(3)).toThrow(RangeError);
    expect(() => x.argpartition(-4)).toThrow(/argpartition/);
    expect(() => lexsort([])).toThrow(ArgumentError);
    expect(() => lexsort([x, [1, 2]])).toThrow(ShapeError);
    expect(() => x.quantile(0.5, { weights: x })).toThrow(/inverted_cdf/);
  });

  it('takes quantiles of long rows without sorting them', () => {
    const long = lazy(new Float32Array(LONG));
    const callsOf = (y: Lazy): string => String(y.plan({ device: 'cpu' }));
    expect(callsOf(long.median())).toMatch(/ranks float32/);
    expect(callsOf(long.median())).not.toMatch(/sort/);
    expect(callsOf(topK(long, 9).values)).toMatch(/top float32/);
    expect(callsOf(topK(long, 9000).values)).toMatch(/argsort/);
  });

  it('is one step for equal calls', () => {
    const { steps } = x.sort().add(x.sort()).explain({ device: 'cpu' }).toJSON();
    expect(steps.map(({ kind }) => kind)).toEqual(['call', 'kernel']);
  });

  it('is one step for calls that a pass makes equal', async () => {
    const y = lazy([5, 1, 3, 1]).add(1);
    const turned = y.expandDims(0).flip(0);
    const both = turned.sort(null).add(y.sort());
    expect(both.explain({ device: 'cpu' }).steps.map(({ kind }) => kind)).toEqual([
      'kernel',
      'call',
      'kernel',
    ]);
    expect((await both.compute({ device: 'cpu' })).toArray()).toEqual([4, 4, 8, 12]);
    expect((await turned.intersect(y).compute({ device: 'cpu' })).toArray()).toEqual([2, 4, 6]);
    const loops = iterate(3, turned, (x) => x.mul(2))
      .reshape([4])
      .add(iterate(3, y.expandDims(0), (x) => x.mul(2)).reshape([4]));
    expect((await loops.compute({ device: 'cpu' })).toArray()).toEqual([96, 32, 64, 32]);
  });
});
