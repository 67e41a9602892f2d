/**
 * Chooses the roots: the nodes whose value is stored in memory. Everything else is computed inside the kernels that need
 * it. Results, reductions and contractions are roots; a map or view becomes one when several kernels (or one kernel at
 * several places) need it and storing it moves less than computing it again:
 *
 *     y = exp(x), read once as y[1:] and once as y[:-1]     →   computed twice in one kernel, or stored: what is cheaper
 *
 * Called by `partition.ts`.
 */
import { byteLengthOf } from '../graph/dtype.js';
import {
  consumersOf,
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  nodeOf,
  sizeOfShape,
} from '../graph/graph.js';
import { opRow } from '../graph/ops.js';
import { sameShape } from './rewrite.js';
import { UNROLLED } from './unroll.js';

/** One unit of op cost in bytes of memory traffic: a GPU does about four additions while it moves a byte. */
const BYTES_PER_COST = 0.25;
/** More places than this are never computed again at each. */
const MAX_FRAMES = 16;
const MAX_LEAVES = 6;
/** Longest reduction that is written out inside another, and the most its terms may cost together. */
const MAX_UNROLLED = 16;
const MAX_UNROLLED_COST = 512;

/** Nodes that are never computed inside another kernel. */
const isBoundary = (node: GraphNode): boolean => node.kind === 'reduce' || node.kind === 'contract';

export function chooseRoots(
  graph: Graph,
  order: readonly number[],
  operands: ReadonlySet<number>,
): Set<number> {
  const work = estimateWork(graph, order);
  const consumers = consumersOf(graph, order);
  const frames = new Frames();
  const roots = new Set<number>();
  const outputs = new Set(graph.outputs);
  for (let k = order.length - 1; k >= 0; k--) {
    const id = order[k]!;
    const node = nodeOf(graph, id);
    const places = frames.placesOf(
      node,
      consumers.get(id)!.map((c) => nodeOf(graph, c)),
    );
    const nested = node.kind === 'reduce' && unrolls(graph, node, places, work.get(node.inputs[0]!)!);
    const forced =
      outputs.has(id) || (isBoundary(node) && !nested) || (operands.has(id) && node.kind !== 'source');
    if (forced || (isComputed(node) && !repeats(node, places, work.get(id)!))) {
      roots.add(id);
      frames.set(id, new Map([[`r${id}`, id]]));
    } else {
      frames.set(id, places);
    }
  }
  return roots;
}

/**
 * Whether a short reduction is written out inside another: its value is only needed, at one place, by kernels that
 * reduce over a larger domain, as in Σj exp(-Σk (x[i,k] - y[j,k])²).
 */
function unrolls(graph: Graph, node: GraphNodeOf<'reduce'>, places: Places, input: Work): boolean {
  if (!(node.reduction in UNROLLED) || places.size !== 1) return false;
  if (![...places.values()].every((root) => nodeOf(graph, root).kind === 'reduce')) return false;
  const { shape } = nodeOf(graph, node.inputs[0]!);
  const count = node.axes.reduce((n, axis) => n * shape[axis]!, 1);
  return count <= MAX_UNROLLED && count * (input.cost + 1) <= MAX_UNROLLED_COST;
}

const isComputed = (node: GraphNode): boolean =>
  node.kind === 'map' || node.kind === 'cast' || node.kind === 'view';

/** A node's places: where in which kernel its value is needed. Frame → root of the kernel. */
type Places = ReadonlyMap<string, number>;

class Frames {
  readonly #places = new Map<number, Places>();
  readonly #names = new Map<string, string>();

  set(id: number, places: Places): void {
    this.#places.set(id, places);
  }

  placesOf(node: GraphNode, consumers: readonly GraphNode[]): Places {
    const shared = this.#samePlaces(node, consumers);
    if (shared !== undefined) return shared;
    const places = new Map<string, number>();
    for (const consumer of consumers) {
      if (consumer.kind === 'contract') continue; // its operands are stored anyway
      for (const [frame, root] of this.#places.get(consumer.id)!) {
        places.set(this.#through(frame, node, consumer), root);
        if (places.size > MAX_FRAMES) return places;
      }
    }
    return places;
  }

  /** The places of all consumers, where they are needed at the same ones and as they are. */
  #samePlaces(node: GraphNode, consumers: readonly GraphNode[]): Places | undefined {
    let shared: Places | undefined;
    for (const consumer of consumers) {
      if ((consumer.kind !== 'map' && consumer.kind !== 'cast') || !sameShape(consumer.shape, node.shape))
        return undefined;
      const places = this.#places.get(consumer.id)!;
      if (shared !== undefined && places !== shared) return undefined;
      shared = places;
    }
    return shared;
  }

  /** The frame of an input of `consumer`, whose own frame is `frame`. */
  #through(frame: string, node: GraphNode, consumer: GraphNode): string {
    if (consumer.kind === 'view') return this.#name(`${frame}>v${consumer.id}`);
    if (consumer.kind === 'reduce')
      return this.#placed(consumer) ? this.#name(`${frame}>u${consumer.id}`) : frame;
    if (sameShape(consumer.shape, node.shape)) return frame;
    return this.#name(`${frame}>b${node.shape}:${consumer.shape}`);
  }

  /** Whether a reduction is computed inside another kernel, not as the root of its own. */
  #placed(reduce: GraphNode): boolean {
    return !this.#places.get(reduce.id)!.has(`r${reduce.id}`);
  }

  /** A short name, so that frames through long chains of views stay short. */
  #name(key: string): string {
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `f${this.#names.size}`;
      this.#names.set(key, name);
    }
    return name;
  }
}

/** What computing a node from stored values takes. */
interface Work {
  /** Cost units of one element. */
  readonly cost: number;
  /** Stored nodes it reads; `undefined`: more than are counted. */
  readonly leaves: ReadonlySet<number> | undefined;
  readonly leafBytes: number;
}

function estimateWork(graph: Graph, order: readonly number[]): Map<number, Work> {
  const work = new Map<number, Work>();
  for (const id of order) {
    const node = nodeOf(graph, id);
    const bytes = sizeOfShape(node.shape) * byteLengthOf(node.dtype);
    if (node.kind === 'const' || node.kind === 'iota') {
      work.set(id, { cost: 0, leaves: NO_LEAVES, leafBytes: 0 });
    } else if (!isComputed(node)) {
      work.set(id, { cost: 0, leaves: new Set([id]), leafBytes: bytes });
    } else {
      work.set(id, combined(graph, node, work));
    }
  }
  return work;
}

const NO_LEAVES: ReadonlySet<number> = new Set();

/** Both sets; one of the two where it holds the other, as it mostly does. */
function union(
  a: ReadonlySet<number> | undefined,
  b: ReadonlySet<number> | undefined,
): ReadonlySet<number> | undefined {
  if (a === undefined || b === undefined) return undefined;
  const [large, small] = a.size >= b.size ? [a, b] : [b, a];
  let both: Set<number> | undefined;
  for (const leaf of small) {
    if (large.has(leaf)) continue;
    both ??= new Set(large);
    both.add(leaf);
  }
  return both ?? large;
}

function combined(graph: Graph, node: GraphNode, work: ReadonlyMap<number, Work>): Work {
  const own = node.kind === 'map' ? opRow(node.op).cost : node.kind === 'cast' ? 1 : 0;
  let cost = own;
  let leaves: ReadonlySet<number> | undefined = NO_LEAVES;
  for (const input of node.inputs) {
    const below = work.get(input)!;
    cost = Math.min(1e9, cost + below.cost);
    leaves = union(leaves, below.leaves);
  }
  if (leaves !== undefined && leaves.size > MAX_LEAVES) leaves = undefined;
  let leafBytes = Number.POSITIVE_INFINITY;
  if (leaves !== undefined) {
    leafBytes = 0;
    for (const leaf of leaves) {
      const stored = nodeOf(graph, leaf);
      // A slice needs no more of its input than it has elements.
      const count = Math.min(sizeOfShape(stored.shape), Math.max(1, sizeOfShape(node.shape)));
      leafBytes += count * byteLengthOf(stored.dtype);
    }
  }
  return { cost, leaves, leafBytes };
}

/** Whether to compute a node at each of its places instead of storing it once. */
function repeats(node: GraphNode, places: Places, work: Work): boolean {
  if (places.size <= 1) return true;
  if (places.size > MAX_FRAMES) return false;
  const kernels = new Set(places.values()).size;
  const size = sizeOfShape(node.shape);
  const compute = work.cost * size * BYTES_PER_COST;
  const bytes = size * byteLengthOf(node.dtype);
  // What both ways read is left out: the leaves once.
  const again = kernels === 1 ? 0 : (kernels - 1) * work.leafBytes;
  const inline = again + places.size * compute;
  const stored = compute + bytes + kernels * bytes;
  return inline <= stored;
}
