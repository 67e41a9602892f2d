/** Distinct integers on a GPU: by a table of their range, in shared memory and not, and by a sort where it is wide. */
import { describe, expect, it, vi } from 'vitest';
import type * as RadixSort from '../../src/codegen/cuda/routines/radix-sort.js';
import { compute, type Lazy, lazy, uniqueCounts } from '../../src/index.js';

// Sorts that end at once, so that a result is right by the table alone.
const sorts = vi.hoisted(() => ({ end: false }));
vi.mock('../../src/codegen/cuda/routines/radix-sort.js', async (original) => {
  const all = await original<typeof RadixSort>();
  const printRadixKernels: typeof all.printRadixKernels = (form) =>
    all.printRadixKernels(sorts.end ? { ...form, skip: 'true' } : form);
  return { ...all, printRadixKernels };
});

// Blocks of passes that go from tile to tile.
vi.mock('../../src/codegen/cuda/routines/radix-pass.js', async (original) => ({
  ...(await original<object>()),
  LOOPED_BLOCKS: 3,
}));

const SIZE = 80_003;
/** Of a table in shared memory, of one in global memory, and beyond one for so many elements. */
const [SHORT, LONG, TOO_LONG, WIDE] = [60_000, 320_012, 320_013, 2 ** 31];
const SPANS = {
  int8: [1, 256],
  uint16: [60_000],
  int32: [SHORT, LONG, TOO_LONG, WIDE],
  uint32: [LONG],
  int64: [LONG, TOO_LONG],
  uint64: [SHORT],
} as const;
const SEED = 20261127;

/** Uniform numbers of 32 bits by a linear congruential generator. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state;
  };
}

/** Numbers from `least` on of which both ends of a span occur. */
function numbers(least: bigint, span: number, size = SIZE): bigint[] {
  const next = generator(SEED + span);
  return Array.from({ length: size }, (_, k) => {
    const offset = k === 17 ? 0 : k === 30_000 ? span - 1 : Math.floor((next() / 2 ** 32) * span);
    return least + BigInt(offset);
  });
}

const DTYPES = {
  int8: [Int8Array, -(2n ** 7n)],
  uint8: [Uint8Array, 0n],
  int16: [Int16Array, 0n],
  uint16: [Uint16Array, 3n],
  int32: [Int32Array, -70_000n],
  uint32: [Uint32Array, 2n ** 31n - 1000n],
  int64: [BigInt64Array, -(2n ** 63n)],
  uint64: [BigUint64Array, 2n ** 63n - 5n],
} as const;

type Integers = ArrayLike<number | bigint>;

/** The numbers as a dtype has them, in order, once each. */
const distinctOf = (array: Integers): (number | bigint)[] =>
  [...new Set(Array.from(array))].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

function arrayOf(dtype: keyof typeof DTYPES, values: readonly bigint[]): Int32Array {
  const [Typed] = DTYPES[dtype];
  const isBig = dtype.endsWith('64');
  return new (Typed as Int32ArrayConstructor)((isBig ? values : values.map(Number)) as number[]);
}

async function expectDistinct(array: Int32Array, target: object = { device: 'cuda' }): Promise<void> {
  const [found] = await compute([lazy(array).uniqueValues()], target);
  const expected = distinctOf(array);
  expect(found!.shape).toEqual([expected.length]);
  expect(Array.from(found!.data as unknown as Integers)).toEqual(expected);
}

async function expectCounts(array: Int32Array, target: object = { device: 'cuda' }): Promise<void> {
  const { values, counts } = uniqueCounts(lazy(array));
  const [found, often] = await compute([values, counts], target);
  const expected = new Map<number | bigint, bigint>();
  for (const value of array) expected.set(value, (expected.get(value) ?? 0n) + 1n);
  const distinct = distinctOf(array);
  expect(Array.from(found!.data as unknown as Integers)).toEqual(distinct);
  expect(Array.from(often!.data as unknown as Integers)).toEqual(
    distinct.map((value) => expected.get(value)),
  );
}

const stepsOf = async (x: Lazy, target: object): Promise<string> => (await x.explain(target)).toString();

describe('distinct integers', () => {
  it.each(Object.keys(SPANS) as (keyof typeof SPANS)[])(`of %s, seed ${SEED}`, async (dtype) => {
    for (const span of SPANS[dtype]) await expectDistinct(arrayOf(dtype, numbers(DTYPES[dtype][1], span)));
  });

  it('with how often each occurs: in a table in shared memory, in memory, and after a sort', async () => {
    const wide = arrayOf('int32', [...numbers(-3n, 39_000), 2n ** 31n - 1n]);
    for (const span of [1, 4000, 40_001, 40_002]) await expectCounts(arrayOf('int32', numbers(-3n, span)));
    await expectCounts(wide);
    await expectCounts(arrayOf('int8', numbers(-128n, 256)));
    await expectCounts(arrayOf('uint64', numbers(2n ** 64n - 20_000n, 20_000)));
    await expectCounts(arrayOf('int64', numbers(-(2n ** 63n), 2 ** 40)));
    const { values, counts } = uniqueCounts(lazy(wide));
    const read = [counts, values.add(1), counts.sum(), values.sort(), counts.cumulativeSum()];
    const actual = await compute(read, { device: 'cuda' });
    const expected = await compute(read, { device: 'cpu' });
    for (const [k, { data }] of actual.entries()) expect(data).toEqual(expected[k]!.data);
    expect(await stepsOf(counts, { device: 'cuda' })).toMatch(/uniqueCounts int32/);
    expect(await stepsOf(counts, { devices: 2 })).not.toMatch(/uniqueCounts int32/);
  });

  it('of a range that is wider than their type', async () => {
    await expectDistinct(arrayOf('int64', [2n ** 63n - 1n, ...numbers(-5n, 7), -(2n ** 63n)]));
    await expectDistinct(arrayOf('int32', [2n ** 31n - 1n, ...numbers(-5n, 7), -(2n ** 31n)]));
  });

  it('of a narrow range without a sort, as wide as four values for each element', async () => {
    const size = 70_000;
    sorts.end = true;
    for (const span of [SHORT, 4 * size]) await expectDistinct(arrayOf('int32', numbers(5n, span, size)));
    for (const span of [4000, size / 2]) await expectCounts(arrayOf('int32', numbers(5n, span, size)));
    sorts.end = false;
  });

  it('in order, with one that is far off, and of booleans', async () => {
    const values = numbers(-500n, 90_000, 33_100).sort((a, b) => Number(a - b));
    await expectDistinct(arrayOf('int32', [...values, 2n ** 30n]));
    const bools = lazy(arrayOf('uint8', numbers(0n, 2))).astype('bool');
    const outputs = [bools.uniqueValues(), bools.logicalOr(true).uniqueValues()];
    const [both, one] = await compute(outputs, { device: 'cuda' });
    expect([...both!.data, ...one!.data]).toEqual([0, 1, 1]);
  });

  it('of views and two arrays together, whose further steps read them', async () => {
    const x = lazy(arrayOf('int32', numbers(-9n, 30_000, 49_152))).reshape([3, 128, 128]);
    const sets = [x.slice(null, null, 3), x.transpose().add(5), x.slice([0, 1]), x.slice(0, [1, 128])];
    const sums = [...sets.map((set) => set.uniqueValues()), x.union(x.add(40_000))].map((set) => [
      set,
      set.sum(),
    ]);
    const actual = await compute(sums.flat(), { device: 'cuda' });
    const expected = await compute(sums.flat(), { device: 'cpu' });
    for (const [k, { data }] of actual.entries()) expect(data).toEqual(expected[k]!.data);
  });

  it('are made of a sorted line on several devices, within budgets and on the CPU', async () => {
    const array = arrayOf('int16', numbers(7n, 3000, 60_000));
    const distinct = lazy(array).uniqueValues();
    expect(await stepsOf(distinct, { device: 'cuda' })).toMatch(/unique int16 .*by a table of the range/);
    for (const target of [{ devices: 2 }, { device: 'cuda', memory: 320_000 }, { device: 'cpu' }]) {
      expect(await stepsOf(distinct, target)).not.toMatch(/unique int16/);
      await expectDistinct(array, target);
    }
  });

  it('take no more memory than by a sort alone', () => {
    const [whole, float] = [new Int32Array(2 ** 20), new Float32Array(2 ** 20)].map((array) =>
      lazy(array).uniqueValues().plan({ device: 'cuda' }),
    );
    expect(whole!.peakBytes).toBeLessThanOrEqual(float!.peakBytes);
  });
});
