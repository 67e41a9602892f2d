/**
 * Boxes: ranges on the axes of a domain, what affine maps reach from them, and the boxes that make up a range of a linear
 * index. What parts of kernels touch is found with them (`work.ts`, `pitch.ts`).
 */
import type { Affine, Bound } from '../fusion/kernel.js';

/** Ranges [first, last) on the axes of a domain: parallel ones, then reduced ones. */
export type Box = readonly (readonly [first: number, last: number])[];

/** The elements that an affine map reaches from a box, clamped to the buffer; `undefined` if there are none. */
export function reachOf(affine: Affine, box: Box, elementCount: number): [number, number] | undefined {
  let low = affine.offset;
  let high = affine.offset;
  for (const [k, [first, last]] of box.entries()) {
    if (last <= first) return undefined;
    const stride = affine.strides[k]!;
    low += stride * (stride > 0 ? first : last - 1);
    high += stride * (stride > 0 ? last - 1 : first);
  }
  const first = Math.max(0, low);
  const last = Math.min(elementCount, high + 1);
  return last > first ? [first, last] : undefined;
}

/** The part of a box where bounds can hold; `undefined` if there is none. Bounds on several axes at once cut nothing off. */
export function insideOf(bounds: readonly Bound[], box: Box): Box | undefined {
  if (bounds.length === 0) return box;
  const inside = box.map(([first, last]): [number, number] => [first, last]);
  for (const bound of bounds) {
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
 * The box of indices [first, last) of a linear index over `sizes`, outermost first: exact where the range is whole in the
 * inner axes, else the smallest box around it.
 */
export function boxOfRange(first: number, last: number, sizes: readonly number[]): Box {
  const box: [number, number][] = sizes.map((n) => [0, n]);
  let inner = sizes.reduce((a, b) => a * b, 1);
  let low = first;
  let high = last - 1;
  for (const [k, size] of sizes.entries()) {
    inner /= size;
    const from = Math.floor(low / inner);
    const to = Math.floor(high / inner);
    box[k] = [from, to + 1];
    if (from !== to) break;
    low -= from * inner;
    high -= to * inner;
  }
  return box;
}

/** The boxes that indices [first, last) of a linear index over `sizes` are made of: a few that are whole in inner axes. */
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
