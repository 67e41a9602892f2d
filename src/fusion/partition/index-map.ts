/**
 * Index maps: for a node read inside a kernel, each of its axes as an affine function of the kernel's domain,
 * plus the bounds outside of which a pad has put zeros, and folds, by which a pad has put other elements there. Views only change the map, so they cost nothing; a
 * reshape that no affine map can say either asks for a finer domain (`NeedsSplit`) or for its input to be
 * stored (`NotAffine`).
 *
 * Called by `emit-kernel.ts` and `kernel-loads.ts`.
 */
import type { Fold, Shape, View } from '../../graph/expr.js';
import { denseStrides } from '../../graph/graph.js';
import { holdsEverywhere } from '../kernel/boxes.js';
import { type Affine, type Bound, sameAffine, sameBound, sameBounds, sameNumbers } from '../kernel/kernel.js';
import { mixAffine, mixAll, mixBounds } from '../passes/hash.js';

export interface IndexMap {
  /** One function per axis of the node. */
  readonly coordinates: readonly Affine[];
  readonly bounds: readonly Bound[];
  readonly folds: readonly CoordinateFold[];
}

/**
 * An affine function c that is folded back into 0 … size - 1. Coordinate k of the node is its own affine function,
 * moved on by steps[k] (fold(c) - c): slices and permutes below a fold keep it linear in what the fold gives.
 */
export interface CoordinateFold extends Affine {
  readonly size: number;
  readonly mode: Fold;
  readonly steps: readonly number[];
}

const NO_FOLDS: readonly CoordinateFold[] = [];

/** The domain's axis has to be split, its inner part of size `inner`, before the reshape is affine. */
export class NeedsSplit {
  constructor(
    readonly axis: number,
    readonly inner: number,
  ) {}
}

/** No affine map says this view: its input has to be stored first. */
export class NotAffine {}

export const indexMap = (
  coordinates: readonly Affine[],
  bounds: readonly Bound[],
  folds: readonly CoordinateFold[] = NO_FOLDS,
): IndexMap => ({ coordinates, bounds, folds });

/** Whether a coordinate of the node is folded. */
export const isFolded = ({ folds }: IndexMap, coordinate: number): boolean =>
  folds.some(({ steps }) => steps[coordinate] !== 0);

const sameFold = (a: CoordinateFold, b: CoordinateFold): boolean =>
  a.size === b.size && a.mode === b.mode && sameNumbers(a.steps, b.steps) && sameAffine(a, b);

/** Folds with other steps; those that move no coordinate are left out. */
const withSteps = (
  folds: readonly CoordinateFold[],
  change: (steps: readonly number[]) => readonly number[],
): readonly CoordinateFold[] =>
  folds.length === 0
    ? folds
    : folds
        .map((fold) => ({ ...fold, steps: change(fold.steps) }))
        .filter(({ steps }) => steps.some((step) => step !== 0));

export function sameMap(a: IndexMap, b: IndexMap): boolean {
  if (a.coordinates.length !== b.coordinates.length) return false;
  for (let k = 0; k < a.coordinates.length; k++)
    if (!sameAffine(a.coordinates[k]!, b.coordinates[k]!)) return false;
  if (a.folds.length !== b.folds.length) return false;
  for (let k = 0; k < a.folds.length; k++) if (!sameFold(a.folds[k]!, b.folds[k]!)) return false;
  return sameBounds(a.bounds, b.bounds);
}

/** Equal for equal maps; 30 bits. */
export function hashOfMap({ coordinates, bounds, folds }: IndexMap): number {
  let hash = coordinates.length;
  for (let k = 0; k < coordinates.length; k++) hash = mixAffine(hash, coordinates[k]!);
  for (const fold of folds) hash = mixAll(mixAffine(hash, fold), fold.steps);
  return mixBounds(hash, bounds) & 0x3fffffff;
}

export const constantAffine = (value: number, axes: number): Affine => ({
  offset: value,
  strides: new Array<number>(axes).fill(0),
});

/** `Σ coordinates[k] * weights[k] + offset`. */
export function combine(
  coordinates: readonly Affine[],
  weights: readonly number[],
  offset: number,
  axes: number,
): Affine {
  const strides = new Array<number>(axes).fill(0);
  let total = offset;
  for (let k = 0; k < coordinates.length; k++) {
    const weight = weights[k]!;
    if (weight === 0) continue;
    const coordinate = coordinates[k]!;
    total += weight * coordinate.offset;
    for (let a = 0; a < axes; a++) strides[a]! += weight * coordinate.strides[a]!;
  }
  return { offset: total, strides };
}

/** `factor * affine + offset`. */
function scaled(affine: Affine, factor: number, offset: number): Affine {
  if (factor === 1)
    return offset === 0 ? affine : { offset: affine.offset + offset, strides: affine.strides };
  return { offset: offset + factor * affine.offset, strides: affine.strides.map((s) => factor * s + 0) };
}

/** The map of an input that broadcasts to a node with the map `map`. */
export function broadcastMap(map: IndexMap, inputShape: Shape, nodeShape: Shape, axes: number): IndexMap {
  return sameNumbers(inputShape, nodeShape) ? map : broadcastedMap(map, inputShape, nodeShape, axes);
}

function broadcastedMap(map: IndexMap, inputShape: Shape, nodeShape: Shape, axes: number): IndexMap {
  const lead = nodeShape.length - inputShape.length;
  const coordinates = inputShape.map((n, k) =>
    n === 1 ? constantAffine(0, axes) : map.coordinates[lead + k]!,
  );
  const folds = withSteps(map.folds, (steps) => inputShape.map((n, k) => (n === 1 ? 0 : steps[lead + k]!)));
  return indexMap(coordinates, map.bounds, folds);
}

/** The map of a view's input, given the view's own. `sizes` are those of the domain. */
export function mapThroughView(
  view: View,
  map: IndexMap,
  shape: Shape,
  inputShape: Shape,
  sizes: readonly number[],
): IndexMap {
  const axes = sizes.length;
  switch (view.type) {
    case 'broadcast':
      return broadcastMap(map, inputShape, shape, axes);
    case 'permute': {
      const coordinates = new Array<Affine>(inputShape.length);
      view.order.forEach((axis, k) => {
        coordinates[axis] = map.coordinates[k]!;
      });
      const folds = withSteps(map.folds, (steps) => {
        const permuted = new Array<number>(inputShape.length);
        for (const [k, axis] of view.order.entries()) permuted[axis] = steps[k]!;
        return permuted;
      });
      return indexMap(coordinates, map.bounds, folds);
    }
    case 'slice':
      return indexMap(
        map.coordinates.map((c, k) => scaled(c, view.steps[k]!, view.starts[k]!)),
        map.bounds,
        withSteps(map.folds, (steps) => steps.map((step, k) => step * view.steps[k]!)),
      );
    case 'pad': {
      // The inside of a pad is bounded by a coordinate, which has to be affine.
      const isWhole = (k: number): boolean => view.before[k] === 0 && inputShape[k] === shape[k];
      if (shape.some((_, k) => !isWhole(k) && isFolded(map, k))) throw new NotAffine();
      if (view.fold !== undefined) return foldedMap(map, view.fold, view.before, shape, inputShape, sizes);
      const coordinates = map.coordinates.map((c, k) => scaled(c, 1, -view.before[k]!));
      const added = coordinates
        .map((c, k) => ({ ...c, size: inputShape[k]! }))
        .filter((bound, k) => !isWhole(k) && !holdsEverywhere(bound, sizes)); // a slice may leave out what was padded
      return indexMap(coordinates, mergeBounds(map.bounds, added), map.folds);
    }
    case 'reshape':
      return indexMap(
        reshapeCoordinates(map, shape, inputShape, sizes),
        map.bounds,
        map.folds.length === 0 ? map.folds : reshapeFolds(map.folds, shape, inputShape),
      );
  }
}

/** The map below a pad that folds. An axis of one element needs no fold. */
function foldedMap(
  map: IndexMap,
  mode: Fold,
  before: readonly number[],
  shape: Shape,
  inputShape: Shape,
  sizes: readonly number[],
): IndexMap {
  const coordinates = map.coordinates.map((c, k) =>
    inputShape[k] === 1 ? constantAffine(0, sizes.length) : scaled(c, 1, -before[k]!),
  );
  const folds = withSteps(map.folds, (steps) => steps.map((step, k) => (inputShape[k] === 1 ? 0 : step)));
  const added = coordinates.flatMap((c, k): CoordinateFold[] => {
    const size = inputShape[k]!;
    const isWhole = before[k] === 0 && size === shape[k];
    if (isWhole || size === 1 || holdsEverywhere({ ...c, size }, sizes)) return [];
    return [{ ...c, size, mode, steps: inputShape.map((_, axis) => (axis === k ? 1 : 0)) }];
  });
  return indexMap(coordinates, map.bounds, [...folds, ...added]);
}

function mergeBounds(a: readonly Bound[], b: readonly Bound[]): readonly Bound[] {
  return a.length === 0 ? b : [...a, ...b.filter((bound) => !a.some((known) => sameBound(known, bound)))];
}

/**
 * Splits both shapes into the finest groups of axes that hold the same elements: [axes of a, axes of b] each.
 */
function matchingGroups(a: Shape, b: Shape): [number[], number[]][] {
  const groups: [number[], number[]][] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const left: number[] = [];
    const right: number[] = [];
    let p = 1;
    let q = 1;
    do {
      if ((p <= q && i < a.length) || j >= b.length) {
        left.push(i);
        p *= a[i++]!;
      } else {
        right.push(j);
        q *= b[j++]!;
      }
    } while (p !== q && (i < a.length || j < b.length));
    groups.push([left, right]);
  }
  return groups;
}

/**
 * The coordinates of a reshape that only adds and drops axes of one element, where they stay within their
 * axes: what `reshapeCoordinates` finds for most reshapes, without its work.
 */
function unitReshape(
  { coordinates }: IndexMap,
  shape: Shape,
  inputShape: Shape,
  sizes: readonly number[],
): Affine[] | undefined {
  const result: Affine[] = [];
  let outer = 0;
  for (let inner = 0; inner < inputShape.length; inner++) {
    const n = inputShape[inner]!;
    if (n === 1) {
      result.push(constantAffine(0, sizes.length));
      continue;
    }
    while (shape[outer] === 1) outer++;
    if (shape[outer] !== n || !staysWithin(coordinates[outer]!, n, sizes)) return undefined;
    result.push(coordinates[outer++]!);
  }
  return result;
}

/** Whether an affine function walks no axis of one element and stays in 0 … n - 1. */
const staysWithin = (affine: Affine, n: number, sizes: readonly number[]): boolean =>
  affine.strides.every((stride, axis) => stride === 0 || sizes[axis] !== 1) &&
  holdsEverywhere({ ...affine, size: n }, sizes);

function reshapeCoordinates(
  map: IndexMap,
  shape: Shape,
  inputShape: Shape,
  sizes: readonly number[],
): Affine[] {
  const same = unitReshape(map, shape, inputShape, sizes);
  if (same !== undefined) return same;
  const result: Affine[] = inputShape.map(() => constantAffine(0, sizes.length));
  for (const [outer, inner] of matchingGroups(shape, inputShape)) {
    // The index along an axis of one element is 0, whatever a pad makes of it outside its bounds.
    const moving = outer.filter((k) => shape[k] !== 1);
    const weights = denseStrides(moving.map((k) => shape[k]!));
    const linear = combine(
      moving.map((k) => map.coordinates[k]!),
      weights,
      0,
      sizes.length,
    );
    // Alone, an axis takes the index as it is, which may lie outside of the bounds of a join or pad above.
    const wide = inner.filter((k) => inputShape[k] !== 1);
    const radices = wide.map((k) => inputShape[k]!);
    if (radices.length === 0) continue;
    digits(linear, radices, sizes).forEach((digit, k) => {
      result[wide[k]!] = digit;
    });
  }
  return result;
}

/** The folds of a reshape's input: several axes may become one, along which folds go on by more elements. */
function reshapeFolds(
  folds: readonly CoordinateFold[],
  shape: Shape,
  inputShape: Shape,
): readonly CoordinateFold[] {
  const groups = matchingGroups(shape, inputShape);
  return withSteps(folds, (steps) => {
    const reshaped = new Array<number>(inputShape.length).fill(0);
    for (const [outer, inner] of groups) {
      const weights = denseStrides(outer.map((k) => shape[k]!));
      const step = outer.reduce((sum, k, i) => sum + weights[i]! * steps[k]!, 0);
      const wide = inner.filter((k) => inputShape[k] !== 1);
      if (step === 0 || wide.length === 0) continue;
      if (wide.length > 1) throw new NotAffine();
      reshaped[wide[0]!] = step;
    }
    return reshaped;
  });
}

/**
 * Writes an affine function as digits of a mixed radix system, each digit affine. A step may move several
 * digits, as that of a diagonal does:
 *
 *     4097 i, 0 ≤ i < 4096   →   (i, i) in radices (4096, 4096)
 */
function digits(linear: Affine, radices: readonly number[], sizes: readonly number[]): Affine[] {
  if (radices.length === 1) return [linear];
  const weights = denseStrides(radices);
  const parts = radices.map(() => ({ offset: 0, strides: new Array<number>(sizes.length).fill(0) }));
  let rest = linear.offset;
  radices.forEach((radix, k) => {
    if (radix === 1) return;
    parts[k]!.offset = Math.trunc(rest / weights[k]!);
    rest -= parts[k]!.offset * weights[k]!;
  });
  linear.strides.forEach((stride, axis) => {
    if (stride === 0 || sizes[axis] === 1) return;
    const step = Math.abs(stride);
    // The digit that one step along this axis moves: the largest weight that divides the stride.
    const k = weights.findIndex((weight, i) => radices[i]! > 1 && step % weight === 0 && step >= weight);
    if (k < 0) throw new NotAffine();
    const period = weights[k]! * radices[k]!;
    if (k > 0 && step * sizes[axis]! > period && radices.slice(0, k).some((radix) => radix > 1)) {
      if (period % step === 0 && sizes[axis]! % (period / step) === 0)
        throw new NeedsSplit(axis, period / step);
      // To the nearest, so that a step down and to the left moves both digits, too.
      let left = stride;
      for (const [d, weight] of weights.entries()) {
        if (radices[d] === 1) continue;
        parts[d]!.strides[axis] = Math.round(left / weight) + 0;
        left -= parts[d]!.strides[axis]! * weight;
      }
      return;
    }
    parts[k]!.strides[axis] = stride / weights[k]!;
  });
  parts.forEach((part, k) => {
    if (!holdsEverywhere({ ...part, size: radices[k]! }, sizes)) throw new NotAffine();
  });
  return parts;
}
