/**
 * Filters that choose an element of a window: minima and maxima, and elements by rank. Called by `api/ndimage.ts`.
 *
 * A box's minimum is taken along one axis after the other. Few elements go through a network of minima and maxima in
 * one kernel; of many, the windows are rows that are sorted.
 */
import { type Border, bordered, taps } from './borders.js';
import { type DType, isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { offsetsOf, type Window } from './filter-arguments.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { int64Array } from './index-lists.js';
import { cast, map } from './infer.js';
import { indexAlong } from './joins.js';
import { elementsAt } from './selection.js';
import { selected } from './selection-networks.js';
import { combined, windowed } from './stencils.js';
import { broadcast, gather, reshape } from './view-nodes.js';

/** The least or the greatest element of each window. */
export function extremum(
  x: Expr,
  window: Window,
  border: Border,
  op: 'minimum' | 'maximum',
  dtype: DType = x.dtype,
): Expr {
  if (x.shape.includes(0)) return cast(x, dtype);
  const work = comparedIn(x.dtype);
  const { shape, first, footprint } = window;
  if (footprint !== undefined) return cast(combined(op, taps(x, offsetsOf(window), border, work)), dtype);
  const result = shape.reduce(
    (y, size, axis) =>
      size === 1 && first[axis] === 0 ? y : windowed(op, y, axis, size, first[axis]!, border, work),
    x,
  );
  return cast(result, dtype);
}

/** Halves and booleans are compared as values of a dtype that holds them. */
const comparedIn = (dtype: DType): DType => (isHalf(dtype) ? 'float32' : dtype === 'bool' ? 'uint8' : dtype);

/** Most elements of a window that a network selects from. */
const MOST_IN_NETWORK = 64;

/** The element of a rank of each window, from 0 for the least. */
export function ranked(x: Expr, window: Window, rank: number, border: Border, dtype: DType = x.dtype): Expr {
  if (x.shape.includes(0)) return cast(x, dtype);
  const offsets = offsetsOf(window);
  if (rank === 0) return extremum(x, window, border, 'minimum', dtype);
  if (rank === offsets.length - 1) return extremum(x, window, border, 'maximum', dtype);
  const work = comparedIn(x.dtype);
  if (offsets.length <= MOST_IN_NETWORK) return cast(selected(taps(x, offsets, border, work), rank), dtype);
  const rows = windowsAsRows(x, window, border, work);
  return cast(reshape(elementsAt(rows, [rank]), x.shape), dtype);
}

/** The elements of each window along a new last axis. */
function windowsAsRows(x: Expr, window: Window, border: Border, dtype: DType): Expr {
  const { shape, first } = window;
  const before = first.map((by) => Math.max(0, -by));
  const after = first.map((by, k) => Math.max(0, by + shape[k]! - 1));
  const whole = bordered(x, before, after, border, dtype);
  const strides = denseStrides(whole.shape);
  const ndim = x.shape.length;
  const start = x.shape
    .map((size, k) => map('multiply', [indexAlong(k, size, ndim), strides[k]!]))
    .reduce((sum, term) => map('add', [sum, term]));
  const moved = offsetsOf(window).map((offset) =>
    BigInt(offset.reduce((sum, by, k) => sum + (by + before[k]!) * strides[k]!, 0)),
  );
  const rows = [...x.shape, moved.length];
  const place = map('add', [
    reshape(broadcast(start, x.shape), [...x.shape, 1]),
    int64Array(moved, [moved.length]),
  ]);
  return gather(reshape(whole, [sizeOfShape(whole.shape)]), broadcast(place, rows), 0, 'clip', rows);
}
