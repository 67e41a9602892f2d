/**
 * Work: how a kernel can be run part by part, and what a part touches.
 *
 * A part runs the very code of the whole kernel on a range of its blocks (CUDA) or tiles (CPU), with the same schedule
 * and the same addresses relative to each buffer's start. The bits of a result therefore do not depend on how a kernel
 * was cut. `exec/sweeps.ts` cuts jobs that do not fit into memory; each code generator says how its kernels can be cut.
 */
import type { Access, Affine, Bound, Kernel } from '../fusion/kernel.js';

/** Elements [first, last) of a kernel's buffer: the smallest range that holds all that a part reads, or writes. */
export interface Region {
  /** Position in `Kernel.buffers`. */
  readonly buffer: number;
  readonly first: number;
  readonly last: number;
}

/** What a range of units runs: one entry for each launch of the kernel, blocks [x0, x1) × [y0, y1) of its grid. */
export type Part = readonly [x0: number, x1: number, y0: number, y1: number];

/** A way to cut a kernel: its units, in order, can be run in ranges. */
export interface Work {
  readonly units: number;
  /** What units [first, last) read and write; `first < last`. */
  readonly regions: (
    first: number,
    last: number,
  ) => { readonly reads: readonly Region[]; readonly writes: readonly Region[] };
  /** The parts of the kernel's launches that run units [first, last). A launch that has nothing to do has x0 = x1. */
  readonly parts: (first: number, last: number) => readonly Part[];
}

/**
 * The ways to cut a kernel. Along its rows, a range of units leaves finished results. Along its reduced axes, it leaves
 * partial results in scratch memory; what finishes them runs once after the last unit, and touches all of `finish`.
 */
export interface Works {
  readonly rows: Work | undefined;
  /** One for each phase, in the order in which they run; empty if the reduced axes cannot be cut. */
  readonly phases: readonly { readonly work: Work; readonly finish: readonly Region[] }[];
  /** Bytes of the scratch buffers that the cut along the reduced axes needs. */
  readonly phaseScratch: readonly number[];
}

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
function insideOf(bounds: readonly Bound[], box: Box): Box | undefined {
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

/** One region for each buffer that some of the accesses reach from a box. */
export function regionsOf(kernel: Kernel, accesses: readonly Access[], box: Box): Region[] {
  const found: Region[] = [];
  for (const access of accesses) {
    const inside = insideOf(access.bounds, box);
    const { buffer } = access;
    const reach = inside && reachOf(access, inside, kernel.buffers[buffer]!.elementCount);
    if (reach !== undefined) found.push({ buffer, first: reach[0], last: reach[1] });
  }
  return mergeRegions(found);
}

/** One region for each buffer, around all of its regions. */
export function mergeRegions(regions: readonly Region[]): Region[] {
  const found = new Map<number, Region>();
  for (const { buffer, first, last } of regions) {
    const known = found.get(buffer);
    found.set(buffer, {
      buffer,
      first: Math.min(first, known?.first ?? first),
      last: Math.max(last, known?.last ?? last),
    });
  }
  return [...found.values()];
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
