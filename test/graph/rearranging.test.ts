/** Repeated, turned, split and chosen elements beside NumPy's values (`conformance/functions.test.ts`). */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  DTypeError,
  fromfunction,
  geomspace,
  lazy,
  placeholder,
  RangeArgumentError,
  ShapeError,
  select,
  split,
  trilIndices,
} from '../../src/index.js';

const x = arange(12).reshape([3, 4]);

describe('repeat', () => {
  it('takes counts of a list or a typed array, and is part of the kernel around it', async () => {
    expect(x.repeat([1, 0, 2], 0).shape).toEqual([3, 4]);
    expect([
      ...(
        await x
          .repeat(Uint8Array.of(1, 0, 2, 1), 1)
          .slice(0)
          .compute()
      ).data,
    ]).toEqual([0, 2, 2, 3]);
    expect(lazy([]).repeat([]).shape).toEqual([0]);
    // Where copies end is known.
    expect(String(x.repeat([1, 0, 2], 0).plan({ device: 'cpu' }))).not.toMatch(/scan/);
  });

  it('refuses counts that do not fit, are negative, fractional or still to be computed', () => {
    expect(() => x.repeat([1, 2], 0)).toThrow(ShapeError);
    expect(() => x.repeat([1, -2, 1], 0)).toThrow(ShapeError);
    expect(() => x.repeat(-1, 0)).toThrow(ShapeError);
    expect(() => x.repeat([1, 1.5, 1], 0)).toThrow(ArgumentError);
    expect(() => x.repeat(new Float32Array(3), 0)).toThrow(DTypeError);
    expect(() => x.repeat(arange(3, 'int64').add(1), 0)).toThrow(ArgumentError);
    expect(() => x.repeat(placeholder([3], 'int64'), 0)).toThrow(ArgumentError);
    expect(() => x.repeat(placeholder([], 'int64'), 0)).toThrow(ArgumentError);
    expect(x.slice([0, 0]).repeat(placeholder([0], 'int64'), 0).shape).toEqual([0, 4]);
  });
});

describe('everyday functions', () => {
  it('refuse what does not fit, by name', () => {
    expect(() => split(x, 2)).toThrow(ShapeError);
    expect(() => split(x, 0)).toThrow(ShapeError);
    expect(() => select([x.greater(1)], [])).toThrow(ArgumentError);
    expect(() => select([x], [1])).toThrow(DTypeError);
    expect(() => fromfunction(2 as never, [3])).toThrow(ArgumentError);
    expect(() => geomspace(-1, 1)).toThrow(RangeArgumentError);
    expect(() => trilIndices(-1)).toThrow(ShapeError);
    expect(() => x.rot90(1, [0])).toThrow(ShapeError);
    expect(() => x.bitCount()).toThrow(DTypeError);
    expect(() => x.astype('complex64').sinc()).toThrow(DTypeError);
    expect(() => x.nanToNum({ nan: '0' as never })).toThrow(ArgumentError);
    expect(() => x.interp(lazy([1]), lazy([1]), { period: 0 })).toThrow(RangeArgumentError);
    expect(() => x.cov(null, { fweights: new Float32Array(4) })).toThrow(DTypeError);
    expect(() => x.cov(null, { aweights: new Float32Array(3) })).toThrow(ShapeError);
  });

  it('give the dtype in which choices meet, and an array of functions of indices', async () => {
    const chosen = select([x.less(2), x.less(4)], [x.astype('float32'), 7]);
    expect(chosen.dtype).toBe('float32');
    expect([...(await chosen.ravel().compute()).data].slice(0, 5)).toEqual([0, 1, 7, 7, 0]);
    const table = await fromfunction((i, j) => i.mul(10).add(j), [2, 3], 'int64').compute();
    expect([...table.data]).toEqual([0n, 1n, 2n, 10n, 11n, 12n]);
  });

  it('finds the indices of a triangle of a large matrix without a table', async () => {
    const [rows, columns] = trilIndices(3000);
    expect(rows.shape).toEqual([(3000 * 3001) / 2]);
    const [row, column] = [rows.slice(-1), columns.slice(-1)].map((last) => last.compute());
    expect([(await row!).item(), (await column!).item()]).toEqual([2999, 2999]);
  });
});
