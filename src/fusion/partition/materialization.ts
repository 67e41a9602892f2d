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
 * Called by `partition.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import type { Shape } from '../../graph/expr.js';
import {
  type Consumers,
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { sameNumbers } from '../kernel/kernel.js';
import { type ElementCosts, isComputed, isElementwise, isUnrolled } from '../passes/element-cost.js';
import { readsFromMemory } from '../passes/join-form.js';
import { SpreadProducts } from './spread-products.js';

/** One unit of op cost in bytes of memory traffic: a GPU does about four additions while it moves a byte. */
const BYTES_PER_COST = 0.25;
/**
 * The least cost per element, and the least total saving, of a value spread by a pad that is worth a kernel
 * of its own. And the least cost of one that is repeated down the columns of a larger array.
 */
const LEAST_SPREAD_COST = 16;
const LEAST_REPEATED_COST = 4;
const LEAST_SPREAD_BYTES = 2 ** 21;
/** Nodes with more use sites than this are never computed again at each; a view is computed nowhere. */
const MAX_FRAMES = 16;
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

/** A node's use sites: where in which kernel its value is needed. */
interface UseSites {
  /**
   * The frame of each site; all differ. A root's own frame is its id; other frames have numbers above all
   * ids.
   */
  readonly frames: readonly number[];
  /** The root of the kernel of each site. */
  readonly roots: readonly number[];
}

const NOWHERE: UseSites = { frames: [], roots: [] };

interface Broadcast {
  readonly from: Shape;
  readonly to: Shape;
  readonly frame: number;
}

/** Views that leave elements in C order, each once where the size stays. */
const KEEPS_ORDER: ReadonlySet<string> = new Set(['reshape', 'broadcast']);

/** Whether two shapes have the same axes of more than one element. */
function sameWideAxes(a: Shape, b: Shape): boolean {
  let at = 0;
  for (let k = 0; k < a.length; k++) {
    if (a[k] === 1) continue;
    while (b[at] === 1) at++;
    if (a[k] !== b[at++]) return false;
  }
  while (b[at] === 1) at++;
  return at >= b.length;
}

class Frames {
  readonly #sites: UseSites[];
  /** Frames of broadcast inputs, by the frame that they are broadcast in. */
  readonly #broadcasts = new Map<number, Broadcast[]>();
  readonly #inParts: ReadonlySet<number>;
  /** The sites of the parts of a join that is stored part by part, which are all in one frame, by join. */
  readonly #partSites = new Map<number, UseSites>();
  /** Elements that are needed in frames of slices, which are fewer than those of the array. */
  readonly #limits = new Map<number, number>();
  #next: number;

  constructor(nodeCount: number, inParts: ReadonlySet<number>) {
    this.#sites = new Array<UseSites>(nodeCount);
    this.#inParts = inParts;
    this.#next = nodeCount;
  }

  set(id: number, sites: UseSites): void {
    this.#sites[id] = sites;
  }

  /** Whether the kernel of a root is known to need a node, or reads it. */
  isIn(id: number, root: number): boolean {
    return this.#sites[id]?.roots.includes(root) === true;
  }

  /** The elements of a node that are needed at all of its sites together, with repeats. */
  elementsAt({ frames }: UseSites, { shape }: GraphNode): number {
    const size = sizeOfShape(shape);
    let count = 0;
    for (let k = 0; k < frames.length; k++) count += Math.min(size, this.#limits.get(frames[k]!) ?? size);
    return count;
  }

  sitesOf(node: GraphNode, { first, list }: Consumers): UseSites {
    const start = first[node.id]!;
    const end = first[node.id + 1]!;
    const shared = this.#sameSites(node, list, start, end);
    if (shared !== undefined) return shared;
    if (end - start === 1) return this.#sitesThrough(list[start]!, node);
    const frames: number[] = [];
    const roots: number[] = [];
    for (let k = start; k < end; k++) {
      const consumer = list[k]!;
      if (readsFromMemory(consumer, node.id)) continue;
      const isPart = this.#isRootInParts(consumer);
      const sites = isPart ? this.#sitesOfParts(consumer.id) : this.#sites[consumer.id]!;
      for (let p = 0; p < sites.frames.length; p++) {
        const frame = isPart ? sites.frames[p]! : this.#through(sites.frames[p]!, node, consumer);
        const known = frames.indexOf(frame);
        if (known >= 0) {
          roots[known] = sites.roots[p]!;
        } else {
          frames.push(frame);
          roots.push(sites.roots[p]!);
          if (frames.length > MAX_FRAMES) return { frames, roots };
        }
      }
    }
    return { frames, roots };
  }

  /** The sites of all consumers, where they are needed at the same ones and as they are. */
  #sameSites(
    node: GraphNode,
    consumers: readonly GraphNode[],
    start: number,
    end: number,
  ): UseSites | undefined {
    let shared: UseSites | undefined;
    for (let k = start; k < end; k++) {
      const consumer = consumers[k]!;
      const isPart = this.#isRootInParts(consumer);
      const isAlike = isPart || (isElementwise(consumer) && sameShape(consumer.shape, node.shape));
      if (!isAlike) return undefined;
      const sites = isPart ? this.#sitesOfParts(consumer.id) : this.#sites[consumer.id]!;
      if (shared !== undefined && sites !== shared) return undefined;
      shared = sites;
    }
    return shared;
  }

  /** The sites of what one node alone reads: no two of that one's frames lead to the same. */
  #sitesThrough(consumer: GraphNode, node: GraphNode): UseSites {
    if (readsFromMemory(consumer, node.id)) return NOWHERE;
    const sites = this.#sites[consumer.id]!;
    const { frames, roots } = sites;
    const through = new Array<number>(frames.length);
    let isSame = true;
    for (let k = 0; k < through.length; k++) {
      through[k] = this.#through(frames[k]!, node, consumer);
      if (through[k] !== frames[k]) isSame = false;
    }
    return isSame ? sites : { frames: through, roots };
  }

  /** Whether a node is a root that is stored part by part. */
  #isRootInParts({ id }: GraphNode): boolean {
    return this.#inParts.has(id) && this.#sites[id]!.frames.includes(id);
  }

  #sitesOfParts(join: number): UseSites {
    let sites = this.#partSites.get(join);
    if (sites === undefined) {
      sites = { frames: [this.#next++], roots: [join] };
      this.#partSites.set(join, sites);
    }
    return sites;
  }

  /** The frame of an input of `consumer`, whose own frame is `frame`. */
  #through(frame: number, node: GraphNode, consumer: GraphNode): number {
    // A reduction has one input, a gather one that is not stored, parts of joins are apart: nothing else is in
    // its frame.
    if (consumer.kind === 'gather' || consumer.kind === 'join') return this.#next++;
    if (consumer.kind === 'reduce') return isUnrolled(consumer) ? this.#next++ : frame;
    if (sameShape(consumer.shape, node.shape) && consumer.kind !== 'view') return frame;
    // Axes of one element do not change where an element is.
    const keepsPlaces = consumer.kind !== 'view' || KEEPS_ORDER.has(consumer.view.type);
    if (keepsPlaces && sameWideAxes(consumer.shape, node.shape)) return frame;
    if (consumer.kind === 'view') return this.#ofView(frame, consumer);
    return this.#broadcast(frame, node.shape, consumer.shape);
  }

  #ofView(outer: number, { view, shape }: GraphNodeOf<'view'>): number {
    const frame = this.#next++;
    const limit = this.#limits.get(outer) ?? Number.POSITIVE_INFINITY;
    const needed = view.type === 'slice' ? Math.min(limit, sizeOfShape(shape)) : limit;
    if (needed < Number.POSITIVE_INFINITY) this.#limits.set(frame, needed);
    return frame;
  }

  /** The frame of what is broadcast from one shape to another; few are, in one frame. */
  #broadcast(outer: number, from: Shape, to: Shape): number {
    const known = this.#broadcasts.get(outer);
    const found = known?.find((each) => sameShape(each.from, from) && sameShape(each.to, to));
    if (found !== undefined) return found.frame;
    const frame = this.#next++;
    const made = { from, to, frame };
    if (known === undefined) this.#broadcasts.set(outer, [made]);
    else known.push(made);
    return frame;
  }
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
