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
 * So does one that keeps few columns, of one of each row, or of a narrow product, which are then there for all columns:
 *
 *     Σi (f(Σk x[i, k] w[k]) - y[i]) x[i, j], j < 8   →   eight sums of one kernel, which reads rows once
 *
 * Others that are read as well, or values that are computed with them, are computed once. Kernels of short reductions combine
 * their elements as they are written out here, so that this changes no bits of theirs; where it would change the order of the
 * reduction that reads them, that one writes them out itself.
 */

import type { Shape } from '../../graph/expr.js';
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
import { COMBINING_OPS, isExactReduction, SHORT_REDUCTION } from '../../graph/reductions.js';
import type { Slices } from '../../host/slices.js';
import { type LeafMap, LeafMaps } from '../partition/leaf-maps.js';
import { ElementCosts, isComputed, isUnrolled, lengthOf } from './element-cost.js';
import { isOfPairs } from './pair-values.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';
import { splitRoots } from './split-joins.js';
import { type SumOrder, SumOrders } from './sum-orders.js';

/** The most that the terms of a reduction that is written out may cost together. */
export const MAX_UNROLLED_COST = 512;
/** Nodes of an expression that are searched for short reductions. */
const MAX_NODES = 128;
/** Terms of a short reduction for each pair of rows. */
export const MAX_PAIR_TERMS = 4;
/**
 * Elements that several reductions reduce which compute short ones themselves. Of long rows of pairs a CPU takes longer: sums and
 * maxima of 2000² Gaussian kernels of 8 coordinates 21 ms of processor time for 7.4 of stored ones, the nearest of 16 centres and its
 * distance of 300,000 points 24 for 37 (least of 12, by turns, at a load of 18).
 */
const MOST_REDUCED_ALIKE = 64;
/** Columns of rows that are read once for a reduction of each row and one of each column, and how many times more rows there are. */
const MOST_COLUMNS = 8;
const LEAST_ROWS = 16;

/** The pass for a target, by the order of its sums; without, short ones are written out where nobody else reads them. */
export const unrollReductions = (sumOrder: SumOrder | undefined) =>
  function* (graph: MutableGraph): Slices<void> {
    const isShort = (node: GraphNode | undefined): boolean =>
      node !== undefined && (isUnrolled(node) || isShortReduction(graph, node));
    if (!graph.nodes.some(isShort)) return;
    const costs = ElementCosts.of(graph, orderOf(graph));
    const shared = new Set(sharedNodes(graph));
    const reducedOnly = onlyReduced(graph);
    const reducedAlike = new ReducedAlike(graph);
    const orders = sumOrder && new KnownOrders(graph, sumOrder, costs);
    let joined = false;
    const rule: Rule = (node, editor) => {
      if (node.kind !== 'reduce' || isUnrolled(node)) return undefined;
      const own = new OwnExpression(node, editor, costs, graph, { shared, reducedOnly, reducedAlike });
      const made = orders === undefined ? own.written() : writtenInOrder(node, own, orders, editor);
      if (made === node.id) return undefined;
      if (shared.has(node.id)) shared.add(made);
      joined ||= editor.node(made).kind === 'join';
      return made;
    };
    yield* rewriteInOneWalk(graph, { reduce: [rule] });
    if (joined) yield* splitRoots(graph, new Set());
  };

/**
 * A reduction in the order that it has where nobody else reads its parts: as it is best written where others do, with some
 * of the short ones from memory, unless it would combine its elements in another order than with these written out, too.
 */
function writtenInOrder(
  { reduction, inputs }: GraphNodeOf<'reduce'>,
  own: OwnExpression,
  orders: KnownOrders,
  editor: Editor,
): number {
  if (isExactReduction(reduction, editor.node(inputs[0]!).dtype)) return own.written();
  const alone = own.asAlone();
  if (alone.isLike(own)) return own.written();
  const [one, other] = [alone.written(), own.written()];
  return orders.agree(one, other) ? other : one;
}

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

/** Whether a reduction is short, and not written out. */
export const isShortReduction = (graph: MutableGraph, node: GraphNode): node is GraphNodeOf<'reduce'> =>
  node.kind === 'reduce' &&
  node.unrolled !== true &&
  node.monoid === undefined &&
  COMBINING_OPS[node.reduction] !== undefined &&
  lengthOf(node, nodeOf(graph, node.inputs[0]!)) <= SHORT_REDUCTION;

/** The axes of more than one element that a reduction keeps. */
const keptAxes = ({ axes }: Pick<GraphNodeOf<'reduce'>, 'axes'>, shape: Shape): number[] =>
  shape.flatMap((size, axis) => (size === 1 || axes.includes(axis) ? [] : [axis]));

/**
 * A reduction that keeps a short axis, the last or the only one, as the join of a reduction for each of its elements, which are
 * one kernel: the distance of a pair is computed once for all coordinates, and what there is of a row once for all columns.
 */
function inParts(id: number, most: number, editor: Editor): number {
  const { id: _, ...node } = keptLast(editor.node(id) as GraphNodeOf<'reduce'>, editor);
  const input = editor.node(node.inputs[0]!);
  const last = input.shape.length - 1;
  const length = input.shape[last]!;
  if (node.axes.includes(last) || length > most || length === 1 || node.inputs.length > 1) return id;
  const own = node.shape.length - 1;
  const parts = Array.from({ length }, (_, k) => {
    const starts = input.shape.map((_, axis) => (axis === last ? k : 0));
    const part = editor.view(
      input.id,
      { type: 'slice', starts, steps: input.shape.map(() => 1) },
      input.shape.with(last, 1),
    );
    return editor.add({ ...node, shape: node.shape.with(own, 1), inputs: [part] });
  });
  return editor.add({ kind: 'join', axis: own, dtype: node.dtype, shape: node.shape, inputs: parts });
}

/** A reduction whose only kept axis is the last one of what it reads: parts along it are columns, which are not batched again. */
function keptLast(node: GraphNodeOf<'reduce'>, editor: Editor): GraphNodeOf<'reduce'> {
  const { shape } = editor.node(node.inputs[0]!);
  const kept = keptAxes(node, shape);
  const last = shape.length - 1;
  if (kept.length !== 1 || kept[0] === last || node.shape.length !== 1 || node.inputs.length > 1) return node;
  const order = [...shape.keys()].filter((axis) => axis !== kept[0]).concat(kept);
  const turned = editor.view(
    node.inputs[0]!,
    { type: 'permute', order },
    order.map((axis) => shape[axis]!),
  );
  return { ...node, inputs: [turned], axes: Array.from({ length: last }, (_, axis) => axis) };
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

/** Which nodes have several readers, and which reductions alone read. */
interface Readers {
  readonly shared: ReadonlySet<number>;
  readonly reducedOnly: ReadonlySet<number>;
  readonly reducedAlike: Pick<ReducedAlike, 'has'>;
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

/**
 * The expression of a reduction as far as it is its own, or that of other reductions, down to values in memory and those
 * that are needed for more.
 */
class OwnExpression {
  /** The short reductions in it. */
  readonly short = new Set<number>();
  /** Whether one of them is there for every pair of rows. */
  hasPairs = false;
  /** Whether one is there for each row of few columns, written out here or before. */
  hasRows = false;
  readonly #root: GraphNodeOf<'reduce'>;
  readonly #editor: Editor;
  readonly #costs: ElementCosts;
  readonly #graph: MutableGraph;
  readonly #nodes = new Set<number>();
  readonly #made = new Map<number, number>();

  constructor(
    root: GraphNodeOf<'reduce'>,
    editor: Editor,
    costs: ElementCosts,
    graph: MutableGraph,
    readers: Readers,
  ) {
    this.#root = root;
    this.#editor = editor;
    this.#costs = costs;
    this.#graph = graph;
    this.#search(readers);
  }

  /** The same where nobody reads its parts but itself. */
  asAlone(): OwnExpression {
    const seen = new Set<number>();
    const shared = new Set<number>();
    const open = [...this.#root.inputs];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (seen.has(id)) {
        shared.add(id);
        continue;
      }
      seen.add(id);
      const node = this.#editor.node(id);
      if (seen.size <= MAX_NODES && (isShortReduction(this.#graph, node) || isComputed(node)))
        open.push(...computedInputs(node));
    }
    return new OwnExpression(this.#root, this.#editor, this.#costs, this.#graph, {
      shared,
      reducedOnly: seen,
      reducedAlike: { has: () => false },
    });
  }

  /** Whether both write the same short ones out. */
  isLike({ short, hasPairs, hasRows }: OwnExpression): boolean {
    const isSame = this.short.size === short.size && [...this.short].every((id) => short.has(id));
    return isSame && this.hasPairs === hasPairs && this.hasRows === hasRows;
  }

  #search({ shared, reducedOnly, reducedAlike }: Readers): void {
    const open = this.#root.inputs.map((id) => ({ id, isOwn: true }));
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const { id } = at;
      const isOwn = at.isOwn && !shared.has(id);
      const isTaken = isOwn || reducedOnly.has(id) || reducedAlike.has(id);
      if (!isTaken || this.#nodes.has(id)) continue;
      if (this.#nodes.size === MAX_NODES) {
        this.short.clear();
        return;
      }
      const node = this.#editor.node(id);
      const isShort = this.#isShort(node, isOwn || reducedAlike.has(id));
      if (isUnrolled(node) && this.#isOfRows(node)) this.hasRows = true;
      if (!isShort && !isComputed(node)) continue;
      this.#nodes.add(id);
      if (isShort) this.short.add(id);
      for (const input of computedInputs(node)) open.push({ id: input, isOwn });
    }
  }

  #isShort(node: GraphNode, isOwn: boolean): boolean {
    if (!isShortReduction(this.#graph, node)) return false;
    const input = this.#editor.node(node.inputs[0]!);
    const { shape } = this.#editor.node(this.#root.inputs[0]!);
    // One of fewer elements than its reader has, as a row's mean, is computed once for all of them.
    const isLarge = isOwn && sizeOfShape(input.shape) > sizeOfShape(shape);
    const isOfPairs = this.#isOfPairs(node, input);
    const isOfRows = this.#isOfRows(node);
    if (!isLarge && !isOfPairs && !isOfRows) return false;
    this.hasPairs ||= isOfPairs;
    this.hasRows ||= isOfRows;
    return lengthOf(node, input) * (this.#costs.at(input.id) + 1) <= MAX_UNROLLED_COST;
  }

  /** Whether a reduction is one of each row of what the root reduces, as a whole or column by column. */
  #isOfRows(node: GraphNodeOf<'reduce'>): boolean {
    const { shape } = this.#editor.node(this.#root.inputs[0]!);
    const kept = keptAxes(this.#root, shape);
    const columns = kept.reduce((count, axis) => count * shape[axis]!, 1);
    const rows = sizeOfShape(shape) / columns;
    if (kept.length > 1 || columns > MOST_COLUMNS || rows < LEAST_ROWS * columns) return false;
    return this.#root.inputs.length === 1 && sizeOfShape(node.shape) === rows;
  }

  /** Whether a short reduction has far more elements than what it is computed from. */
  #isOfPairs(node: GraphNodeOf<'reduce'>, input: GraphNode): boolean {
    if (lengthOf(node, input) > MAX_PAIR_TERMS) return false;
    return isOfPairs(input.id, sizeOfShape(node.shape), (id) => this.#editor.node(id));
  }

  /** The reduction as it is best written, in parts where its coordinates share distances. */
  written(): number {
    const unrolled = this.unrolled();
    if (this.hasRows) return inParts(unrolled, MOST_COLUMNS, this.#editor);
    return this.hasPairs && this.short.size > 0 ? inParts(unrolled, MAX_PAIR_TERMS, this.#editor) : unrolled;
  }

  /** The reduction of values that are computed with the short ones unrolled; itself where there are none. */
  unrolled(): number {
    const { id, ...root } = this.#root;
    if (this.short.size === 0) return id;
    return this.#editor.add({ ...root, inputs: root.inputs.map((id) => this.#rewrite(id)) });
  }

  /** Recursion is as deep as the search, which is bounded. */
  #rewrite(id: number): number {
    if (!this.#nodes.has(id)) return id;
    const known = this.#made.get(id);
    if (known !== undefined) return known;
    const made = this.#remade(id);
    this.#made.set(id, made);
    return made;
  }

  #remade(id: number): number {
    const { id: _, ...node } = this.#editor.node(id);
    const isOne = this.short.has(id);
    const inputs = node.inputs.map((input) => this.#rewrite(input));
    if (!isOne && inputs.every((input, k) => input === node.inputs[k])) return id;
    const made = this.#editor.add({ ...node, ...(isOne ? { unrolled: true } : {}), inputs } as typeof node);
    this.#costs.note(this.#editor.node(made), this.#graph);
    return made;
  }
}

/** The inputs of a node that a kernel computes with it: the array that a gather reads is in memory. */
const computedInputs = ({ kind, inputs }: GraphNode): readonly number[] =>
  kind === 'gather' ? inputs.slice(1) : inputs;
