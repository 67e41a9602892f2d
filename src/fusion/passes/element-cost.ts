/**
 * The cost of computing an element of each node from values that are in memory in any case: sources, reductions,
 * products, results of calls and loops. It follows from the expression alone. Asked by `unroll-reductions.ts`
 * and by the partition.
 */
import { costOfLoop } from '../../graph/element-loop.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import { opRow } from '../../graph/ops.js';
import { completed, type Slices } from '../../host/slices.js';

/** Whether each element is computed from those of the inputs, which broadcast. */
export const isElementwise = ({ kind }: GraphNode): boolean =>
  kind === 'map' || kind === 'cast' || kind === 'repeat' || kind === 'function';

/** Whether a node may be computed inside the kernels that need it. */
export const isComputed = (node: GraphNode): boolean =>
  isElementwise(node) ||
  node.kind === 'view' ||
  node.kind === 'join' ||
  node.kind === 'gather' ||
  isUnrolled(node);

/** Whether a node is a short reduction that is written out (`unroll-reductions.ts`). */
export const isUnrolled = (node: GraphNode): node is GraphNodeOf<'reduce'> & { readonly unrolled: true } =>
  node.kind === 'reduce' && node.unrolled === true;

/** Whether the kernel of a reduction computes all that it reads, whatever is stored for others (`row-results.ts`). */
export const computesAll = (node: GraphNode): boolean => node.kind === 'reduce' && node.together === true;

/** A gathered element costs what its line of memory does. */
export const GATHER_COST = 32;
/** A comparison, and a choice of one of two parts by it. */
const COST_OF_CHOICE = 2;
/** Costs grow with each place where a value is read again. */
const MOST_COST = 1e9;

/** Cost units of one element, without what its inputs cost. */
function costOf(node: GraphNode): number {
  if (node.kind === 'map') return opRow(node.op).cost;
  if (node.kind === 'gather') return GATHER_COST;
  if (node.kind === 'repeat') return costOfLoop(node.loop);
  if (node.kind === 'function') return node.function.cost;
  if (node.kind === 'join') return COST_OF_CHOICE * (node.inputs.length - 1);
  return node.kind === 'cast' ? 1 : 0;
}

/** Elements of its input that each element of a reduction takes. */
export const lengthOf = (node: GraphNodeOf<'reduce'>, input: GraphNode): number =>
  node.axes.reduce((count, axis) => count * input.shape[axis]!, 1);

/** Nodes between pauses: each takes some 0.1 µs. */
const NODES_OF_SLICE = 1 << 14;

/**
 * Costs by id, in additions. `of` the inputs of a node are noted before the node's own. A value that all elements share costs
 * each of them nothing.
 */
export class ElementCosts {
  readonly #costs: number[] = [];

  static of(graph: Graph | MutableGraph, order: readonly number[]): ElementCosts {
    return completed(ElementCosts.inSlices(graph, order));
  }

  /** As `of`. */
  static *inSlices(graph: Graph | MutableGraph, order: readonly number[]): Slices<ElementCosts> {
    const costs = new ElementCosts();
    for (let k = 0; k < order.length; k++) {
      if (k % NODES_OF_SLICE === NODES_OF_SLICE - 1) yield;
      costs.note(nodeOf(graph, order[k]!), graph);
    }
    return costs;
  }

  at(id: number): number {
    return this.#costs[id] ?? 0;
  }

  note(node: GraphNode, graph: Graph | MutableGraph): void {
    if (!isComputed(node)) return;
    let cost = costOf(node);
    const isOne = sizeOfShape(node.shape) === 1;
    for (let k = 0; k < node.inputs.length; k++) {
      const input = node.inputs[k]!;
      const own = this.at(input);
      if (own > 0 && (isOne || sizeOfShape(nodeOf(graph, input).shape) > 1)) cost += own;
    }
    if (isUnrolled(node)) cost = lengthOf(node, nodeOf(graph, node.inputs[0]!)) * (cost + 1);
    this.#costs[node.id] = Math.min(MOST_COST, cost);
  }
}
