/**
 * Graph: the canonical form of what is computed, a table of nodes by id. Passes rewrite it;
 * `fusion/partition/partition.ts` turns it into kernels.
 *
 * It is plain data: sources are numbers into a list that stays outside (`fusion/passes/graph-sources.ts`), so
 * a graph can be compared, printed and stored. Nodes may stand in any order; `topologicalOrder`
 * finds one.
 */
import { completed, type Slices } from '../host/slices.js';
import type { LoopCount, NodeBase, NodeData, Shape } from './expr.js';
import type { ConstantValue } from './runtime-scalar.js';

type ComputedData = Exclude<NodeData, { kind: 'source' | 'const' | 'loop' | 'call' }>;
type CallData = Extract<NodeData, { kind: 'call' }>;

/**
 * A loop: its body is a graph whose sources are the body's arguments and whose outputs are the next states.
 */
export interface GraphLoop extends LoopCount {
  readonly body: Graph;
  /** Equal keys are equal loops: that of the body as it was built, and how often it runs. */
  readonly key: string;
}

/**
 * A map that a routine does with values of its own, which are in no memory: a graph of one result, whose source 0 is
 * such values, all of them, and whose other sources are the last inputs of the routine, in order.
 */
export interface ValueMap {
  readonly graph: Graph;
  /** Equal keys are equal maps. */
  readonly key: string;
}

export type GraphNodeData =
  | ComputedData
  | (CallData & { readonly valueMap?: ValueMap | undefined })
  /** Input array number `input`, at these offset and strides (elements) of its buffer. */
  | {
      readonly kind: 'source';
      readonly input: number;
      readonly offset: number;
      readonly strides: readonly number[];
    }
  /** One value; its shape is []. */
  | { readonly kind: 'const'; readonly value: ConstantValue }
  /** 0 … n - 1. */
  | { readonly kind: 'iota' }
  /** A result of a loop: see `NodeData`. */
  | { readonly kind: 'loop'; readonly loop: GraphLoop; readonly result: number };

export type GraphNode = GraphNodeData &
  NodeBase & { readonly id: number; readonly inputs: readonly number[] };
export type GraphNodeOf<K extends GraphNodeData['kind']> = Extract<GraphNode, { kind: K }>;

export interface Graph {
  /** By id; `undefined` where a pass dropped a node. */
  readonly nodes: readonly (GraphNode | undefined)[];
  /** Ids of the results, in the user's order; one node may stand more than once. */
  readonly outputs: readonly number[];
}

/** A graph while a pass rewrites it. */
export interface MutableGraph {
  nodes: (GraphNode | undefined)[];
  outputs: number[];
  readonly listener?: RewriteListener | undefined;
  /** Its topological order, from when that is asked for until a pass changes the graph. */
  order?: readonly number[] | undefined;
}

/** A change that a pass made, as reported to a listener. */
export type Made = Pick<GraphNode, 'kind' | 'inputs'>;

/** An observer of what passes do to the nodes of a graph. */
export interface RewriteListener {
  /** A node was made for the node `maker`, or one that is equal was there. */
  made(id: number, node: Made, maker: number): void;
  /** A node has other inputs. */
  redirected(id: number, inputs: readonly number[]): void;
  /** All that read a node read another one instead. */
  replaced(id: number): void;
}

export const sizeOfShape = (shape: Shape): number => {
  let size = 1;
  for (let k = 0; k < shape.length; k++) size *= shape[k]!;
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
  const node = graph.nodes[id];
  if (node === undefined) throw new Error(`graph has no node ${id}`);
  return node;
}

/**
 * A node without what its data may carry besides; written out, since spreads are slow and make objects of
 * another form.
 */
export function nodeFrom(
  data: GraphNodeData,
  { dtype, shape }: NodeBase,
  id: number,
  inputs: readonly number[],
): GraphNode {
  switch (data.kind) {
    case 'source': {
      const { kind, input, offset, strides } = data;
      return { kind, input, offset, strides, dtype, shape, id, inputs };
    }
    case 'iota':
    case 'cast':
      return { kind: data.kind, dtype, shape, id, inputs };
    case 'const':
      return { kind: data.kind, value: data.value, dtype, shape, id, inputs };
    case 'map':
      return { kind: data.kind, op: data.op, dtype, shape, id, inputs };
    case 'reduce':
      return {
        kind: data.kind,
        reduction: data.reduction,
        monoid: data.monoid,
        unrolled: data.unrolled,
        together: data.together,
        batch: data.batch,
        axes: data.axes,
        dtype,
        shape,
        id,
        inputs,
      };
    case 'view':
      return { kind: data.kind, view: data.view, dtype, shape, id, inputs };
    case 'join':
      return { kind: data.kind, axis: data.axis, dtype, shape, id, inputs };
    case 'gather':
      return { kind: data.kind, axis: data.axis, mode: data.mode, dtype, shape, id, inputs };
    case 'contract': {
      const { kind, labels, output, precision, memoryLimit, epilogue, library, conjugated } = data;
      return {
        kind,
        labels,
        output,
        precision,
        memoryLimit,
        epilogue,
        library,
        conjugated,
        dtype,
        shape,
        id,
        inputs,
      };
    }
    case 'call': {
      const { kind, routine, parameters, result, kernel } = data;
      const { valueMap } = data as Extract<GraphNodeData, { kind: 'call' }>;
      return { kind, routine, parameters, result, kernel, valueMap, dtype, shape, id, inputs };
    }
    case 'repeat':
      return { kind: data.kind, loop: data.loop, result: data.result, dtype, shape, id, inputs };
    case 'function':
      return { kind: data.kind, function: data.function, result: data.result, dtype, shape, id, inputs };
    case 'loop':
      return { kind: data.kind, loop: data.loop, result: data.result, dtype, shape, id, inputs };
  }
}

/** The node in whose buffer an output's elements lie, in the same order. */
export function storedNode(graph: Graph | MutableGraph, output: number): number {
  let node = nodeOf(graph, output);
  while (node.kind === 'view' && node.view.type === 'reshape') node = nodeOf(graph, node.inputs[0]!);
  return node.id;
}

/** Ids of all nodes that the outputs need, inputs first. Iterative: graphs may be 100,000 nodes deep. */
export const topologicalOrder = (graph: Graph | MutableGraph): number[] =>
  completed(topologicalOrderInSlices(graph));

/** Nodes between pauses: each takes some 0.1 µs. */
const NODES_OF_SLICE = 1 << 14;

/** As `topologicalOrder`. */
export function* topologicalOrderInSlices(graph: Graph | MutableGraph): Slices<number[]> {
  const order: number[] = [];
  const next = new Int32Array(graph.nodes.length); // by id: next input to visit; -1: done
  const path = new Int32Array(graph.nodes.length); // from an output to where the walk is
  for (const output of graph.outputs) {
    if (next[output] === -1) continue;
    let length = 0;
    path[length++] = output;
    while (length > 0) {
      const id = path[length - 1]!;
      const { inputs } = nodeOf(graph, id);
      let at = next[id]!;
      while (at < inputs.length && next[inputs[at]!] === -1) at++;
      if (at < inputs.length) {
        next[id] = at + 1;
        path[length++] = inputs[at]!;
      } else {
        next[id] = -1;
        length--;
        if (order.push(id) % NODES_OF_SLICE === 0) yield;
      }
    }
  }
  return order;
}

/** Equal for the results of one call of equal inputs. Kernels of the user's own, and maps of values, differ by their keys. */
export const routineKey = ({ routine, parameters, kernel, valueMap }: GraphNodeOf<'call'>): string =>
  `${kernel?.key ?? routine} ${parameters.join(' ')} ${valueMap?.key ?? ''}`;

/** The topological order of a graph between passes, found once for all that leave it as it is. */
export function orderOf(graph: MutableGraph): readonly number[] {
  graph.order ??= topologicalOrder(graph);
  return graph.order;
}

/** How many times each node is read by nodes of `order`, by id; outputs are not counted. */
function readCounts(graph: Graph | MutableGraph, order: readonly number[]): Int32Array {
  const counts = new Int32Array(graph.nodes.length);
  for (let k = 0; k < order.length; k++) {
    const { inputs } = nodeOf(graph, order[k]!);
    for (let i = 0; i < inputs.length; i++) counts[inputs[i]!]!++;
  }
  return counts;
}

/**
 * The nodes that more than one place wants: what several nodes or one node twice read, and what is an output.
 */
export function sharedNodes(graph: MutableGraph): ReadonlySet<number> {
  const order = orderOf(graph);
  const counts = readCounts(graph, order);
  const shared = new Set(graph.outputs);
  for (let k = 0; k < order.length; k++) if (counts[order[k]!]! > 1) shared.add(order[k]!);
  return shared;
}

/** The nodes that read each node, with repeats; outputs are not counted. */
export class Consumers {
  /** Those of node `id` are `list[first[id]]` to `list[first[id + 1] - 1]`, in order. */
  readonly first: Int32Array;
  readonly list: readonly GraphNode[];

  constructor(graph: Graph, order: readonly number[]) {
    const counts = readCounts(graph, order);
    const first = new Int32Array(counts.length + 1);
    for (let id = 0; id < counts.length; id++) first[id + 1] = first[id]! + counts[id]!;
    const list = new Array<GraphNode>(first[counts.length]!);
    const end = first.slice();
    for (let k = 0; k < order.length; k++) {
      const node = nodeOf(graph, order[k]!);
      for (let i = 0; i < node.inputs.length; i++) list[end[node.inputs[i]!]!++] = node;
    }
    this.first = first;
    this.list = list;
  }
}
