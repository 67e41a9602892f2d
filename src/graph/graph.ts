/**
 * Graph: the canonical form of what is computed, a table of nodes by id. Passes rewrite it; `fusion/partition.ts`
 * turns it into kernels.
 *
 * It is plain data: sources are numbers into a list that stays outside (`fusion/canonicalize.ts`), so a graph can be
 * drafted, compared, printed and stored. Nodes may stand in any order; `topologicalOrder` finds one.
 */
import type { NodeBase, NodeData, Shape } from './expr.js';

type ComputedData = Exclude<NodeData, { kind: 'source' }>;

export type GraphNodeData =
  | ComputedData
  /** Input array number `input`, at these offset and strides (elements) of its buffer. */
  | {
      readonly kind: 'source';
      readonly input: number;
      readonly offset: number;
      readonly strides: readonly number[];
    }
  /** 0 … n - 1. */
  | { readonly kind: 'iota' };

export type GraphNode = GraphNodeData &
  NodeBase & { readonly id: number; readonly inputs: readonly number[] };
export type GraphNodeOf<K extends GraphNodeData['kind']> = Extract<GraphNode, { kind: K }>;

export interface Graph {
  readonly nodes: ReadonlyMap<number, GraphNode>;
  /** Ids of the results, in the user's order; one node may stand more than once. */
  readonly outputs: readonly number[];
  /** The id a new node takes. */
  readonly nextId: number;
}

/** A graph while a pass rewrites it. */
export interface MutableGraph {
  nodes: Map<number, GraphNode>;
  outputs: number[];
  nextId: number;
}

export const sizeOfShape = (shape: Shape): number => {
  let size = 1;
  for (const n of shape) size *= n;
  return size;
};

/** C-order strides, in elements. */
export function denseStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let k = shape.length - 1; k >= 0; k--) {
    strides[k] = stride;
    stride *= shape[k]!;
  }
  return strides;
}

export function nodeOf(graph: Graph | MutableGraph, id: number): GraphNode {
  const node = graph.nodes.get(id);
  if (node === undefined) throw new Error(`graph has no node ${id}`);
  return node;
}

/** Ids of all nodes that the outputs need, inputs first. Iterative: graphs may be 100,000 nodes deep. */
export function topologicalOrder(graph: Graph | MutableGraph): number[] {
  const order: number[] = [];
  const state = new Map<number, number>(); // id → next input to visit; -1: done
  for (const output of graph.outputs) {
    const stack = [output];
    while (stack.length > 0) {
      const id = stack[stack.length - 1]!;
      const next = state.get(id) ?? 0;
      const inputs = next === -1 ? [] : nodeOf(graph, id).inputs;
      if (next === -1) {
        stack.pop();
      } else if (next < inputs.length) {
        state.set(id, next + 1);
        if (state.get(inputs[next]!) !== -1) stack.push(inputs[next]!);
      } else {
        state.set(id, -1);
        order.push(id);
        stack.pop();
      }
    }
  }
  return order;
}

/** Ids of the nodes that read each node, with repeats; outputs are not counted. */
export function consumersOf(graph: Graph, order: readonly number[]): Map<number, number[]> {
  const consumers = new Map<number, number[]>(order.map((id) => [id, []]));
  for (const id of order) for (const input of nodeOf(graph, id).inputs) consumers.get(input)!.push(id);
  return consumers;
}
