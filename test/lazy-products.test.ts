import { describe, expect, it } from 'vitest';
import * as weft from '../src/index.js';
import { ArgumentError, lazy, ones, ShapeError } from '../src/index.js';
import { valuesOf } from './support/values-of.js';

describe('products', () => {
  it.each([
    [[3], [3], []],
    [[2, 3], [3], [2]],
    [[3], [3, 4], [4]],
    [
      [2, 3],
      [3, 4],
      [2, 4],
    ],
    [
      [5, 2, 3],
      [3, 4],
      [5, 2, 4],
    ],
    [
      [5, 1, 2, 3],
      [7, 3, 4],
      [5, 7, 2, 4],
    ],
    [[3], [5, 3, 4], [5, 4]],
    [
      [0, 3],
      [3, 2],
      [0, 2],
    ],
    [
      [2, 0],
      [0, 2],
      [2, 2],
    ],
    [
      [1, 2, 1],
      [4, 1, 2],
      [4, 2, 2],
    ],
  ])('matmul of %j and %j is %j', (a, b, shape) => {
    const product = ones(a, 'float32').matmul(ones(b, 'int8'));
    expect([product.shape, product.dtype]).toEqual([shape, 'float32']);
    expect(new Set(valuesOf(product))).toEqual(new Set(product.size === 0 ? [] : [a.at(-1)]));
  });

  it('have the shapes of NumPy', () => {
    const [a, b] = [ones([2, 3, 4]), ones([4, 3, 2])];
    expect(a.tensordot(b, 1).shape).toEqual([2, 3, 3, 2]);
    expect(
      a.tensordot(b, [
        [1, 0],
        [1, 2],
      ]).shape,
    ).toEqual([4, 4]);
    expect(a.dot(ones([5, 4, 6])).shape).toEqual([2, 3, 5, 6]);
    expect(a.vecdot(ones([3, 4])).shape).toEqual([2, 3]);
    expect(weft.outer([1, 2], [[1, 2, 3]]).shape).toEqual([2, 3]);
    expect(weft.einsum('ij,jk', ones([2, 3]), ones([3, 4])).shape).toEqual([2, 4]);
    expect(weft.einsum('ji', ones([2, 3])).shape).toEqual([3, 2]);
    expect(weft.einsum('ijk->ki', ones([2, 3, 4], 'int8')).dtype).toBe('int8');
    expect(valuesOf(lazy([{ re: 0, im: 1 }]).vecdot(lazy([{ re: 0, im: 1 }])))).toEqual([{ re: 1, im: 0 }]);
  });

  it.each<[string, () => unknown, unknown]>([
    ['inner sizes that differ', () => ones([3, 4]).matmul(ones([5, 2])), ShapeError],
    ['scalars', () => ones([]).matmul(ones([2])), ShapeError],
    ['stacks that do not broadcast', () => ones([2, 3, 3]).matmul(ones([4, 3, 3])), ShapeError],
    ['lengths that differ', () => ones([3]).vecdot(ones([4])), ShapeError],
    ['axes that differ', () => ones([3]).tensordot(ones([4]), 1), ShapeError],
    ['more axes than there are', () => ones([3]).tensordot(ones([3]), 2), ShapeError],
    ['a diagonal of sizes that differ', () => weft.einsum('ii', ones([2, 3])), ShapeError],
    ['two ellipses', () => weft.einsum('...i...', ones([2])), ArgumentError],
    ['half an ellipsis', () => weft.einsum('..i', ones([2])), ArgumentError],
    ['two arrows', () => weft.einsum('i->i->i', ones([2])), ArgumentError],
    ['a result without its ellipsis', () => weft.einsum('...i->i', ones([2, 3])), ArgumentError],
    ['fewer axes than letters', () => weft.einsum('...ijk', ones([2, 3])), ShapeError],
    [
      'ellipses that do not broadcast',
      () => weft.einsum('...i,...i', ones([2, 3]), ones([4, 3])),
      ShapeError,
    ],
    ['a letter from nowhere', () => weft.einsum('i->j', ones([2])), ArgumentError],
    ['too few letters', () => weft.einsum('i', ones([2, 2])), ShapeError],
    ['too few arrays', () => weft.einsum('i,i', ones([2])), ArgumentError],
  ])('refuse %s', (_, act, error) => {
    expect(act).toThrow(error as new () => Error);
  });

  it('name what does not fit', () => {
    expect(() => ones([3, 4]).matmul(ones([5, 2]))).toThrow(
      '[matmul] expected the last axis of a (3, 4) to match the second last axis of b (5, 2): 4 against 5',
    );
  });
});
