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

/** An index map on the parallel axes of a reduction, then on the reduced ones. */
interface Read extends Affine {
  readonly map: LeafMap;
}

/** The axes of more than one element: parallel ones, `first` of them, then reduced ones. */
interface Axes {
  readonly first: number;
  readonly sizes: readonly number[];
}

export function isReadAlike(
  root: GraphNodeOf<'reduce'>,
  shape: Shape,
  a: readonly LeafMap[],
  b: readonly LeafMap[],
): boolean {
  const wide = [...shape.keys()].filter((axis) => shape[axis] !== 1);
  const parallel = wide.filter((axis) => !root.axes.includes(axis));
  const order = [...parallel, ...wide.filter((axis) => root.axes.includes(axis))];
  const axes: Axes = { first: parallel.length, sizes: order.map((axis) => shape[axis]!) };
  const readsOf = (maps: readonly LeafMap[]): Read[] =>
    maps.map((map) => ({ map, offset: 0, strides: order.map((axis) => map.strides[axis]!) }));
  const [own, other] = [readsOf(a), readsOf(b)];
  return sameKinds(own, other, axes) && sameRows(own, other, axes) && sameWalk(own, other, axes);
}

const isLoad = ({ map }: Read): boolean => map.leaf >= 0;

/** Whether both walk the same parallel axes as one. */
function sameRows(a: readonly Read[], b: readonly Read[], { first, sizes }: Axes): boolean {
  const isOne = (reads: readonly Read[], k: number): boolean =>
    reads.every(({ strides }) => strides[k - 1] === strides[k]! * sizes[k]!);
  for (let k = 1; k < first; k++) if (isOne(a, k) !== isOne(b, k)) return false;
  return true;
}

function sameWalk(a: readonly Read[], b: readonly Read[], { first, sizes }: Axes): boolean {
  if (sizes.length - first < 2) return true;
  const reduced: ReducedAxes = { first, sizes: sizes.slice(first) };
  return walkOf(reduced, a.filter(isLoad), a) === walkOf(reduced, b.filter(isLoad), b);
}

/** Whether both have the same kinds of loads along reduced axes, as often as each other where there are several. */
function sameKinds(a: readonly Read[], b: readonly Read[], axes: Axes): boolean {
  const { first } = axes;
  const isMoving = ({ strides }: Read): boolean => strides.some((stride, k) => k >= first && stride !== 0);
  const isOnRows = ({ strides }: Read): boolean => strides.some((stride, k) => k < first && stride !== 0);
  const [own, other] = [a, b].map((reads) => reads.filter((read) => isLoad(read) && isMoving(read)));
  const areShared = [own!, other!].map((reads) => first > 0 && reads.length > 0 && !reads.some(isOnRows));
  if (areShared[0] !== areShared[1]) return false;
  // Elements that are the same for every row: a GPU's blocks share them, by what is computed of them too.
  if (areShared[0]) return sharedText(own!) === sharedText(other!);
  const [kinds, others] = [kindsOf(own!, axes), kindsOf(other!, axes)];
  return (
    kinds.length === others.length &&
    kinds.every((kind) =>
      others.some((one) => isSameKind(kind, one) && (kinds.length === 1 || kind.count === one.count)),
    )
  );
}

/** A kind of loads, and how many are of it. */
interface Kind {
  readonly map: LeafMap;
  readonly reaches: readonly number[];
  readonly steps: readonly number[];
  count: number;
}

function kindsOf(reads: readonly Read[], { sizes }: Axes): Kind[] {
  const kinds: Kind[] = [];
  for (const { map, strides } of reads) {
    const bytes = byteLengthOf(map.dtype);
    const reaches = strides.map((stride) => reachOf(stride, bytes));
    const kind: Kind = { map, reaches, steps: stepsOf(strides, sizes), count: 1 };
    const known = kinds.find((one) => isSameKind(one, kind));
    if (known === undefined) kinds.push(kind);
    else known.count++;
  }
  return kinds;
}

const isSameKind = (a: Kind, b: Kind): boolean =>
  a.map.dtype === b.map.dtype &&
  a.map.isGathered === b.map.isGathered &&
  sameNumbers(a.reaches, b.reaches) &&
  sameNumbers(a.steps, b.steps) &&
  (a.map.split === b.map.split ||
    (a.map.split !== undefined && b.map.split !== undefined && textOf(a.map.split) === textOf(b.map.split)));

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
function stepsOf(strides: readonly number[], sizes: readonly number[]): number[] {
  const axes = [...strides.keys()]
    .filter((axis) => strides[axis] !== 0)
    .sort((a, b) => Math.abs(strides[b]!) - Math.abs(strides[a]!) || a - b);
  const isOne = (axis: number, inner: number): boolean => strides[axis] === strides[inner]! * sizes[inner]!;
  return axes.map((axis, k) => (k + 1 < axes.length && isOne(axis, axes[k + 1]!) ? -1 - axis : axis));
}

/** Loads that all rows share, as text: the leaves of each index map. */
function sharedText(reads: readonly Read[]): string {
  const leaves = new Map<string, number[]>();
  for (const { map } of reads) {
    const { dtype, strides, isGathered, split, leaf } = map;
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
