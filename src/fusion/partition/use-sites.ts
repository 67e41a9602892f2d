/**
 * Where in which kernel the value of each node is needed. A kernel of a root computes it in frames: one for each way in
 * which places of the root lead to its places, so that a value of one frame is computed once there.
 *
 *     y[1:] + y[:-1], y = exp(x)    →   y has two frames of one root, in which its elements are at other places
 *
 * Consumers come before what they read. Called by `materialization.ts`.
 */
import type { Shape } from '../../graph/expr.js';
import { type Consumers, type GraphNode, type GraphNodeOf, sizeOfShape } from '../../graph/graph.js';
import { sameShape } from '../../graph/shape.js';
import { computesAll, isElementwise, isUnrolled } from '../passes/element-cost.js';
import { readsFromMemory } from '../passes/join-form.js';

/** Nodes with more use sites than this are never computed again at each; a view is computed nowhere. */
export const MAX_FRAMES = 16;

/** A node's use sites: where in which kernel its value is needed. */
export interface UseSites {
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
export const KEEPS_ORDER: ReadonlySet<string> = new Set(['reshape', 'broadcast']);

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

export class Frames {
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
      if (readsFromMemory(consumer, node.id) || computesAll(consumer)) continue;
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
    if (readsFromMemory(consumer, node.id) || computesAll(consumer)) return NOWHERE;
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
