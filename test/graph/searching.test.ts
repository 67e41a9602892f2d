/** Searches beside NumPy's values (`conformance/functions.test.ts`): shapes, kernels and errors. */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  DTypeError,
  interp,
  isin,
  lazy,
  RangeArgumentError,
  ShapeError,
  searchsorted,
} from '../../src/index.js';

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
