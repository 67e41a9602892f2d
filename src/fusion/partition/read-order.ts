/**
 * Whether code generators choose the same order of a reduction's elements for two lists of index maps. They choose it
 * by the kinds of the loads, by which axes they walk as one, and by the order of the reduced ones:
 *
 *     x by (4096, 1), y by (4096, 1)   as   z by (8192, 1)      one kind: long steps, then elements side by side
 *     x by (4096, 1)                   not as   x by (1, 4096)
 *
 * Compared number by number, since planning asks for each reduction. Called by `own-reading.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import type { Shape } from '../../graph/expr.js';
import type { GraphNodeOf } from '../../graph/graph.js';
import { type Affine, sameNumbers } from '../kernel/kernel.js';
import type { LeafMap } from './leaf-maps.js';
import { type ReducedAxes, walkOf } from './reduced-order.js';

/** The axes of more than one element: parallel ones, `first` of them, then reduced ones. */
interface Axes {
  readonly first: number;
  /** Positions among the axes of the maps. */
  readonly order: readonly number[];
  readonly sizes: readonly number[];
}

export function isReadAlike(
  root: GraphNodeOf<'reduce'>,
  shape: Shape,
  a: readonly LeafMap[],
  b: readonly LeafMap[],
): boolean {
  const axes = axesOf(root, shape);
  return sameKinds(a, b, axes) && sameRows(a, b, axes) && sameWalk(a, b, axes);
}

function axesOf({ axes: reduced }: GraphNodeOf<'reduce'>, shape: Shape): Axes {
  const order: number[] = [];
  for (let k = 0; k < shape.length; k++) if (shape[k] !== 1 && !reduced.includes(k)) order.push(k);
  const first = order.length;
  for (let k = 0; k < shape.length; k++) if (shape[k] !== 1 && reduced.includes(k)) order.push(k);
  return { first, order, sizes: order.map((axis) => shape[axis]!) };
}

const isLoad = ({ leaf }: LeafMap): boolean => leaf >= 0;

/** Whether a map moves along some of the axes from `from` to `to`. */
function movesAlong({ strides }: LeafMap, order: readonly number[], from: number, to: number): boolean {
  for (let k = from; k < to; k++) if (strides[order[k]!] !== 0) return true;
  return false;
}

/** Whether a map moves along each of some axes. */
const movesAlongEach = ({ strides }: LeafMap, order: readonly number[]): boolean =>
  order.every((axis) => strides[axis] !== 0);

/** Whether both walk the same parallel axes as one. */
function sameRows(a: readonly LeafMap[], b: readonly LeafMap[], { first, order, sizes }: Axes): boolean {
  for (let k = 1; k < first; k++) {
    const [outer, inner, size] = [order[k - 1]!, order[k]!, sizes[k]!];
    const isOne = ({ strides }: LeafMap): boolean => strides[outer] === strides[inner]! * size;
    if (a.every(isOne) !== b.every(isOne)) return false;
  }
  return true;
}

const sameWalk = (a: readonly LeafMap[], b: readonly LeafMap[], axes: Axes): boolean =>
  walkIn(axes, a) === walkIn(axes, b);

function walkIn({ first, order, sizes }: Axes, maps: readonly LeafMap[]): string {
  if (sizes.length - first < 2) return '';
  const reduced: ReducedAxes = { first, sizes: sizes.slice(first) };
  const affineOf = ({ strides }: LeafMap): Affine => ({
    offset: 0,
    strides: order.map((axis) => strides[axis]!),
  });
  return walkOf(reduced, maps.filter(isLoad).map(affineOf), maps.map(affineOf));
}

/** The walk over the reduced axes of more than one element, counted among these, that some maps ask for, as text. */
export const walkBy = (root: GraphNodeOf<'reduce'>, shape: Shape, maps: readonly LeafMap[]): string =>
  walkIn(axesOf(root, shape), maps);

/**
 * Whether both have the same kinds of loads along reduced axes, as often as each other where there are several. How many are
 * the same for all rows makes no difference beside one that moves along all axes, by which the order is chosen.
 */
function sameKinds(a: readonly LeafMap[], b: readonly LeafMap[], axes: Axes): boolean {
  const { first, order } = axes;
  const [own, other] = [decidingMaps(a, axes), decidingMaps(b, axes)];
  const isShared = (maps: readonly LeafMap[]): boolean =>
    first > 0 && maps.length > 0 && !maps.some((map) => movesAlong(map, order, 0, first));
  const isOwnShared = isShared(own);
  if (isOwnShared !== isShared(other)) return false;
  // Elements that are the same for every row: a GPU's blocks share them, by what is computed of them too.
  if (isOwnShared) return sharedText(own) === sharedText(other);
  const [kinds, others] = [kindsOf(own, axes), kindsOf(other, axes)];
  const hasOwnRows = first > 0 && kinds.some(({ map }) => movesAlongEach(map, order));
  const isCounted = ({ map }: Kind): boolean =>
    kinds.length > 1 && !(hasOwnRows && !movesAlong(map, order, 0, first));
  return (
    kinds.length === others.length &&
    kinds.every((kind) =>
      others.some(
        ({ map, count }) => isSameKind(kind.map, map, axes) && (!isCounted(kind) || kind.count === count),
      ),
    )
  );
}

/**
 * The loads that move along reduced axes, but for vectors beside arrays that move along all axes, where no code generator
 * looks at them: they are no wider, and what they are read by in chunks, so are those arrays, or rows are columns of memory.
 */
function decidingMaps(maps: readonly LeafMap[], { first, order }: Axes): readonly LeafMap[] {
  const moving = maps.filter((map) => isLoad(map) && movesAlong(map, order, first, order.length));
  const wholes = moving.filter((map) => movesAlongEach(map, order));
  if (first === 0 || order.length !== first + 1 || wholes.length === 0 || wholes.length === moving.length)
    return moving;
  const [last, across] = [order[first]!, order[first - 1]!];
  const areColumns = wholes.every(({ strides }) => Math.abs(strides[across]!) < Math.abs(strides[last]!));
  const widest = Math.max(...wholes.map(({ dtype }) => byteLengthOf(dtype)));
  const isChunked = ({ dtype, strides }: LeafMap): boolean =>
    wholes.some((whole) => whole.strides[last] === 1 && whole.dtype === dtype) || strides[last] !== 1;
  const isVector = (map: LeafMap): boolean =>
    !movesAlong(map, order, 0, first) && !map.isGathered && map.split === undefined;
  return moving.filter(
    (map) => !(isVector(map) && byteLengthOf(map.dtype) <= widest && (areColumns || isChunked(map))),
  );
}

/** A kind of loads, by the first of it, and how many are of it. */
interface Kind {
  readonly map: LeafMap;
  count: number;
}

function kindsOf(maps: readonly LeafMap[], axes: Axes): Kind[] {
  const kinds: Kind[] = [];
  for (const map of maps) {
    const known = kinds.find((one) => isSameKind(one.map, map, axes));
    if (known === undefined) kinds.push({ map, count: 1 });
    else known.count++;
  }
  return kinds;
}

const isSameKind = (a: LeafMap, b: LeafMap, axes: Axes): boolean =>
  a.dtype === b.dtype &&
  a.isGathered === b.isGathered &&
  isSteppedAlike(a, b, axes) &&
  (a.split === b.split ||
    (a.split !== undefined && b.split !== undefined && textOf(a.split) === textOf(b.split)));

/** Whether two maps of one dtype reach as far along each axis, and walk the axes in the same order. */
function isSteppedAlike(a: LeafMap, b: LeafMap, { order, sizes }: Axes): boolean {
  const bytes = byteLengthOf(a.dtype);
  let isSame = true;
  for (let k = 0; k < order.length; k++) {
    const [own, other] = [a.strides[order[k]!]!, b.strides[order[k]!]!];
    if (own === other) continue;
    isSame = false;
    if (reachOf(own, bytes) !== reachOf(other, bytes)) return false;
  }
  return isSame || sameNumbers(stepsOf(a, order, sizes), stepsOf(b, order, sizes));
}

/** Bytes of a line of the caches. */
const LINE_BYTES = 64;
const NEAR = 2;
const FAR = 3;

/** A stride as far as it matters: itself up to 1, else whether it stays within a line. */
function reachOf(stride: number, bytes: number): number {
  const size = Math.abs(stride);
  if (size <= 1) return stride;
  return size * bytes < LINE_BYTES ? NEAR : FAR;
}

/** Axes from the one with the longest stride to the one with the shortest, negative where the next is walked with it. */
function stepsOf({ strides: own }: LeafMap, order: readonly number[], sizes: readonly number[]): number[] {
  const strides = order.map((axis) => own[axis]!);
  const axes = [...strides.keys()]
    .filter((axis) => strides[axis] !== 0)
    .sort((a, b) => Math.abs(strides[b]!) - Math.abs(strides[a]!) || a - b);
  const isOne = (axis: number, inner: number): boolean => strides[axis] === strides[inner]! * sizes[inner]!;
  return axes.map((axis, k) => (k + 1 < axes.length && isOne(axis, axes[k + 1]!) ? -1 - axis : axis));
}

/** Loads that all rows share, as text: the leaves of each index map. */
function sharedText(maps: readonly LeafMap[]): string {
  const leaves = new Map<string, number[]>();
  for (const { dtype, strides, isGathered, split, leaf } of maps) {
    const key = `${dtype} ${isGathered} ${strides} ${split === undefined ? '' : textOf(split)}`;
    const known = leaves.get(key);
    if (known === undefined) leaves.set(key, [leaf]);
    else known.push(leaf);
  }
  return [...leaves.values()].join(' ; ');
}

const textOf = (maps: readonly LeafMap[]): string =>
  maps
    .map(({ dtype, strides, split }) => `${dtype} ${strides} ${split === undefined ? '' : textOf(split)}`)
    .join(' ');
