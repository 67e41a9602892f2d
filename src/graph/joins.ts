/**
 * Arrays put side by side: concat and stack. Parts are padded or broadcast to the full size, and an index
 * decides which one an element comes from: no data is copied until a kernel reads it.
 *
 * Called by the free functions of the same names; `masks.ts` uses the parts.
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import type { Expr } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { cast, constant, iota, isExpr, map, meetingDType } from './infer.js';
import { checkSize, normalizeAxis } from './shape.js';
import { broadcast, reshape, view } from './view-nodes.js';

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

/** Arrays one after the other along an axis that they have; other sizes agree; dtypes are promoted. */
export function concat(arrays: readonly Expr[], axis: number | null = 0, op = 'concat'): Expr {
  checkList(op, arrays);
  if (axis === null) {
    const flat = arrays.map((x) => reshape(x, [x.shape.reduce((a, b) => a * b, 1)]));
    return concat(flat, 0, op);
  }
  const first = arrays[0]!;
  const ndim = first.shape.length;
  const along = normalizeAxis(op, axis, ndim);
  for (const x of arrays) {
    if (x.shape.length !== ndim || x.shape.some((size, k) => k !== along && size !== first.shape[k])) {
      const shapes = arrays.map((each) => formatShape(each.shape)).join(', ');
      throw new ShapeError(expected(op, `shapes that agree but for axis ${along}`, shapes));
    }
  }
  const dtype = meetingDType(op, arrays);
  const total = arrays.reduce((sum, x) => sum + x.shape[along]!, 0);
  const shape = first.shape.map((size, k) => (k === along ? total : size));
  checkSize(op, shape);
  const parts = arrays.filter((x) => x.shape[along] !== 0).map((x) => cast(x, dtype));
  if (parts.length === 0) return broadcast(constant(0, dtype), shape);
  return joined(parts, along, shape);
}

/** Most parts that one kernel chooses from. */
const MOST_PARTS = 16;

/**
 * The parts in one array. Kernels compute every part for every element, so that many parts are first joined
 * to fewer, which are stored where it pays (`fusion/partition/materialization.ts`): the work is parts ×
 * log(parts), not its square.
 */
function joined(parts: readonly Expr[], along: number, shape: readonly number[]): Expr {
  if (parts.length <= MOST_PARTS) return chosen(parts, along, shape);
  const fewer: Expr[] = [];
  for (let k = 0; k < parts.length; k += MOST_PARTS) {
    const some = parts.slice(k, k + MOST_PARTS);
    const length = some.reduce((sum, x) => sum + x.shape[along]!, 0);
    fewer.push(chosen(some, along, shape.with(along, length)));
  }
  return joined(fewer, along, shape);
}

/** A balanced tree of choices over the parts, so that an element is reached in log2(parts) steps. */
function chosen(parts: readonly Expr[], along: number, shape: readonly number[]): Expr {
  const starts: number[] = [];
  let start = 0;
  let level = parts.map((x) => {
    const before = shape.map((_, k) => (k === along ? start : 0));
    starts.push(start);
    start += x.shape[along]!;
    // A column beside columns: to read it for its neighbours costs less than to ask for each whether it is
    // there.
    const isColumn = along === shape.length - 1 && x.shape[along] === 1;
    const value = isColumn ? broadcast(x, shape) : padTo(x, before, shape);
    return { value, start: starts.at(-1)! };
  });
  if (level.length === 1) return level[0]!.value;
  const index = indexAlong(along, shape[along]!, shape.length);
  while (level.length > 1) {
    const next: typeof level = [];
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
  return level[0]!.value;
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
  const along = normalizeAxis('stack', axis, shape.length + 1);
  const apart = [...shape.slice(0, along), 1, ...shape.slice(along)];
  return concat(
    arrays.map((x) => reshape(x, apart)),
    along,
    'stack',
  );
}
