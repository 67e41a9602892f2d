/**
 * Loadables: the memory that holds each stored node and source of a graph, as all of its kernels load them.
 * Called by `build-kernel.ts` and `emit-kernel.ts`.
 */
import { denseStrides, type GraphNode, type GraphNodeOf } from '../../graph/graph.js';
import { nodeBuffer, sourceBuffer } from './buffer-list.js';
import type { KernelBuffer } from './fused-kernel.js';

/** A view whose input has to be stored, found while a kernel was built. */
export class MustStore {
  constructor(readonly node: number) {}
}

/** A stored value or a source as kernels load it. */
export interface Loadable {
  readonly buffer: KernelBuffer;
  /** Of the node's elements. */
  readonly strides: readonly number[];
  readonly offset: number;
}

/** The loadables of one graph, each made once. */
export class Loadables {
  readonly #storedNodes: Loadable[];
  readonly #sources: Loadable[];

  constructor(nodeCount: number) {
    this.#storedNodes = new Array<Loadable>(nodeCount);
    this.#sources = new Array<Loadable>(nodeCount);
  }

  storedNode(node: GraphNode): Loadable {
    let made = this.#storedNodes[node.id];
    if (made === undefined) {
      made = { buffer: nodeBuffer(node), strides: denseStrides(node.shape), offset: 0 };
      this.#storedNodes[node.id] = made;
    }
    return made;
  }

  source(node: GraphNodeOf<'source'>): Loadable {
    let made = this.#sources[node.id];
    if (made === undefined) {
      made = { buffer: sourceBuffer(node), strides: node.strides, offset: node.offset };
      this.#sources[node.id] = made;
    }
    return made;
  }
}
