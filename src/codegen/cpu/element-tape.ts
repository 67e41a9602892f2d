/** Tapes that a routine of the CPU can run on any stretch of their elements (`native/cpu/element-map.h`). */
import { loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Kernel, sameNumbers } from '../../fusion/kernel/kernel.js';
import { denseStrides } from '../../graph/graph.js';
import { canBeElement } from '../cuts/element-map.js';
import { planTape } from './tape.js';

/**
 * Whether a map of so many elements is such a tape: its lanes are on the last axis, its loops are the axes in order,
 * and it reads nothing beyond an edge. `given` and `most` as of `canBeElement`.
 */
export function isElementTape(source: Kernel, count: number, given?: number, most = 1): boolean {
  if (!canBeElement(source, count, given, most)) return false;
  const { kernel, blocking, loops } = planTape(source);
  const axes = sizesOf(kernel);
  return (
    blocking.inner === 1 &&
    blocking.laneAxes.every((axis) => axis === axes.length - 1) &&
    loops.tiles.length === axes.length &&
    loops.tiles.every(({ axis }, k) => axis === k) &&
    kernel.stores.every(({ access }) => sameNumbers(access.strides, denseStrides(axes))) &&
    loadsOf(kernel).every(({ access }) => access.bounds.length === 0)
  );
}
