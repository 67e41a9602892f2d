/**
 * Classes of nodes that differ by where slices begin alone:
 *
 *     exp (x[0] - 1), exp (x[1] - 1), exp (x[5] - 1)   →   one class
 *
 * Called by `batch-slices.ts`.
 */
import { type GraphNode, type MutableGraph, nodeOf } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { computesAll } from './element-cost.js';
import { NodeTable } from './node-table.js';

/** Nodes that are the same for several slices, once, over all of them: each element depends on its own slice alone. */
const BATCHED: ReadonlySet<GraphNode['kind']> = new Set([
  'map',
  'cast',
  'repeat',
  'function',
  'reduce',
  'view',
]);

/** Nodes between pauses. */
const NODES_OF_SLICE = 64;

const isSlice = (node: GraphNode): boolean => node.kind === 'view' && node.view.type === 'slice';

/** A slice of an array, wherever it begins. */
function anywhere(node: GraphNode): GraphNode {
  if (node.kind !== 'view' || node.view.type !== 'slice') return node;
  return { ...node, view: { ...node.view, starts: node.view.starts.map(() => 0) } };
}

export class SliceClasses {
  /** Whether some slices are of values that are computed of other slices: classes differ by which of both are taken. */
  hasNested = false;
  readonly #graph: MutableGraph;
  /** Whether these are taken for slices, rather than for nodes that are computed of slices. */
  readonly #takesOuter: boolean;
  /** By id: the first node of its class. */
  readonly #first: Int32Array;
  /** By id: whether it is one of several slices of an array that is no such slice itself, and whether one is below. */
  readonly #isCut: Uint8Array;
  readonly #isAbove: Uint8Array;

  private constructor(graph: MutableGraph, takesOuter: boolean) {
    const { length } = graph.nodes;
    this.#graph = graph;
    this.#takesOuter = takesOuter;
    this.#first = Int32Array.from({ length }, (_, id) => id);
    this.#isCut = new Uint8Array(length);
    this.#isAbove = new Uint8Array(length);
  }

  static *of(graph: MutableGraph, order: readonly number[], takesOuter = false): Slices<SliceClasses> {
    const classes = new SliceClasses(graph, takesOuter);
    const alike = yield* classes.#slices(order);
    const nodes = new NodeTable();
    for (const [k, id] of order.entries()) {
      if (k % NODES_OF_SLICE === 0) yield;
      classes.#note(nodeOf(graph, id), alike, nodes);
    }
    return classes;
  }

  /** By id, for slices: the first of one size of the same array, and how many there are. */
  *#slices(order: readonly number[]): Slices<ReadonlyMap<number, { first: number; count: number }>> {
    const table = new NodeTable();
    const found = new Map<number, { first: number; count: number }>();
    for (const [k, id] of order.entries()) {
      if (k % NODES_OF_SLICE === 0) yield;
      const node = nodeOf(this.#graph, id);
      if (!isSlice(node)) continue;
      const first = table.enter(anywhere(node), id);
      const alike = found.get(first) ?? { first, count: 0 };
      alike.count++;
      found.set(id, alike);
    }
    return found;
  }

  #note(
    node: GraphNode,
    alike: ReadonlyMap<number, { first: number; count: number }>,
    nodes: NodeTable,
  ): void {
    const { id, inputs } = node;
    if (!BATCHED.has(node.kind) || computesAll(node)) return;
    const slices = alike.get(id);
    const isAbove = inputs.some((input) => this.isAboveSlices(input));
    const isOneOfSeveral = slices !== undefined && slices.count > 1;
    this.hasNested ||= isAbove && isOneOfSeveral;
    if (isOneOfSeveral && (this.#takesOuter || !isAbove)) {
      this.#isCut[id] = 1;
      this.#first[id] = slices.first;
    } else if (isAbove) {
      this.#isAbove[id] = 1;
      this.#first[id] = nodes.enter({ ...node, inputs: inputs.map((input) => this.#first[input]!) }, id);
    }
  }

  /** Equal for nodes that differ by where slices begin alone. */
  of(id: number): number {
    return this.#first[id] ?? id;
  }

  /** Whether a node is one of several slices of one size of an array. */
  isSlice(id: number): boolean {
    return this.#isCut[id] === 1;
  }

  /** Whether a node is computed of such slices, or is one. */
  isAboveSlices(id: number): boolean {
    return this.#isAbove[id] === 1 || this.isSlice(id);
  }

  /** The first slice that a node is computed of: the same one of each node of a class. */
  sliceBelow(start: number): number {
    let id = start;
    while (!this.isSlice(id)) id = nodeOf(this.#graph, id).inputs.find((input) => this.isAboveSlices(input))!;
    return id;
  }
}
