/**
 * How many bytes a kernel must move: every element that it reads or writes, once. `explain()` reports it,
 * tests assert it. Reads that a cache does not catch come on top.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { accessesOf, sizesOf } from './algebra.js';
import { type Access, type Kernel, product } from './kernel.js';

export interface Traffic {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/**
 * Elements that an access reaches: the product of the axes along which it moves; of a gather with the axis of its index,
 * and at most one for each element of the domain.
 */
function reach({ strides, index }: Access, sizes: readonly number[]): number {
  const moved = strides.reduce((count, stride, axis) => (stride === 0 ? count : count * sizes[axis]!), 1);
  return index === undefined ? moved : Math.min(moved * index.size, product(sizes));
}

/** Bytes of each buffer that a kernel touches. */
export function bytesByBuffer(kernel: Kernel): number[] {
  const sizes = sizesOf(kernel);
  const touched = kernel.buffers.map(() => 0);
  for (const access of accessesOf(kernel)) touched[access.buffer]! += reach(access, sizes);
  // Several loads of one buffer overlap: no element is counted twice.
  return kernel.buffers.map(
    ({ dtype, elementCount }, k) => Math.min(touched[k]!, elementCount) * byteLengthOf(dtype),
  );
}

export function trafficOf(kernel: Kernel): Traffic {
  let bytesRead = 0;
  let bytesWritten = 0;
  for (const [k, bytes] of bytesByBuffer(kernel).entries()) {
    if (kernel.buffers[k]!.role === 'input') bytesRead += bytes;
    else bytesWritten += bytes;
  }
  return { bytesRead, bytesWritten };
}
