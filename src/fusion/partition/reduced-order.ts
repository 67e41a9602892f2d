/**
 * The order in which a kernel walks its reduced axes, which is part of the order of its sums, and whether a
 * merge keeps it:
 *
 *     sum(x) of [500, 500] walks 250000 elements as one axis; beside sum(x * y.T), as 500 times 500
 *
 * Called by `lower-kernel.ts`, which sorts the axes, and `merge.ts`, which lets no merge change the order of a
 * sum.
 */
import { isExactReduction } from '../../graph/reductions.js';
import { affinesIn, affinesOf, liveValues, loadsOf, type Tape } from '../kernel/algebra.js';
import type { Affine, Instruction } from '../kernel/kernel.js';
import type { IsLiveOut, Join } from './join.js';
import { MutableKernel } from './mutable-kernel.js';

type Walked = Pick<Tape, 'parallel' | 'reduced' | 'tape'>;

/** Reduced axes in the order in which the load that covers most of them lies in memory. */
export function orderOfReduced({ parallel, reduced, tape }: Walked, positions?: Iterable<number>): number[] {
  const first = parallel.length;
  const axes = reduced.map((_, k) => k);
  const covers = (a: Affine): number => axes.reduce((n, k) => n + (a.strides[first + k] !== 0 ? 1 : 0), 0);
  const main = loadsOf({ tape }, positions).reduce<Affine | undefined>(
    (best, { access }) => (best === undefined || covers(access) > covers(best) ? access : best),
    undefined,
  );
  if (main === undefined) return axes;
  const stride = (k: number): number => Math.abs(main.strides[first + k]!);
  return axes.sort((a, b) => stride(b) - stride(a) || a - b);
}

/**
 * The walk over the reduced axes that some values ask for, as text: axes that follow one another as one are
 * joined.
 */
function walkOf(kernel: Walked, affines: readonly Affine[], positions?: Iterable<number>): string {
  const first = kernel.parallel.length;
  const order = orderOfReduced(kernel, positions).filter((axis) => kernel.reduced[axis] !== 1);
  const isOne = (outer: number, inner: number): boolean =>
    affines.every((a) => a.strides[first + outer] === a.strides[first + inner]! * kernel.reduced[inner]!);
  return order.map((axis, k) => (k > 0 && isOne(order[k - 1]!, axis) ? `${axis}` : `|${axis}`)).join(' ');
}

/** Strides of this many elements and more reach another line of a cache with each step. */
const FAR = 16;

/** A stride as far as it matters: 0, 1, short or long. */
function reachOf(stride: number): number {
  const size = Math.abs(stride);
  if (size <= 1) return size;
  return size < FAR ? 2 : FAR;
}

/**
 * How the loads that move along most axes walk them: what a code generator chooses between
 * rows and columns by.
 */
function readsOf({ tape }: Walked, positions: readonly number[]): string {
  const moving = (a: Affine): number => a.strides.filter((stride) => stride !== 0).length;
  const loads = loadsOf({ tape }, positions).map(({ access }) => access);
  const most = Math.max(...loads.map(moving));
  const kinds = loads
    .filter((access) => moving(access) === most)
    .map(({ strides }) => strides.map(reachOf).join());
  return [...new Set(kinds)].sort().join(' ');
}

const isOrdered = (tape: readonly Instruction[], i: Instruction): boolean =>
  i.kind === 'reduce' && !isExactReduction(i.reduction, tape[i.args[0]!]!.dtype);

const hasOrdered = ({ tape }: MutableKernel): boolean => tape.some((i) => isOrdered(tape, i));

/** Whether every sum of the merged kernel still meets its elements in the order in which it would alone. */
export function keepsOrder(join: Join, isLiveOut: IsLiveOut): boolean {
  const { first, second, axisOfFirst, axisOfSecond, parallel, reduced } = join;
  if (reduced.length === 0) return true;
  const [inFirst, inSecond] = [hasOrdered(first), hasOrdered(second)];
  const isOneAxis = reduced.filter((size) => size !== 1).length < 2;
  if (!(inFirst || inSecond) || (isOneAxis && !(inFirst && inSecond))) return true;
  const merged = new MutableKernel(parallel, reduced);
  merged.add(first, axisOfFirst);
  const taken = merged.tape.length;
  merged.add(second, axisOfSecond);
  merged.keepStores(isLiveOut);
  const kernel = merged.toFused();
  const whole = walkOf(kernel, affinesOf(kernel));
  // Sums that are in one kernel agree already: one of each side stands for all, so that merging stays linear.
  const isSum = (position: number): boolean => isOrdered(kernel.tape, kernel.tape[position]!);
  const positions = [...kernel.tape.keys()].filter(isSum);
  const sums = [positions.find((at) => at < taken), positions.find((at) => at >= taken)];
  const owns = sums.flatMap((at) => (at === undefined ? [] : [liveValues(kernel.tape, [at])]));
  const reads = owns.map((own) => readsOf(kernel, own));
  return owns.every((own, k) => {
    const affines = own.flatMap((at) => affinesIn(kernel.tape[at]!));
    return walkOf(kernel, affines, own) === whole && reads[k] === reads[0];
  });
}
