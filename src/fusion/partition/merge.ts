/**
 * Merges two kernels into one, or says why not. Vertically: the second reads what the first stores, so the
 * value stays in a register. Horizontally: both read the same array, so it is read once.
 *
 *     m = max(x, 1)            parallel [i] reduced [j]
 *     y = exp(x - m)           parallel [i, j]             →   one kernel, two walks over j
 *
 * Values do not change: a merged kernel computes the same instructions. Called by `kernel-graph.ts`.
 */

import { type Access, product, sameNumbers } from '../kernel/kernel.js';
import { type Alignment, align, matchRest } from './align.js';
import type { BufferKey } from './buffer-key.js';
import { NO_STORES } from './buffer-list.js';
import { moveAffine } from './fused-kernel.js';
import { limitOf } from './merge-limits.js';
import { MutableKernel } from './mutable-kernel.js';
import { isNested } from './nested-reduction.js';
import { keepsOrder } from './sum-order.js';
import type { IsLiveOut, Merge, Reason, Union } from './union.js';
import { alignWrittenOut } from './written-out-map.js';

const fail = (reason: Reason): Merge => ({ reason });

/** How the kernel that stores `key` merges into one that reads it. */
export function mergeVertically(
  producer: MutableKernel,
  consumer: MutableKernel,
  key: BufferKey,
  isLiveOut: IsLiveOut,
): Merge {
  const byResults = alignWrittenOut(producer, consumer, key) ?? alignRowResults(producer, consumer, key);
  if (byResults !== undefined) {
    const joined = joinOf(byResults, 'first', isLiveOut);
    if (!('reason' in joined)) return joined;
  }
  const loads = consumer.loadsOf(key);
  if (loads.some(({ index }) => index !== undefined)) return fail('looked-up');
  // A mean of columns, which a covariance reads for both of its axes, is needed before these are read again.
  if (loads.length > 1)
    return fail(
      producer.reduced.length > 0 && readsAlike(producer, consumer) ? 'needs-result' : 'read-around',
    );
  if (loads.length !== 1 || loads[0]!.bounds.length > 0) return fail('read-elsewhere');
  const store = producer.storeOf(key);
  const aligned = store && align(producer, consumer, store.access, loads[0]!);
  if (aligned === undefined) return fail('read-elsewhere');
  const { first: p, second: c, match } = aligned;
  const open = c.sizes.flatMap((_, k) => (match.includes(k) ? [] : [k]));
  if (p.reduced.length === 0) {
    // The producer's axes must be all axes of the consumer, or its parallel ones.
    const isRow = (axis: number): boolean => axis < c.parallel.length;
    if (open.some(isRow) || (open.length > 0 && !match.every(isRow))) return fail('broadcast-recompute');
    return joinOf(aligned, 'second', isLiveOut);
  }
  if (match.every((axis) => axis >= 0)) {
    // The producer stores one value for each element it walks, not for each row.
    if (open.length > 0) return fail('domain-mismatch');
    return rolesAgree(aligned) ? joinOf(aligned, 'first', isLiveOut) : fail('other-axes');
  }
  if (match.some((axis) => axis >= c.parallel.length))
    return fail(isNested(producer, consumer, key) ? 'nested-reduction' : 'reduced-first');
  if (open.length === 0)
    return c.reduced.length === 0 ? joinOf(aligned, 'first', isLiveOut) : fail('reduced-first');
  // The producer would reduce its rows again for each row of the consumer's that reads its value.
  if (c.reduced.length > 0 && open.some((axis) => axis < c.parallel.length))
    return fail('broadcast-recompute');
  const full = matchRows(aligned);
  if (full !== undefined) return joinOf(full, 'first', isLiveOut);
  return fail(readsAlike(producer, consumer) ? 'needs-result' : 'broadcast-recompute');
}

/** Two kernels of results of whole rows, of which one takes up those of the other behind its own walk over the same rows. */
function alignRowResults(first: MutableKernel, second: MutableKernel, key: BufferKey): Alignment | undefined {
  const isOne = ({ parallel, reduced }: MutableKernel): boolean =>
    reduced.length > 0 && product(parallel) === 1;
  if (!isOne(first) || !isOne(second)) return undefined;
  const [load] = second.loadsOf(key) as readonly [Access];
  const store = first.storeAt(key, load);
  const aligned = store && align(first, second, store.access, load);
  return aligned && matchRows(aligned);
}

/** Whether some array is read by both. */
const readsAlike = (first: MutableKernel, second: MutableKernel): boolean =>
  first.uses.some(({ buffer, loads }) => loads.length > 0 && second.loadsOf(buffer.key).length > 0);

/**
 * Pairs the producer's reduced axes with the consumer's open ones, and checks that some input is then shared.
 */
function matchRows(alignment: Alignment): Alignment | undefined {
  const full = matchRest(alignment);
  return full !== undefined && sharesLoad(full) ? full : undefined;
}

function sharesLoad({ first, second, match }: Alignment): boolean {
  const axes = second.sizes.length;
  for (const { buffer, loads } of first.uses) {
    if (loads.length === 0) continue;
    const others = second.loadsOf(buffer.key);
    if (others.length === 0) continue;
    for (const load of loads) {
      const { offset, strides, index } = moveAffine(load, match, axes);
      const isShared = (other: Access): boolean =>
        other.index === undefined && other.offset === offset && sameNumbers(other.strides, strides);
      if (index === undefined && others.some(isShared)) return true;
    }
  }
  return false;
}

/** Pairs of loads of one buffer that are tried as common ground. */
const MAX_PAIRS = 4;

/** Elements of small maps, which take less time than their launches. */
const SMALL_MAP = 1 << 16;

/** Whether two maps are small and have one domain: one launch then does for both, wherever they read. */
const areSmallMaps = (first: MutableKernel, second: MutableKernel): boolean =>
  first.reduced.length === 0 &&
  second.reduced.length === 0 &&
  first.domainSize <= SMALL_MAP &&
  sameNumbers(first.parallel, second.parallel);

/** Part of what a load reaches by which another one of the same elements is shifted, at most. */
const MOST_SHIFTED = 0.25;

/**
 * Whether two maps of one domain read an array at places that lie a little apart, so that nearly all that one reads the other
 * reads, too: differences along rows and along columns, each a result.
 */
function readNearby(first: MutableKernel, second: MutableKernel): boolean {
  const { sizes, parallel } = first;
  if (first.reduced.length > 0 || !sameNumbers(parallel, second.parallel)) return false;
  const reach = ({ strides }: Access): number =>
    strides.reduce((sum, stride, axis) => sum + Math.abs(stride) * (sizes[axis]! - 1), 0);
  const isNear = (a: Access, b: Access): boolean =>
    a.index === undefined &&
    b.index === undefined &&
    sameNumbers(a.strides, b.strides) &&
    Math.abs(a.offset - b.offset) <= MOST_SHIFTED * reach(a);
  return first.uses.some(({ buffer, loads }) => {
    const others = loads.length === 0 ? [] : second.loadsOf(buffer.key);
    return loads
      .slice(0, MAX_PAIRS)
      .some((load) => others.slice(0, MAX_PAIRS).some((other) => isNear(load, other)));
  });
}

/**
 * How two kernels merge that do not depend on each other and read the same array: at the same places, or nearly so in
 * maps, or in small maps.
 */
export function mergeHorizontally(a: MutableKernel, b: MutableKernel, isLiveOut: IsLiveOut): Merge {
  const [first, second] = a.reduced.length >= b.reduced.length ? [a, b] : [b, a];
  let reason: Reason = 'no-shared-input';
  for (const { buffer, loads } of first.uses) {
    if (loads.length === 0) continue;
    const others = second.loadsOf(buffer.key);
    const pairs = Math.min(MAX_PAIRS, loads.length * others.length);
    for (let k = 0; k < pairs; k++) {
      const load = loads[Math.floor(k / others.length)]!;
      const other = others[k % others.length]!;
      if (load.index !== undefined || other.index !== undefined) continue;
      const aligned = align(first, second, load, other);
      const full = aligned === undefined ? undefined : matchRest(aligned);
      if (full === undefined) continue;
      if (!rolesAgree(full)) {
        reason = 'other-axes';
        continue;
      }
      if (second.reduced.length < first.reduced.length && storesTurned(second, other))
        return fail('turned-store');
      // Sums keep the order of their rows, minima and the like go along with any.
      const hasOrder = first.sumMaps.sum >= 0 || second.sumMaps.sum < 0;
      return joinOf(full, hasOrder ? 'first' : 'second', isLiveOut);
    }
  }
  return areSmallMaps(first, second) || readNearby(first, second)
    ? joinOf({ first, second, match: identityOf(first.sizes.length) }, 'first', isLiveOut)
    : fail(reason);
}

/**
 * Whether a large map reads neighbours that it does not store beside one another: in a reduction, which walks in the order
 * of its reading, a warp's stores would each go to another sector.
 */
function storesTurned({ sizes, uses, domainSize }: MutableKernel, { strides }: Access): boolean {
  const isUnit = (stride: number): boolean => Math.abs(stride) === 1;
  const inner = strides.findIndex((stride, axis) => isUnit(stride) && sizes[axis]! > 1);
  if (inner < 0 || domainSize <= SMALL_MAP) return false;
  const isTurned = ({ access }: { readonly access: Access }): boolean => {
    const own = access.strides[inner]!;
    return (
      own !== 0 && !isUnit(own) && access.strides.some((stride, axis) => isUnit(stride) && sizes[axis]! > 1)
    );
  };
  return uses.some(({ stores }) => stores.some(isTurned));
}

/** Reductions merge only if they reduce the same axes; a map follows any. */
const rolesAgree = ({ first, second, match }: Alignment): boolean =>
  second.reduced.length === 0 ||
  match.every((axis, k) => k < first.parallel.length === axis < second.parallel.length);

/** By number of axes: each axis where it is. */
const identities: (readonly number[])[] = [];

function identityOf(axes: number): readonly number[] {
  identities[axes] ??= Array.from({ length: axes }, (_, axis) => axis);
  return identities[axes];
}

/** Both kernels over the domain of the first or the second, if that is within the limits of one kernel. */
function joinOf(
  { first, second, match }: Alignment,
  domain: 'first' | 'second',
  isLiveOut: IsLiveOut,
): Merge {
  const { parallel, reduced } = domain === 'first' ? first : second;
  const identity = identityOf(parallel.length + reduced.length);
  const union: Union = {
    first,
    second,
    axisOfFirst: domain === 'first' ? identity : match,
    axisOfSecond: domain === 'second' ? identity : second.sizes.map((_, k) => match.indexOf(k)),
    parallel,
    reduced,
  };
  const reason = readsElsewhere(union) ?? limitOf(union, isLiveOut);
  if (reason === undefined && !keepsOrder(union, isLiveOut)) return fail('sum-order');
  return reason === undefined ? union : fail(reason);
}

/** Why the second kernel does not read the first's values where they are made; undefined: it does. */
function readsElsewhere({
  first,
  second,
  axisOfFirst,
  axisOfSecond,
  parallel,
  reduced,
}: Union): Reason | undefined {
  const axes = parallel.length + reduced.length;
  for (const { buffer, loads } of second.uses) {
    const stores = loads.length === 0 ? NO_STORES : first.storesOf(buffer.key);
    if (stores.length === 0) continue;
    const isInPlace = (load: Access): boolean => {
      const store = first.storeAt(buffer.key, load);
      return store !== undefined && isSamePlace(store.access, axisOfFirst, load, axisOfSecond, axes);
    };
    if (!loads.every(isInPlace)) return isReadAround(first, loads) ? 'read-around' : 'read-elsewhere';
  }
  return undefined;
}

/** Whether what a map stores is read at several places. */
const isReadAround = ({ reduced }: MutableKernel, loads: readonly Access[]): boolean =>
  loads.length > 1 && reduced.length === 0 && loads.every(({ index }) => index === undefined);

/** Whether two accesses are one, once axis k of each is the axis that stands there in its list. */
function isSamePlace(
  a: Access,
  axisOfA: readonly number[],
  b: Access,
  axisOfB: readonly number[],
  axes: number,
): boolean {
  if (a.offset !== b.offset || a.bounds.length !== b.bounds.length) return false;
  if (a.index !== undefined || b.index !== undefined) return false;
  for (let axis = 0; axis < axes; axis++)
    if (strideAlong(a, axisOfA, axis) !== strideAlong(b, axisOfB, axis)) return false;
  return true;
}

function strideAlong({ strides }: Access, axisOf: readonly number[], axis: number): number {
  const own = axisOf.indexOf(axis);
  return own < 0 ? 0 : strides[own]!;
}

/** The merged kernel. Both are used up: the first grows where its axes stay as they are. */
export function unite(merge: Union, isLiveOut: IsLiveOut): MutableKernel {
  const { first, second, axisOfFirst, axisOfSecond, parallel, reduced } = merge;
  let merged = first;
  if (staysInPlace(axisOfFirst, parallel.length + reduced.length)) {
    merged.setDomain(parallel, reduced);
  } else {
    merged = MutableKernel.over(parallel, reduced);
    merged.add(first, axisOfFirst);
  }
  merged.add(second, axisOfSecond);
  merged.keepStores(isLiveOut);
  return merged;
}

const staysInPlace = (axisOf: readonly number[], axes: number): boolean =>
  axisOf.length === axes && axisOf.every((axis, k) => axis === k);
