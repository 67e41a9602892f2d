/**
 * Writes short reductions out as ops where a reduction takes them up, so that they need no memory:
 *
 *     Σj exp(-Σk (x[i, k] - y[j, k])²), k < 3   →   the inner sum unrolled: (d[0] + d[1]) + d[2]
 *
 * A reduction takes in a short one of more elements than it has itself, within a few nodes of its own expression, and one of
 * few terms for every pair of rows, of which there are many more than rows, wherever reductions alone read what is computed
 * of it:
 *
 *     Σj m[j] (x[j] - x[i]) r[i, j]^-3, r: distances in space   →   three sums of one kernel, which computes distances
 *
 * Several reductions take it in where no others read it, and all of them reduce the same few elements of equal shapes:
 *
 *     argmin and min over c of Σk (x[i, k] - y[c, k])²          →   one kernel, which computes each distance once
 *
 * So does one of many rows that has few results, which share what is computed of a row (`row-results.ts`):
 *
 *     Σi (f(Σk x[i, k] w[k]) - y[i]) x[i, j], j < 8   →   eight sums of one kernel, which reads rows once
 *
 * Others that are read as well, or values that are computed with them, are computed once. Kernels of short reductions combine
 * their elements as they are written out here, so that this changes no bits of theirs; where it would change the order of the
 * reduction that reads them, that one writes them out itself.
 */

import {
  Consumers,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  orderOf,
  sharedNodes,
  sizeOfShape,
} from '../../graph/graph.js';
import { isExactReduction } from '../../graph/reductions.js';
import type { Slices } from '../../host/slices.js';
import { type LeafMap, LeafMaps } from '../partition/leaf-maps.js';
import { ElementCosts, isComputed, isUnrolled, lengthOf } from './element-cost.js';
import { isShortReduction, MAX_NODES, OwnExpression, type Readers } from './own-expression.js';
import { type Editor, type Rule, type Rules, rewriteInOneWalk } from './rewrite.js';
import { isShortPlace } from './row-results.js';
import { splitRoots } from './split-joins.js';
import { type SumOrder, SumOrders } from './sum-orders.js';

/**
 * Elements that several reductions reduce which compute short ones themselves. Of long rows of pairs a CPU takes longer: sums and
 * maxima of 2000² Gaussian kernels of 8 coordinates 21 ms of processor time for 7.4 of stored ones, the nearest of 16 centres and its
 * distance of 300,000 points 24 for 37 (least of 12, by turns, at a load of 18).
 */
const MOST_REDUCED_ALIKE = 64;

/** The pass for a target, by the order of its sums; without, short ones are written out where nobody else reads them. */
export const unrollReductions = (sumOrder: SumOrder | undefined) =>
  function* (graph: MutableGraph): Slices<void> {
    const isShort = (node: GraphNode | undefined): boolean =>
      node?.kind === 'reduce' &&
      (isShortPlace(node, nodeOf(graph, node.inputs[0]!)) ||
        isUnrolled(node) ||
        isShortReduction(graph, node));
    if (!graph.nodes.some(isShort)) return;
    const costs = ElementCosts.of(graph, orderOf(graph));
    const shared = new Set(sharedNodes(graph));
    const reducedOnly = onlyReduced(graph);
    const reducedAlike = new ReducedAlike(graph);
    const orders = sumOrder && new KnownOrders(graph, sumOrder, costs);
    const rows = new RowValues();
    let joined = false;
    const rule: Rule = (node, editor) => {
      if (node.kind !== 'reduce' || isUnrolled(node)) return undefined;
      const own = new OwnExpression(node, editor, costs, graph, { shared, reducedOnly, reducedAlike });
      const chosen = orders === undefined ? own : expressionInOrder(node, own, orders, editor);
      const made = chosen.written();
      if (chosen.isTogether) rows.note(chosen);
      if (made === node.id) return undefined;
      if (shared.has(node.id)) shared.add(made);
      joined ||= editor.node(made).kind === 'join';
      return made;
    };
    yield* rewriteInOneWalk(graph, { reduce: [rule] });
    if (rows.hasSome) yield* rewriteInOneWalk(graph, rows.rulesOf(graph, costs));
    if (joined) yield* splitRoots(graph, new Set());
  };

/**
 * A reduction in the order that it has where nobody else reads its parts: as it is best written where others do, with some
 * of the short ones from memory, unless it would combine its elements in another order than with these written out, too.
 */
function expressionInOrder(
  { reduction, inputs }: GraphNodeOf<'reduce'>,
  own: OwnExpression,
  orders: KnownOrders,
  editor: Editor,
): OwnExpression {
  if (isExactReduction(reduction, editor.node(inputs[0]!).dtype)) return own;
  const alone = own.asAlone();
  if (alone.isTogether) return alone;
  if (alone.isLike(own)) return own;
  return orders.agree(alone.written(), own.written()) ? own : alone;
}

/**
 * Values of rows that are results beside reductions to few results, as labels beside new centres: they are written out as well, so
 * that the kernel of these reductions stores them.
 */
class RowValues {
  /** By number of rows, the nodes that such reductions compute. */
  readonly #nodes = new Map<number, Set<number>>();

  get hasSome(): boolean {
    return this.#nodes.size > 0;
  }

  note({ rowCount, nodes }: OwnExpression): void {
    const known = this.#nodes.get(rowCount) ?? new Set();
    this.#nodes.set(rowCount, known);
    for (const id of nodes) known.add(id);
  }

  rulesOf(graph: MutableGraph, costs: ElementCosts): Rules {
    const { first, list } = new Consumers(graph, orderOf(graph));
    const results = new Set(graph.outputs);
    const rule: Rule = (node, editor) => {
      const { id, dtype, shape } = node;
      const computed = this.#nodes.get(sizeOfShape(shape));
      const isRead = (first[id + 1] ?? list.length) > (first[id] ?? list.length);
      if (computed === undefined || !results.has(id) || isRead) return undefined;
      const axes = [...shape.keys()];
      const root = {
        kind: 'reduce',
        reduction: 'sum',
        axes,
        dtype,
        shape: [],
        id: -1,
        inputs: [id],
      } as const;
      const own = new OwnExpression(root, editor, costs, graph, READ_ALONE);
      return own.hasRows && own.nodes.some((at) => computed.has(at)) ? own.writtenInput() : undefined;
    };
    return { reduce: [rule], map: [rule], cast: [rule], view: [rule] };
  }
}

/** As if nothing else read any part of an expression. */
const READ_ALONE: Readers = {
  shared: { has: () => false },
  reducedOnly: { has: () => true },
  reducedAlike: { has: () => false },
};

/** Whether reductions have one order, which is found once for those that read alike: both are planned for it. */
class KnownOrders {
  readonly #graph: MutableGraph;
  readonly #costs: ElementCosts;
  readonly #orders: SumOrders;
  readonly #known = new Map<string, boolean>();

  constructor(graph: MutableGraph, sumOrder: SumOrder, costs: ElementCosts) {
    this.#graph = graph;
    this.#costs = costs;
    this.#orders = new SumOrders(graph, sumOrder);
  }

  /** Of those in parts it is not asked: each has an order of its own. */
  agree(one: number, other: number): boolean {
    if ([one, other].some((id) => nodeOf(this.#graph, id).kind !== 'reduce')) return false;
    const maps = new LeafMaps(this.#graph, () => false);
    const key = [one, other].map((id) => this.#textOf(id, maps)).join(' | ');
    let found = this.#known.get(key);
    if (found === undefined) {
      found = this.#orders.agree({ member: one, batch: other });
      this.#known.set(key, found);
    }
    return found;
  }

  /** A reduction with the maps by which it reads arrays, and their extents. */
  #textOf(id: number, maps: LeafMaps): string {
    const sizeOf = (leaf: number): number => sizeOfShape(nodeOf(this.#graph, leaf).shape);
    const textOf = (read: readonly LeafMap[]): unknown =>
      read.map(({ leaf, split, ...map }) => [map, leaf < 0 ? 0 : sizeOf(leaf), split && textOf(split)]);
    const { inputs, axes, reduction } = nodeOf(this.#graph, id) as GraphNodeOf<'reduce'>;
    const all = inputs.map((input) => [
      nodeOf(this.#graph, input).shape,
      this.#costs.at(input),
      textOf(maps.of(input)),
    ]);
    return JSON.stringify([reduction, axes, all]);
  }
}

/** Nodes of which reductions alone need values, perhaps through others of them. */
function onlyReduced(graph: MutableGraph): ReadonlySet<number> {
  const order = orderOf(graph);
  const others = new Set(graph.outputs);
  for (let k = order.length - 1; k >= 0; k--) {
    const node = nodeOf(graph, order[k]!);
    if (node.kind === 'reduce' && !isUnrolled(node)) {
      if (isShortReduction(graph, node) && others.has(node.id)) others.add(node.inputs[0]!);
      continue;
    }
    if (isComputed(node) && !others.has(node.id)) continue;
    for (const id of node.inputs) others.add(id);
  }
  return new Set(order.filter((id) => !others.has(id)));
}

/** Values that several reductions take up, all of the same few elements of equal shapes: kernels of one domain. */
class ReducedAlike {
  readonly #graph: MutableGraph;
  readonly #consumers: Consumers;
  readonly #outputs: ReadonlySet<number>;
  readonly #known = new Map<number, boolean>();

  constructor(graph: MutableGraph) {
    this.#graph = graph;
    this.#consumers = new Consumers(graph, orderOf(graph));
    this.#outputs = new Set(graph.outputs);
  }

  has(id: number): boolean {
    let found = this.#known.get(id);
    if (found === undefined) {
      found = this.#find(id);
      this.#known.set(id, found);
    }
    return found;
  }

  #find(id: number): boolean {
    const { first, list } = this.#consumers;
    const keys = new Set<string>();
    const seen = new Set([id]);
    // A set's walk meets what is added to it meanwhile.
    for (const at of seen) {
      if (this.#outputs.has(at)) return false;
      for (let k = first[at] ?? 0; k < (first[at + 1] ?? 0); k++) {
        const reader = list[k]!;
        if (reader.kind === 'reduce') {
          const input = nodeOf(this.#graph, reader.inputs[0]!);
          if (lengthOf(reader, input) > MOST_REDUCED_ALIKE) return false;
          keys.add(`${reader.axes.join()} of ${input.shape.join()}`);
        } else if (isComputed(reader)) seen.add(reader.id);
        else return false;
      }
      if (seen.size > MAX_NODES || keys.size > 1) return false;
    }
    return keys.size === 1;
  }
}
