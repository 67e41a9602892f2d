/**
 * Elements by selectors: ranges, numbers and arrays of indices, which `selectors.ts` reads. Called by `slice`
 * (`slicing.ts`) and by what writes by index (`writing.ts`); errors name the function that the user called.
 *
 * Ranges and numbers become one slice view and one reshape. Arrays of indices become one gather: the axes from the
 * first that has one to the last are merged, and the index into them is arithmetic on all of theirs.
 *
 *     x[:, i, 1:3, j]  of (a, b, c, d)   →   gather along 1 of reshape x (a, b·c·d) at i·c·d + (1 … 2)·d + j
 */
import { sliced, withoutOwn } from './basic-slicing.js';
import type { Expr, IndexMode } from './expr.js';
import { upToBound, withExtent } from './extent.js';
import { inRangeOf, readingOf, withElements } from './filling.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { cast, iota, map, type Operand } from './infer.js';
import { lengthOf } from './lengths.js';
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
import { noneTaken, taken, upTo } from './taking.js';
import { broadcast, gather, reshape } from './view-nodes.js';
import { moveaxis } from './views.js';

/** The elements that selectors choose, as `slice` says. */
export function selected(op: string, x: Expr, selectors: readonly (Selector | SliceOptions)[]): Expr {
  const { parsed, options } = parsedSelectors(op, selectors);
  const reading = readingOf(op, options, x.dtype);
  const { source: merged, parts } = withoutMasks(op, x, parsed);
  const { source, others } = withoutOwn(op, merged, parts);
  const picks = placed(op, source.shape, others);
  if (!picks.some(({ kind }) => kind === 'indices')) return sliced(source, picks);
  return typeof reading === 'string'
    ? indexed(op, source, picks, reading).found
    : indexedOr(op, source, picks, reading.value);
}

/** Elements, and where among their axes those of the indices are. */
interface Indexed {
  readonly found: Expr;
  readonly place: number;
  readonly joint: readonly number[];
}

/** Selection by arrays of indices, of which those out of range give a value. */
function indexedOr(op: string, x: Expr, given: readonly Pick[], value: Expr): Expr {
  const areInside: Expr[] = [];
  const axes: number[] = [];
  const picks = given.map((pick): Pick => {
    if (pick.kind !== 'indices' || pick.isInRange) return pick;
    const { places, isInside } = inRangeOf(op, pick.indices, lengthOf(x, pick.axis));
    areInside.push(isInside);
    axes.push(pick.axis);
    return { ...pick, indices: places, isInRange: true };
  });
  const { found, place, joint } = indexed(op, withElements(x, axes, value), picks, 'clip');
  if (areInside.length === 0) return found;
  const isInside = areInside.reduce((a, b) => map('logicalAnd', [a, b]));
  const behind = found.shape.length - place - joint.length;
  return map('where', [
    reshape(isInside, [...isInside.shape, ...Array<number>(behind).fill(1)]),
    found,
    value,
  ]);
}

const hasSize = ({ kind }: Pick): boolean => kind === 'range' || kind === 'newaxis';
const isAdvanced = ({ kind }: Pick): boolean => kind === 'indices' || kind === 'at';

/** Selection by arrays of indices; numbers beside them count as arrays of no axes. */
function indexed(op: string, x: Expr, picks: readonly Pick[], mode: IndexMode): Indexed {
  const first = picks.findIndex(({ kind }) => kind === 'indices');
  const last = picks.findLastIndex(({ kind }) => kind === 'indices');
  const whole = (axis: number): Pick => ({ kind: 'range', axis, start: 0, step: 1, size: x.shape[axis]! });
  const inner = picks.slice(first, last + 1);
  const axes = inner.flatMap((pick) => ('axis' in pick ? [pick.axis] : []));
  const around = sliced(x, [...picks.slice(0, first), ...axes.map(whole), ...picks.slice(last + 1)]);
  const at = picks.slice(0, first).filter(hasSize).length;
  const only = inner.length === 1 ? (inner[0] as IndexPick) : undefined;
  const [joint, found] =
    only === undefined
      ? jointly(op, around, inner, axes, at, mode)
      : [only.shape, alone(op, around, only, x.shape[only.axis]!, at, mode)];
  const advanced = picks.flatMap((pick, k) => (isAdvanced(pick) ? [k] : []));
  const isTogether = advanced.at(-1)! - advanced[0]! === advanced.length - 1;
  if (isTogether || at === 0) return { found, place: at, joint };
  const places = [...joint.keys()];
  const from = places.map((k) => at + k);
  return { found: moveaxis(found, from, places), place: 0, joint };
}

/** The size of an axis where it depends on data. */
const lengthAt = ({ extent }: Expr, axis: number): Expr | undefined =>
  extent?.axis === axis ? extent.length : undefined;

/** Selection by one array of indices, whose axis of x is the one at place `at` here: errors name that of x. */
function alone(op: string, x: Expr, pick: IndexPick, size: number, at: number, mode: IndexMode): Expr {
  if (pick.axis === at && !pick.isInRange) return taken(op, x, pick.indices, at, mode);
  const indices = reshape(checked(op, pick, size, mode, lengthAt(x, at)), pick.shape);
  return taken(op, upTo(x, at), indices, at, 'clip');
}

/** Selection from `axes` of an array by all their picks at once. Gives the shape that the indices broadcast to. */
function jointly(
  op: string,
  given: Expr,
  picks: readonly Pick[],
  axes: readonly number[],
  at: number,
  mode: IndexMode,
): readonly [joint: readonly number[], taken: Expr] {
  const isMerged =
    given.extent !== undefined && given.extent.axis >= at && given.extent.axis < at + axes.length;
  const x = isMerged ? upToBound(given) : given;
  const sizes = x.shape.slice(at, at + axes.length);
  const strides = denseStrides(sizes);
  const joint = broadcastShapes(
    op,
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
      const line = reshape(
        iota(pick.size),
        shape.map((size, k) => (k === place ? size : 1)),
      );
      // One of a size that depends on data is taken whole.
      const length = lengthAt(given, at + axis);
      const along = length === undefined ? line : withExtent(line, place, length);
      place++;
      parts.push(map('add', [map('multiply', [along, pick.step * stride]), pick.start * stride]));
    } else {
      const inRange = reshape(checked(op, pick, sizes[axis]!, mode, lengthAt(given, at + axis)), [
        ...pick.shape,
        ...between.map(() => 1),
      ]);
      parts.push(map('multiply', [inRange, stride]));
    }
    axis++;
  }
  const flat = parts.reduce((sum, part) => map('add', [sum, part])) as Expr;
  const [before, after] = [x.shape.slice(0, at), x.shape.slice(at + axes.length)];
  const result = [...before, ...shape, ...after];
  const index = broadcast(cast(flat, 'int64'), shape);
  const line = reshape(upToBound(x), [...before, sizeOfShape(sizes), ...after]);
  const beside = x.extent === undefined || x.extent.axis < at ? 0 : axes.length - 1;
  const merged = x.extent === undefined ? line : withExtent(line, x.extent.axis - beside, x.extent.length);
  if (sizeOfShape(result) === 0) return [joint, noneTaken(op, merged, index, at, result)];
  return [joint, gather(merged, index, at, 'clip', result, op)];
}

/** The indices of an axis as they count from its beginning: elements of a line of its numbers. */
function checked(
  op: string,
  { indices, axis, isInRange }: IndexPick,
  size: number,
  mode: IndexMode,
  length: Expr | undefined,
): Expr {
  if (isInRange) return indices as Expr;
  const line = reshape(iota(size), [...Array<number>(axis).fill(1), size]);
  return taken(op, length === undefined ? line : withExtent(line, axis, length), indices, axis, mode);
}
