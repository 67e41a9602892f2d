/**
 * Arrays put side by side: concat and stack. A join is a node, which kernels write part by part, or read with an
 * index that decides which part an element comes from: no data is copied until then. Where a part begins at a place
 * that depends on data, parts are spread to the full size, and the index chooses from them.
 *
 * Called by the free functions of the same names; `masks.ts` uses the parts.
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import type { Expr } from './expr.js';
import { meetingExtent, upToBound, withExtent } from './extent.js';
import { formatBounded, formatShape, formatValue } from './format.js';
import { cast, constant, iota, isExpr, map, meetingDType } from './infer.js';
import { addLengths, type Length } from './lengths.js';
import { lineOf } from './lines.js';
import { checkSize, normalizeAxis } from './shape.js';
import { broadcast, gather, join, reshape, view } from './view-nodes.js';

/** The index along an axis, shaped so that it broadcasts against an array of `ndim` axes. */
export function indexAlong(axis: number, size: number, ndim: number): Expr {
  return reshape(
    iota(size),
    Array.from({ length: ndim }, (_, k) => (k === axis ? size : 1)),
  );
}

/** Zeros around an array: `before[k]` in front along axis k, up to `shape`. */
export function padTo(x: Expr, before: readonly number[], shape: readonly number[]): Expr {
  return shape.every((size, k) => size === x.shape[k]) ? x : view(x, { type: 'pad', before }, shape);
}

/**
 * Arrays one after the other along an axis that they have; other sizes agree; dtypes are promoted. Where sizes along
 * the axis depend on data, so does the result's.
 */
export function concat(arrays: readonly Expr[], axis: number | null = 0, op = 'concat'): Expr {
  checkList(op, arrays);
  if (axis === null) return concat(arrays.map(lineOf), 0, op);
  const first = arrays[0]!;
  const ndim = first.shape.length;
  const along = normalizeAxis(op, axis, ndim);
  for (const x of arrays) {
    if (x.shape.length !== ndim || x.shape.some((size, k) => k !== along && size !== first.shape[k])) {
      const shapes = arrays.map((each) => formatBounded(each.shape, each.extent?.axis)).join(', ');
      throw new ShapeError(expected(op, `shapes that agree but for axis ${along}`, shapes));
    }
  }
  const dtype = meetingDType(op, arrays);
  const total = arrays.reduce((sum, x) => sum + x.shape[along]!, 0);
  const shape = first.shape.map((size, k) => (k === along ? total : size));
  checkSize(op, shape);
  // Sizes along other axes have to be one.
  const across = arrays.some(({ extent }) => extent !== undefined && extent.axis !== along)
    ? meetingExtent(op, arrays, shape)
    : undefined;
  const parts = arrays.filter((x) => x.shape[along] !== 0).map((x) => cast(x, dtype));
  if (parts.length > 0) return joined(parts, along, shape);
  const none = broadcast(constant(0, dtype), shape);
  return across === undefined ? none : { ...none, extent: across };
}

/** Most parts that one kernel chooses from; joins of more that one stores are flattened (`fusion/passes/large-joins.ts`). */
const MOST_PARTS = 16;

/**
 * The parts in one array. A kernel that reads it computes every part for every element, so that many parts are
 * first joined to fewer, which are stored where it pays (`fusion/partition/materialization.ts`): the work is parts
 * × log(parts), not its square.
 */
function joined(parts: readonly Expr[], along: number, shape: readonly number[]): Expr {
  if (parts.length === 1) return parts[0]!;
  if (parts.length <= MOST_PARTS) {
    const isKnown = parts.every(({ extent }) => extent?.axis !== along);
    return isKnown ? join(parts, along, shape) : chosen(parts, along, shape);
  }
  const fewer: Expr[] = [];
  for (let k = 0; k < parts.length; k += MOST_PARTS) {
    const some = parts.slice(k, k + MOST_PARTS);
    const length = some.reduce((sum, x) => sum + x.shape[along]!, 0);
    fewer.push(joined(some, along, shape.with(along, length)));
  }
  return joined(fewer, along, shape);
}

/** A part in the place that it has in the whole, and the place where it begins. */
interface Placed {
  readonly value: Expr;
  readonly start: Length;
}

/**
 * Parts whose sizes depend on data, by a balanced tree of choices, so that an element is reached in log2(parts)
 * steps.
 */
function chosen(parts: readonly Expr[], along: number, shape: readonly number[]): Expr {
  let end: Length = 0;
  let level = parts.map((x): Placed => {
    const start = end;
    end = addLengths(start, x.extent?.axis === along ? x.extent.length : x.shape[along]!);
    return { value: placed(x, start, along, shape), start };
  });
  const index = indexAlong(along, shape[along]!, shape.length);
  while (level.length > 1) {
    const next: Placed[] = [];
    for (let k = 0; k < level.length; k += 2) {
      const [left, right] = [level[k]!, level[k + 1]];
      const value =
        right === undefined
          ? left.value
          : map('where', [map('less', [index, right.start]), left.value, right.value]);
      next.push({ value, start: left.start });
    }
    level = next;
  }
  const { value } = level[0]!;
  return typeof end === 'number' ? value : withExtent(value, along, end);
}

/** A part as an array of the whole shape, with its first element at a place of the axis. */
function placed(x: Expr, start: Length, along: number, shape: readonly number[]): Expr {
  const part = x.extent?.axis === along ? upToBound(x) : x;
  // A place that depends on data is read by an index, as `take` reads.
  if (typeof start !== 'number')
    return gather(part, map('subtract', [iota(shape[along]!), start]), along, 'clip', shape);
  // A column beside columns: to read it for its neighbours costs less than to ask for each whether it is there.
  if (along === shape.length - 1 && part.shape[along] === 1) return broadcast(part, shape);
  return padTo(
    part,
    shape.map((_, k) => (k === along ? start : 0)),
    shape,
  );
}

function checkList(op: string, arrays: unknown): void {
  if (!Array.isArray(arrays) || !arrays.every(isExpr)) {
    throw new ArgumentError(expected(op, 'a list of arrays', formatValue(arrays)));
  }
  if (arrays.length === 0) throw new ArgumentError(expected(op, 'at least one array', 'none'));
}

/** Arrays of one shape along a new axis at place `axis` of the result; dtypes are promoted. */
export function stack(arrays: readonly Expr[], axis = 0): Expr {
  checkList('stack', arrays);
  const shape = arrays[0]!.shape;
  if (arrays.some((x) => x.shape.length !== shape.length || x.shape.some((size, k) => size !== shape[k]))) {
    throw new ShapeError(
      expected('stack', 'arrays of one shape', arrays.map((x) => formatShape(x.shape)).join(', ')),
    );
  }
  if (arrays.some(({ extent }) => extent !== undefined)) meetingExtent('stack', arrays, shape);
  const along = normalizeAxis('stack', axis, shape.length + 1);
  const apart = [...shape.slice(0, along), 1, ...shape.slice(along)];
  return concat(
    arrays.map((x) => reshape(x, apart)),
    along,
    'stack',
  );
}
