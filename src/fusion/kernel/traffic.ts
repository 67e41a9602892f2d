/**
 * How many bytes a kernel must move: every element that it reads or writes, once. `explain()` reports it,
 * tests assert it. Reads that a cache does not catch come on top.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { accessesOf, sizesOf } from './algebra.js';
import type { Access, Kernel } from './kernel.js';

export interface Traffic {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/**
 * Elements that an access reaches: the product of the axes along which it moves, the index of a gather among
 * them.
 */
function reach({ strides, index }: Access, sizes: readonly number[]): number {
  return strides.reduce(
    (count, stride, axis) => (stride === 0 ? count : count * sizes[axis]!),
    index?.size ?? 1,
  );
}

export function trafficOf(kernel: Kernel): Traffic {
  const sizes = sizesOf(kernel);
  const touched = kernel.buffers.map(() => 0);
  for (const access of accessesOf(kernel)) touched[access.buffer]! += reach(access, sizes);
  let bytesRead = 0;
  let bytesWritten = 0;
  kernel.buffers.forEach((buffer, k) => {
    // Several loads of one buffer overlap: no element is counted twice.
    const bytes = Math.min(touched[k]!, buffer.elementCount) * byteLengthOf(buffer.dtype);
    if (buffer.role === 'input') bytesRead += bytes;
    else bytesWritten += bytes;
  });
  return { bytesRead, bytesWritten };
}
