/**
 * The stored values that a reduction computes for itself, so that the order of its elements is the one that it has alone.
 *
 * The order follows from how the arrays lie in memory that a reduction reads. A value that is stored for others may lie
 * otherwise than what it is computed from:
 *
 *     x.T.sum([0, 1]) beside x.T            reads x, as alone, although x.T is in memory
 *     softmax(x).std() beside softmax(x)    reads x and its rows, along two axes; the softmax would be one axis
 *     exp(x).sum() beside exp(x)            may read exp(x), which lies as x
 *     V @ (a - b) beside a - b              reads a - b: an order is chosen by V, which moves along all axes
 *
 * Called by `build-kernel.ts`.
 */
import { type Graph, type GraphNode, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
import { isExactReduction } from '../../graph/reductions.js';
import { computesAll, isComputed } from '../passes/element-cost.js';
import { readsFromMemory } from '../passes/join-form.js';
import { type LeafMap, LeafMaps } from './leaf-maps.js';
import { MustStore } from './loadable.js';
import { isReadAlike } from './read-order.js';

const NOTHING: ReadonlySet<number> = new Set();
/** Values in memory, one below the other, that are computed again at most. */
const MOST_LEVELS = 8;

export class OwnReadings {
  readonly #graph: Graph;
  readonly #stored: ReadonlySet<number>;
  /** As each value is read alone, down to what is in memory for any expression. */
  readonly #alone: LeafMaps;
  /** As it is read with what is stored; made anew where more is. */
  #beside: LeafMaps | undefined;
  #storedCount = -1;
  #hasValues = false;

  /** `stored`: may grow. */
  constructor(graph: Graph, stored: ReadonlySet<number>) {
    this.#graph = graph;
    this.#stored = stored;
    this.#alone = new LeafMaps(graph, () => false);
  }

  /**
   * Throws `MustStore`. The stored nodes that the kernel of a reduction computes itself: of several, one below the other, as many as it takes
   * to read as alone. With all of them a chain of transposed values would be computed anew at each step.
   */
  of(root: GraphNodeOf<'reduce'>): ReadonlySet<number> {
    this.#notice();
    const input = nodeOf(this.#graph, root.inputs[0]!);
    if (!this.#hasValues) return NOTHING;
    // A row is read once for all results: as one array or another, its elements would be another number of loads.
    if (computesAll(root)) return this.#allBelow(root);
    if (isExactReduction(root.reduction, input.dtype)) return NOTHING;
    let beside = readBy(root, this.#beside!);
    let values = this.#valuesOf(beside, []);
    if (values.length === 0) return NOTHING;
    const { maps: alone, folded } = this.#readAlone(root);
    const first = new Set(values);
    const computed = new Set<number>();
    for (let level = 0; !isReadAlike(root, input.shape, alone, beside); level++) {
      if (level === MOST_LEVELS || values.length === 0) return first;
      for (const id of values) if (!folded.has(id)) computed.add(id);
      beside = readBy(
        root,
        new LeafMaps(
          this.#graph,
          (node) => (this.#isValue(node) && !computed.has(node.id)) || folded.has(node.id),
        ),
      );
      values = this.#valuesOf(beside, []);
    }
    if (computed.size > 0) this.#storeAll(beside, folded);
    return computed;
  }

  /** Throws `MustStore` for a value that is in memory alone and is read by some maps, until all are. */
  #storeAll(maps: readonly LeafMap[], folded: ReadonlySet<number>): void {
    for (const { leaf, split } of maps) {
      if (split !== undefined) this.#storeAll(split, folded);
      else if (folded.has(leaf) && !this.#stored.has(leaf)) throw new MustStore(leaf);
    }
  }

  /** As a reduction reads alone; `folded`: values that are in memory then, too, for all that it computes of them. */
  #readAlone(root: GraphNode): { readonly maps: readonly LeafMap[]; readonly folded: ReadonlySet<number> } {
    const folded = new Set<number>();
    let maps = readBy(root, this.#alone);
    for (;;) {
      const known = folded.size;
      addFolded(maps, folded);
      if (folded.size === known) return { maps, folded };
      maps = readBy(root, new LeafMaps(this.#graph, (node) => folded.has(node.id)));
    }
  }

  /** All values in memory that an expression is computed of. */
  #allBelow({ inputs }: GraphNode): ReadonlySet<number> {
    const found = new Set<number>();
    const seen = new Set(inputs);
    // A set's walk meets what is added to it meanwhile.
    for (const id of seen) {
      const node = nodeOf(this.#graph, id);
      if (this.#isValue(node)) found.add(id);
      if (isComputed(node))
        for (const input of node.inputs) if (!readsFromMemory(node, input)) seen.add(input);
    }
    return found;
  }

  /** Adds the values in memory that are read by some maps. */
  #valuesOf(maps: readonly LeafMap[], values: number[]): readonly number[] {
    for (const { leaf, split } of maps) {
      if (split !== undefined) this.#valuesOf(split, values);
      else if (leaf >= 0 && this.#isValue(nodeOf(this.#graph, leaf))) values.push(leaf);
    }
    return values;
  }

  #notice(): void {
    if (this.#stored.size === this.#storedCount) return;
    this.#storedCount = this.#stored.size;
    this.#beside = new LeafMaps(this.#graph, (node) => this.#isValue(node));
    this.#hasValues = [...this.#stored].some((id) => this.#isValue(nodeOf(this.#graph, id)));
  }

  /** Whether a node is in memory that might as well be computed. */
  #isValue(node: GraphNode): boolean {
    return this.#stored.has(node.id) && (isComputed(node) || node.kind === 'source');
  }
}

function addFolded(maps: readonly LeafMap[], folded: Set<number>): void {
  for (const { leaf, split, isFolded } of maps) {
    if (isFolded === true) folded.add(leaf);
    if (split !== undefined) addFolded(split, folded);
  }
}

/** The maps by which a reduction reads. */
const readBy = ({ inputs }: GraphNode, maps: LeafMaps): readonly LeafMap[] =>
  inputs.length === 1 ? maps.of(inputs[0]!) : inputs.flatMap((id) => maps.of(id));
