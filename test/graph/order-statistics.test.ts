/** Medians and quantiles beside NumPy's values (`conformance/functions.test.ts`): specials, shapes and errors. */
import { describe, expect, it } from 'vitest';
import { ArgumentError, DTypeError, lazy, RangeArgumentError, ShapeError } from '../../src/index.js';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
const rows = lazy(Float64Array.from([3, 1, 2, inf, inf, 1, nan, 5, 4])).reshape([3, 3]);

describe('order statistics', () => {
  it('keep infinities, and give NaN where there is one', async () => {
    expect([...(await rows.median(1).compute()).data]).toEqual([2, inf, nan]);
    expect([...(await lazy([inf, inf, inf, 1]).median().compute()).data]).toEqual([inf]);
    expect([...(await lazy([-inf, 1, 2, inf]).quantile([0, 0.5, 1]).compute()).data]).toEqual([
      -inf,
      1.5,
      inf,
    ]);
  });

  it('have the shape of a reduction, behind the axis of the probabilities', async () => {
    expect(rows.median().shape).toEqual([]);
    expect(rows.median({ keepdims: true }).shape).toEqual([1, 1]);
    expect(rows.quantile(0.5, 0).shape).toEqual([3]);
    expect(rows.quantile([0.1, 0.9], 0, { keepdims: true }).shape).toEqual([2, 1, 3]);
    expect(rows.percentile([10, 50, 90], [0, 1]).shape).toEqual([3]);
    expect((await lazy(7).median().compute()).item()).toBe(7);
    expect(lazy(new Float32Array(0)).reshape([0, 3]).median(1).shape).toEqual([0]);
  });

  it('keep the dtype of elements that are chosen, and average integers in float64', () => {
    const x = lazy(new Int16Array(4));
    expect(x.quantile(0.3, { method: 'lower' }).dtype).toBe('int16');
    expect(x.quantile(0.3).dtype).toBe('float64');
    expect(x.median().dtype).toBe('float64');
    expect(lazy(new Float32Array(4)).median().dtype).toBe('float32');
  });

  it('refuse what they cannot take', () => {
    expect(() => rows.quantile(1.5)).toThrow(RangeArgumentError);
    expect(() => rows.percentile(-1)).toThrow(/q from 0 to 100/);
    expect(() => rows.quantile([])).toThrow(ArgumentError);
    expect(() => rows.quantile('0.5' as never)).toThrow(ArgumentError);
    expect(() => rows.quantile(0.5, { method: 'best' as never })).toThrow(/median_unbiased/);
    expect(() => rows.quantile(0.5, 3)).toThrow(ShapeError);
    expect(() => rows.astype('complex64').median()).toThrow(DTypeError);
    expect(() => lazy(new Float32Array(0)).median()).toThrow(/median/);
  });
});
