/**
 * Chooses the roots: the nodes whose value is stored in memory. Everything else is computed inside the
 * kernels that need it. Results, reductions and contractions are roots; a map or view becomes one when
 * several kernels (or one kernel at several sites) need it and storing it moves less than computing it
 * again:
 *
 *     y = exp(x), read once as y[1:] and once as y[:-1]     →   computed twice in one kernel, or stored: what is cheaper
 *     concat of exp(a), exp(b), exp(c) …                    →   each for every element of the whole, or stored before
 *     max(t / sqrt(s), 1), s one number for each column     →   a root for each element of t, or for each column before
 *
 * The frames of `use-sites.ts` say where a node is needed. Called by `partition.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { type Consumers, type Graph, type GraphNode, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { sameNumbers } from '../kernel/kernel.js';
import { type ElementCosts, isComputed, isElementwise } from '../passes/element-cost.js';
import { readsFromMemory } from '../passes/join-form.js';
import { SpreadProducts } from './spread-products.js';
import { Frames, KEEPS_ORDER, MAX_FRAMES, type UseSites } from './use-sites.js';

/** One unit of op cost in bytes of memory traffic: a GPU does about four additions while it moves a byte. */
const BYTES_PER_COST = 0.25;
/**
 * The least cost per element, and the least total saving, of a value spread by a pad that is worth a kernel
 * of its own. And the least cost of one that is repeated down the columns of a larger array.
 */
const LEAST_SPREAD_COST = 16;
const LEAST_REPEATED_COST = 4;
const LEAST_SPREAD_BYTES = 2 ** 21;
const MAX_LEAVES = 6;

/** Nodes that are never computed inside another kernel. */
export const isBoundary = (node: GraphNode): boolean =>
  (node.kind === 'reduce' && node.unrolled !== true) ||
  node.kind === 'contract' ||
  node.kind === 'call' ||
  node.kind === 'loop';

/** Nodes between pauses: each takes some 0.5 µs. */
const NODES_OF_SLICE = 1024;

/** Properties of a graph that the choice rests on. */
interface Known {
  /** Nodes that something reads from memory. */
  readonly operands: ReadonlySet<number>;
  readonly consumers: Consumers;
  /** Joins that are stored part by part. */
  readonly inParts: ReadonlySet<number>;
  readonly costs: ElementCosts;
  /** Places along short axes that kernels compute together, at most. */
  readonly channels: number;
}

export function* chooseMaterialized(
  graph: Graph,
  order: readonly number[],
  { operands, consumers, inParts, costs, channels }: Known,
): Slices<Set<number>> {
  const work = new Work(graph, costs);
  for (let k = 0; k < order.length; k++) {
    if (k % NODES_OF_SLICE === NODES_OF_SLICE - 1) yield;
    work.note(nodeOf(graph, order[k]!));
  }
  yield;
  const frames = new Frames(graph.nodes.length, inParts);
  const roots = new Set<number>();
  const spread = new SpreadProducts(graph, order, { consumers, costs, channels }, BYTES_PER_COST);
  const outputs = new Set(graph.outputs);
  for (let k = order.length - 1; k >= 0; k--) {
    if (k % NODES_OF_SLICE === 0) yield;
    const id = order[k]!;
    const node = nodeOf(graph, id);
    const sites = frames.sitesOf(node, consumers);
    const forced = outputs.has(id) || isBoundary(node) || (operands.has(id) && node.kind !== 'source');
    if (
      forced ||
      (isComputed(node) &&
        (!repeats(node, sites, { graph, frames, consumers }, work) ||
          isSpread(node, { consumers, inParts }, work) ||
          spread.has(node) ||
          isRepeatedDown(node, graph, consumers, work)))
    ) {
      roots.add(id);
      const own = [id];
      frames.set(id, { frames: own, roots: own });
    } else {
      frames.set(id, sites);
    }
  }
  return roots;
}

/** The work of computing each node from stored values, by id. Inputs of a node are noted before it. */
class Work {
  /** Of one element. */
  readonly costs: ElementCosts;
  /** Stored nodes it reads; `undefined`: more than are counted. */
  readonly leaves: (readonly number[] | undefined)[];

  constructor(graph: Graph, costs: ElementCosts) {
    this.costs = costs;
    this.leaves = new Array<readonly number[] | undefined>(graph.nodes.length);
  }

  note(node: GraphNode): void {
    const { id } = node;
    if (node.kind === 'const' || node.kind === 'iota') {
      this.leaves[id] = NO_LEAVES;
    } else if (isComputed(node)) {
      this.#combine(node);
    } else {
      this.leaves[id] = [id];
    }
  }

  #combine(node: GraphNode): void {
    let leaves: readonly number[] | undefined = NO_LEAVES;
    for (let k = 0; k < node.inputs.length; k++) {
      const input = node.inputs[k]!;
      leaves = union(leaves, this.leaves[input]);
    }
    if (leaves !== undefined && leaves.length > MAX_LEAVES) leaves = undefined;
    this.leaves[node.id] = leaves;
  }
}

const NO_LEAVES: readonly number[] = [];

/** Both lists; one of the two where it holds the other, as it mostly does. */
function union(
  a: readonly number[] | undefined,
  b: readonly number[] | undefined,
): readonly number[] | undefined {
  if (a === undefined || b === undefined) return undefined;
  const large = a.length >= b.length ? a : b;
  const small = large === a ? b : a;
  let both: number[] | undefined;
  for (let k = 0; k < small.length; k++) {
    if (large.includes(small[k]!)) continue;
    both ??= [...large];
    both.push(small[k]!);
  }
  return both ?? large;
}

/** Bytes that a node reads of stored ones. */
function bytesRead(graph: Graph, { shape }: GraphNode, leaves: readonly number[]): number {
  const most = Math.max(1, sizeOfShape(shape));
  let bytes = 0;
  for (let k = 0; k < leaves.length; k++) {
    const stored = nodeOf(graph, leaves[k]!);
    // A slice needs no more of its input than it has elements.
    bytes += Math.min(sizeOfShape(stored.shape), most) * byteLengthOf(stored.dtype);
  }
  return bytes;
}

/** Readers of a value in memory that are looked at. */
const MAX_READERS = 16;

/** The graph, and the sites of the nodes visited so far. */
interface Visited {
  readonly graph: Graph;
  readonly frames: Frames;
  readonly consumers: Consumers;
}

/** The kernels of some roots: reductions of one shape over the same axes, which read alike, are one. */
function kernelsOf(roots: readonly number[], graph: Graph): number[][] {
  const kernels: number[][] = [];
  for (let k = 0; k < roots.length; k++) {
    if (roots.indexOf(roots[k]!) < k) continue;
    const root = nodeOf(graph, roots[k]!);
    const own = kernels.find(([first]) => areReducedAlike(root, nodeOf(graph, first!), graph));
    if (own === undefined) kernels.push([root.id]);
    else own.push(root.id);
  }
  return kernels;
}

const areReducedAlike = (a: GraphNode, b: GraphNode, graph: Graph): boolean =>
  a.kind === 'reduce' &&
  b.kind === 'reduce' &&
  sameNumbers(a.axes, b.axes) &&
  sameShape(nodeOf(graph, a.inputs[0]!).shape, nodeOf(graph, b.inputs[0]!).shape);

/**
 * Bytes that are read only so that a node is computed in each of some kernels rather than stored: none of those that
 * kernels read for others, too.
 *
 *     where(isnan x, mean, x) beside nanMean x   →   both kernels read x in any case: isnan x is computed in both
 */
function bytesReadAgain(
  node: GraphNode,
  kernels: readonly (readonly number[])[],
  { graph, frames, consumers: { first, list } }: Visited,
  work: Work,
): number {
  const leaves = work.leaves[node.id];
  if (leaves === undefined) return Number.POSITIVE_INFINITY;
  const isRead = (leaf: number, roots: readonly number[]): boolean => {
    const end = first[leaf + 1]!;
    for (let k = Math.max(first[leaf]!, end - MAX_READERS); k < end; k++) {
      const reader = list[k]!;
      if (!readsFromMemory(reader, leaf) && roots.some((root) => frames.isIn(reader.id, root))) return true;
    }
    return false;
  };
  let bytes = 0;
  for (const leaf of leaves) {
    const unread = kernels.filter((roots) => !isRead(leaf, roots)).length;
    // Where no kernel reads it otherwise, one does in both ways.
    const again = unread === kernels.length ? unread - 1 : unread;
    if (again > 0) bytes += again * bytesRead(graph, node, [leaf]);
  }
  return bytes;
}

/** Whether to compute a node at each of its sites instead of storing it once. */
function repeats(node: GraphNode, uses: UseSites, visited: Visited, work: Work): boolean {
  const { roots } = uses;
  const sites = roots.length;
  if (sites <= 1) return true;
  if (sites > MAX_FRAMES) return node.kind === 'view';
  const kernels = kernelsOf(roots, visited.graph);
  const size = sizeOfShape(node.shape);
  const cost = work.costs.at(node.id) * BYTES_PER_COST;
  const compute = cost * size;
  const bytes = size * byteLengthOf(node.dtype);
  const inline = visited.frames.elementsAt(uses, node) * cost;
  const stored = compute + bytes + kernels.length * bytes;
  if (kernels.length === 1 || inline > stored) return inline <= stored;
  // Reads that both ways share are left out: the leaves once.
  return bytesReadAgain(node, kernels, visited, work) + inline <= stored;
}

/** Whether a node puts a value beside others: a pad, or a join that is read as a whole. */
const isPut = (node: GraphNode, inParts: Known['inParts']): boolean =>
  node.kind === 'view' ? node.view.type === 'pad' : node.kind === 'join' && !inParts.has(node.id);

/**
 * Whether a value is better stored than computed for every element of a larger array that it is put into, as
 * the parts of a concat are. Slices are left alone: those of a roll read what another place computes anyway.
 */
function isSpread(
  node: GraphNode,
  { consumers: { first, list }, inParts }: Pick<Known, 'consumers' | 'inParts'>,
  work: Work,
): boolean {
  const cost = work.costs.at(node.id);
  if (node.kind === 'view' || cost < LEAST_SPREAD_COST) return false;
  const size = sizeOfShape(node.shape);
  let id = node.id;
  while (first[id + 1]! - first[id]! === 1) {
    const consumer = list[first[id]!]!;
    if (consumer.kind !== 'view' && consumer.kind !== 'join') return false;
    const spread = sizeOfShape(consumer.shape);
    if (isPut(consumer, inParts) && spread >= 2 * size) {
      const saved = cost * (spread - size) * BYTES_PER_COST;
      return saved > 2 * size * byteLengthOf(node.dtype) + LEAST_SPREAD_BYTES;
    }
    if (spread !== size) return false;
    id = consumer.id;
  }
  return false;
}

/**
 * Whether a value for each column of a larger array follows a reduction, whose kernel computes it once, and costs more than
 * a load: it would be computed again for each element. One for each row is computed once a row where rows are reduced.
 */
function isRepeatedDown(node: GraphNode, graph: Graph, consumers: Consumers, { costs }: Work): boolean {
  if (!isElementwise(node) || costs.at(node.id) < LEAST_REPEATED_COST) return false;
  const least = 2 * sizeOfShape(node.shape);
  return isReadDown(node, least, consumers) && followsReduction(node, graph);
}

/** Whether a node is computed of one reduction with as many results, and of constants. */
function followsReduction(node: GraphNode, graph: Graph): boolean {
  const size = sizeOfShape(node.shape);
  let at = node;
  while (isElementwise(at) || (at.kind === 'view' && at.view.type === 'reshape')) {
    const varying = at.inputs.map((id) => nodeOf(graph, id)).filter(({ kind }) => kind !== 'const');
    if (varying.length !== 1) return false;
    at = varying[0]!;
  }
  return at.kind === 'reduce' && at.unrolled !== true && sizeOfShape(at.shape) === size;
}

/** Whether an array of at least so many elements has the values of a node in each of its rows. */
function isReadDown(node: GraphNode, least: number, consumers: Consumers): boolean {
  const columns = node.shape.at(-1) ?? 1;
  for (let k = consumers.first[node.id]!; k < consumers.first[node.id + 1]!; k++) {
    const consumer = consumers.list[k]!;
    if (columns === 1 || consumer.shape.at(-1) !== columns) continue;
    const isView = consumer.kind === 'view' && KEEPS_ORDER.has(consumer.view.type);
    if (!isView && !isElementwise(consumer)) continue;
    if (sizeOfShape(consumer.shape) >= least || (isView && isReadDown(consumer, least, consumers)))
      return true;
  }
  return false;
}
