/**
 * Slicing and indexing, as NumPy's `x[1:10:2, ..., -1, newaxis]` and `x[rows, :, columns]`. Called by the method and
 * free function `slice` (every export is one). Selectors are read in `selectors.ts`.
 *
 * Ranges and numbers become one slice view and one reshape. Arrays of indices become one gather: the axes from the
 * first that has one to the last are merged, and the index into them is arithmetic on all of theirs.
 *
 *     x[:, i, 1:3, j]  of (a, b, c, d)   →   gather along 1 of reshape x (a, b·c·d) at i·c·d + (1 … 2)·d + j
 */
import { sliced } from './basic-slicing.js';
import type { Expr, IndexMode } from './expr.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { take } from './indexing.js';
import { cast, constant, iota, map, type Operand } from './infer.js';
import { withoutMasks } from './mask-selectors.js';
import {
  type IndexPick,
  type Pick,
  parsedSelectors,
  placed,
  type Selector,
  type SliceOptions,
} from './selectors.js';
import { broadcastShapes } from './shape.js';
import { broadcast, gather, reshape } from './view-nodes.js';
import { moveaxis } from './views.js';

/**
 * Part of an array: one selector for each axis, from the first; axes without one are taken whole.
 * `x.slice([1, 10, 2], -1)`, `x.slice('1:10:2, -1')`. An index out of range is a ShapeError, ranges are clipped (so
 * that Infinity is the end). Arrays of integers select by index, as NumPy's do: those of several axes broadcast
 * against each other, and their axes stand in the place of the axes that they select from, or first where these are
 * not side by side: `x.slice(Int32Array.of(0, 4), [1, 3])`, `x.slice(rows, columns, { mode: 'clip' })`. Their indices
 * are checked as those of `take`. An array of booleans selects where it is true, in the place of the axes that it has
 * the sizes of; how many there are depends on data: `x.slice(x.greater(0))`. Throws a ShapeError for index arrays that do not broadcast and for masks of other sizes, a DTypeError for
 * arrays of floats.
 */
export function slice(x: Expr, ...selectors: (Selector | SliceOptions)[]): Expr {
  const { parsed, mode } = parsedSelectors('slice', selectors);
  const { shape, parts } = withoutMasks('slice', x.shape, parsed);
  const picks = placed('slice', shape, parts);
  const source = reshape(x, shape);
  return picks.some(({ kind }) => kind === 'indices') ? indexed(source, picks, mode) : sliced(source, picks);
}

const hasSize = ({ kind }: Pick): boolean => kind === 'range' || kind === 'newaxis';
const isAdvanced = ({ kind }: Pick): boolean => kind === 'indices' || kind === 'at';

/** Selection by arrays of indices; numbers beside them count as arrays of no axes. */
function indexed(x: Expr, picks: readonly Pick[], mode: IndexMode): Expr {
  const first = picks.findIndex(({ kind }) => kind === 'indices');
  const last = picks.findLastIndex(({ kind }) => kind === 'indices');
  const whole = (axis: number): Pick => ({ kind: 'range', axis, start: 0, step: 1, size: x.shape[axis]! });
  const inner = picks.slice(first, last + 1);
  const axes = inner.flatMap((pick) => ('axis' in pick ? [pick.axis] : []));
  const around = sliced(x, [...picks.slice(0, first), ...axes.map(whole), ...picks.slice(last + 1)]);
  const at = picks.slice(0, first).filter(hasSize).length;
  const only = inner.length === 1 ? (inner[0] as IndexPick) : undefined;
  const [joint, taken] =
    only === undefined
      ? jointly(around, inner, axes, at, mode)
      : [only.shape, alone(around, only, x.shape[only.axis]!, at, mode)];
  const advanced = picks.flatMap((pick, k) => (isAdvanced(pick) ? [k] : []));
  const isTogether = advanced.at(-1)! - advanced[0]! === advanced.length - 1;
  if (isTogether || at === 0) return taken;
  const places = [...joint.keys()];
  return moveaxis(
    taken,
    places.map((k) => at + k),
    places,
  );
}

/** Selection by one array of indices, whose axis of x is the one at place `at` here: errors name that of x. */
function alone(x: Expr, pick: IndexPick, size: number, at: number, mode: IndexMode): Expr {
  return pick.axis === at
    ? take(x, pick.indices, at, { mode: pick.isInRange ? 'clip' : mode })
    : take(x, reshape(checked(pick, size, mode), pick.shape), at, { mode: 'clip' });
}

/** Selection from `axes` of an array by all their picks at once. Gives the shape that the indices broadcast to. */
function jointly(
  x: Expr,
  picks: readonly Pick[],
  axes: readonly number[],
  at: number,
  mode: IndexMode,
): readonly [joint: readonly number[], taken: Expr] {
  const sizes = x.shape.slice(at, at + axes.length);
  const strides = denseStrides(sizes);
  const joint = broadcastShapes(
    'slice',
    picks.flatMap((pick) => (pick.kind === 'indices' ? [pick.shape] : [])),
  );
  // The index has the axes of the joint indices, then those of what stands between them.
  const between = picks.filter(hasSize).map((pick) => (pick.kind === 'range' ? pick.size : 1));
  const shape = [...joint, ...between];
  const parts: Operand[] = [];
  let axis = 0;
  let place = joint.length;
  for (const pick of picks) {
    if (pick.kind === 'gap') continue;
    if (pick.kind === 'newaxis') {
      place++;
      continue;
    }
    const stride = strides[axis]!;
    if (pick.kind === 'at') parts.push(pick.index * stride);
    else if (pick.kind === 'range') {
      const along = reshape(
        iota(pick.size),
        shape.map((size, k) => (k === place ? size : 1)),
      );
      place++;
      parts.push(map('add', [map('multiply', [along, pick.step * stride]), pick.start * stride]));
    } else {
      const inRange = reshape(checked(pick, sizes[axis]!, mode), [...pick.shape, ...between.map(() => 1)]);
      parts.push(map('multiply', [inRange, stride]));
    }
    axis++;
  }
  const flat = parts.reduce((sum, part) => map('add', [sum, part])) as Expr;
  const [before, after] = [x.shape.slice(0, at), x.shape.slice(at + axes.length)];
  const result = [...before, ...shape, ...after];
  if (sizeOfShape(result) === 0) return [joint, broadcast(constant(0, x.dtype), result)];
  const merged = reshape(x, [...before, sizeOfShape(sizes), ...after]);
  return [joint, gather(merged, broadcast(cast(flat, 'int64'), shape), at, 'clip', result)];
}

/** The indices of an axis as they count from its beginning: elements of a line of its numbers. */
function checked({ indices, axis, isInRange }: IndexPick, size: number, mode: IndexMode): Expr {
  if (isInRange) return indices as Expr;
  const line = reshape(iota(size), [...Array<number>(axis).fill(1), size]);
  return take(line, indices, axis, { mode });
}
