/**
 * Computes once for all what is computed alike for several slices of one array:
 *
 *     stack [f(x[0]), f(x[1]), f(x[2])]      →   f(x), of shape (3, …)
 *     Σ f(x[0]), Σ f(x[1]), Σ f(x[2])        →   parts of s = Σ f(x) over all axes but the first
 *
 * Slices lie one after the other, at one distance, and those of arrays in memory may overlap. The parts of a join become
 * one node, also where others read some of them, which are computed again for these. Reductions that are wanted apart,
 * as statistics of bands are, become parts of one node, unless a kernel would compute a row of it along with values of
 * each element. Values do not change, and a sum keeps its order: `batch` of its node says of how many sums it is, each of
 * which is added up as it is alone, and a target whose kernel for all of them would do otherwise says so. Products stay
 * as they are: a library may sum in another order for a batch.
 */
import {
  Consumers,
  type GraphNode,
  type MutableGraph,
  nodeOf,
  orderOf,
  sizeOfShape,
} from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { NodeBatcher } from './batched-nodes.js';
import { isElementwise } from './join-cuts.js';
import { areWrittenAlike } from './multiply-add.js';
import { Editor, rewriteInOneWalk } from './rewrite.js';
import { SliceClasses } from './slice-classes.js';
import { type SumOrder, SumOrders } from './sum-orders.js';

/** Reductions that are wanted apart, at least: their parts are copied by a kernel of its own. */
const LEAST_APART = 3;
/** Rounds: what several slices are computed of may be computed alike itself. */
const MOST_ROUNDS = 4;
/** Joins that are taken for one, at most: those that others read, too, are looked at again by themselves. */
const MOST_JOINS = 1024;
/** Nodes above a reduction that are looked at. */
const MOST_ABOVE = 64;

/**
 * The pass for a target, by the order of its sums; without, sums whose order counts stay apart. `addsProducts`: whether the
 * target has multiply-adds, which would be written otherwise for some batches: where a row is as large as a slice, and
 * smaller than all slices.
 */
export const batchSlices = (orderOf: SumOrder | undefined, addsProducts: boolean) =>
  function* (graph: MutableGraph): Slices<void> {
    for (let round = 0; round < MOST_ROUNDS && mayHaveBatches(graph); round++) {
      const found = yield* batchesOf(graph, orderOf, addsProducts);
      if (found.size === 0) return;
      const rule = ({ id }: GraphNode): number | undefined => found.get(id);
      yield* rewriteInOneWalk(graph, { join: [rule], reduce: [rule] });
    }
  };

/** Whether something may take several slices of one array. */
function mayHaveBatches(graph: MutableGraph): boolean {
  let joins = 0;
  let reductions = 0;
  const sliced = new Set<number>();
  let hasSeveral = false;
  for (const node of graph.nodes) {
    if (node === undefined) continue;
    if (node.kind === 'join') joins++;
    else if (node.kind === 'reduce') reductions++;
    else if (node.kind === 'view' && node.view.type === 'slice') {
      hasSeveral ||= sliced.has(node.inputs[0]!);
      sliced.add(node.inputs[0]!);
    }
  }
  return hasSeveral && (joins > 0 || reductions >= LEAST_APART);
}

/** By id of joins and reductions, what takes their place. */
function* batchesOf(
  graph: MutableGraph,
  sumOrder: SumOrder | undefined,
  addsProducts: boolean,
): Slices<Map<number, number>> {
  const order = orderOf(graph);
  const classes = [yield* SliceClasses.of(graph, order)];
  // By slices of what others slice before, too: whether somebody else does tells by the first ones alone.
  if (classes[0]!.hasNested) classes.push(yield* SliceClasses.of(graph, order, true));
  const search = new BatchSearch(graph, order, { classes, sumOrder, addsProducts });
  for (let k = order.length - 1; k >= 0; k--) {
    const node = nodeOf(graph, order[k]!);
    if (node.kind === 'join' && search.join(node)) yield;
  }
  for (const members of search.reductions()) if (search.apart(members)) yield;
  // Nodes that were made in vain leave the graph as it was.
  if (search.found.size === 0) graph.nodes.length = search.firstMade;
  return search.found;
}

/** Properties that a search rests on. */
interface Known {
  /** Of the same nodes: by the slices of arrays, and, for joins, by those of what is computed of slices. */
  readonly classes: readonly SliceClasses[];
  readonly sumOrder: SumOrder | undefined;
  readonly addsProducts: boolean;
}

class BatchSearch {
  readonly found = new Map<number, number>();
  /** The first id of a node that it makes. */
  readonly firstMade: number;
  readonly #graph: MutableGraph;
  readonly #order: readonly number[];
  readonly #classes: SliceClasses;
  readonly #consumers: Consumers;
  readonly #outputs: ReadonlySet<number>;
  readonly #editor: Editor;
  /** One for each list of classes; the first is by the slices of arrays. */
  readonly #batchers: readonly NodeBatcher[];
  readonly #sums: SumOrders;
  readonly #addsProducts: boolean;
  /** The nodes that a batch was made of. */
  readonly #batched = new Set<number>();
  /** The joins whose parts were taken for those of another one. */
  readonly #flat = new Set<number>();

  constructor(graph: MutableGraph, order: readonly number[], { classes, sumOrder, addsProducts }: Known) {
    this.firstMade = graph.nodes.length;
    this.#graph = graph;
    this.#order = order;
    this.#classes = classes[0]!;
    this.#consumers = new Consumers(graph, order);
    this.#outputs = new Set(graph.outputs);
    this.#editor = new Editor(graph);
    this.#batchers = classes.map((each) => new NodeBatcher(this.#editor, each));
    this.#sums = new SumOrders(graph, sumOrder);
    this.#addsProducts = addsProducts;
  }

  /** Notes what a join is, if its parts are computed alike of slices; whether it looked. */
  join(node: GraphNode & { readonly axis: number }): boolean {
    const { id, inputs, axis, shape } = node;
    if (this.#batched.has(id) || sizeOfShape(shape.slice(0, axis)) > 1) return false;
    const { parts, joins } = this.#flattened(node);
    const whole = this.#batcherOf(parts);
    const batcher = whole ?? this.#batcherOf(inputs);
    if (batcher === undefined) return false;
    const isWhole = whole !== undefined;
    const batch = this.#batch(isWhole ? parts : inputs, id, batcher);
    if (batch === undefined) return true;
    this.found.set(id, this.#editor.reshape(batch, shape));
    if (isWhole) for (const join of joins) if (!this.#isReadElsewhere(join)) this.#batched.add(join);
    return true;
  }

  /** The parts of a join, and of the joins along its axis that many parts are joined by first, whoever else reads these. */
  #flattened({ inputs, axis, id }: GraphNode & { readonly axis: number }): {
    readonly parts: readonly number[];
    readonly joins: readonly number[];
  } {
    // One that was flattened in another is not again: chains of joins would take the square of their length.
    if (this.#flat.has(id)) return { parts: inputs, joins: [] };
    const parts: number[] = [];
    const joins: number[] = [];
    const stack = [...inputs].reverse();
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const node = nodeOf(this.#graph, at);
      if (node.kind === 'join' && node.axis === axis) {
        if (joins.push(at) > MOST_JOINS) return { parts: inputs, joins: [] };
        for (let k = node.inputs.length - 1; k >= 0; k--) stack.push(node.inputs[k]!);
      } else parts.push(at);
    }
    for (const join of joins) if (!this.#isReadElsewhere(join)) this.#flat.add(join);
    return { parts, joins };
  }

  /**
   * By which classes different parts are computed alike of slices, whoever else reads them: reductions of a join may be added
   * up in another order than those of a batch, and would have bits that tell who does.
   */
  #batcherOf(parts: readonly number[]): NodeBatcher | undefined {
    const [first] = parts as readonly [number];
    if (parts.length === 1 || new Set(parts).size !== parts.length) return undefined;
    return this.#batchers.find(
      ({ classes }) =>
        classes.isAboveSlices(first) && parts.every((part) => classes.of(part) === classes.of(first)),
    );
  }

  #isReadElsewhere(id: number): boolean {
    return this.#outputs.has(id) || this.#readersOf(id).length > 1;
  }

  /** Reductions that are alike but for their slices, in the order of these; those that depend on others first. */
  reductions(): readonly (readonly number[])[] {
    const groups = new Map<number, number[]>();
    for (let k = this.#order.length - 1; k >= 0; k--) {
      const id = this.#order[k]!;
      if (nodeOf(this.#graph, id).kind !== 'reduce' || !this.#classes.isAboveSlices(id)) continue;
      const group = groups.get(this.#classes.of(id));
      if (group === undefined) groups.set(this.#classes.of(id), [id]);
      else group.push(id);
    }
    const large = [...groups.values()].filter(({ length }) => length >= LEAST_APART);
    return large.map((members) => this.#bySlices(members));
  }

  #bySlices(members: readonly number[]): number[] {
    const startsOf = (id: number): readonly number[] => {
      const node = nodeOf(this.#graph, this.#classes.sliceBelow(id));
      return node.kind === 'view' && node.view.type === 'slice' ? node.view.starts : [];
    };
    const keyed = members.map((id) => ({ id, starts: startsOf(id) }));
    const compare = (a: readonly number[], b: readonly number[]): number => {
      const k = a.findIndex((start, axis) => start !== b[axis]);
      return k < 0 ? 0 : a[k]! - b[k]!;
    };
    return keyed.sort((a, b) => compare(a.starts, b.starts)).map(({ id }) => id);
  }

  /** Notes the parts of one reduction that several are; whether it looked. */
  apart(members: readonly number[]): boolean {
    if (members.some((id) => this.#isWalkedAgain(id))) return false;
    const batch = this.#batch(members, members[0]!);
    if (batch === undefined) return true;
    const { shape } = nodeOf(this.#graph, members[0]!);
    for (const [k, id] of members.entries()) {
      const starts = [k, ...shape.map(() => 0)];
      const view = { type: 'slice', starts, steps: starts.map(() => 1) } as const;
      this.found.set(id, this.#editor.reshape(this.#editor.view(batch, view, [1, ...shape]), shape));
    }
    return true;
  }

  /** One node of several, if their sums keep their order, and their products are rounded alike. */
  #batch(members: readonly number[], maker: number, batcher = this.#batchers[0]!): number | undefined {
    this.#editor.see(maker);
    const batch = batcher.batch(members);
    if (batch === undefined || !this.#roundsAlike(batcher)) return undefined;
    if (!batcher.ordered.every((each) => this.#sums.agree(each))) return undefined;
    for (const id of batcher.visited) this.#batched.add(id);
    return batch;
  }

  #roundsAlike({ made }: NodeBatcher): boolean {
    return (
      !this.#addsProducts || made.every(({ member, batch }) => areWrittenAlike(member, batch, this.#editor))
    );
  }

  #readersOf(id: number): readonly GraphNode[] {
    const { first, list } = this.#consumers;
    return list.slice(first[id]!, first[id + 1]!);
  }

  /**
   * Whether a reduction may be a phase of a kernel that walks its row again, for what is computed of it for each element: that
   * kernel reads the row once. Readers that are batched themselves do not count.
   */
  #isWalkedAgain(id: number): boolean {
    const size = sizeOfShape(nodeOf(this.#graph, id).shape);
    const seen = new Set([id]);
    // A set's walk meets what is added to it meanwhile.
    for (const at of seen) {
      for (const reader of this.#readersOf(at)) {
        if (this.#batched.has(reader.id) || !(isElementwise(reader) || reader.kind === 'view')) continue;
        if (sizeOfShape(reader.shape) > size || seen.size > MOST_ABOVE) return true;
        seen.add(reader.id);
      }
    }
    return false;
  }
}
