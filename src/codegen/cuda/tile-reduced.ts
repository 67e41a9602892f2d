/**
 * Tiles of the reduced axes: a kernel whose reduced elements come in boxes, so that several of its loads find
 * neighbours side by side, each along another axis. Values do not change, only their order.
 *
 *     reduced [i: 96, j: 64] in tiles of [i: 8, j: 4]   →   reduced [i: 12, j: 16, 8, 4]
 */
import { mapAffines } from '../../fusion/kernel/algebra.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';

/** A stretch of a reduced axis; `axis` counts all axes of the domain. */
export interface Stretch {
  readonly axis: number;
  /** Divides the axis. */
  readonly length: number;
}

/** The kernel with its reduced axes in tiles, whose axes come last, in the order given. */
export function tileReduced(kernel: Kernel, tile: readonly Stretch[]): Kernel {
  if (tile.length === 0) return kernel;
  const lengthOf = (axis: number): number => tile.find((stretch) => stretch.axis === axis)?.length ?? 1;
  const p = kernel.parallel.length;
  const outer = kernel.reduced.map((size, k) => size / lengthOf(p + k));
  const tiled = [...outer, ...tile.map(({ length }) => length)];
  return mapAffines(kernel, kernel.parallel, tiled, (affine) => ({
    ...affine,
    strides: [
      ...affine.strides.map((stride, axis) => stride * lengthOf(axis)),
      ...tile.map(({ axis }) => affine.strides[axis]!),
    ],
  }));
}
