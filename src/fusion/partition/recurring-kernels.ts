/**
 * RecurringKernels: kernels of a graph that are built of nodes that are alike, as those of a network's layers are:
 *
 *     tanh(x0 @ w + b0),  tanh(x1 @ w + b1), …    →   the first is written, the others have its structure
 *
 * Nodes are compared as they are met from a kernel's root on, each as its content, its inputs as numbers in that order,
 * and whether it is stored: all that a kernel and the values that its reduction computes itself (`own-reading.ts`) depend
 * on. Called by `partition.ts`.
 */
import { dtypeCode } from '../../graph/dtype.js';
import { type Graph, type GraphNode, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
import type { Instruction } from '../kernel/kernel.js';
import { numberOf } from '../passes/hash.js';
import { writeData } from '../passes/node-table.js';
import { RecordTable } from '../passes/record-table.js';
import { nodeBufferKey } from './buffer-key.js';
import type { KernelBuffer } from './fused-kernel.js';
import { KernelInstance, type Structure } from './kernel-instance.js';
import type { Loadables } from './loadable.js';
import { isBoundary } from './materialization.js';

/** The most nodes that are met: kernels of more are long to compare, and seldom recur. */
const MOST_NODES = 64;
/** From so many kernels on they are compared only if at least half of them recurred. */
const FIRST_KERNELS = 64;

/** A kernel that was built, with its nodes, and those that its buffers hold, by their places from its root on. */
interface Built {
  readonly structure: Structure;
  readonly constants: readonly Instruction[];
  readonly nodes: readonly number[];
  /** `~place` for the array of a source. */
  readonly buffers: readonly number[];
}

export class RecurringKernels {
  readonly #graph: Graph;
  readonly #stored: ReadonlySet<number>;
  readonly #inParts: ReadonlySet<number>;
  readonly #loadables: Loadables;
  readonly #contents = new RecordTable();
  /** By node: the number of its content, plus 1; 0: not known yet. */
  readonly #contentOf: Int32Array;
  readonly #kernels = new RecordTable();
  /** By number of a kernel's record. */
  readonly #built: (Built | undefined)[] = [];
  /** The nodes met from the root that is looked at; by node, its place among them, plus 1; and the sources' arrays. */
  readonly #met: number[] = [];
  readonly #places: Int32Array;
  readonly #inputs: number[] = [];
  #asked = 0;
  #found = 0;
  /** The record of the root that was looked for last; -1: it has none. */
  #record = -1;

  /** `stored`: may grow. */
  constructor(graph: Graph, stored: ReadonlySet<number>, inParts: ReadonlySet<number>, loadables: Loadables) {
    this.#graph = graph;
    this.#stored = stored;
    this.#inParts = inParts;
    this.#loadables = loadables;
    this.#contentOf = new Int32Array(graph.nodes.length);
    this.#places = new Int32Array(graph.nodes.length);
  }

  /** The kernel of a root that is like one that was built; undefined: there is none. */
  find(root: number): KernelInstance | undefined {
    this.#record = -1;
    if (this.#asked >= FIRST_KERNELS && 2 * this.#found < this.#asked) return undefined;
    this.#asked++;
    if (!this.#meet(root)) return undefined;
    this.#record = this.#kernels.close();
    const built = this.#built[this.#record];
    if (built === undefined) return undefined;
    this.#found++;
    return new KernelInstance(
      built.structure,
      built.buffers.map((place) => this.#bufferAt(place)),
      built.constants,
      built.nodes.map((place) => this.#met[place]!),
    );
  }

  /** Notes the kernel of the root that was looked for last. */
  note({ structure, buffers, constants, nodes }: KernelInstance): void {
    // A kernel of a structure of its own grows as others merge into it.
    if (this.#record < 0 || structure.number < 0) return;
    const places = buffers.map((buffer) => this.#placeOf(buffer));
    if (places.includes(undefined)) return;
    this.#built[this.#record] = {
      structure,
      constants,
      nodes: nodes.map((id) => this.#places[id]! - 1),
      buffers: places as number[],
    };
  }

  /** Meets the nodes of a root's kernel, and writes them as the open record; whether they are few enough. */
  #meet(root: number): boolean {
    const { records } = this.#kernels;
    const met = this.#met;
    for (let k = 0; k < met.length; k++) this.#places[met[k]!] = 0;
    met.length = 0;
    this.#inputs.length = 0;
    records.open();
    const readsAlone = nodeOf(this.#graph, root).kind === 'reduce';
    this.#place(root);
    for (let k = 0; k < met.length; k++) {
      const node = nodeOf(this.#graph, met[k]!);
      const isStored = this.#stored.has(node.id);
      records.put(this.#content(node));
      records.put((isStored ? 1 : 0) + (this.#inParts.has(node.id) ? 2 : 0));
      if (node.kind === 'source') records.put(this.#inputAt(node.input));
      if (k > 0 && (isBoundary(node) || (isStored && !readsAlone))) continue;
      for (let i = 0; i < node.inputs.length; i++) records.put(this.#place(node.inputs[i]!));
      if (met.length <= MOST_NODES) continue;
      records.drop();
      return false;
    }
    return true;
  }

  /** The place of a node among those that are met, plus 1; its place is the next one if it was not met yet. */
  #place(id: number): number {
    if (this.#places[id] === 0) this.#places[id] = this.#met.push(id);
    return this.#places[id]!;
  }

  /** The place of a source's array among those that were met. */
  #inputAt(input: number): number {
    const known = this.#inputs.indexOf(input);
    return known >= 0 ? known : this.#inputs.push(input) - 1;
  }

  /** The number of a node's content: all of it but its inputs. */
  #content(node: GraphNode): number {
    const known = this.#contentOf[node.id]!;
    if (known > 0) return known;
    const { records } = this.#contents;
    records.open();
    if (node.kind === 'source') {
      records.put(numberOf(node.kind));
      records.putNumber(node.offset);
      records.putAll(node.strides);
    } else {
      writeData(records, node);
    }
    records.put(dtypeCode(node.dtype));
    records.put(node.inputs.length);
    records.putAll(node.shape);
    this.#contentOf[node.id] = this.#contents.close() + 1;
    return this.#contentOf[node.id]!;
  }

  /** The place of the node whose value a buffer holds, or that of a source; undefined: none was met. */
  #placeOf(buffer: KernelBuffer): number | undefined {
    for (let place = 0; place < this.#met.length; place++) {
      const node = nodeOf(this.#graph, this.#met[place]!);
      if (buffer.key === nodeBufferKey(node.id)) return place;
      if (node.kind === 'source' && this.#loadables.source(node).buffer === buffer) return ~place;
    }
    return undefined;
  }

  #bufferAt(place: number): KernelBuffer {
    const node = nodeOf(this.#graph, this.#met[place < 0 ? ~place : place]!);
    return place < 0
      ? this.#loadables.source(node as GraphNodeOf<'source'>).buffer
      : this.#loadables.storedNode(node).buffer;
  }
}
