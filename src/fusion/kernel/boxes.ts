/**
 * Boxes and ranges: the values that affine functions take in a domain or in a box of it, and the boxes that
 * make up a range of a linear index. Footprints of parts of kernels are found with them
 * (`codegen/cuts/work.ts`, `codegen/cuts/pitch.ts`).
 */
import type { Fold } from '../../graph/expr.js';
import { type Access, type Affine, type Bound, isZeroOutside, placedAccess } from './kernel.js';

/** The smallest and the largest value of an affine function in a domain without empty axes. */
export function rangeOf({ offset, strides }: Affine, sizes: readonly number[]): [low: number, high: number] {
  let low = offset;
  let high = offset;
  for (let k = 0; k < strides.length; k++) {
    const span = strides[k]! * (sizes[k]! - 1);
    if (span < 0) low += span;
    else high += span;
  }
  return [low, high];
}

/** Whether a bound holds in the whole of a domain. */
export function holdsEverywhere(bound: Bound, sizes: readonly number[]): boolean {
  const [low, high] = rangeOf(bound, sizes);
  return low >= 0 && high < bound.size;
}

/** Ranges [first, last) on the axes of a domain: parallel ones, then reduced ones. */
export type Box = readonly (readonly [first: number, last: number])[];

/** The smallest and the largest value of an affine function in a box that is not empty. */
export function rangeIn({ offset, strides }: Affine, box: Box): [low: number, high: number] {
  let [low, high] = [offset, offset];
  for (const [k, [first, last]] of box.entries()) {
    const stride = strides[k]!;
    low += stride * (stride > 0 ? first : last - 1);
    high += stride * (stride > 0 ? last - 1 : first);
  }
  return [low, high];
}

/**
 * The elements that an affine map reaches from a box, clamped to the buffer; `undefined` if there are none.
 */
export function reachOf(affine: Affine, box: Box, elementCount: number): [number, number] | undefined {
  if (box.some(([first, last]) => last <= first)) return undefined;
  const [low, high] = rangeIn(affine, box);
  const first = Math.max(0, low);
  const last = Math.min(elementCount, high + 1);
  return last > first ? [first, last] : undefined;
}

/**
 * The elements [first, last) that an access may touch from a box: exact where it is affine. A gather may
 * touch all that its index reaches, or those that indices of a `window` do. `undefined`: none.
 */
export function footprintOf(
  load: Access,
  box: Box,
  elementCount: number,
  window?: readonly [first: number, last: number],
): [number, number] | undefined {
  const access = placedAccess(load);
  const { index, bounds } = access;
  if (index !== undefined) {
    const span: Affine = { offset: access.offset, strides: [...access.strides, index.stride] };
    return reachOf(span, [...box, window ?? [0, index.size]], elementCount);
  }
  if (bounds.every(isZeroOutside)) return reachOf(access, box, elementCount);
  return foldedReach(access, box, elementCount);
}

/** `footprintOf` an affine access with folds: of the part that does not fold, and of each folded coordinate. */
function foldedReach(access: Access, box: Box, elementCount: number): [number, number] | undefined {
  if (box.some(([first, last]) => last <= first)) return undefined;
  let { offset } = access;
  const strides = [...access.strides];
  let [low, high] = [0, 0];
  for (const { fold, size, ...coordinate } of access.bounds) {
    if (fold === undefined) continue;
    offset -= fold.stride * coordinate.offset;
    for (let k = 0; k < strides.length; k++) strides[k]! -= fold.stride * coordinate.strides[k]!;
    const ends = foldedRange(fold.mode, rangeIn(coordinate, box), size).map((end) => end * fold.stride);
    low += Math.min(...ends);
    high += Math.max(...ends);
  }
  const [first, last] = rangeIn({ offset, strides }, box);
  return [Math.max(0, first + low), Math.min(elementCount, last + high + 1)];
}

/** The least and the greatest index that indices low … high of an axis of n elements fold to. */
function foldedRange(mode: Fold, [low, high]: readonly [number, number], n: number): [number, number] {
  const within: [number, number] = [Math.max(0, Math.min(low, n - 1)), Math.min(n - 1, Math.max(high, 0))];
  if (mode === 'nearest' || (low >= 0 && high < n)) return within;
  if (mode === 'wrap') return [0, n - 1];
  // Mirrored ends reach from the edge inwards as far as they reach outwards.
  const most = low < 0 ? -low - (mode === 'reflect' ? 1 : 0) : 0;
  const least = high >= n ? 2 * (n - 1) - high + (mode === 'reflect' ? 1 : 0) : n - 1;
  return [
    Math.max(0, Math.min(low < 0 ? 0 : low, least)),
    Math.min(n - 1, Math.max(high >= n ? n - 1 : high, most)),
  ];
}

/**
 * The part of a box where bounds without folds can hold; `undefined` if there is none. Bounds on several axes at once cut
 * nothing off.
 */
export function insideOf(bounds: readonly Bound[], box: Box): Box | undefined {
  if (bounds.length === 0) return box;
  const inside = box.map(([first, last]): [number, number] => [first, last]);
  for (const bound of bounds) {
    if (!isZeroOutside(bound)) continue;
    if (reachOf(bound, inside, bound.size) === undefined) return undefined;
    const axes = bound.strides.flatMap((stride, k) => (stride === 0 ? [] : [k]));
    if (axes.length !== 1) continue;
    const range = inside[axes[0]!]!;
    const stride = bound.strides[axes[0]!]!;
    // 0 <= offset + stride * x <= size - 1
    const [low, high] = [-bound.offset / stride, (bound.size - 1 - bound.offset) / stride];
    range[0] = Math.max(range[0], Math.ceil(Math.min(low, high)));
    range[1] = Math.min(range[1], Math.floor(Math.max(low, high)) + 1);
  }
  return inside;
}

/**
 * The boxes that indices [first, last) of a linear index over `sizes` are made of: a few that are whole in
 * inner axes.
 */
export function boxesOfRange(first: number, last: number, sizes: readonly number[]): Box[] {
  const boxes: Box[] = [];
  const cut = (from: number, to: number, axis: number, outer: Box): void => {
    if (from >= to) return;
    if (axis === sizes.length) {
      boxes.push(outer);
      return;
    }
    const inner = sizes.slice(axis + 1).reduce((a, b) => a * b, 1);
    const low = Math.ceil(from / inner);
    const high = Math.floor(to / inner);
    const at = (step: number): Box => [...outer, [step, step + 1]];
    if (low > high) {
      // Inside one step.
      cut(from - high * inner, to - high * inner, axis + 1, at(high));
      return;
    }
    if (from < low * inner) cut(from - (low - 1) * inner, inner, axis + 1, at(low - 1));
    if (low < high) {
      boxes.push([...outer, [low, high], ...sizes.slice(axis + 1).map((n) => [0, n] as const)]);
    }
    cut(0, to - high * inner, axis + 1, at(high));
  };
  cut(first, last, 0, []);
  return boxes;
}
