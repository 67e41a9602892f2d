/**
 * Index maps: for a node read inside a kernel, each of its axes as an affine function of the kernel's domain, plus the
 * bounds outside of which a pad has put zeros. Views only change the map, so they cost nothing; a reshape that no affine
 * map can say either asks for a finer domain (`NeedsSplit`) or for its input to be stored (`NotAffine`).
 *
 * Called by `build-kernel.ts`.
 */
import type { Shape, View } from '../graph/expr.js';
import { denseStrides } from '../graph/graph.js';
import { type Affine, affineKey, type Bound, boundKey } from './kernel.js';

export interface IndexMap {
  /** One function per axis of the node. */
  readonly coordinates: readonly Affine[];
  readonly bounds: readonly Bound[];
  /** Equal keys are equal maps. */
  readonly key: string;
}

/** The domain's axis has to be split, its inner part of size `inner`, before the reshape is affine. */
export class NeedsSplit {
  constructor(
    readonly axis: number,
    readonly inner: number,
  ) {}
}

/** No affine map says this view: its input has to be stored first. */
export class NotAffine {}

export function indexMap(coordinates: readonly Affine[], bounds: readonly Bound[]): IndexMap {
  const key = `${coordinates.map(affineKey).join(';')}|${bounds.map(boundKey).join(';')}`;
  return { coordinates, bounds, key };
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
  coordinates.forEach((coordinate, k) => {
    const weight = weights[k]!;
    if (weight === 0) return;
    total += weight * coordinate.offset;
    for (let a = 0; a < axes; a++) strides[a]! += weight * coordinate.strides[a]!;
  });
  return { offset: total, strides };
}

/** The map of an input that broadcasts to a node with the map `map`. */
export function broadcastMap(map: IndexMap, inputShape: Shape, nodeShape: Shape, axes: number): IndexMap {
  const lead = nodeShape.length - inputShape.length;
  if (lead === 0 && inputShape.every((n, k) => n === nodeShape[k])) return map;
  const coordinates = inputShape.map((n, k) =>
    n === 1 ? constantAffine(0, axes) : map.coordinates[lead + k]!,
  );
  return indexMap(coordinates, map.bounds);
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
      return indexMap(coordinates, map.bounds);
    }
    case 'slice':
      return indexMap(
        map.coordinates.map((c, k) => combine([c], [view.steps[k]!], view.starts[k]!, axes)),
        map.bounds,
      );
    case 'pad': {
      const coordinates = map.coordinates.map((c, k) => combine([c], [1], -view.before[k]!, axes));
      const added = coordinates.flatMap((c, k) =>
        inputShape[k] === shape[k] ? [] : [{ ...c, size: inputShape[k]! }],
      );
      return indexMap(coordinates, mergeBounds(map.bounds, added));
    }
    case 'reshape':
      return indexMap(reshapeCoordinates(map, shape, inputShape, sizes), map.bounds);
  }
}

function mergeBounds(a: readonly Bound[], b: readonly Bound[]): readonly Bound[] {
  const known = new Set(a.map(boundKey));
  return [...a, ...b.filter((bound) => !known.has(boundKey(bound)))];
}

/** Splits both shapes into the finest groups of axes that hold the same elements: [axes of a, axes of b] each. */
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

function reshapeCoordinates(
  map: IndexMap,
  shape: Shape,
  inputShape: Shape,
  sizes: readonly number[],
): Affine[] {
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
    const radices = inner.map((k) => inputShape[k]!);
    digits(linear, radices, sizes).forEach((digit, k) => {
      result[inner[k]!] = digit;
    });
  }
  return result;
}

/** Writes an affine function as digits of a mixed radix system, each digit affine. */
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
      if (period % step !== 0 || sizes[axis]! % (period / step) !== 0) throw new NotAffine();
      throw new NeedsSplit(axis, period / step);
    }
    parts[k]!.strides[axis] = stride / weights[k]!;
  });
  parts.forEach((part, k) => {
    let low = part.offset;
    let high = part.offset;
    part.strides.forEach((stride, axis) => {
      if (stride < 0) low += stride * (sizes[axis]! - 1);
      else high += stride * (sizes[axis]! - 1);
    });
    if (low < 0 || high >= radices[k]!) throw new NotAffine();
  });
  return parts;
}
