/**
 * Work: how a kernel can be run part by part, and what a part touches.
 *
 * A part runs the very code of the whole kernel on a range of its blocks (CUDA) or tiles (CPU), with the same
 * schedule and the same addresses relative to each buffer's start. The bits of a result therefore do not
 * depend on how a kernel was cut. `exec/tiles/sweeps.ts` cuts jobs that do not fit into memory; each code
 * generator says how its kernels can be cut.
 */

import { type Box, footprintOf, insideOf } from '../../fusion/kernel/boxes.js';
import { type Access, type Affine, type Kernel, sameNumbers } from '../../fusion/kernel/kernel.js';
import { type Pitches, type Rows, reachInRows } from './pitch.js';
import type { Shift } from './shift.js';

/**
 * Elements [first, last) of a kernel's buffer: the smallest range that holds all that a part reads, or
 * writes.
 */
export interface Region {
  /** Position in `Kernel.buffers`. */
  readonly buffer: number;
  readonly first: number;
  readonly last: number;
  /** Of that range, where a pitch was asked for: the first `width` elements of each row of so many. */
  readonly rows?: Rows;
}

/**
 * The work of a range of units: one entry for each launch of the kernel, blocks [x0, x1) × [y0, y1) of its
 * grid.
 */
export type Part = readonly [x0: number, x1: number, y0: number, y1: number];

/** Indices [first, last) of an axis that elements are taken along. */
export type IndexWindow = readonly [first: number, last: number];

/** A way to cut a kernel: its units, in order, can be run in ranges. */
export interface Work {
  readonly units: number;
  /**
   * The footprint of units [first, last); `first < last`. As rows for buffers in `pitches`; of buffers that are taken
   * from in windows, that of the indices in `window`.
   */
  readonly regions: (
    first: number,
    last: number,
    pitches?: Pitches,
    window?: IndexWindow,
  ) => { readonly reads: readonly Region[]; readonly writes: readonly Region[] };
  /**
   * The parts of the kernel's launches that run units [first, last). A launch that has nothing to do has x0 =
   * x1.
   */
  readonly parts: (first: number, last: number) => readonly Part[];
  /**
   * Ranges of units that tiles had better not cross the ends of: what lies on both sides of one is far apart.
   */
  readonly period?: number;
  /**
   * Buffers that units write in ascending order: ranges of units write stretches that do not overlap.
   */
  readonly inOrder?: ReadonlySet<number>;
  /** How regions move with their units, by position in `Kernel.buffers`; without it, in no simple way. */
  readonly shift?: Shift | undefined;
  /**
   * Partial results that units leave for later launches of the same part, by scratch buffer of the kernel; of a phase, for
   * what finishes it, and of that those which it reads.
   */
  readonly partials?: readonly Partials[];
}

/** A phase of a kernel, and what its end touches. */
export interface Phase {
  readonly work: Work;
  readonly finish: readonly Region[];
  /** The end in ranges of rows, where partial results may be elsewhere until then. */
  readonly rows?: Work;
}

/** A scratch buffer of partial results: for each slot one of each row, of `bytes` bytes. */
export interface Partials {
  readonly bytes: number;
  readonly slots: number;
  readonly rows: number;
  /** Rows of a unit; the last unit has those that are left over. */
  readonly unit: number;
}

/**
 * The ways to cut a kernel. Along its rows, a range of units leaves finished results. Along its reduced axes,
 * it leaves partial results in scratch memory; what finishes them runs once after the last unit, and touches
 * all of `finish`.
 */
export interface Works {
  readonly rows: Work | undefined;
  /** One for each phase, in the order in which they run; empty if the reduced axes cannot be cut. */
  readonly phases: readonly Phase[];
  /** Bytes of the scratch buffers that the cut along the reduced axes needs. */
  readonly phaseScratch: readonly number[];
  /** For each buffer, the pitches in elements that regions can be given in (`pitch.ts`). */
  readonly pitches: ReadonlyMap<number, readonly number[]>;
}

/**
 * The buffers that a kernel whose units are ranges of its domain in C order writes in ascending order: each
 * step along an axis passes all that the axes inside it reach.
 */
export function buffersInOrder(stores: readonly Access[], sizes: readonly number[]): ReadonlySet<number> {
  const inOrder = new Set<number>();
  for (const buffer of new Set(stores.map((store) => store.buffer))) {
    const own = stores.filter((store) => store.buffer === buffer);
    const [first] = own as [Access, ...Access[]];
    const offsets = own.map(({ offset }) => offset);
    const isOneWalk = own.every(({ strides }) => sameNumbers(strides, first.strides));
    const reach = Math.max(...offsets) - Math.min(...offsets) + 1;
    if (isOneWalk && isAscending(first, sizes, reach)) inOrder.add(buffer);
  }
  return inOrder;
}

/**
 * Whether each step along an axis of a domain passes all that the axes inside it reach, and `least` elements at each
 * place: those of interleaved channels.
 */
export function isAscending({ strides }: Affine, sizes: readonly number[], least = 1): boolean {
  let reach = least;
  for (let axis = sizes.length - 1; axis >= 0; axis--) {
    const [stride, size] = [strides[axis] ?? 0, sizes[axis]!];
    if (size <= 1) continue;
    if (stride < reach) return false;
    reach = stride * (size - 1) + reach;
  }
  return true;
}

/** One region for each buffer that some of the accesses reach from a box. */
export function regionsOf(
  kernel: Kernel,
  accesses: readonly Access[],
  box: Box,
  pitches?: Pitches,
  window?: IndexWindow,
): Region[] {
  const found: Region[] = [];
  for (const access of accesses) {
    const inside = insideOf(access.bounds, box);
    const { buffer } = access;
    const { elementCount, isTakenInWindows } = kernel.buffers[buffer]!;
    const there = isTakenInWindows === true ? window : undefined;
    const reach = inside && footprintOf(access, inside, elementCount, there);
    if (reach === undefined) continue;
    const pitch = pitches?.get(buffer);
    if (pitch === undefined) found.push({ buffer, first: reach[0], last: reach[1] });
    else found.push({ buffer, ...reachInRows(kernel, access, inside!, pitch, there) });
  }
  return mergeRegions(found);
}

/** One region for each buffer, around all of its regions. */
export function mergeRegions(regions: readonly Region[]): Region[] {
  const found = new Map<number, Region>();
  for (const region of regions) {
    const known = found.get(region.buffer);
    found.set(region.buffer, known === undefined ? region : aroundBoth(known, region));
  }
  return [...found.values()];
}

/** The smallest region around two of one buffer, which are both ranges or both rows of one pitch. */
export function aroundBoth<R extends { first: number; last: number; rows?: Rows }>(a: R, b: R): R {
  if (a.rows === undefined || b.rows === undefined)
    return { ...a, first: Math.min(a.first, b.first), last: Math.max(a.last, b.last) };
  const { pitch } = a.rows;
  const top = Math.min(Math.floor(a.first / pitch), Math.floor(b.first / pitch));
  const bottom = Math.max(Math.floor((a.last - 1) / pitch), Math.floor((b.last - 1) / pitch));
  const left = Math.min(a.first % pitch, b.first % pitch);
  const right = Math.max((a.first % pitch) + a.rows.width, (b.first % pitch) + b.rows.width);
  const rows = { pitch, width: right - left };
  return { ...a, first: top * pitch + left, last: bottom * pitch + right, rows };
}

/** Units of one step along the outermost axis of several that has more than one: `Work.period`. */
export function periodOf(sizes: readonly number[]): number {
  const outermost = sizes.findIndex((n) => n > 1);
  return sizes.slice(outermost + 1).reduce((a, b) => a * b, 1);
}
