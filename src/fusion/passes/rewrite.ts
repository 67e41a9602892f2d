/**
 * The driver of local rewrites: walks a graph inputs first, offers every node to a list of rules, and
 * redirects the users of what was replaced. Passes are lists of rules plus this.
 *
 * A rule returns a replacement (the id of a node, new or old) or `undefined`. New nodes are interned, so a
 * rewrite never duplicates a value. A node is offered again after a replacement; more than `MAX_REWRITES` in
 * a row is a rewrite loop, which is a defect and is reported as such.
 */

import type { DType, Scalar } from '../../graph/dtype.js';
import type { Shape, View } from '../../graph/expr.js';
import {
  type GraphNode,
  type MutableGraph,
  nodeFrom,
  nodeOf,
  orderOf,
  type RewriteListener,
  topologicalOrderInSlices,
} from '../../graph/graph.js';
import { sameShape } from '../../graph/shape.js';
import { InternalError } from '../../host/errors.js';
import { completed, type Slices } from '../../host/slices.js';
import { type NodeContent, NodeTable } from './node-table.js';

const MAX_REWRITES = 64;

/** A local rewrite: a replacement for `node`, or `undefined`. */
export type Rule = (node: GraphNode, editor: Editor) => number | undefined;

/** The rules for nodes of each kind, in order; a kind without any is left as it is. */
export type Rules = { readonly [K in GraphNode['kind']]?: readonly Rule[] };

/** Nodes between pauses: each that is entered takes some 0.4 µs. */
const NODES_OF_TABLE = 4096;

/** Reads and adds nodes while a graph is rewritten. */
export class Editor {
  readonly #graph: MutableGraph;
  /** By kind, made when the first node of it is added: most walks add none, and few kinds. */
  readonly #interned: { [K in GraphNode['kind']]?: NodeTable } = {};
  /** The first id that it gives, and whether a rule has seen each of the nodes from there on. */
  readonly #first: number;
  readonly #seen: boolean[] = [];
  readonly #listener: RewriteListener | undefined;
  /** The node that rules look at. */
  #current = -1;
  /** Nodes it made that no rule has seen. */
  unseenCount = 0;

  constructor(graph: MutableGraph) {
    this.#graph = graph;
    this.#first = graph.nodes.length;
    this.#listener = graph.listener;
  }

  /** Notes that rules look at a node. */
  see(id: number): void {
    this.#current = id;
    if (id < this.#first || this.#seen[id - this.#first] === true) return;
    this.#seen[id - this.#first] = true;
    this.unseenCount--;
  }

  node(id: number): GraphNode {
    return nodeOf(this.#graph, id);
  }

  #table(kind: GraphNode['kind']): NodeTable {
    return this.#interned[kind] ?? completed(this.prepare(kind));
  }

  /** Makes the table of the nodes of a kind. */
  *prepare(kind: GraphNode['kind']): Slices<NodeTable> {
    const table = new NodeTable();
    const { nodes } = this.#graph;
    for (let k = 0; k < nodes.length; k++) {
      if (k % NODES_OF_TABLE === NODES_OF_TABLE - 1) yield;
      const node = nodes[k];
      if (node?.kind === kind) table.enter(node, node.id);
    }
    this.#interned[kind] = table;
    return table;
  }

  /** The id of a node with this content, old or new. */
  add(data: NodeContent): number {
    const { nodes } = this.#graph;
    const id = this.#table(data.kind).enter(data, nodes.length);
    if (id === nodes.length) {
      nodes.push(nodeFrom(data, data, id, data.inputs));
      this.#seen.push(false);
      this.unseenCount++;
    }
    this.#listener?.made(id, data, this.#current);
    return id;
  }

  /** Gives a node other inputs; the id of an equal node where there is one. */
  redirect(node: GraphNode, inputs: readonly number[]): number {
    const changed = nodeFrom(node, node, node.id, inputs);
    this.#graph.nodes[node.id] = changed;
    this.#listener?.redirected(node.id, inputs);
    const id = this.#table(node.kind).enter(changed, node.id);
    if (id !== node.id) this.#listener?.made(id, changed, node.id);
    return id;
  }

  /** The first of the calls and loops that are equal to a node: an earlier one may have become so. */
  firstEqual(node: GraphNode): number {
    if (node.kind !== 'call' && node.kind !== 'loop') return node.id;
    return this.#table(node.kind).enter(node, node.id);
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

const MAX_ROUNDS = 16;
/** Nodes between pauses: rules take up to 0.1 ms for a contraction, and less than 1 µs for most nodes. */
const NODES_OF_SLICE = 64;

/** Applies the rules to every node until none fits, and drops what no output needs any more. */
export function* rewrite(graph: MutableGraph, rules: Rules): Slices<void> {
  let order = orderOf(graph);
  for (let round = 0; (yield* rewriteOnce(graph, rules, order)) === 'unseen'; round++) {
    if (round === MAX_ROUNDS) throw new InternalError('rules do not come to rest');
    order = yield* dropDead(graph);
  }
}

/**
 * Applies rules none of which fits what they make: one walk does it. `made`: the kinds of nodes that they are sure to
 * make, in a large graph, whose tables are then made in slices.
 */
export function* rewriteInOneWalk(
  graph: MutableGraph,
  rules: Rules,
  made: readonly GraphNode['kind'][] = [],
): Slices<void> {
  if ((yield* rewriteOnce(graph, rules, orderOf(graph), made)) === 'unseen') yield* dropDead(graph);
}

/**
 * One walk over the graph. `unseen`: it made nodes, below those that it put in the place of others, that the
 * rules are yet to see. `rest`: no rule fits any node.
 */
function* rewriteOnce(
  graph: MutableGraph,
  rules: Rules,
  order: readonly number[],
  made: readonly GraphNode['kind'][] = [],
): Slices<'rest' | 'unseen'> {
  let changed = false;
  const editor = new Editor(graph);
  for (const kind of made) yield* editor.prepare(kind);
  const replaced = new Replaced(graph.nodes.length);
  const settle = (start: number): number => {
    let id = start;
    for (let count = 0; ; count++) {
      if (count > MAX_REWRITES) throw new InternalError(`rewrite loop at node ${start}`);
      const node = editor.node(id);
      editor.see(id);
      const next = replacementOf(node, rules[node.kind], editor);
      if (next === undefined) return id;
      changed = true;
      graph.order = undefined;
      id = replaced.now(next);
    }
  };
  for (let k = 0; k < order.length; k++) {
    if (k % NODES_OF_SLICE === NODES_OF_SLICE - 1) yield;
    const id = order[k]!;
    const node = editor.node(id);
    const current = replaced.hasSome(node.inputs)
      ? editor.redirect(node, node.inputs.map(replaced.now))
      : editor.firstEqual(node);
    const settled = settle(current);
    if (settled === id) continue;
    changed = true;
    graph.order = undefined;
    replaced.set(id, settled);
    graph.listener?.replaced(id);
  }
  if (!changed) return 'rest';
  graph.outputs = graph.outputs.map(replaced.now);
  if (editor.unseenCount > 0) return 'unseen';
  yield* dropDead(graph);
  return 'rest';
}

/** The replacements of nodes that existed when a traversal began. */
class Replaced {
  /** By id: the replacement plus one; 0: none. */
  readonly #next: Int32Array;
  #isEmpty = true;

  constructor(nodeCount: number) {
    this.#next = new Int32Array(nodeCount);
  }

  set(id: number, replacement: number): void {
    this.#next[id] = replacement + 1;
    this.#isEmpty = false;
  }

  /** The current replacement of a node. */
  readonly now = (id: number): number => {
    const next = this.#next[id];
    return next === undefined || next === 0 ? id : next - 1;
  };

  hasSome(ids: readonly number[]): boolean {
    if (this.#isEmpty) return false;
    for (let k = 0; k < ids.length; k++) if (this.now(ids[k]!) !== ids[k]) return true;
    return false;
  }
}

/** The replacement that the first matching rule gives for a node. */
function replacementOf(
  node: GraphNode,
  rules: readonly Rule[] | undefined,
  editor: Editor,
): number | undefined {
  if (rules === undefined) return undefined;
  for (let k = 0; k < rules.length; k++) {
    const next = rules[k]!(node, editor);
    if (next !== undefined && next !== node.id) return next;
  }
  return undefined;
}

/** Removes the nodes that no output needs; the others in topological order. */
function* dropDead(graph: MutableGraph): Slices<readonly number[]> {
  yield;
  const order = yield* topologicalOrderInSlices(graph);
  graph.order = order;
  yield;
  const live = new Uint8Array(graph.nodes.length);
  for (let k = 0; k < order.length; k++) live[order[k]!] = 1;
  for (let id = 0; id < live.length; id++) if (live[id] === 0) graph.nodes[id] = undefined;
  return order;
}
