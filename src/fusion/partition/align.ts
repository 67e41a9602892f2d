/**
 * Aligns the domains of two kernels by two accesses to one buffer: axes that reach the same elements become
 * one axis. Axes are split where the two kernels cut the same elements differently (a reshape between them),
 * never merged.
 *
 *     p: [i: 64] stride 1          c: [j: 8] stride 8, [k: 8] stride 1     →   p: [8, 8], and j = i0, k = i1
 *
 * Called by `merge.ts`.
 */

import { type Affine, sameNumbers } from '../kernel/kernel.js';
import { splitDomainAxis, splitStrides } from './fused-kernel.js';
import { MutableKernel } from './mutable-kernel.js';

export interface Alignment {
  /** The kernels; copies of them where axes were split. */
  readonly first: MutableKernel;
  readonly second: MutableKernel;
  /** For each axis of `first`, the axis of `second` that walks the same elements; -1: none. */
  readonly match: readonly number[];
}

interface Walk {
  readonly axis: number;
  readonly stride: number;
  readonly size: number;
}

/** Splits one axis into an outer part and an inner part of size `inner`. */
interface Cut {
  readonly axis: number;
  readonly inner: number;
}

/** One side: an access, the domain it walks, and how that was cut so far. */
class Side {
  readonly cuts: Cut[] = [];
  sizes: readonly number[];
  #strides: readonly number[];

  constructor(kernel: MutableKernel, access: Affine) {
    this.sizes = kernel.sizes;
    this.#strides = access.strides;
  }

  /** The axes along which the access moves, widest stride first; `undefined` if one goes backwards. */
  walks(): Walk[] | undefined {
    const walks: Walk[] = [];
    for (let axis = 0; axis < this.sizes.length; axis++) {
      const stride = this.#strides[axis]!;
      if (stride < 0) return undefined;
      if (stride > 0) walks.push({ axis, stride, size: this.sizes[axis]! });
    }
    return isDescending(walks) ? walks : walks.sort((a, b) => b.stride - a.stride);
  }

  cut(cut: Cut): void {
    this.cuts.push(cut);
    this.#strides = splitStrides(this.#strides, cut.axis, cut.inner);
    this.sizes = this.sizes.flatMap((n, k) => (k === cut.axis ? [n / cut.inner, cut.inner] : [n]));
  }

  /** The kernel with the axes cut. */
  apply(kernel: MutableKernel): MutableKernel {
    if (this.cuts.length === 0) return kernel;
    const cut = this.cuts.reduce((k, { axis, inner }) => splitDomainAxis(k, axis, inner), kernel.toFused());
    return MutableKernel.of(cut);
  }
}

function isDescending(walks: readonly Walk[]): boolean {
  for (let k = 1; k < walks.length; k++) if (walks[k]!.stride > walks[k - 1]!.stride) return false;
  return true;
}

/** A cut of an axis at one of the other side's strides, if one lies inside. */
function cutBetween(walks: readonly Walk[], others: readonly Walk[]): Cut | undefined {
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

/** The match of axes that walk alike; `undefined` if they do not. */
function matchOf(axes: number, walks: readonly Walk[], others: readonly Walk[]): number[] | undefined {
  if (walks.length !== others.length) return undefined;
  const match = new Array<number>(axes).fill(-1);
  for (let k = 0; k < walks.length; k++) {
    const walk = walks[k]!;
    const other = others[k]!;
    if (walk.stride !== other.stride || walk.size !== other.size) return undefined;
    match[walk.axis] = other.axis;
  }
  return match;
}

/**
 * The match of two domains that are walked in the same way axis by axis, as most are; `undefined`: look
 * closer.
 */
function matchAlike(
  sizes: readonly number[],
  strides: readonly number[],
  otherSizes: readonly number[],
  otherStrides: readonly number[],
): number[] | undefined {
  if (!sameNumbers(sizes, otherSizes) || !sameNumbers(strides, otherStrides)) return undefined;
  const match: number[] = [];
  for (let axis = 0; axis < strides.length; axis++) {
    if (strides[axis]! < 0) return undefined;
    match.push(strides[axis] === 0 ? -1 : axis);
  }
  return match;
}

const MAX_CUTS = 64;

/** Aligns by the accesses `a` of `first` and `b` of `second`. */
export function align(
  first: MutableKernel,
  second: MutableKernel,
  a: Affine,
  b: Affine,
): Alignment | undefined {
  if (a.offset !== b.offset) return undefined;
  const alike = matchAlike(first.sizes, a.strides, second.sizes, b.strides);
  if (alike !== undefined) return { first, second, match: alike };
  const p = new Side(first, a);
  const c = new Side(second, b);
  for (let count = 0; count < MAX_CUTS; count++) {
    const walksP = p.walks();
    const walksC = c.walks();
    if (walksP === undefined || walksC === undefined) return undefined;
    const match = matchOf(p.sizes.length, walksP, walksC);
    if (match !== undefined) return { first: p.apply(first), second: c.apply(second), match };
    const cutP = cutBetween(walksP, walksC);
    const cutC = cutP === undefined ? cutBetween(walksC, walksP) : undefined;
    if (cutP !== undefined) p.cut(cutP);
    else if (cutC !== undefined) c.cut(cutC);
    else return undefined;
  }
  return undefined;
}

/** Extends a match to the axes it leaves open, pairing them in order where their sizes agree. */
export function matchRest(alignment: Alignment): Alignment | undefined {
  const { first, second, match } = alignment;
  const sizesP = first.sizes;
  const sizesC = second.sizes;
  const full = [...match];
  let open = 0; // the next axis of `second` that may be open
  for (let axis = 0; axis < full.length; axis++) {
    if (full[axis]! >= 0) continue;
    while (open < sizesC.length && match.includes(open)) open++;
    if (open === sizesC.length || sizesP[axis] !== sizesC[open]) return undefined;
    full[axis] = open++;
  }
  while (open < sizesC.length && match.includes(open)) open++;
  return open === sizesC.length ? { first, second, match: full } : undefined;
}
