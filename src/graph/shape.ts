/**
 * Shapes and axes: checks of what the user wrote, and broadcasting. Every size is a safe integer, so offsets
 * up to 2^53 are exact. Strides and element counts of a shape are in `graph.ts`.
 *
 * Called by the node constructors (`infer.ts`) and by everything that takes a shape or an axis.
 */
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import type { Shape } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { sizeOfShape } from './graph.js';

/** One axis or several; negative ones count from the last. */
export type Axes = number | readonly number[];

/** A shape as an argument: a length, or a list of lengths. */
export type ShapeArgument = number | readonly number[];

/** An integer argument such as an index or a count. */
export function checkInteger(op: string, name: string, value: unknown): number {
  if (typeof value !== 'number')
    throw new ArgumentError(expected(op, `${name} to be an integer`, formatValue(value)));
  if (!Number.isSafeInteger(value)) {
    const kind = Number.isInteger(value) ? 'an integer below 2^53' : 'an integer';
    throw new ShapeError(expected(op, `${name} to be ${kind}`, formatValue(value)));
  }
  return value;
}

/**
 * An integer that only matters as far as it lies within [low, high]: one beyond, infinities among them, is
 * moved to the end, as NumPy clips slices and diagonals.
 */
export function clippedInteger(op: string, name: string, value: unknown, low: number, high: number): number {
  if (
    typeof value !== 'number' ||
    Number.isNaN(value) ||
    (Number.isFinite(value) && !Number.isInteger(value))
  )
    return checkInteger(op, name, value);
  return Math.min(Math.max(value, low), high);
}

/** A shape whose sizes are safe integers of 0 and more, with a safe product. */
export function checkShape(op: string, shape: unknown): number[] {
  const sizes: readonly unknown[] | undefined =
    typeof shape === 'number' ? [shape] : Array.isArray(shape) ? shape : undefined;
  if (sizes === undefined) {
    throw new ArgumentError(expected(op, 'a shape as a number or a list of numbers', formatValue(shape)));
  }
  const checked = sizes.map((size) => {
    if (typeof size !== 'number')
      throw new ArgumentError(expected(op, 'a shape of numbers', formatValue(shape)));
    if (!Number.isInteger(size) || size < 0) {
      throw new ShapeError(expected(op, 'a shape of integers that are not negative', formatValue(shape)));
    }
    return size === 0 ? 0 : size; // no -0
  });
  checkSize(op, checked);
  return checked;
}

/** Refuses shapes with more elements than integers can count exactly. */
export function checkSize(op: string, shape: Shape): void {
  if (!Number.isSafeInteger(sizeOfShape(shape))) {
    throw new ShapeError(expected(op, 'at most 2^53 - 1 elements', formatShape(shape)));
  }
}

/** An axis of an array of `ndim` axes as 0 … ndim - 1. */
export function normalizeAxis(op: string, axis: unknown, ndim: number): number {
  const index = checkInteger(op, 'an axis', axis);
  if (index < -ndim || index >= ndim) {
    const range = ndim === 0 ? 'no axis (the array has none)' : `an axis from ${-ndim} to ${ndim - 1}`;
    throw new ShapeError(expected(op, range, formatValue(axis)));
  }
  return index < 0 ? index + ndim : index;
}

/** Distinct axes in the order given; all axes for none given. */
export function normalizeAxes(op: string, axes: Axes | null | undefined, ndim: number): number[] {
  if (axes === undefined || axes === null) return Array.from({ length: ndim }, (_, k) => k);
  const list = Array.isArray(axes) ? (axes as readonly number[]) : [axes];
  const normal = list.map((axis) => normalizeAxis(op, axis, ndim));
  if (new Set(normal).size < normal.length) {
    throw new ShapeError(expected(op, 'each axis once', formatValue(axes)));
  }
  return normal;
}

/** Distinct axes, ascending: what a reduce node takes. */
export const ascendingAxes = (op: string, axes: Axes | null | undefined, ndim: number): number[] =>
  normalizeAxes(op, axes, ndim).sort((a, b) => a - b);

/**
 * The shape that all of `shapes` broadcast to, by NumPy's rule: axes align from the last, size 1 stretches.
 */
export function broadcastShapes(op: string, shapes: readonly Shape[]): Shape {
  let result = shapes[0] ?? [];
  for (let k = 1; k < shapes.length; k++) result = broadcastPair(op, shapes, result, shapes[k]!);
  if (shapes.length > 1 && !shapes.includes(result)) checkSize(op, result);
  return result;
}

function broadcastPair(op: string, all: readonly Shape[], a: Shape, b: Shape): Shape {
  if (a === b || b.length === 0) return a;
  if (a.length === 0) return b;
  const ndim = Math.max(a.length, b.length);
  const shape = new Array<number>(ndim);
  let isA = a.length === ndim;
  let isB = b.length === ndim;
  for (let k = 1; k <= ndim; k++) {
    const m = a.length >= k ? a[a.length - k]! : 1;
    const n = b.length >= k ? b[b.length - k]! : 1;
    if (m !== n && m !== 1 && n !== 1) {
      const received = all.map(formatShape).join(' and ');
      throw new ShapeError(expected(op, 'shapes that broadcast', received, `axis ${-k}: ${m} against ${n}`));
    }
    const size = m === 1 ? n : m;
    shape[ndim - k] = size;
    isA &&= size === m;
    isB &&= size === n;
  }
  return isA ? a : isB ? b : shape; // sharing keeps the shapes of a deep graph one object
}

/** Throws a RangeArgumentError for an index outside of -size … size - 1. `sized`: the size in words. */
export function checkIndex(
  op: string,
  index: bigint,
  axis: number,
  size: number,
  least = -size,
  sized?: string,
): void {
  if (index < least || index >= size)
    throw new RangeArgumentError(outOfRange(op, index, axis, size, least, sized));
}

/** The words for indices of an axis that turns out to be empty. */
export const noElements = (op: string, axis: number): string =>
  expected(op, 'an axis with elements to take', `axis ${axis} of 0 elements`);

/** The words for such an index. */
export const outOfRange = (
  op: string,
  index: bigint,
  axis: number,
  size: number,
  least: number,
  sized = `${size}`,
): string =>
  expected(op, `indices from ${least} to ${size - 1} for axis ${axis} of ${sized} elements`, `${index}`);

/** Whether two shapes are equal. */
export function sameShape(a: Shape, b: Shape): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
  return true;
}
