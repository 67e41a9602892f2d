/**
 * Weighted sums of neighbours: correlation, convolution and what is made of them. Along one axis a filter is one
 * kernel; those of several axes pass the array once for each. Called by `api/ndimage.ts`.
 *
 * Elements are summed in float64 as by SciPy, but float32 in float32, halves in float32 and complex numbers in their
 * own dtype, and the result of each pass is cast back to the array's dtype. Weights of 0 are left out.
 */
import { type Border, bordered, type Offset, taps } from './borders.js';
import { type DType, isComplex, isHalf, isInteger } from './dtype.js';
import type { Expr } from './expr.js';
import { type KnownArray, offsetsOf } from './filter-arguments.js';
import { cast, map } from './infer.js';
import { view } from './view-nodes.js';

/** The dtype in which neighbours are summed, for a result of another dtype. */
export function sumDType(dtype: DType, result: DType = dtype): DType {
  if (isComplex(dtype)) return dtype;
  return (isHalf(dtype) || dtype === 'float32') && result !== 'float64' ? 'float32' : 'float64';
}

/**
 * Sums in the dtype of a result, as SciPy converts float64: towards zero, and modulo 2^n where an integer dtype is too
 * small; for booleans whether 1 is reached.
 */
export function castBack(sum: Expr, dtype: DType): Expr {
  if (isInteger(sum.dtype) || (dtype !== 'bool' && !isInteger(dtype))) return cast(sum, dtype);
  if (dtype !== 'uint64') return cast(cast(sum, 'int64'), dtype);
  const wrapped = cast(cast(sum, 'int64'), dtype);
  return map('where', [map('less', [sum, 0]), wrapped, cast(sum, dtype)]);
}

/** Offsets along one axis. */
export const offsetsAlong = (ndim: number, axis: number, first: number, count: number): Offset[] =>
  Array.from({ length: count }, (_, j) =>
    Array.from({ length: ndim }, (_, k) => (k === axis ? first + j : 0)),
  );

/** Σⱼ weights[j] x[i + first + j] along an axis, in the dtype of the result. */
export function correlatedAlong(
  x: Expr,
  axis: number,
  weights: readonly number[],
  first: number,
  border: Border,
  dtype: DType = x.dtype,
): Expr {
  if (x.shape.includes(0)) return cast(x, dtype);
  const used = [...weights.keys()].filter((j) => weights[j] !== 0);
  if (used.length === 0) return map('multiply', [cast(x, dtype), 0]);
  const all = offsetsAlong(x.shape.length, axis, first, weights.length);
  const work = sumDType(x.dtype, dtype);
  const found = taps(
    x,
    used.map((j) => all[j]!),
    border,
    work,
  );
  const at = (j: number): Expr => found[used.indexOf(j)]!;
  return castBack(weightedSum(weights, at), dtype);
}

/**
 * Σⱼ weights[j] value(j) in SciPy's order: elements of equal or opposite weights around the middle are added first,
 * and a half of the products is saved.
 */
function weightedSum(weights: readonly number[], value: (j: number) => Expr): Expr {
  const middle = Math.floor(weights.length / 2);
  const sign = weights.length % 2 === 1 ? symmetryOf(weights) : 0;
  const product = (x: Expr, j: number): Expr => (weights[j] === 1 ? x : map('multiply', [x, weights[j]!]));
  const terms: Expr[] = weights[middle] === 0 ? [] : [product(value(middle), middle)];
  if (sign !== 0) {
    for (let j = 0; j < middle; j++) {
      if (weights[j] === 0) continue;
      const both = [value(j), value(weights.length - 1 - j)];
      terms.push(product(map(sign > 0 ? 'add' : 'subtract', both), j));
    }
  } else {
    for (let j = 0; j < weights.length; j++)
      if (j !== middle && weights[j] !== 0) terms.push(product(value(j), j));
  }
  return terms.reduce((sum, term) => map('add', [sum, term]));
}

/** 1 for weights that are the same from both ends, -1 for opposite ones, else 0. */
function symmetryOf(weights: readonly number[]): -1 | 0 | 1 {
  const last = weights.length - 1;
  const pairs = (sign: 1 | -1): boolean =>
    weights.every((w, j) => Math.abs(w - sign * weights[last - j]!) <= Number.EPSILON || 2 * j === last);
  if (pairs(1)) return 1;
  return pairs(-1) ? -1 : 0;
}

/** Σ weights[j] x[i + first + j] over all indices j of the weights, in C order. */
export function correlatedAround(
  x: Expr,
  weights: KnownArray,
  first: Offset,
  border: Border,
  dtype: DType = x.dtype,
): Expr {
  if (x.shape.includes(0)) return cast(x, dtype);
  const all = offsetsOf({ shape: weights.shape, first, footprint: weights.values.map((w) => w !== 0) });
  const used = weights.values.filter((weight) => weight !== 0);
  if (used.length === 0) return map('multiply', [cast(x, dtype), 0]);
  const products = taps(x, all, border, sumDType(x.dtype, dtype)).map((value, k) =>
    used[k] === 1 ? value : map('multiply', [value, used[k]!]),
  );
  return castBack(combined('add', products), dtype);
}

/** The mean of windows of `size` elements along an axis. */
export function meanAlong(
  x: Expr,
  axis: number,
  size: number,
  first: number,
  border: Border,
  dtype: DType = x.dtype,
): Expr {
  if (x.shape.includes(0)) return cast(x, dtype);
  const sum = windowed('add', x, axis, size, first, border, sumDType(x.dtype, dtype));
  return castBack(size === 1 ? sum : map('divide', [sum, size]), dtype);
}

/** An op of the elements of a window. */
export type Combine = 'add' | 'minimum' | 'maximum';

/** Most elements of a window that one kernel combines. */
const MOST_WINDOW = 48;

/**
 * The elements of each window along an axis combined. Long windows are made of shorter ones, which are stored: the
 * array is passed a few times, and the work grows with the root of a window's length.
 */
export function windowed(
  op: Combine,
  x: Expr,
  axis: number,
  size: number,
  first: number,
  border: Border,
  dtype: DType,
): Expr {
  const ndim = x.shape.length;
  if (size <= MOST_WINDOW) return combined(op, taps(x, offsetsAlong(ndim, axis, first, size), border, dtype));
  const before = x.shape.map((_, k) => (k === axis ? Math.max(0, -first) : 0));
  const after = x.shape.map((_, k) => (k === axis ? Math.max(0, first + size - 1) : 0));
  const whole = bordered(x, before, after, border, dtype);
  const part = Math.ceil(Math.sqrt(size));
  const parts = windowsOf(op, whole, axis, part);
  const count = Math.floor(size / part);
  const rest = size - count * part;
  const at = first + before[axis]!;
  const keep = (y: Expr, start: number): Expr => along(y, axis, start, x.shape[axis]!);
  const values = Array.from({ length: count }, (_, k) => keep(parts, at + k * part));
  if (op !== 'add' && rest > 0) values.push(keep(parts, at + size - part));
  if (op === 'add') for (let k = 0; k < rest; k++) values.push(keep(whole, at + count * part + k));
  return combined(op, values);
}

/** Windows of `count` elements of an array with its border. */
function windowsOf(op: Combine, x: Expr, axis: number, count: number): Expr {
  const size = x.shape[axis]! - count + 1;
  return combined(
    op,
    Array.from({ length: count }, (_, k) => along(x, axis, k, size)),
  );
}

/** Some elements along an axis. */
function along(x: Expr, axis: number, start: number, size: number): Expr {
  const starts = x.shape.map((_, k) => (k === axis ? start : 0));
  const steps = x.shape.map(() => 1);
  return view(x, { type: 'slice', starts, steps }, x.shape.with(axis, size));
}

export const combined = (op: Combine, values: readonly Expr[]): Expr =>
  values.reduce((all, value) => map(op, [all, value]));
