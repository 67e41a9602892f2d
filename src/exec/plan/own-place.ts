/**
 * Whether a map may write a result over an argument. Called by `in-place.ts` and, for the states of loops,
 * `step-list.ts`.
 */
import { isSamePlace, loadsFrom } from '../../fusion/kernel/algebra.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';

/** Whether all loads of an input read the very element that the one store to an output writes. */
export function isWhereItIsStored(kernel: Kernel, input: number, output: number): boolean {
  const stores = kernel.stores.filter(({ access }) => access.buffer === output);
  const [store] = stores;
  if (store === undefined || stores.length > 1) return false;
  const sizes = [input, output].map((k) => byteLengthOf(kernel.buffers[k]!.dtype));
  return (
    sizes[0] === sizes[1] && loadsFrom(kernel, input).every(({ access }) => isSamePlace(access, store.access))
  );
}
