/** Facts of dtypes and shapes without an array. */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  broadcastShapes,
  canCast,
  DTYPES,
  DTypeError,
  finfo,
  iinfo,
  isdtype,
  ShapeError,
  zeros,
} from '../src/index.js';

describe('facts about dtypes', () => {
  it('tell which dtypes hold the values of others', () => {
    const held = ['int16', 'int32', 'int64', 'float32', 'float64', 'complex64', 'complex128'];
    expect(DTYPES.filter((to) => canCast('int16', to))).toEqual(held);
    expect(DTYPES.filter((to) => canCast('uint64', to))).toEqual(['uint64', 'float64', 'complex128']);
    expect(DTYPES.filter((to) => canCast('float64', to))).toEqual(['float64', 'complex128']);
    expect(DTYPES.every((to) => canCast('bool', to))).toBe(true);
    expect(canCast(zeros([2], 'int8'), 'float16')).toBe(true);
    expect(canCast('float16', 'bfloat16')).toBe(false);
    expect(() => canCast('int' as never, 'int8')).toThrow(DTypeError);
  });

  it('give the limits of floats and integers', () => {
    expect(finfo('float64')).toEqual({
      dtype: 'float64',
      bits: 64,
      eps: Number.EPSILON,
      max: Number.MAX_VALUE,
      min: -Number.MAX_VALUE,
      smallestNormal: 2 ** -1022,
      smallestSubnormal: Number.MIN_VALUE,
    });
    expect(finfo(zeros([1], 'complex64'))).toMatchObject({ dtype: 'float32', bits: 32, eps: 2 ** -23 });
    expect(finfo('float32').max).toBe(3.4028234663852886e38);
    expect(finfo('float16')).toMatchObject({ bits: 16, max: 65504, smallestNormal: 2 ** -14 });
    expect(finfo('bfloat16')).toMatchObject({ bits: 16, eps: 2 ** -7, max: 3.3895313892515355e38 });
    expect(iinfo('uint8')).toEqual({ dtype: 'uint8', bits: 8, max: 255, min: 0 });
    expect(iinfo('int64')).toMatchObject({ bits: 64, max: 2n ** 63n - 1n, min: -(2n ** 63n) });
    expect(() => finfo('int8')).toThrow('[finfo] expected a float or complex dtype: int8');
    expect(() => iinfo('bool')).toThrow('[iinfo] expected an integer dtype: bool');
  });

  it('tell the kinds of dtypes', () => {
    expect(DTYPES.filter((dtype) => isdtype(dtype, ['signed integer', 'bool']))).toEqual([
      'bool',
      'int8',
      'int16',
      'int32',
      'int64',
    ]);
    expect(isdtype('uint8', 'integral') && isdtype('uint8', 'unsigned integer')).toBe(true);
    expect(isdtype('float16', 'real floating') && isdtype('complex64', 'complex floating')).toBe(true);
    expect(isdtype('bool', 'numeric')).toBe(false);
    expect(isdtype('float32', ['integral', 'float32'])).toBe(true);
    expect(() => isdtype('int8', ['int8', 'integer' as never])).toThrow(ArgumentError);
  });

  it('give the shape that shapes broadcast to', () => {
    expect(broadcastShapes([3, 1], 4, [2, 1, 1])).toEqual([2, 3, 4]);
    expect(broadcastShapes()).toEqual([]);
    expect(broadcastShapes([0, 1], [3])).toEqual([0, 3]);
    expect(() => broadcastShapes([3], [4])).toThrow(ShapeError);
    expect(() => broadcastShapes([-1])).toThrow('[broadcastShapes] expected a shape of integers');
  });
});
