/** The buffers of a kernel while it is written: one for each key, of the largest extent that was asked for. */
import { type GraphNode, type GraphNodeOf, sizeOfShape } from '../graph/graph.js';
import { type KernelBuffer, nodeBufferKey, sourceBufferKey } from './fused-kernel.js';

/** Lists of up to so many buffers are searched, which is faster than a table. */
const SHORT = 8;

export class BufferList {
  readonly all: KernelBuffer[] = [];
  /** By key, once the list is long. */
  #positions: Map<string, number> | undefined;

  /** The position of a buffer, new or known. */
  at(buffer: KernelBuffer): number {
    const known = this.#find(buffer.key);
    if (known >= 0) {
      if (buffer.elementCount > this.all[known]!.elementCount) this.all[known] = buffer;
      return known;
    }
    const count = this.all.push(buffer);
    if (this.#positions !== undefined) this.#positions.set(buffer.key, count - 1);
    else if (count > SHORT) this.#positions = new Map(this.all.map(({ key }, k) => [key, k]));
    return count - 1;
  }

  has(key: string): boolean {
    return this.#find(key) >= 0;
  }

  #find(key: string): number {
    if (this.#positions !== undefined) return this.#positions.get(key) ?? -1;
    for (let k = 0; k < this.all.length; k++) if (this.all[k]!.key === key) return k;
    return -1;
  }
}

export const nodeBuffer = (node: GraphNode): KernelBuffer => ({
  key: nodeBufferKey(node.id),
  dtype: node.dtype,
  elementCount: sizeOfShape(node.shape),
});

/** One array read as two dtypes is two buffers. */
export const sourceBuffer = (node: GraphNodeOf<'source'>): KernelBuffer => ({
  key: sourceBufferKey(node.input, node.dtype),
  dtype: node.dtype,
  elementCount: spanOf(node),
});

/** Elements from the buffer's start to the last one a source reaches. */
function spanOf(node: GraphNodeOf<'source'>): number {
  return node.shape.reduce((end, n, k) => end + Math.max(0, node.strides[k]! * (n - 1)), node.offset) + 1;
}
