/**
 * Values of narrow products (`passes/narrow-products.ts`) that are read for many more elements than they have, as rotated
 * points in the distances of all pairs, are stored: each would be computed again for every pair. Called by
 * `materialization.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { type Consumers, type Graph, type GraphNode, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { type ElementCosts, isComputed, isElementwise, isUnrolled } from '../passes/element-cost.js';

/** Elements for which a value is read, at least; coordinates of a distance are fewer, which is computed for each. */
const LEAST_SPREAD = 8;

export class SpreadProducts {
  readonly #consumers: Consumers;
  readonly #costs: ElementCosts;
  readonly #bytesPerCost: number;
  /** Computed nodes that have a sum of a product in them. */
  readonly #products = new Set<number>();

  constructor(
    graph: Graph,
    order: readonly number[],
    { consumers, costs }: { readonly consumers: Consumers; readonly costs: ElementCosts },
    bytesPerCost: number,
  ) {
    this.#consumers = consumers;
    this.#costs = costs;
    this.#bytesPerCost = bytesPerCost;
    if (!graph.nodes.some((node) => node !== undefined && isUnrolled(node))) return;
    for (const id of order) {
      const node = nodeOf(graph, id);
      if (isUnrolled(node) || (isComputed(node) && node.inputs.some((input) => this.#products.has(input))))
        this.#products.add(id);
    }
  }

  /** Whether a node is better stored for larger ones that read it. */
  has(node: GraphNode): boolean {
    if (!this.#products.has(node.id) || !(isElementwise(node) || isUnrolled(node))) return false;
    const size = sizeOfShape(node.shape);
    const spread = this.#spreadOf(node, LEAST_SPREAD * size);
    const saved = this.#costs.at(node.id) * (spread - size) * this.#bytesPerCost;
    return saved > 2 * size * byteLengthOf(node.dtype);
  }

  /** The elements of the first reader of at least so many; 0: there is none. */
  #spreadOf({ id }: GraphNode, least: number): number {
    const { first, list } = this.#consumers;
    for (let k = first[id]!; k < first[id + 1]!; k++) {
      const reader = list[k]!;
      if (reader.kind !== 'view' && !isElementwise(reader)) continue;
      const size = sizeOfShape(reader.shape);
      if (size >= least) return size;
      const below = reader.kind === 'view' ? this.#spreadOf(reader, least) : 0;
      if (below > 0) return below;
    }
    return 0;
  }
}
