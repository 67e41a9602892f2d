/**
 * Values around narrow products (`passes/narrow-products.ts`) that would be computed again and again are stored: those that
 * are read for many more elements than they have, as rotated points in the distances of all pairs, and expensive operands of
 * products with more columns than a kernel computes together (`kernel/channels.ts`):
 *
 *     tanh(x @ a) @ b, 8 columns each   →   on a GPU a kernel for tanh(x @ a), which has each tanh once, not for eight columns
 *
 * Called by `materialization.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { type Consumers, type Graph, type GraphNode, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { type ElementCosts, isComputed, isElementwise, isUnrolled } from '../passes/element-cost.js';

/** Elements for which a value is read, at least; coordinates of a distance are fewer, which is computed for each. */
const LEAST_SPREAD = 8;

interface Properties {
  readonly consumers: Consumers;
  readonly costs: ElementCosts;
  /** Places along short axes that kernels compute together, at most. */
  readonly channels: number;
}

export class SpreadProducts {
  readonly #consumers: Consumers;
  readonly #costs: ElementCosts;
  readonly #bytesPerCost: number;
  readonly #channels: number;
  readonly #hasProducts: boolean;
  /** Computed nodes that have a sum of a product in them. */
  readonly #products = new Set<number>();

  constructor(
    graph: Graph,
    order: readonly number[],
    { consumers, costs, channels }: Properties,
    bytesPerCost: number,
  ) {
    this.#consumers = consumers;
    this.#costs = costs;
    this.#bytesPerCost = bytesPerCost;
    this.#channels = channels;
    this.#hasProducts = graph.nodes.some((node) => node !== undefined && isUnrolled(node));
    if (!this.#hasProducts) return;
    for (const id of order) {
      const node = nodeOf(graph, id);
      if (isUnrolled(node) || (isComputed(node) && node.inputs.some((input) => this.#products.has(input))))
        this.#products.add(id);
    }
  }

  /** Whether a node is better stored for larger ones that read it. */
  has(node: GraphNode): boolean {
    if (!this.#hasProducts || !(isElementwise(node) || isUnrolled(node))) return false;
    const size = sizeOfShape(node.shape);
    const saved = this.#costs.at(node.id) * (this.#spreadOf(node, size) - size) * this.#bytesPerCost;
    return saved > 2 * size * byteLengthOf(node.dtype);
  }

  /** The elements of the first reader, through views, that has so many that a value of `size` elements is spread; 0: there is none. */
  #spreadOf({ id }: GraphNode, size: number): number {
    const { first, list } = this.#consumers;
    for (let k = first[id]!; k < first[id + 1]!; k++) {
      const reader = list[k]!;
      if (reader.kind !== 'view' && !isElementwise(reader)) continue;
      const count = sizeOfShape(reader.shape);
      const isSpread = this.#areTerms(reader)
        ? count > this.#channels * size
        : this.#products.has(id) && count >= LEAST_SPREAD * size;
      if (isSpread) return count;
      const below = reader.kind === 'view' ? this.#spreadOf(reader, size) : 0;
      if (below > 0) return below;
    }
    return 0;
  }

  /** Whether a node has the terms of a product. */
  #areTerms({ id, kind }: GraphNode): boolean {
    const { first, list } = this.#consumers;
    return kind === 'map' && first[id + 1]! - first[id]! === 1 && isUnrolled(list[first[id]!]!);
  }
}
