/** Arguments that filters share: windows, footprints, origins and axes, with SciPy's meaning. */
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { finiteNumber } from './arguments.js';
import type { Offset } from './borders.js';
import type { Expr } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { checkInteger, normalizeAxes } from './shape.js';

/** Numbers in C order. */
export interface KnownArray {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** One value for all axes that are filtered, or one for each of them. */
export type PerAxis = number | readonly number[];

/** A value for each axis of x: `neutral` for those that are not among `axes`. */
export function perAxis(
  op: string,
  name: string,
  value: PerAxis,
  x: Expr,
  axes: readonly number[] | number | undefined,
  neutral: number,
): number[] {
  const chosen = normalizeAxes(op, axes, x.shape.length);
  const list = Array.isArray(value) ? (value as readonly number[]) : chosen.map(() => value as number);
  if (list.length !== chosen.length) {
    const wanted = `${name} for ${chosen.length} axes of ${formatShape(x.shape)}`;
    throw new ShapeError(expected(op, wanted, `${list.length}`));
  }
  const all = x.shape.map(() => neutral);
  for (const [k, axis] of chosen.entries()) all[axis] = finiteNumber(op, name, list[k]);
  return all;
}

/** Whole numbers of at least `least` for each axis. */
export function integersPerAxis(
  op: string,
  name: string,
  value: PerAxis,
  x: Expr,
  axes: readonly number[] | number | undefined,
  neutral: number,
  least = Number.MIN_SAFE_INTEGER,
): number[] {
  const all = perAxis(op, name, value, x, axes, neutral);
  for (const n of all)
    if (checkInteger(op, name, n) < least)
      throw new RangeArgumentError(expected(op, `${name} of at least ${least}`, `${n}`));
  return all;
}

/** The first offset of a window: the element itself is in its middle, of an even number the first behind it. */
export function firstOffset(op: string, size: number, origin: number): number {
  const first = -Math.floor(size / 2) - origin;
  if (first > 0 || first + size - 1 < 0) {
    const range = `an origin from ${-Math.floor(size / 2)} to ${Math.ceil(size / 2) - 1}`;
    throw new RangeArgumentError(expected(op, `${range} for a window of ${size}`, `${origin}`));
  }
  return first;
}

/** Elements that a filter looks at around each element. */
export interface Window {
  /** Sizes of the box around them, and its first corner. */
  readonly shape: readonly number[];
  readonly first: Offset;
  /** Which elements of the box, in C order; undefined: all. */
  readonly footprint: readonly boolean[] | undefined;
}

/** Options of windows. */
export interface WindowOptions {
  /** Elements along each axis: one number for all axes, or one for each. */
  readonly size?: PerAxis | undefined;
  /** Elements where it is not 0, around the middle: a list of as many axes as the array, instead of `size`. */
  readonly footprint?: NestedNumbers | undefined;
  /** So many elements the window lies further to the left along each axis; 0 by default. */
  readonly origin?: PerAxis | undefined;
  /** The axes that are filtered, all by default; `size` and `origin` have a value for each. */
  readonly axes?: number | readonly number[] | undefined;
}

export const WINDOW_OPTIONS = ['size', 'footprint', 'origin', 'axes'] as const;

/** Lists of numbers or booleans in lists, typed arrays or arrays of the host. */
export type NestedNumbers =
  | readonly (number | boolean | NestedNumbers)[]
  | Uint8Array
  | Int8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array;

/** The window that options ask for: of `size`, or of a footprint. */
export function windowOf(
  op: string,
  x: Expr,
  options: WindowOptions | undefined,
  fallback: number | undefined,
): Window {
  const origin = integersPerAxis(op, 'origin', options?.origin ?? 0, x, options?.axes, 0);
  const footprint =
    options?.footprint === undefined ? undefined : knownArray(op, 'footprint', options.footprint);
  if (footprint !== undefined) {
    if (options?.size !== undefined) throw new ArgumentError(expected(op, 'a size or a footprint', 'both'));
    const shape = overAxes(op, 'a footprint', footprint.shape, x, options?.axes);
    const kept = footprint.values.map((value) => value !== 0);
    if (!kept.includes(true)) throw new ArgumentError(expected(op, 'a footprint with elements', 'none'));
    const first = shape.map((n, k) => firstOffset(op, n, origin[k]!));
    return { shape, first, footprint: kept.includes(false) ? kept : undefined };
  }
  const size = options?.size ?? fallback;
  if (size === undefined) throw new ArgumentError(expected(op, 'a size or a footprint', 'neither'));
  const shape = integersPerAxis(op, 'size', size, x, options?.axes, 1, 1);
  return { shape, first: shape.map((n, k) => firstOffset(op, n, origin[k]!)), footprint: undefined };
}

/** A shape of some axes as one of all axes of x. */
export function overAxes(
  op: string,
  name: string,
  shape: readonly number[],
  x: Expr,
  axes?: readonly number[] | number,
): number[] {
  const chosen = normalizeAxes(op, axes, x.shape.length);
  if (shape.length !== chosen.length || shape.includes(0)) {
    const wanted = `${name} of ${chosen.length} axes with elements for ${formatShape(x.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(shape)));
  }
  const order = [...chosen].sort((a, b) => a - b);
  const all = x.shape.map(() => 1);
  for (const [k, axis] of order.entries()) all[axis] = shape[k]!;
  return all;
}

/** Numbers that are known when the filter is called. */
export function knownArray(op: string, name: string, value: unknown): KnownArray {
  if (isHostArray(value)) return { shape: value.shape, values: Array.from(value.data, Number) };
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const values = Array.from(value as unknown as ArrayLike<number>, Number);
    return { shape: [values.length], values };
  }
  if (!Array.isArray(value))
    throw new ArgumentError(expected(op, `${name} as lists of numbers`, formatValue(value)));
  const parts = value.map((part: unknown): KnownArray => {
    if (typeof part === 'number' || typeof part === 'boolean') return { shape: [], values: [Number(part)] };
    return knownArray(op, name, part);
  });
  const shape = parts[0]?.shape ?? [];
  if (parts.some((part) => part.shape.join() !== shape.join()))
    throw new ShapeError(expected(op, `${name} of one shape`, 'lists of several lengths'));
  return { shape: [parts.length, ...shape], values: parts.flatMap(({ values }) => values) };
}

interface HostValues {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number | bigint>;
}

/** Whether a value is an array of the host with real elements that are numbers. */
function isHostArray(value: unknown): value is HostValues {
  if (typeof value !== 'object' || value === null || !('shape' in value) || !('data' in value)) return false;
  const { dtype } = value as { dtype?: string };
  return (
    ArrayBuffer.isView(value.data) &&
    dtype !== 'float16' &&
    dtype !== 'bfloat16' &&
    !dtype?.startsWith('complex')
  );
}

/** The offsets of a window in C order. */
export function offsetsOf({ shape, first, footprint }: Window): Offset[] {
  const all = shape.reduce<number[][]>(
    (list, n, k) => list.flatMap((at) => Array.from({ length: n }, (_, j) => [...at, first[k]! + j])),
    [[]],
  );
  return footprint === undefined ? all : all.filter((_, k) => footprint[k]);
}
