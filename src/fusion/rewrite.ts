/**
 * The driver of local rewrites: walks a graph inputs first, offers every node to a list of rules, and redirects the
 * users of what was replaced. Passes are lists of rules plus this.
 *
 * A rule returns a replacement (the id of a node, new or old) or `undefined`. New nodes are interned, so a rewrite never
 * duplicates a value. A node is offered again after a replacement; more than `MAX_REWRITES` in a row is a rewrite loop,
 * which is a defect and is reported as such.
 */
import { InternalError } from '../errors.js';
import type { DType, Scalar } from '../graph/dtype.js';
import type { Shape, View } from '../graph/expr.js';
import { type GraphNode, type MutableGraph, nodeOf, topologicalOrder } from '../graph/graph.js';
import { sameNumbers } from './kernel.js';
import { type NodeContent, NodeTable } from './node-table.js';

const MAX_REWRITES = 64;

/** A local rewrite: a replacement for `node`, or `undefined`. */
export type Rule = (node: GraphNode, editor: Editor) => number | undefined;

/** Reads and adds nodes while a graph is rewritten. */
export class Editor {
  readonly #graph: MutableGraph;
  /** Made when the first node is added: most walks add none. */
  #interned: NodeTable | undefined;
  /** Ids of the nodes it made that no rule has seen. */
  readonly unseen = new Set<number>();

  constructor(graph: MutableGraph) {
    this.#graph = graph;
  }

  node(id: number): GraphNode {
    return nodeOf(this.#graph, id);
  }

  #table(): NodeTable {
    if (this.#interned === undefined) {
      this.#interned = new NodeTable();
      for (const node of this.#graph.nodes) if (node !== undefined) this.#interned.enter(node, node.id);
    }
    return this.#interned;
  }

  /** The id of a node with this content, old or new. */
  add(data: NodeContent): number {
    const { nodes } = this.#graph;
    const id = this.#table().enter(data, nodes.length);
    if (id === nodes.length) {
      nodes.push({ ...data, id } as GraphNode);
      this.unseen.add(id);
    }
    return id;
  }

  /** Gives a node other inputs; the id of an equal node where there is one. */
  redirect(node: GraphNode, inputs: readonly number[]): number {
    const changed = { ...node, inputs };
    this.#graph.nodes[node.id] = changed;
    return this.#table().enter(changed, node.id);
  }

  view(input: number, view: View, shape: Shape): number {
    const { dtype } = this.node(input);
    return this.add({ kind: 'view', view, dtype, shape, inputs: [input] });
  }

  reshape(input: number, shape: Shape): number {
    const node = this.node(input);
    return sameShape(node.shape, shape) ? input : this.view(input, { type: 'reshape' }, shape);
  }

  broadcast(input: number, shape: Shape): number {
    const node = this.node(input);
    return sameShape(node.shape, shape) ? input : this.view(input, { type: 'broadcast' }, shape);
  }

  constant(value: Scalar, dtype: DType, shape: Shape = []): number {
    return this.broadcast(this.add({ kind: 'const', value, dtype, shape: [], inputs: [] }), shape);
  }
}

export const sameShape: (a: Shape, b: Shape) => boolean = sameNumbers;

const MAX_ROUNDS = 16;

/** Applies the rules to every node until none fits, and drops what no output needs any more. */
export function rewrite(graph: MutableGraph, rules: readonly Rule[]): void {
  let order = topologicalOrder(graph);
  for (let round = 0; rewriteOnce(graph, rules, order) === 'unseen'; round++) {
    if (round === MAX_ROUNDS) throw new InternalError('rules do not come to rest');
    order = dropDead(graph);
  }
}

/**
 * One walk over the graph. `unseen`: it made nodes, below those that it put in the place of others, that the rules are yet
 * to see. `rest`: no rule fits any node.
 */
function rewriteOnce(
  graph: MutableGraph,
  rules: readonly Rule[],
  order: readonly number[],
): 'rest' | 'unseen' {
  let changed = false;
  const editor = new Editor(graph);
  const replaced = new Map<number, number>();
  const settle = (start: number): number => {
    let id = start;
    for (let count = 0; ; count++) {
      if (count > MAX_REWRITES) throw new InternalError(`rewrite loop at node ${start}`);
      const node = editor.node(id);
      if (editor.unseen.size > 0) editor.unseen.delete(id);
      let next: number | undefined;
      for (const rule of rules) {
        next = rule(node, editor);
        if (next !== undefined && next !== id) break;
        next = undefined;
      }
      if (next === undefined) return id;
      changed = true;
      id = replaced.get(next) ?? next;
    }
  };
  for (const id of order) {
    const node = editor.node(id);
    let current = id;
    if (replaced.size > 0 && node.inputs.some((input) => replaced.has(input))) {
      current = editor.redirect(
        node,
        node.inputs.map((input) => replaced.get(input) ?? input),
      );
    }
    const settled = settle(current);
    if (settled !== id) replaced.set(id, settled);
  }
  if (!changed) return 'rest';
  graph.outputs = graph.outputs.map((id) => replaced.get(id) ?? id);
  if (editor.unseen.size > 0) return 'unseen';
  dropDead(graph);
  return 'rest';
}

/** Removes the nodes that no output needs; the others in topological order. */
function dropDead(graph: MutableGraph): number[] {
  const order = topologicalOrder(graph);
  const live = new Uint8Array(graph.nodes.length);
  for (let k = 0; k < order.length; k++) live[order[k]!] = 1;
  for (let id = 0; id < live.length; id++) if (live[id] === 0) graph.nodes[id] = undefined;
  return order;
}
