/** The buffers of a kernel while it is written: one for each key, of the largest extent that was asked for. */
import { type GraphNode, type GraphNodeOf, sizeOfShape } from '../graph/graph.js';
import { type KernelBuffer, nodeBufferKey, sourceBufferKey } from './fused-kernel.js';

export class BufferList {
  readonly all: KernelBuffer[] = [];
  readonly #positions = new Map<string, number>();

  /** The position of a buffer, new or known. */
  at(buffer: KernelBuffer): number {
    const known = this.#positions.get(buffer.key);
    if (known === undefined) {
      this.#positions.set(buffer.key, this.all.length);
      return this.all.push(buffer) - 1;
    }
    if (buffer.elementCount > this.all[known]!.elementCount) this.all[known] = buffer;
    return known;
  }

  has(key: string): boolean {
    return this.#positions.has(key);
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
