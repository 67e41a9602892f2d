/**
 * The order in which a kernel walks its reduced axes, which is part of the order of its sums:
 *
 *     sum(x) of [500, 500] walks 250000 elements as one axis; beside sum(x * y.T), as 500 times 500
 *
 * Called by `lower-kernel.ts`, which sorts the axes, and `sum-order.ts`, which compares orders.
 */
import type { Affine } from '../kernel/kernel.js';

/** The reduced axes of a kernel: their sizes, after `first` parallel axes. */
export interface ReducedAxes {
  readonly first: number;
  readonly sizes: readonly number[];
}

/** Reduced axes in the order in which the load that covers most of them lies in memory. */
export function orderOfReduced({ first, sizes }: ReducedAxes, loads: readonly Affine[]): number[] {
  const axes = sizes.map((_, k) => k);
  const covers = (a: Affine): number => axes.reduce((n, k) => n + (a.strides[first + k] !== 0 ? 1 : 0), 0);
  const main = loads.reduce<Affine | undefined>(
    (best, load) => (best === undefined || covers(load) > covers(best) ? load : best),
    undefined,
  );
  if (main === undefined) return axes;
  const stride = (k: number): number => Math.abs(main.strides[first + k]!);
  return axes.sort((a, b) => stride(b) - stride(a) || a - b);
}

/**
 * The walk over the reduced axes that some loads ask for, as text: axes that all index maps, `affines`, walk
 * as one are joined.
 */
export function walkOf(axes: ReducedAxes, loads: readonly Affine[], affines: readonly Affine[]): string {
  const { first, sizes } = axes;
  const order = orderOfReduced(axes, loads).filter((axis) => sizes[axis] !== 1);
  const isOne = (outer: number, inner: number): boolean =>
    affines.every((a) => a.strides[first + outer] === a.strides[first + inner]! * sizes[inner]!);
  return order.map((axis, k) => (k > 0 && isOne(order[k - 1]!, axis) ? `${axis}` : `|${axis}`)).join(' ');
}
