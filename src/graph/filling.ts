/**
 * Reading by indices of which those out of range read a value: the elements at those in range, and a choice between them
 * and the value. Called by what reads by index (`taking.ts`, `selecting.ts`).
 *
 *     table.take(i, 0, { mode: 'fill' })   →   where(−n ≤ i < n, table.take(i in range), NaN)
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { oneOf } from './arguments.js';
import { type DType, isComplex, isFloat, type Scalar } from './dtype.js';
import type { Expr, IndexMode } from './expr.js';
import { formatShape } from './format.js';
import { type IndexList, indicesOf } from './index-lists.js';
import { cast, constant, inDType, map, type Operand } from './infer.js';
import type { Length } from './lengths.js';
import { sameShape } from './shape.js';
import { broadcast } from './view-nodes.js';

/** The treatment of indices out of range by what reads by index. */
export interface ReadOptions {
  /**
   * Indices out of range: an error (`'raise'`, the default; from -n on, negative ones count from the end),
   * taken modulo the axis (`'wrap'`), the nearest end (`'clip'`, where negative ones are 0), or `fillValue` in the place
   * of an element (`'fill'`, where negative ones count from the end).
   */
  readonly mode?: IndexMode | 'fill' | undefined;
  /** A scalar that the array's dtype holds; NaN of floats and complex numbers, 0 or false of others by default. */
  readonly fillValue?: Scalar | Expr | undefined;
}

/** The mode of a gather, or the value of indices out of range. */
export type Reading = IndexMode | { readonly value: Expr };

export const READ_OPTIONS = ['mode', 'fillValue'] as const;
const MODES = ['raise', 'wrap', 'clip', 'fill'] as const;

/** Throws an ArgumentError for other modes and for a value without its mode, a DTypeError for one that the dtype does not hold. */
export function readingOf(op: string, { mode, fillValue }: ReadOptions = {}, dtype: DType): Reading {
  const chosen = oneOf(op, 'a mode', MODES, mode ?? 'raise');
  if (chosen === 'fill') return { value: scalarOf(op, fillValue, dtype) };
  if (fillValue !== undefined)
    throw new ArgumentError(expected(op, "fillValue with { mode: 'fill' }", `mode '${chosen}'`));
  return chosen;
}

function scalarOf(op: string, given: Operand | undefined, dtype: DType): Expr {
  if (given === undefined) return constant(isFloat(dtype) || isComplex(dtype) ? Number.NaN : 0, dtype);
  const value = inDType(op, given, dtype);
  if (value.shape.length > 0)
    throw new ShapeError(expected(op, 'fillValue to be a scalar', formatShape(value.shape)));
  return value;
}

/** Indices of an axis in range, from its beginning, 0 for others; and which of them are. */
export function inRangeOf(
  op: string,
  indices: Expr | number | IndexList,
  length: Length,
): { readonly places: Expr; readonly isInside: Expr } {
  const given = indicesOf(op, indices);
  const isSigned = !given.dtype.startsWith('uint');
  const index = given.dtype === 'uint64' ? given : cast(given, 'int64');
  const size = given.dtype === 'uint64' && typeof length !== 'number' ? cast(length, 'uint64') : length;
  const least = typeof size === 'number' ? -size : map('negative', [size]);
  const below = map('less', [index, size]);
  const isInside = isSigned ? map('logicalAnd', [below, map('greaterEqual', [index, least])]) : below;
  const fromStart = isSigned
    ? map('where', [map('less', [index, 0]), map('add', [index, size]), index])
    : index;
  return { places: cast(map('where', [isInside, fromStart, 0]), 'int64'), isInside };
}

/** An array in which axes without elements have one, as index 0 reads it: no index of such an axis is in range. */
export function withElements(x: Expr, axes: readonly number[], value: Expr): Expr {
  const shape = x.shape.map((size, axis) => (size === 0 && axes.includes(axis) ? 1 : size));
  return sameShape(shape, x.shape) ? x : { ...broadcast(value, shape), extent: x.extent };
}
