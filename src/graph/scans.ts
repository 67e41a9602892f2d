/**
 * Scans: running sums, products and extremes along an axis. Every export is also a method of Lazy and a free
 * function (`fluent.ts`).
 *
 * Rows longer than a tile are scanned in tiles, each from what is before it: the scan of the totals of the
 * tiles, which is a scan itself (Blelloch, "Prefix sums and their applications", 1990). So the order is one,
 * whatever the budget, the tiles of a plan and the devices.
 */
import { ArgumentError, expected } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { call } from './calls.js';
import { type DType, isFloat, isHalf, type Scalar } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { sizeOfShape } from './graph.js';
import { cast, checkDType, constant, reduce } from './infer.js';
import { concat } from './joins.js';
import { reductionRow } from './reductions.js';
import { SCAN_OPS, SCAN_TILE, type ScanOp } from './routines.js';
import { integerRange } from './scalar.js';
import { normalizeAxis } from './shape.js';
import { slice } from './slicing.js';
import { broadcast } from './view-nodes.js';
import { flatten, flip, moveaxis, reshape } from './views.js';

/** Options of `cumulativeMin` and `cumulativeMax`. */
export interface ScanOptions {
  /** From the end of the axis to its beginning. */
  readonly reverse?: boolean | undefined;
}

/** Options of `cumulativeSum` and `cumulativeProd`. */
export interface CumulativeOptions extends ScanOptions {
  /** The dtype that is computed in and given; that of `sum` and `prod` by default. */
  readonly dtype?: DType | undefined;
  /** Begins with the value over no elements: the axis has one element more. */
  readonly includeInitial?: boolean | undefined;
  /** Each value is over the elements before its place, and not that one itself. */
  readonly exclusive?: boolean | undefined;
}

/**
 * The sums of the elements along an axis up to each place, as NumPy's `cumulative_sum`: the axis may be left
 * out where there is only one, and null takes all elements as one line. Integers and booleans are summed in 64
 * bits and wrap, float32 in float64, rounded once, halves by way of float32. `{ dtype, includeInitial,
 * exclusive, reverse }`. Throws a ShapeError for an axis that is not there, an ArgumentError where one has to be
 * named.
 */
export function cumulativeSum(x: Expr, axis?: number | null, options?: CumulativeOptions): Expr {
  return accumulated('cumulativeSum', 'sum', x, axis, options);
}

/**
 * The products of the elements along an axis up to each place, as NumPy's `cumulative_prod`: the axis may be
 * left out where there is only one, and null takes all elements as one line. Integers and booleans are
 * multiplied in 64 bits and wrap, float32 in float64, rounded once, halves by way of float32. `{ dtype,
 * includeInitial, exclusive, reverse }`. Throws a ShapeError for an axis that is not there, an ArgumentError
 * where one has to be named.
 */
export function cumulativeProd(x: Expr, axis?: number | null, options?: CumulativeOptions): Expr {
  return accumulated('cumulativeProd', 'prod', x, axis, options);
}

/**
 * The least of the elements along an axis up to each place, as NumPy's `minimum.accumulate`: NaN from the first
 * NaN on. The axis may be left out where there is only one; null takes all elements as one line. `{ reverse:
 * true }` goes from the end. Throws a DTypeError for complex numbers.
 */
export function cumulativeMin(x: Expr, axis?: number | null, options?: ScanOptions): Expr {
  return extremes('cumulativeMin', 'min', x, axis, options);
}

/**
 * The largest of the elements along an axis up to each place, as NumPy's `maximum.accumulate`: NaN from the
 * first NaN on. The axis may be left out where there is only one; null takes all elements as one line. `{
 * reverse: true }` goes from the end. Throws a DTypeError for complex numbers.
 */
export function cumulativeMax(x: Expr, axis?: number | null, options?: ScanOptions): Expr {
  return extremes('cumulativeMax', 'max', x, axis, options);
}

function accumulated(
  op: string,
  kind: 'sum' | 'prod',
  x: Expr,
  axis: number | null | undefined,
  options: CumulativeOptions = {},
): Expr {
  checkOptions(op, options, ['dtype', 'includeInitial', 'exclusive', 'reverse']);
  const { includeInitial, exclusive, reverse, dtype } = flags(op, options, [
    'includeInitial',
    'exclusive',
    'reverse',
  ]);
  if (includeInitial && exclusive)
    throw new ArgumentError(expected(op, 'includeInitial or exclusive, not both', 'both'));
  const result = dtype === undefined ? reductionRow(kind).dtype(x.dtype)!.result : checkDType(op, dtype);
  const computed = reductionRow(kind).dtype(result)!.result;
  const start = constant(kind === 'sum' ? 0 : 1, computed);
  const scan = along(op, cast(cast(x, result), computed), axis, reverse, (rows) => {
    const last = rows.shape.length - 1;
    const initial = broadcast(start, [...rows.shape.slice(0, last), 1]);
    if (includeInitial) return concat([initial, scanned(kind, rows)], last);
    if (!exclusive || rows.shape[last] === 0) return scanned(kind, rows);
    return concat([initial, scanned(kind, slice(rows, '...', [null, -1]))], last);
  });
  return cast(scan, result);
}

function extremes(
  op: string,
  kind: 'min' | 'max',
  x: Expr,
  axis: number | null | undefined,
  options: ScanOptions = {},
): Expr {
  checkOptions(op, options, ['reverse']);
  const { reverse } = flags(op, options, ['reverse']);
  // Refuses complex numbers by the user's name.
  reduce(kind, broadcast(constant(0, x.dtype), [1]), [0], op);
  return along(op, x, axis, reverse, (rows) => scanned(kind, rows));
}

/** The options, with those of these names as booleans. */
function flags<Options extends object, Name extends string & keyof Options>(
  op: string,
  options: Options,
  names: readonly Name[],
): Omit<Options, Name> & { readonly [K in Name]: boolean } {
  const found = Object.fromEntries(names.map((name) => [name, options[name] ?? false]));
  for (const [name, value] of Object.entries(found)) {
    if (typeof value !== 'boolean')
      throw new ArgumentError(expected(op, `${name} to be true or false`, formatValue(value)));
  }
  return { ...options, ...found } as Omit<Options, Name> & { readonly [K in Name]: boolean };
}

/** Applies a scan of rows to an axis. */
function along(
  op: string,
  x: Expr,
  axis: number | null | undefined,
  reverse: boolean,
  scan: (rows: Expr) => Expr,
): Expr {
  if (axis === undefined && x.shape.length !== 1)
    throw new ArgumentError(
      expected(op, 'an axis, or null for all elements', `the shape ${formatShape(x.shape)}`),
    );
  const source = axis === null ? flatten(x) : x;
  const at = normalizeAxis(op, axis ?? 0, source.shape.length);
  const last = source.shape.length - 1;
  const turned = (rows: Expr): Expr => (reverse ? flip(rows, last) : rows);
  return moveaxis(turned(scan(turned(moveaxis(source, at, last)))), last, at);
}

/** The dtype in which totals pass from tile to tile: wide enough that a result is rounded once. */
const carriedDType = (kind: ScanOp, dtype: DType): DType => {
  if (kind === 'min' || kind === 'max') return dtype;
  return dtype === 'float32' ? 'float64' : dtype === 'complex64' ? 'complex128' : dtype;
};

/** The identity of an operation: combined with an element it gives that element. */
function identityOf(kind: ScanOp, dtype: DType): Scalar {
  if (kind === 'prod') return 1;
  if (kind === 'sum') return isFloat(dtype) ? -0 : 0;
  if (dtype === 'bool') return kind === 'min';
  if (isFloat(dtype)) return kind === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const { min, max } = integerRange(dtype);
  return kind === 'min' ? max : min;
}

/** The inclusive scan of the rows along the last axis. */
function scanned(kind: ScanOp, rows: Expr): Expr {
  if (isHalf(rows.dtype)) return cast(scanned(kind, cast(rows, 'float32')), rows.dtype);
  const last = rows.shape.length - 1;
  const length = rows.shape[last]!;
  if (sizeOfShape(rows.shape) === 0) return rows;
  const parameters = [SCAN_OPS.indexOf(kind)];
  if (length <= SCAN_TILE) return call('scan', parameters, [rows])[0]!;
  const lead = rows.shape.slice(0, last);
  const tiles = Math.ceil(length / SCAN_TILE);
  const whole = slice(rows, '...', [0, (tiles - 1) * SCAN_TILE]);
  const inTiles = reshape(whole, [...lead, tiles - 1, SCAN_TILE]);
  const totals = reduce(kind, cast(inTiles, carriedDType(kind, rows.dtype)), [last + 1]);
  const none = broadcast(constant(identityOf(kind, rows.dtype), totals.dtype), [...lead, 1]);
  const before = concat([none, scanned(kind, totals)], last);
  return call('scan', parameters, [rows, before])[0]!;
}
