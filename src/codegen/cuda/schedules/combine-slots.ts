/**
 * The threads that combine the partial results of slots, a part of the order of a reduction. Called by `sum-order.ts`, and
 * by the printer of that launch.
 */
import { batchOf, isOrdered, reductionsOf } from '../../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { powerOfTwoFrom } from '../powers.js';

/** Slots that one thread combines by itself, where there are threads enough. */
const SERIAL_SLOTS = 16;
/** Threads of a block. */
export const COMBINE_THREADS = 256;

/**
 * Rows of one block: side by side for wide loads, but so few that many slots are shared among many threads. Of a batch as
 * many as of one of its reductions.
 */
export function combineBlock(kernel: Kernel, slots: number): number {
  const ordered = reductionsOf(kernel).find(({ position }) => isOrdered(kernel, position));
  const batch = ordered === undefined ? 1 : batchOf(kernel.tape[ordered.position]!);
  const rows = Math.max(1, product(kernel.parallel) / batch);
  const sharing = powerOfTwoFrom(Math.ceil(slots / SERIAL_SLOTS));
  return Math.min(32, powerOfTwoFrom(rows), Math.max(1, COMBINE_THREADS / sharing));
}
