/**
 * Scans: running sums, products and extremes along an axis. Every export is also a method of Lazy and a free
 * function (`fluent.ts`).
 *
 * An axis that is longer than a tile is scanned in tiles, each from what is before it: the values over the
 * tiles before it, combined by groups (Blelloch, "Prefix sums and their applications", 1990). So the order is
 * one, whatever the budget, the tiles of a plan and the devices. A GPU that has all of it at once does the
 * three steps in one pass over memory (`exec/plan/one-pass-scans.ts`), in the same order.
 */
import { ArgumentError, expected } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { type DType, isHalf, type Scalar } from './dtype.js';
import type { Expr } from './expr.js';
import { throughBound, upToBound, withExtent } from './extent.js';
import { formatShape, formatValue } from './format.js';
import { sizeOfShape } from './graph.js';
import { cast, checkDType, constant, neutral, reduce, withinLength } from './infer.js';
import { concat } from './joins.js';
import { reductionRow } from './reductions.js';
import { SCAN_OPS, type ScanOp, scanTile } from './scan-tiles.js';
import { normalizeAxis } from './shape.js';
import { broadcast } from './view-nodes.js';
import { flatten, moveaxis, reshape } from './views.js';

/** Options of `cumulativeMin`, `cumulativeMax` and `cumulativeLogsumexp`. */
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
 * out where there is only one, and null takes all elements as one line. Integers and booleans are summed in
 * 64 bits and wrap, float32 in float64, rounded once, halves by way of float32. `{ dtype, includeInitial,
 * exclusive, reverse }`. Throws a ShapeError for an axis that is not there, an ArgumentError where one has to
 * be named.
 *
 * @example
 * const x = lazy([[1, 2, 3], [4, 5, 6]])
 * await x.cumulativeSum(1).compute()
 * //=> [[ 1.  3.  6.]
 * //=>  [ 4.  9. 15.]]
 * await x.cumulativeSum(1, { reverse: true }).compute()
 * //=> [[ 6.  5.  3.]
 * //=>  [15. 11.  6.]]
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
 *
 * @example
 * await lazy([1, 2, 3, 4]).cumulativeProd().compute()
 * //=> [ 1.  2.  6. 24.]
 */
export function cumulativeProd(x: Expr, axis?: number | null, options?: CumulativeOptions): Expr {
  return accumulated('cumulativeProd', 'prod', x, axis, options);
}

/**
 * The least of the elements along an axis up to each place, as NumPy's `minimum.accumulate`: NaN from the
 * first NaN on. The axis may be left out where there is only one; null takes all elements as one line. `{
 * reverse: true }` goes from the end. Throws a DTypeError for complex numbers.
 *
 * @example
 * await lazy([4, 3, 5, 1]).cumulativeMin().compute()
 * //=> [4. 3. 3. 1.]
 */
export function cumulativeMin(x: Expr, axis?: number | null, options?: ScanOptions): Expr {
  return extremes('cumulativeMin', 'min', x, axis, options);
}

/**
 * The largest of the elements along an axis up to each place, as NumPy's `maximum.accumulate`: NaN from the
 * first NaN on. The axis may be left out where there is only one; null takes all elements as one line. `{
 * reverse: true }` goes from the end. Throws a DTypeError for complex numbers.
 *
 * @example
 * await lazy([1, 3, 2, 5]).cumulativeMax().compute()
 * //=> [1. 3. 3. 5.]
 */
export function cumulativeMax(x: Expr, axis?: number | null, options?: ScanOptions): Expr {
  return extremes('cumulativeMax', 'max', x, axis, options);
}

/**
 * The logarithms of the sums of the exponentials of the elements along an axis up to each place, without
 * overflow: `log(cumulativeSum(exp(x)))`, as JAX's `cumlogsumexp`. The axis may be left out where there is
 * only one; null takes all elements as one line. Integers give the float that `exp` gives; halves go by way
 * of float32. `{ reverse: true }` goes from the end. Throws a DTypeError for complex numbers.
 *
 * @example
 * await lazy([0, 0, 0]).cumulativeLogsumexp().exp().compute()
 * //=> [1. 2. 3.]
 */
export function cumulativeLogsumexp(x: Expr, axis?: number | null, options?: ScanOptions): Expr {
  const op = 'cumulativeLogsumexp';
  const reverse = reverseOf(op, options);
  const { arg } = reductionDType(op, 'logsumexp', x.dtype);
  const behind = reverse ? Number.NEGATIVE_INFINITY : undefined;
  return along(op, cast(x, arg), axis, behind, (lines) => scanned('logsumexp', lines, reverse));
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
  const source = cast(cast(x, result), computed);
  const behind = reverse ? (exclusive && kind === 'sum' ? 0 : neutral(kind, source, op)) : undefined;
  const beside = (initial: Expr, scan: Expr, at: number): Expr =>
    concat(reverse ? [scan, initial] : [initial, scan], at);
  const scan = along(op, source, axis, behind, (lines) => {
    const [outer, length, inner] = lines.shape as Lines;
    if (!exclusive || length === 0) return scanned(kind, lines, reverse);
    const others = slice(lines, [], reverse ? [1, null] : [null, -1]);
    return beside(broadcast(start, [outer, 1, inner]), scanned(kind, others, reverse), 1);
  });
  if (!includeInitial) return cast(scan, result);
  const at = normalizeAxis(op, axis ?? 0, scan.shape.length);
  const { extent } = scan;
  const one = broadcast(start, scan.shape.with(at, 1));
  const isAcross = extent !== undefined && extent.axis !== at;
  return cast(beside(isAcross ? withExtent(one, extent.axis, extent.length) : one, scan, at), result);
}

function extremes(
  op: string,
  kind: 'min' | 'max',
  x: Expr,
  axis: number | null | undefined,
  options: ScanOptions | undefined,
): Expr {
  const reverse = reverseOf(op, options);
  reductionDType(op, kind, x.dtype);
  const behind = reverse ? neutral(kind, x, op) : undefined;
  return along(op, x, axis, behind, (lines) => scanned(kind, lines, reverse));
}

function reverseOf(op: string, options: ScanOptions = {}): boolean {
  checkOptions(op, options, ['reverse']);
  return flags(op, options, ['reverse']).reverse;
}

/** The dtypes of a reduction of this dtype; refuses, by the user's name, those that have none. */
function reductionDType(op: string, kind: ScanOp, dtype: DType): { readonly arg: DType } {
  reduce(kind, broadcast(constant(0, dtype), [1]), [0], op);
  return reductionRow(kind).dtype(dtype)!;
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

/** Elements along an axis, with those before it and behind it as one axis each. */
type Lines = readonly [outer: number, length: number, inner: number];

/**
 * Fewer neighbours than this are moved apart: lines of elements are scanned sooner than such narrow columns.
 */
const LEAST_COLUMNS = 16;

/**
 * Applies a scan along the middle axis of three to an axis. One from the end begins with elements behind a length that
 * depends on data: with `behind`, which changes nothing.
 */
function along(
  op: string,
  x: Expr,
  axis: number | null | undefined,
  behind: Scalar | undefined,
  scan: (lines: Expr) => Expr,
): Expr {
  if (x.extent !== undefined) {
    if (axis === null && x.shape.length > 1) return along(op, flatten(x), null, behind, scan);
    const isWithin = normalizeAxis(op, axis ?? 0, x.shape.length) === x.extent.axis;
    const filled = isWithin && behind !== undefined ? withinLength(x, behind) : upToBound(x);
    return throughBound(x, () => along(op, filled, axis, behind, scan));
  }
  if (axis === undefined && x.shape.length !== 1)
    throw new ArgumentError(
      expected(op, 'an axis, or null for all elements', `the shape ${formatShape(x.shape)}`),
    );
  const source = axis === null ? flatten(x) : x;
  const at = normalizeAxis(op, axis ?? 0, source.shape.length);
  const last = source.shape.length - 1;
  const inner = sizeOfShape(source.shape.slice(at + 1));
  if (inner < LEAST_COLUMNS) return moveaxis(alongMiddle(moveaxis(source, at, last), last, scan), last, at);
  return alongMiddle(source, at, scan);
}

function alongMiddle(x: Expr, axis: number, scan: (lines: Expr) => Expr): Expr {
  const [before, behind] = [x.shape.slice(0, axis), x.shape.slice(axis + 1)];
  const scanned = scan(reshape(x, [sizeOfShape(before), x.shape[axis]!, sizeOfShape(behind)]));
  return reshape(scanned, [...before, scanned.shape[1]!, ...behind]);
}

/** The inclusive scan along the middle axis. */
function scanned(kind: ScanOp, x: Expr, reverse: boolean): Expr {
  if (isHalf(x.dtype)) return cast(scanned(kind, cast(x, 'float32'), reverse), x.dtype);
  if (sizeOfShape(x.shape) === 0) return x;
  const [, length, inner] = x.shape as Lines;
  const parameters = [SCAN_OPS.indexOf(kind), reverse ? 1 : 0];
  if (length <= scanTile(x.dtype, inner)) return call('scan', parameters, [x])[0]!;
  const [totals] = call('scanTotals', parameters, [x]);
  const [before] = call('scanBefore', parameters, [totals!]);
  return call('scan', parameters, [x, before!])[0]!;
}
