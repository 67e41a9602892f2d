/** Averages, covariances and integrals beside NumPy's values (`conformance/functions.test.ts`): shapes and errors. */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  average,
  compute,
  lazy,
  RangeArgumentError,
  ShapeError,
  trapezoid,
} from '../../src/index.js';

const x = lazy(Float32Array.from([1, 2, 4, 8, 5, 7])).reshape([2, 3]);

describe('averages', () => {
  it('take axes in options, keep them, and are means without weights', async () => {
    const weights = lazy([1, 3]);
    const [kept, plain, both] = await compute([
      x.average(weights, { axis: 0, keepdims: true }),
      average(x, null, 1),
      x.average(x, [0, 1]),
    ]);
    expect(kept.shape).toEqual([1, 3]);
    expect([...kept.data]).toEqual([25 / 4, 17 / 4, 25 / 4]);
    expect([...plain.data]).toEqual([Math.fround(7 / 3), Math.fround(20 / 3)]);
    expect(both.item()).toBeCloseTo(159 / 27, 6);
  });

  it('by weights that sum to 0 are no numbers', async () => {
    const [none, infinite] = await compute([
      lazy([1, 1]).average(lazy([1, -1])),
      lazy([2, 1]).average(lazy([1, -1])),
    ]);
    expect([none.item(), infinite.item()]).toEqual([NaN, Infinity]);
  });

  it('refuse weights of another shape, and options they do not have', () => {
    expect(() => x.average(lazy([1, 2]))).toThrow(ShapeError);
    expect(() => x.average(lazy([1, 2]), 1)).toThrow(ShapeError);
    expect(() => x.average(2, 0)).toThrow(ShapeError);
    expect(() => x.average(null, 0, { dtype: 'float64' } as never)).toThrow(ArgumentError);
  });
});

describe('covariances', () => {
  it('of one variable are its variance, and of itself its correlation is 1', async () => {
    const line = lazy([1, 2, 4, 9]);
    const [variance, whole, sample, correlation] = await compute([
      line.cov(),
      line.cov(null, { correction: 0 }),
      line.var({ correction: 1 }),
      line.corrcoef(line.mul(-3)),
    ]);
    expect(variance.shape).toEqual([]);
    expect(variance.item()).toBeCloseTo(sample.item() as number, 12);
    expect(whole.item()).toBeCloseTo(((sample.item() as number) * 3) / 4, 12);
    for (const [k, value] of [1, -1, -1, 1].entries()) expect(correlation.data[k]).toBeCloseTo(value, 14);
    expect([...correlation.data].every((value) => Math.abs(value as number) <= 1)).toBe(true);
  });

  it('of too few observations or of none are no numbers, and of no variables empty', async () => {
    const [one, none, empty, constant] = await compute([
      lazy([3]).cov(),
      lazy(new Float32Array(0)).reshape([2, 0]).cov(),
      lazy(new Float32Array(0)).reshape([0, 4]).cov(),
      lazy([2, 2, 2]).corrcoef(),
    ]);
    expect(one.item()).toBeNaN();
    expect([...none.data].every(Number.isNaN)).toBe(true);
    expect(empty.shape).toEqual([0, 0]);
    expect(constant.item()).toBeNaN();
  });

  it('refuse other ranks, other counts of observations, and corrections that are no numbers', () => {
    expect(() => lazy(1).cov()).toThrow(ShapeError);
    expect(() => lazy(new Float32Array(8)).reshape([2, 2, 2]).corrcoef()).toThrow(ShapeError);
    expect(() => x.cov(lazy([1, 2]))).toThrow(ShapeError);
    expect(() => x.cov(null, { correction: NaN })).toThrow(RangeArgumentError);
    expect(() => x.cov(null, { bias: true } as never)).toThrow(ArgumentError);
  });
});

describe('integrals', () => {
  it('of fewer than two elements are 0', async () => {
    const [one, none] = await compute([
      x.slice(null, [0, 1]).trapezoid(),
      trapezoid(new Float32Array(0), new Float32Array(0)),
    ]);
    expect([...one.data]).toEqual([0, 0]);
    expect(none.item()).toBe(0);
  });

  it('refuse places of another shape, places beside dx, and arrays without axes', () => {
    expect(() => x.trapezoid(lazy([1, 2]))).toThrow(ShapeError);
    expect(() => x.trapezoid(lazy([1, 2, 3]), { dx: 2 })).toThrow(ArgumentError);
    expect(() => x.trapezoid(null, { dx: Infinity })).toThrow(RangeArgumentError);
    expect(() => lazy(1).trapezoid()).toThrow(ShapeError);
  });
});
