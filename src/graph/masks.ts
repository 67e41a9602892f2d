/**
 * Functions of an array that compare indices: pad, roll, tril, triu. Every export is also a method of Lazy
 * and a free function (`lazy.ts`).
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { slice } from './basic-slicing.js';
import type { Scalar } from './dtype.js';
import type { Expr, ExprOf } from './expr.js';
import { throughBound } from './extent.js';
import { formatShape, formatValue } from './format.js';
import { sizeOfShape } from './graph.js';
import { constant, iota, map, type Operand } from './infer.js';
import { concat, indexAlong, padTo } from './joins.js';
import { inShapeOf, lineOf } from './lines.js';
import { isScalar, refuseOperand, weakValue } from './scalar.js';
import { type Axes, checkInteger, checkSize, clippedInteger, normalizeAxis } from './shape.js';
import { broadcast, gather } from './view-nodes.js';

/** Widths of a pad: one for every side, `[before, after]` for every axis, or such a pair for each axis. */
export type PadWidths = number | readonly [number, number] | readonly (readonly [number, number])[];

/**
 * The array with a border of one value, 0 if none is given. Widths are 0 or more; the dtype stays.
 * Throws a ShapeError for negative or missing widths.
 *
 * @example
 * await lazy([1, 2]).pad(1).compute()
 * //=> [0. 1. 2. 0.]
 * await lazy([[1, 2]]).pad([[0, 1], [2, 0]], { value: 9 }).compute()
 * //=> [[9. 9. 1. 2.]
 * //=>  [9. 9. 9. 9.]]
 */
export function pad(x: Expr, widths: PadWidths, options?: { readonly value?: Scalar }): Expr {
  refuseMode(options);
  checkOptions('pad', options, ['value']);
  const pairs = x.shape.map((_, axis) => widthsOf(widths, axis, x));
  const filling = options?.value ?? 0;
  if (!isScalar(filling)) refuseOperand('pad', filling);
  const value = constant(weakValue('pad', filling, x.dtype), x.dtype);
  const own = x.extent?.axis;
  if (own === undefined) return paddedBy(x, pairs, value);
  // An axis whose size depends on data is joined to what stands beside it.
  const beside = throughBound(x, (bound) => paddedBy(bound, pairs.with(own, [0, 0]), value));
  const side = (width: number): Expr[] =>
    width === 0 ? [] : [broadcast(value, beside.shape.with(own, width))];
  return concat([...side(pairs[own]![0]), beside, ...side(pairs[own]![1])], own, 'pad');
}

/** The array with `value` around it, so many before and after each axis. */
function paddedBy(x: Expr, pairs: readonly (readonly [number, number])[], value: ExprOf<'const'>): Expr {
  const before = pairs.map(([front]) => front);
  const shape = x.shape.map((size, k) => size + pairs[k]![0] + pairs[k]![1]);
  checkSize('pad', shape);
  const padded = padTo(x, before, shape);
  const isZero =
    !value.value || (typeof value.value === 'object' && value.value.re === 0 && value.value.im === 0);
  if (padded === x || (isZero && !Object.is(value.value, -0))) return padded;
  const inside = padTo(broadcast(constant(true, 'bool'), x.shape), before, shape);
  return map('where', [inside, padded, value]);
}

/** Refuses NumPy's modes, with which a border is made of the elements. */
function refuseMode(options: unknown): void {
  const isMode = typeof options === 'object' && options !== null && 'mode' in options;
  if (typeof options !== 'string' && !isMode) return;
  const hint = "borders of other modes are concat() of slices: slice('1:3'), flip()";
  const received = formatValue(isMode ? options.mode : options);
  throw new ArgumentError(
    expected('pad', 'one value for the border, as { value }', `mode ${received}`, hint),
  );
}

function widthsOf(widths: PadWidths, axis: number, x: Expr): readonly [number, number] {
  let pair: unknown = widths;
  if (typeof widths === 'number') pair = [widths, widths];
  else if (Array.isArray(widths) && Array.isArray(widths[0])) {
    if (widths.length !== x.shape.length) {
      throw new ShapeError(
        expected('pad', `widths for the axes of ${formatShape(x.shape)}`, `${widths.length}`),
      );
    }
    pair = widths[axis];
  }
  if (!Array.isArray(pair) || pair.length !== 2) {
    throw new ArgumentError(
      expected('pad', 'a width, [before, after] or such a pair for each axis', formatValue(widths)),
    );
  }
  const [front, back] = pair.map((width) => checkInteger('pad', 'a width', width)) as [number, number];
  if (front < 0 || back < 0)
    throw new ShapeError(expected('pad', 'widths of 0 or more', `[${front}, ${back}]`));
  return [front, back];
}

/**
 * Elements moved by `shift` places along axes, those that leave coming back at the other end. Without axes
 * the array is rolled as one flat line. Several axes take one shift for all or one for each.
 *
 * @example
 * await lazy([1, 2, 3, 4]).roll(1).compute()
 * //=> [4. 1. 2. 3.]
 */
export function roll(x: Expr, shift: number | readonly number[], axis?: Axes | null): Expr {
  if (axis === undefined || axis === null) {
    if (Array.isArray(shift)) throw new ArgumentError(expected('roll', 'axes for several shifts', 'none'));
    return inShapeOf(x, rollAxis(lineOf(x), shift as number, 0));
  }
  if (typeof shift !== 'number' && !Array.isArray(shift))
    throw new ArgumentError(expected('roll', 'a shift or a list of shifts', formatValue(shift)));
  const axes = (Array.isArray(axis) ? axis : [axis]).map((each) =>
    normalizeAxis('roll', each, x.shape.length),
  );
  const shifts = typeof shift === 'number' ? axes.map(() => shift) : shift;
  if (shifts.length !== axes.length) {
    throw new ShapeError(expected('roll', 'a shift for each axis', `${shifts.length} for ${axes.length}`));
  }
  return axes.reduce((rolled, each, k) => rollAxis(rolled, shifts[k]!, each), x);
}

function rollAxis(x: Expr, shift: number, axis: number): Expr {
  const size = x.shape[axis]!;
  if (x.extent?.axis === axis) return rollWithin(x, checkInteger('roll', 'a shift', shift));
  // Of a shift of any length only its rest counts, which is exact.
  const by = checkInteger('roll', 'a shift', Number.isInteger(shift) ? shift % size || 0 : shift);
  const start = by > 0 ? size - by : -by; // the element that comes first
  if (start === 0) return x;
  const before = x.shape.slice(0, axis).map(() => null);
  return concat([slice(x, ...before, [start]), slice(x, ...before, [0, start])], axis, 'roll');
}

/** The same of the axis whose size depends on data. */
function rollWithin(x: Expr, shift: number): Expr {
  const { axis, length } = x.extent!;
  if (shift === 0 || sizeOfShape(x.shape) === 0) return x;
  const places = map('remainder', [
    map('subtract', [iota(x.shape[axis]!), shift]),
    map('maximum', [length, 1]),
  ]);
  return throughBound(x, (bound) => gather(bound, places, axis, 'clip', bound.shape, 'roll'));
}

/**
 * Matrices with the elements above diagonal `k` set to 0; diagonals above the main one are positive.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).tril().compute()
 * //=> [[1. 0.]
 * //=>  [3. 4.]]
 */
export function tril(x: Expr, k?: number): Expr {
  const keep: Keep = (row, column, offset) => map('lessEqual', [column, map('add', [row, offset])]);
  return triangle('tril', x, keep, k);
}

/**
 * Matrices with the elements below diagonal `k` set to 0; diagonals above the main one are positive.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).triu(1).compute()
 * //=> [[0. 2.]
 * //=>  [0. 0.]]
 */
export function triu(x: Expr, k?: number): Expr {
  const keep: Keep = (row, column, offset) => map('greaterEqual', [column, map('add', [row, offset])]);
  return triangle('triu', x, keep, k);
}

/** Whether the elements of a row and a column stay. */
type Keep = (row: Expr, column: Expr, offset: Operand) => Expr;

function triangle(op: string, x: Expr, keep: Keep, k = 0): Expr {
  const ndim = x.shape.length;
  if (ndim < 2) throw new ShapeError(expected(op, 'at least two axes', formatShape(x.shape)));
  const rows = x.shape[ndim - 2]!;
  const columns = x.shape[ndim - 1]!;
  const offset = clippedInteger(op, 'a diagonal', k, -rows, columns);
  const row = indexAlong(0, rows, 2);
  const column = indexAlong(1, columns, 2);
  return map('where', [keep(row, column, offset), x, constant(0, x.dtype)]);
}
