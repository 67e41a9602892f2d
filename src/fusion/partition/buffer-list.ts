/**
 * The buffers of a kernel while it is written, one for each key, of the largest extent that was asked for;
 * and what the kernel does with each.
 */
import { type GraphNode, type GraphNodeOf, sizeOfShape } from '../../graph/graph.js';
import type { Access, Store } from '../kernel/kernel.js';
import { type BufferKey, nodeBufferKey, sourceBufferKey } from './buffer-key.js';
import type { KernelBuffer } from './fused-kernel.js';

/** A buffer as a kernel uses it. */
export interface BufferUse {
  buffer: KernelBuffer;
  /** Different loads, in order of the tape. */
  loads: Access[];
  /** One, or one for each part of a join that is stored part by part. */
  stores: readonly Store[];
}

/** Of buffers without loads, which all share it. */
const NO_LOADS: Access[] = [];
export const NO_STORES: readonly Store[] = [];

/** Lists of up to so many buffers are searched, which is faster than a table. */
const SHORT = 8;

export class BufferList {
  /** Not all need be in use. */
  readonly all: BufferUse[] = [];
  /** By key, once the list is long. */
  #positions: Map<BufferKey, number> | undefined;

  /** A list of other buffers, which all differ, of which a kernel does the same with each. */
  withBuffers(buffers: readonly KernelBuffer[]): BufferList {
    const list = new BufferList();
    for (let k = 0; k < buffers.length; k++) {
      const { loads, stores } = this.all[k]!;
      list.#add(buffers[k]!, loads.length === 0 ? NO_LOADS : loads.slice(), stores);
    }
    return list;
  }

  /** The position of a buffer, new or known. */
  at(buffer: KernelBuffer): number {
    const known = this.#find(buffer.key);
    if (known >= 0) {
      const use = this.all[known]!;
      if (buffer.elementCount > use.buffer.elementCount) use.buffer = buffer;
      return known;
    }
    return this.#add(buffer);
  }

  #add(buffer: KernelBuffer, loads = NO_LOADS, stores = NO_STORES): number {
    const count = this.all.push({ buffer, loads, stores });
    if (this.#positions !== undefined) this.#positions.set(buffer.key, count - 1);
    else if (count > SHORT) this.#positions = new Map(this.all.map((use, k) => [use.buffer.key, k]));
    return count - 1;
  }

  /** The kernel's use of a buffer; undefined: none. */
  of(key: BufferKey): BufferUse | undefined {
    return this.all[this.#find(key)];
  }

  /** Notes a load of the buffer that it names. */
  noteLoad(access: Access): void {
    const use = this.all[access.buffer]!;
    if (use.loads.length === 0) use.loads = [access];
    else use.loads.push(access);
  }

  /** The contents of the buffers, by position. */
  get buffers(): KernelBuffer[] {
    return this.all.map(({ buffer }) => buffer);
  }

  #find(key: BufferKey): number {
    if (this.#positions !== undefined) return this.#positions.get(key) ?? -1;
    for (let k = 0; k < this.all.length; k++) if (this.all[k]!.buffer.key === key) return k;
    return -1;
  }
}

export const nodeBuffer = (node: GraphNode): KernelBuffer => ({
  key: nodeBufferKey(node.id),
  dtype: node.dtype,
  elementCount: sizeOfShape(node.shape),
});

export const sourceBuffer = (node: GraphNodeOf<'source'>): KernelBuffer => ({
  key: sourceBufferKey(node.input, node.dtype),
  dtype: node.dtype,
  elementCount: spanOf(node),
});

/** Elements from the buffer's start to the last one a source reaches. */
function spanOf(node: GraphNodeOf<'source'>): number {
  return node.shape.reduce((end, n, k) => end + Math.max(0, node.strides[k]! * (n - 1)), node.offset) + 1;
}
