/**
 * The kernels whose values are read: reductions may compute what was stored for them (`own-reading.ts`), so that nothing
 * reads it.
 *
 *     ((x - m) / s).T @ ((x - m) / s), stored for its two readings, which both read x   →   no quotients in memory
 *
 * Called by `partition.ts`.
 */
import type { BufferKey } from './buffer-key.js';
import type { KernelInstance } from './kernel-instance.js';

/** `wanted`: the buffers of results, and those that calls read. */
export function readKernels(
  kernels: readonly KernelInstance[],
  wanted: Iterable<BufferKey>,
): readonly KernelInstance[] {
  const writers = new Map<BufferKey, KernelInstance>();
  for (const kernel of kernels) for (const key of kernel.writes) writers.set(key, kernel);
  const read = new Set<KernelInstance>();
  const rest: Iterable<BufferKey>[] = [wanted];
  for (let keys = rest.pop(); keys !== undefined; keys = rest.pop()) {
    for (const key of keys) {
      const writer = writers.get(key);
      if (writer === undefined || read.has(writer)) continue;
      read.add(writer);
      rest.push(writer.reads);
    }
  }
  return read.size === kernels.length ? kernels : kernels.filter((kernel) => read.has(kernel));
}
