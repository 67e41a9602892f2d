/** Diagonals and comparisons beside NumPy's values (`conformance/functions.test.ts`): shapes and errors. */
import { describe, expect, it } from 'vitest';
import { ArgumentError, compute, lazy, ShapeError } from '../../src/index.js';

describe('diagonals', () => {
  const x = lazy(Float32Array.from({ length: 12 }, (_, k) => k)).reshape([3, 4]);

  it('are read of views and give what they were made of', async () => {
    const line = lazy([1, 2, 3]);
    const [turned, back, some] = await compute([
      x.transpose().diagonal(1),
      line.diag(-1).diag(-1),
      x.flip(0).trace(),
    ]);
    expect([...turned.data]).toEqual([4, 9]);
    expect([...back.data]).toEqual([1, 2, 3]);
    expect(some.item()).toBe(8 + 5 + 2);
  });

  it('of no elements are empty, and their sum is 0', async () => {
    const none = lazy(new Float32Array(0)).reshape([0, 4]);
    expect(none.diagonal().shape).toEqual([0]);
    expect((await none.trace().compute()).item()).toBe(0);
    expect(x.diagonal(9).shape).toEqual([0]);
  });

  it('refuse arrays of other ranks, and what is no integer', () => {
    expect(() => lazy([1]).diagonal()).toThrow(ShapeError);
    expect(() => lazy(1).trace()).toThrow(ShapeError);
    expect(() => lazy(new Float32Array(8)).reshape([2, 2, 2]).diag()).toThrow(ShapeError);
    expect(() => x.diagonal(0.5)).toThrow(ShapeError);
    expect(() => x.trace({ axis: 0 } as never)).toThrow(ArgumentError);
  });
});

describe('arrays', () => {
  it('of other shapes are not equal, scalars only to 0-d', async () => {
    const x = lazy([1, 1]);
    const [shapes, scalar, same] = await compute([
      x.arrayEqual(lazy([1, 1, 1])),
      x.arrayEqual(1),
      lazy(1).arrayEqual(1),
    ]);
    expect([shapes.item(), scalar.item(), same.item()]).toEqual([false, false, true]);
  });
});
