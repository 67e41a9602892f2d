/**
 * Whether a tape on the CPU can read a buffer block by block as it goes, because it takes every element about
 * once. Called by the planner for inputs that are not in memory; `native/cpu/tape-reads.cpp` reads them.
 */

import { loadsFrom, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Kernel, product } from '../../fusion/kernel/kernel.js';
import { planTape } from './tape.js';
import type { Blocking } from './tape-blocking.js';

/** The most that blocks may span of a buffer together: what lies between their elements is read as well. */
const MOST_TIMES = 1.25;

/** Whether one load takes all that is read of the buffer, in blocks that hardly overlap. */
export function readsOnce(source: Kernel, buffer: number): boolean {
  if (loadsFrom(source, buffer).length !== 1) return false;
  const { kernel, blocking, loops, schedule } = planTape(source);
  const [load, ...others] = loadsFrom(kernel, buffer);
  if (load === undefined || others.length > 0) return false;
  if (load.access.bounds.length > 0 || load.access.index !== undefined) return false;
  const walks = schedule.walks.filter((section) =>
    section.some((op) => op.kind === 'value' && op.value === load.position),
  );
  if (walks.length !== 1) return false;
  const blocks = product([...loops.tiles, ...loops.walks].map(({ count }) => count));
  const span = sizesOf(kernel).reduce(
    (sum, size, axis) =>
      sum + Math.abs(load.access.strides[axis]!) * (Math.min(size, blockOf(blocking, axis, size)) - 1),
    1,
  );
  return blocks * span <= MOST_TIMES * kernel.buffers[buffer]!.elementCount;
}

/** Steps along an axis in one block. */
function blockOf({ laneAxes, take, rowAxis, rows }: Blocking, axis: number, size: number): number {
  const along = axis === rowAxis ? rows : 1;
  if (axis === laneAxes[0]) return take * along;
  return laneAxes.includes(axis) ? size : along;
}
