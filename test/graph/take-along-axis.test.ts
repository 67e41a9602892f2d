/** Reading one element for each index along an axis: shapes, errors, and what goes with sorting. */
import { describe, expect, it } from 'vitest';
import { compute, DTypeError, lazy, RangeArgumentError, ShapeError } from '../../src/index.js';

const x = lazy(Float32Array.from([5, 1, 4, 2, 9, 7, 3, 8, 6, 0, 11, 10]), { shape: [3, 4] });

describe('takeAlongAxis', () => {
  it('sorts with argsort, along any axis', async () => {
    for (const axis of [0, 1]) {
      const [taken, sorted] = await compute([x.takeAlongAxis(x.argsort(axis), axis), x.sort(axis)]);
      expect(taken.data).toEqual(sorted.data);
    }
  });

  it('takes lists, negative indices, and views', async () => {
    const [list, largest, turned, one] = await compute([
      x.takeAlongAxis([
        [0, -1],
        [1, 1],
        [3, 0],
      ]),
      x.takeAlongAxis(x.argmax(1, { keepdims: true }), 1),
      x.transpose().takeAlongAxis([[2], [0], [1], [-1]], 1),
      x.slice([0, 1]).takeAlongAxis(lazy(new Int8Array([3, 0, 1]), { shape: [3, 1] }), 1),
    ]);
    expect(list.toArray()).toEqual([
      [5, 2],
      [7, 7],
      [10, 6],
    ]);
    expect(largest.toArray()).toEqual([[5], [9], [11]]);
    expect(turned.toArray()).toEqual([[6], [1], [3], [10]]);
    expect(one.toArray()).toEqual([[2], [5], [1]]);
  });

  it('has modes for indices out of range, and an error with the axis', async () => {
    const far = lazy(new Int32Array([4, -5, 9]), { shape: [3, 1] });
    const [wrapped, clipped] = await compute([
      x.takeAlongAxis(far, 1, { mode: 'wrap' }),
      x.takeAlongAxis(far, 1, { mode: 'clip' }),
    ]);
    expect(wrapped.toArray()).toEqual([[5], [8], [0]]);
    expect(clipped.toArray()).toEqual([[2], [9], [10]]);
    await expect(x.takeAlongAxis(far, 1).compute()).rejects.toThrow(RangeArgumentError);
    await expect(x.takeAlongAxis(far, 1).compute()).rejects.toThrow('axis 1 of 4 elements: -5');
    expect(() => x.takeAlongAxis([[0], [0], [4]])).toThrow(RangeArgumentError);
    await expect(x.putAlongAxis(far, 0, 1).compute()).rejects.toThrow('[putAlongAxis] expected indices from');
    expect(() => x.putAlongAxis([0], 0)).toThrow('[putAlongAxis] expected indices of as many axes');
  });

  it('has uint64 indices beyond int64 behind the end', async () => {
    const far = lazy(new BigUint64Array([2n ** 64n - 1n, 2n ** 63n, 1n]), { shape: [3, 1] });
    const wide = lazy(
      Float32Array.from({ length: 9 }, (_, k) => k),
      { shape: [3, 3] },
    );
    const [wrapped, clipped, line] = await compute([
      wide.takeAlongAxis(far, 1, { mode: 'wrap' }),
      wide.takeAlongAxis(far, 1, { mode: 'clip' }),
      wide.take(far.flatten(), 1, { mode: 'clip' }),
    ]);
    // 2⁶⁴ - 1 is a multiple of 3, 2⁶³ is two more than one.
    expect(wrapped.toArray()).toEqual([[0], [5], [7]]);
    expect(clipped.toArray()).toEqual([[2], [5], [7]]);
    expect(line.toArray()).toEqual([
      [2, 2, 1],
      [5, 5, 4],
      [8, 8, 7],
    ]);
    const named = /: 18446744073709551615\n/;
    await expect(wide.takeAlongAxis(far, 1).compute()).rejects.toThrow(RangeArgumentError);
    await expect(wide.takeAlongAxis(far, 1).compute()).rejects.toThrow(named);
    await expect(wide.take(far, 0).compute()).rejects.toThrow(named);
    await expect(wide.slice(far.flatten()).compute()).rejects.toThrow(RangeArgumentError);
    await expect(wide.slice(0, far.flatten()).compute()).rejects.toThrow(named);
    await expect(wide.putAlongAxis(far, 0, 1).compute()).rejects.toThrow(named);
  });

  it('gives empty arrays, and refuses shapes that do not meet', () => {
    expect(x.takeAlongAxis(lazy(new Int32Array(0), { shape: [3, 0] })).shape).toEqual([3, 0]);
    expect(() => x.takeAlongAxis([0, 1])).toThrow(ShapeError);
    expect(() => x.takeAlongAxis(lazy(new Int32Array(8), { shape: [2, 4] }), 1)).toThrow(ShapeError);
    expect(() => x.takeAlongAxis(x, 1)).toThrow(DTypeError);
    expect(() => lazy(3).takeAlongAxis([0])).toThrow(ShapeError);
    expect(() => lazy(new Float32Array(0), { shape: [3, 0] }).takeAlongAxis([[0], [0], [0]])).toThrow(
      ShapeError,
    );
  });
});
