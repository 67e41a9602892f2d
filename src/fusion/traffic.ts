/**
 * How many bytes a kernel must move: every element that it reads or writes, once. `explain()` reports it, tests assert
 * it. Reads that a cache does not catch come on top.
 */
import { byteLengthOf } from '../graph/dtype.js';
import type { Access, Kernel } from './kernel.js';

export interface Traffic {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** Elements that an access reaches: the product of the axes along which it moves. */
function reach(access: Access, sizes: readonly number[]): number {
  return access.strides.reduce((count, stride, axis) => (stride === 0 ? count : count * sizes[axis]!), 1);
}

export function trafficOf(kernel: Kernel): Traffic {
  const sizes = [...kernel.parallel, ...kernel.reduced];
  const touched = kernel.buffers.map(() => 0);
  const touch = (access: Access): void => {
    touched[access.buffer]! += reach(access, sizes);
  };
  for (const i of kernel.tape) if (i.kind === 'load') touch(i.access);
  for (const store of kernel.stores) touch(store.access);
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
