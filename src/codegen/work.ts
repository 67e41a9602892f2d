/**
 * Work: how a kernel can be run part by part, and what a part touches.
 *
 * A part runs the very code of the whole kernel on a range of its blocks (CUDA) or tiles (CPU), with the same schedule
 * and the same addresses relative to each buffer's start. The bits of a result therefore do not depend on how a kernel
 * was cut. `exec/sweeps.ts` cuts jobs that do not fit into memory; each code generator says how its kernels can be cut.
 */
import type { Access, Affine, Kernel } from '../fusion/kernel.js';

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

/** One region for each buffer that some of the accesses reach from a box. */
export function regionsOf(kernel: Kernel, accesses: readonly Access[], box: Box): Region[] {
  const found = new Map<number, [number, number]>();
  for (const access of accesses) {
    const reach = reachOf(access, box, kernel.buffers[access.buffer]!.elementCount);
    if (reach === undefined) continue;
    const known = found.get(access.buffer);
    if (known === undefined) found.set(access.buffer, reach);
    else found.set(access.buffer, [Math.min(known[0], reach[0]), Math.max(known[1], reach[1])]);
  }
  return [...found].map(([buffer, [first, last]]) => ({ buffer, first, last }));
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
