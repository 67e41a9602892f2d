/**
 * Whether a merge keeps the order in which every sum meets its elements, and with it the bits of the sum.
 * The answer depends on the index maps of the two kernels alone (`sum-maps.ts`); the merged kernel is not
 * made for it. Called by `merge.ts`.
 */
import { SHORT_REDUCTION } from '../../graph/reductions.js';
import { CHUNK } from '../../shared/layout.js';
import { batchOf, hasMonoid, reductionOf } from '../kernel/arithmetic.js';
import { type Affine, product, type Store } from '../kernel/kernel.js';
import { moveAffine } from './fused-kernel.js';
import type { MutableKernel } from './mutable-kernel.js';
import { walkOf } from './reduced-order.js';
import { type IndexMap, mapsOf } from './sum-maps.js';
import type { IsLiveOut, Union } from './union.js';

/** Index maps on the axes of a merged kernel, in order of its tape. */
class MergedMaps {
  readonly loads: Affine[] = [];
  /** Those of loads among them. */
  readonly all: Affine[] = [];
  readonly #union: Union;

  constructor(union: Union) {
    this.#union = union;
  }

  add(kernel: MutableKernel, { affine, buffer }: IndexMap): void {
    const { first, axisOfFirst, axisOfSecond, parallel, reduced } = this.#union;
    const axisOf = kernel === first ? axisOfFirst : axisOfSecond;
    const moved = moveAffine(affine, axisOf, parallel.length + reduced.length);
    this.all.push(moved);
    if (buffer >= 0) this.loads.push(moved);
  }
}

/** The store by which the first kernel holds what the second one loads. */
const held = ({ first, second }: Union, { buffer, affine }: IndexMap): Store | undefined =>
  buffer < 0 ? undefined : first.storeAt(second.uses[buffer]!.buffer.key, affine);

/** The index maps of the merged kernel. */
function mapsOfMerged(union: Union, isLiveOut: IsLiveOut): MergedMaps {
  const { first, second } = union;
  const maps = new MergedMaps(union);
  for (const map of first.sumMaps.whole) maps.add(first, map);
  for (const map of second.sumMaps.whole) if (held(union, map) === undefined) maps.add(second, map);
  for (const kernel of [first, second])
    for (const { buffer, stores } of kernel.uses)
      if (stores.length > 0 && isLiveOut(buffer.key))
        for (const { access } of stores) maps.add(kernel, { affine: access, buffer: -1 });
  return maps;
}

/** The index maps by which the merged kernel computes the sum that stands for all of `kernel`. */
function mapsOfSum(union: Union, kernel: MutableKernel): MergedMaps {
  const { first, second } = union;
  const maps = new MergedMaps(union);
  const own = kernel.sumMaps.ofSum;
  const values = kernel === first ? [] : own.flatMap((map) => held(union, map)?.value ?? []);
  if (values.length > 0) for (const map of mapsOf(first.tape, values)) maps.add(first, map);
  for (const map of own) if (kernel !== second || held(union, map) === undefined) maps.add(kernel, map);
  return maps;
}

/** Strides of this many elements and more reach another line of a cache with each step. */
const FAR = 16;

/** A stride as far as it matters: 0, 1, short or long. */
function reachOf(stride: number): number {
  const size = Math.abs(stride);
  if (size <= 1) return size;
  return size < FAR ? 2 : FAR;
}

function movingAxes({ strides }: Affine): number {
  let count = 0;
  for (let k = 0; k < strides.length; k++) if (strides[k] !== 0) count++;
  return count;
}

/** The loads that move along most axes. */
function mainLoads({ loads }: MergedMaps): readonly Affine[] {
  let most = 0;
  for (const load of loads) most = Math.max(most, movingAxes(load));
  return loads.filter((load) => movingAxes(load) === most);
}

function reachesAlike({ strides: a }: Affine, { strides: b }: Affine): boolean {
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k] && reachOf(a[k]!) !== reachOf(b[k]!)) return false;
  return true;
}

/**
 * Whether the loads that move along most axes walk them alike in two sums: what a code generator chooses between
 * rows and columns by.
 */
function readAlike(a: MergedMaps, b: MergedMaps): boolean {
  const [own, others] = [mainLoads(a), mainLoads(b)];
  const areIn = (some: readonly Affine[], all: readonly Affine[]): boolean =>
    some.every((load) => all.some((other) => reachesAlike(load, other)));
  return areIn(own, others) && areIn(others, own);
}

/** Of how many sums alike the one is that stands for all of a kernel. */
const batchOfSum = ({ tape, sumMaps }: MutableKernel): number => batchOf(tape[sumMaps.sum]!);

/** Whether the reduced axes of a kernel are in their order in the merged one. */
function keepsAxes({ first, axisOfFirst, axisOfSecond }: Union, kernel: MutableKernel): boolean {
  const axisOf = kernel === first ? axisOfFirst : axisOfSecond;
  const places = kernel.reduced.map((_, k) => axisOf[kernel.parallel.length + k]!);
  return places.every((place, k) => k === 0 || place > places[k - 1]!);
}

/**
 * Whether the rows of a kernel are in their order in the merged one: which of them lie side by side in lanes is part of what a
 * code generator chooses an order by.
 */
function keepsRows({ first, axisOfFirst, axisOfSecond }: Union, kernel: MutableKernel): boolean {
  const axisOf = kernel === first ? axisOfFirst : axisOfSecond;
  const places = kernel.parallel.flatMap((size, k) => (size === 1 ? [] : [axisOf[k]!]));
  return places.every((place, k) => k === 0 || place > places[k - 1]!);
}

/** Whether the reduction that stands for all of a kernel is a product. */
const isProduct = ({ tape, sumMaps }: MutableKernel): boolean => reductionOf(tape[sumMaps.sum]!) === 'prod';

/** Whether the lanes of a CPU may lie on the last axis of results, and on elements of each: those of sums, not of products. */
const hasFewColumns = (parallel: readonly number[]): boolean => {
  const columns = parallel.findLast((size) => size !== 1);
  return columns !== undefined && columns < CHUNK;
};

/** Whether every sum of the merged kernel still meets its elements in the order in which it would alone. */
export function keepsOrder(union: Union, isLiveOut: IsLiveOut): boolean {
  const { first, second, parallel, reduced } = union;
  if (reduced.length === 0) return true;
  // Sums that are in one kernel agree already: one of each side stands for all, so that merging stays linear.
  const sides = [first, second].filter(({ sumMaps }) => sumMaps.sum >= 0);
  if (sides.length === 0) return true;
  const isShort = product(reduced) <= SHORT_REDUCTION;
  if (!isShort && !sides.every((kernel) => keepsRows(union, kernel))) return false;
  const isOneAxis = reduced.filter((size) => size !== 1).length < 2;
  if (isOneAxis && sides.length === 1) return true;
  if (!isShort && sides.length === 2 && isProduct(first) !== isProduct(second) && hasFewColumns(parallel))
    return false;
  // The sums of a batch have the order of one of them, as few rows may ask for, those beside it that of all rows.
  if (!isShort && sides.length === 2 && batchOfSum(first) !== batchOfSum(second)) return false;
  const sums = sides.map((kernel) => mapsOfSum(union, kernel));
  if (sums.length === 2 && !readAlike(sums[0]!, sums[1]!)) return false;
  if (isOneAxis) return true;
  if (!sides.every((kernel) => !(isShort || hasMonoid(kernel)) || keepsAxes(union, kernel))) return false;
  if (isShort) return true;
  const axes = { first: parallel.length, sizes: reduced };
  const { loads, all } = mapsOfMerged(union, isLiveOut);
  const whole = walkOf(axes, loads, all);
  return sums.every((sum) => walkOf(axes, sum.loads, sum.all) === whole);
}
