/**
 * Indices as users give them: integer arrays, or lists of integers. Called by the functions that read and write
 * by index.
 */
import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { isInteger } from './dtype.js';
import type { Expr } from './expr.js';
import { formatValue } from './format.js';
import { denseStrides } from './graph.js';
import { hostArray, isExpr } from './infer.js';

/** Indices as lists of integers, nested or not. */
export type IndexList = readonly (number | IndexList)[];

/** An array of indices as it is. Throws a DTypeError for one that holds no integers. */
export function integers(op: string, indices: Expr): Expr {
  if (isInteger(indices.dtype)) return indices;
  const hint = indices.dtype === 'bool' ? undefined : "round and cast them: .astype('int64')";
  throw new DTypeError(expected(op, 'indices of an integer dtype', indices.dtype, hint));
}

/**
 * Integers of nested lists in order, and the lists' lengths. JavaScript's numbers are not integers by
 * themselves.
 */
export function listed(
  op: string,
  indices: unknown,
): { readonly flat: readonly bigint[]; readonly shape: readonly number[] } {
  const flat: bigint[] = [];
  const shapeOf = (value: unknown): number[] => {
    if (Array.isArray(value)) {
      const shapes = value.map(shapeOf);
      if (shapes.some((shape) => shape.join() !== shapes[0]!.join()))
        throw new ShapeError(expected(op, 'lists of equal lengths', formatValue(indices)));
      return [value.length, ...(shapes[0] ?? [])];
    }
    if (typeof value !== 'bigint' && !Number.isSafeInteger(value))
      throw new ArgumentError(expected(op, 'integers as indices', formatValue(value)));
    const index = BigInt(value as number | bigint);
    if (BigInt.asIntN(64, index) !== index)
      throw new RangeArgumentError(expected(op, 'indices that int64 holds', `${index}`));
    flat.push(index);
    return [];
  };
  return { shape: shapeOf(indices), flat };
}

/** Indices as an array of integers. */
export function indicesOf(op: string, indices: Expr | number | IndexList): Expr {
  if (isExpr(indices)) return integers(op, indices);
  const { flat, shape } = listed(op, indices);
  return int64Array(flat, shape);
}

/** The int64 array of integers in C order. */
export function int64Array(values: readonly bigint[], shape: readonly number[]): Expr {
  const data = BigInt64Array.from(values);
  return hostArray({ type: 'host', data, offset: 0, strides: denseStrides(shape) }, 'int64', shape);
}
