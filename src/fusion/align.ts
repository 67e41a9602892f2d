/**
 * Aligns the domains of two kernels by two accesses to one buffer: axes that reach the same elements become one axis.
 * Axes are split where the two kernels cut the same elements differently (a reshape between them), never merged.
 *
 *     p: [i: 64] stride 1          c: [j: 8] stride 8, [k: 8] stride 1     →   p: [8, 8], and j = i0, k = i1
 *
 * Called by `merge.ts`.
 */

import { type FusedKernel, sizesOf, splitDomainAxis } from './fused-kernel.js';
import type { Affine } from './kernel.js';

export interface Alignment {
  readonly first: FusedKernel;
  readonly second: FusedKernel;
  /** For each axis of `first`, the axis of `second` that walks the same elements; -1: none. */
  readonly match: readonly number[];
}

interface Walk {
  readonly axis: number;
  readonly stride: number;
  readonly size: number;
}

/** The axes along which an access moves, widest stride first; `undefined` if one goes backwards. */
function walksOf(kernel: FusedKernel, access: Affine): Walk[] | undefined {
  const sizes = sizesOf(kernel);
  const walks = access.strides.map((stride, axis) => ({ axis, stride, size: sizes[axis]! }));
  const moving = walks.filter((walk) => walk.stride !== 0);
  if (moving.some((walk) => walk.stride < 0)) return undefined;
  return moving.sort((a, b) => b.stride - a.stride);
}

/** A split of `kernel` at one of the other kernel's strides, if one lies inside an axis. */
function splitOnce(
  walks: readonly Walk[],
  others: readonly Walk[],
): { axis: number; inner: number } | undefined {
  for (const walk of walks) {
    for (const other of others) {
      for (const edge of [other.stride, other.stride * other.size]) {
        const inner = edge / walk.stride;
        if (inner > 1 && inner < walk.size && Number.isInteger(inner) && walk.size % inner === 0)
          return { axis: walk.axis, inner };
      }
    }
  }
  return undefined;
}

/** Aligns by the accesses `a` of `first` and `b` of `second`, read from the kernels again after every split. */
export function align(
  first: FusedKernel,
  second: FusedKernel,
  accessOfFirst: (kernel: FusedKernel) => Affine,
  accessOfSecond: (kernel: FusedKernel) => Affine,
): Alignment | undefined {
  let p = first;
  let c = second;
  for (let count = 0; count < 64; count++) {
    const a = accessOfFirst(p);
    const b = accessOfSecond(c);
    const walksP = walksOf(p, a);
    const walksC = walksOf(c, b);
    if (walksP === undefined || walksC === undefined || a.offset !== b.offset) return undefined;
    const cutP = splitOnce(walksP, walksC);
    if (cutP !== undefined) {
      p = splitDomainAxis(p, cutP.axis, cutP.inner);
      continue;
    }
    const cutC = splitOnce(walksC, walksP);
    if (cutC !== undefined) {
      c = splitDomainAxis(c, cutC.axis, cutC.inner);
      continue;
    }
    if (walksP.length !== walksC.length) return undefined;
    const match = sizesOf(p).map(() => -1);
    for (const [k, walk] of walksP.entries()) {
      const other = walksC[k]!;
      if (walk.stride !== other.stride || walk.size !== other.size) return undefined;
      match[walk.axis] = other.axis;
    }
    return { first: p, second: c, match };
  }
  return undefined;
}

/** Extends a match to the axes it leaves open, pairing them in order where their sizes agree. */
export function matchRest(alignment: Alignment): Alignment | undefined {
  const { first, second, match } = alignment;
  const sizesP = sizesOf(first);
  const sizesC = sizesOf(second);
  const openP = match.flatMap((m, k) => (m < 0 ? [k] : []));
  const openC = sizesC.flatMap((_, k) => (match.includes(k) ? [] : [k]));
  if (openP.length !== openC.length) return undefined;
  const full = [...match];
  for (const [k, axis] of openP.entries()) {
    if (sizesP[axis] !== sizesC[openC[k]!]) return undefined;
    full[axis] = openC[k]!;
  }
  return { first, second, match: full };
}
