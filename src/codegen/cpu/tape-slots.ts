/**
 * Slots: stretches of the reduced elements of a tape whose partial results are combined before they meet
 * others, so that threads and tiles may share a reduction. Called by `tape-candidates.ts` and
 * `tape-sum-order.ts`.
 */
import { type Kernel, product } from '../../fusion/kernel/kernel.js';

/**
 * Reduced elements of a slot at least, by what its lanes lie on: as many as it takes to be much more than its
 * partial results. Rows of a hundred columns and more come a few hundred at a time, so that few of them can
 * pass in tiles.
 */
const SLOT_ELEMENTS = { parallel: 512, both: 4096, reduced: 65536 } as const;
const MOST_SLOTS = 256;

/** Reduced elements of a slot: a power of two, of the reduced axes and of what the lanes lie on alone. */
export function slotElements(kernel: Kernel, kind: keyof typeof SLOT_ELEMENTS): number {
  const least = SLOT_ELEMENTS[kind];
  return least * 2 ** Math.max(0, Math.ceil(Math.log2(product(kernel.reduced) / MOST_SLOTS / least)));
}
