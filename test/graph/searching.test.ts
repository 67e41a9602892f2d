/** Searches beside NumPy's values (`conformance/functions.test.ts`): shapes, kernels and errors. */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  type DType,
  DTypeError,
  interp,
  isin,
  type Lazy,
  lazy,
  RangeArgumentError,
  ShapeError,
  searchsorted,
} from '../../src/index.js';
import { generator } from '../support/random.js';

const edges = lazy(Float32Array.from([1, 2, 2, 5]));
const values = lazy(Float32Array.from([0, 2, 3, 5, 6, Number.NaN])).reshape([2, 3]);
const complex = lazy([1, 2]).astype('complex64');

describe('searchsorted', () => {
  it('gives int64 positions in the shape of the values', async () => {
    const left = await edges.searchsorted(values).compute();
    expect([left.dtype, left.shape]).toEqual(['int64', [2, 3]]);
    expect([...left.data]).toEqual([0n, 1n, 3n, 3n, 4n, 4n]);
    const right = await searchsorted(edges, values, null, { side: 'right' }).compute();
    expect([...right.data]).toEqual([0n, 3n, 3n, 4n, 4n, 4n]);
    expect((await edges.searchsorted(2.5).compute()).item()).toBe(3);
  });

  it('is one kernel with what its values and its positions are for', async () => {
    const counts = lazy(Float32Array.from({ length: 1000 }, (_, k) => k));
    const places = lazy(Float32Array.from({ length: 5000 }, (_, k) => ((k * 7919) % 4001) / 4));
    const job = counts.searchsorted(places.mul(2)).mul(3);
    expect(job.explain({ device: 'cpu' }).steps).toHaveLength(1);
    const found = await job.compute();
    for (const [k, place] of [...(await places.compute()).data].entries())
      expect(found.data[k]).toBe(BigInt(3 * Math.min(1000, Math.ceil(2 * Number(place)))));
  });

  it('finds each place in lines of any length, which end with NaN or do not', async () => {
    const random = generator(20261127);
    for (const length of [1, 2, 3, 31, 33, 1023, 1024, 1025, 2049, 3000, 4096, 5000, 65_536, 65_539]) {
      const nans = length % 3;
      const line = Float32Array.from({ length }, () => Math.floor(random() * length)).sort();
      line.fill(Number.NaN, length - nans);
      const sought = Float32Array.from({ length: 500 }, () => Math.floor(random() * (length + 2)) - 1);
      sought.set([Number.NaN, Number.POSITIVE_INFINITY, -0]);
      const isLess = (a: number, b: number): boolean => a < b || (Number.isNaN(b) && !Number.isNaN(a));
      for (const side of ['left', 'right'] as const) {
        const found = await searchsorted(lazy(line), sought, null, { side }).compute();
        const wrong = [...sought].findIndex((value, k) => {
          const at = Number(found.data[k]);
          const isBefore = (x: number): boolean => (side === 'left' ? isLess(x, value) : !isLess(value, x));
          return (at > 0 && !isBefore(line[at - 1]!)) || (at < length && isBefore(line[at]!));
        });
        expect(wrong, `${sought[wrong]} at ${found.data[wrong]} of ${length}, ${side}`).toBe(-1);
      }
    }
  });

  // Stretches that are whole or not, of elements of each width.
  it.each([
    ['float32', 100],
    ['float32', 3 * 2 ** 15],
    ['float64', 40_001],
    ['int16', 140_000],
  ] as const)(
    'of %s in a line of %i, looks at the middles of it first, also within a budget',
    async (dtype, length) => {
      const random = generator(length);
      const numbers = (count: number): Lazy<typeof dtype> =>
        lazy(Float64Array.from({ length: count }, () => Math.floor(random() * 30_000))).astype(dtype);
      const line = numbers(length).sort();
      const sought = numbers(Math.max(2 ** 16, 8 * length));
      const [elements, all] = [(await line.compute()).data, (await sought.compute()).data];
      const job = line.searchsorted(sought);
      // A cast of other dtypes than float64, the sort, the middles, the search.
      expect(job.explain({ device: 'cpu' }).steps).toHaveLength(dtype === 'float64' ? 3 : 4);
      const { data } = await job.compute();
      const wrong = [...all].findIndex((value, k) => {
        const at = Number(data[k]);
        return (at > 0 && !(elements[at - 1]! < value)) || (at < length && elements[at]! < value);
      });
      expect(wrong).toBe(-1);
      expect((await job.compute({ memory: Math.max(2 ** 17, 32 * length) })).data).toEqual(data);
    },
  );

  it('has the bits of the whole within a budget', async () => {
    const places = arange(100_000, { dtype: 'float32' }).mul(37).remainder(1009);
    const line = arange(1009, { dtype: 'float32' });
    const job = line.searchsorted(places).add(places);
    const whole = await job.compute();
    const tiled = await job.compute({ memory: '256 KiB' });
    expect(Buffer.from(tiled.data.buffer).equals(Buffer.from(whole.data.buffer))).toBe(true);
  });

  it('gives 0 in an empty array, and nothing for no values', async () => {
    const none = new Float32Array(0);
    expect([...(await searchsorted(none, values).compute()).data]).toEqual(Array(6).fill(0n));
    expect((await edges.searchsorted(none).compute()).shape).toEqual([0]);
  });

  it('refuses arrays of two axes, complex ones, and sorters that do not fit', async () => {
    expect(() => values.searchsorted(2)).toThrow(ShapeError);
    expect(() => lazy(2).searchsorted(2)).toThrow(ShapeError);
    expect(() => complex.searchsorted(2)).toThrow(DTypeError);
    expect(() => edges.searchsorted(complex)).toThrow(DTypeError);
    expect(() => edges.searchsorted(2, new Int32Array(3))).toThrow(ShapeError);
    expect(() => edges.searchsorted(2, new Float32Array(4))).toThrow(DTypeError);
    expect(() => edges.searchsorted(2, null, { side: 'middle' } as never)).toThrow(ArgumentError);
    const outside = edges.searchsorted(2, Int32Array.from([0, 1, 2, 4]));
    await expect(outside.compute()).rejects.toThrow(RangeArgumentError);
  });
});

describe('isin', () => {
  it('takes values of any shape, and none', async () => {
    expect([...(await values.isin(values).compute()).data]).toEqual([1, 1, 1, 1, 1, 0]);
    expect([...(await isin(values, 5).compute()).data]).toEqual([0, 0, 0, 1, 0, 0]);
    const none = new Float32Array(0);
    expect([...(await values.isin(none, { invert: true }).compute()).data]).toEqual(Array(6).fill(1));
    expect(() => values.isin(complex)).toThrow(DTypeError);
    expect(() => complex.isin(values)).toThrow(DTypeError);
    expect(() => complex.isin(none)).toThrow(DTypeError);
  });

  describe('of integers on the CPU', () => {
    /** Values of both ends of a dtype, or of few values from -100 or 0 on. */
    const integers = (dtype: DType, length: number, seed: number, isWide: boolean): Lazy => {
      const bits = BigInt(dtype.replace(/\D+/, ''));
      const isSigned = !dtype.startsWith('u');
      const values = Array.from({ length }, (_, k) => {
        const drawn = BigInt((k * 7919 + seed * 104729) % 1009);
        const place = isWide ? (drawn << (bits - 8n)) + drawn : drawn - (isSigned ? 100n : 0n);
        return isSigned ? BigInt.asIntN(Number(bits), place) : BigInt.asUintN(Number(bits), place);
      });
      return lazy(BigInt64Array.from(values.map((value) => BigInt.asIntN(64, value)))).astype(dtype);
    };
    const members = async (x: Lazy, test: Lazy): Promise<number[]> => {
      const set = new Set([...(await test.compute()).data].map(String));
      return [...(await x.compute()).data].map((value) => (set.has(String(value)) ? 1 : 0));
    };

    it.each(
      (['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'] as const).flatMap(
        (dtype) => [[dtype, 'few values', false] as const, [dtype, 'values far apart', true] as const],
      ),
    )('looks %s up among %s', async (dtype, _, isWide) => {
      const [x, test] = [integers(dtype, 2001, 1, isWide), integers(dtype, 97, 2, isWide)];
      const wanted = await members(x, test);
      expect(new Set(wanted)).toEqual(new Set([0, 1]));
      expect([...(await x.isin(test).compute({ device: 'cpu' })).data]).toEqual(wanted);
      const others = await x.isin(test, { invert: true }).compute({ device: 'cpu' });
      expect([...others.data]).toEqual(wanted.map((is) => 1 - is));
    });

    it('does so by a routine behind the sort of the set, which reads a view of any shape', async () => {
      const test = integers('int32', 97, 2, false);
      const x = integers('int32', 600, 3, false).reshape([20, 30]).slice([0, null, 2]).T;
      const steps = x
        .isin(test)
        .explain({ device: 'cpu' })
        .steps.map(({ text }) => text);
      expect(steps.some((text) => text.startsWith('members int32 (30, 10) int32 (97,)'))).toBe(true);
      const found = await x.isin(test).compute({ device: 'cpu' });
      expect([found.shape, [...found.data]]).toEqual([[30, 10], await members(x, test)]);
    });

    it('has the bits of the whole within a budget', async () => {
      const job = arange(100_000, { dtype: 'int32' })
        .mul(37)
        .remainder(4001)
        .isin(integers('int32', 999, 2, false));
      const within = { device: 'cpu', memory: '160 KiB' } as const;
      expect(job.explain(within).toString()).toMatch(/tiles/);
      const [whole, tiled] = [await job.compute({ device: 'cpu' }), await job.compute(within)];
      expect(Buffer.compare(tiled.data, whole.data)).toBe(0);
    });

    it('takes sets of one value again and again, and those of both ends of int64', async () => {
      const x = lazy(BigInt64Array.of(-(2n ** 63n), -1n, 0n, 2n ** 63n - 1n));
      const same = lazy(new BigInt64Array(20));
      expect([...(await x.isin(same).compute({ device: 'cpu' })).data]).toEqual([0, 0, 1, 0]);
      const ends = lazy(
        BigInt64Array.from({ length: 20 }, (_, k) => (k % 2 ? 2n ** 63n - 1n : -(2n ** 63n))),
      );
      expect([...(await x.isin(ends).compute({ device: 'cpu' })).data]).toEqual([1, 0, 0, 1]);
      expect((await lazy(new BigInt64Array(0)).isin(same).compute()).shape).toEqual([0]);
    });
  });
});

describe('interp', () => {
  it('refuses points that are none, and wrong options', () => {
    expect(() => values.interp(edges, lazy([1, 2]))).toThrow(ShapeError);
    expect(() => values.interp(values, values)).toThrow(ShapeError);
    expect(() => interp(values, new Float32Array(0), new Float32Array(0))).toThrow(ShapeError);
    expect(() => values.interp(edges, complex)).toThrow(DTypeError);
    expect(() => values.interp(edges, edges, { left: '0' } as never)).toThrow(ArgumentError);
    expect(() => values.interp(edges, edges, { periods: 2 } as never)).toThrow(ArgumentError);
  });
});
