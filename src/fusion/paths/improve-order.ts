/**
 * Improves an order of pairs: as a tree, whose subtrees of a few leaves are replaced by the best that there
 * are, until none is better. (The subtree reconfiguration of Gray and Kourtis, "Hyper-optimized tensor network
 * contraction", 2021.)
 */
import type { Slices } from '../../host/slices.js';
import { exactOrder, exactSteps, OVERSIZE_WEIGHT, type Pair } from './exact-order.js';
import { type IndexSets, setVolume, wordVolume } from './network.js';
import { subnetworkOf } from './subnetwork.js';

/** A subtree has to be cheaper by this factor, so that rounding does not go in circles. */
const LEAST_GAIN = 1 - 1e-9;

/** The work that a search may still do, in pairs of subsets: a few nanoseconds each. It goes by the network alone. */
export interface Effort {
  left: number;
}

/** Of a subtree beside its exact search, in a network of one word and of several. */
const SUBTREE_STEPS = { one: 500, several: 2500 } as const;

export class OrderTree {
  readonly #sets: IndexSets;
  readonly #limit: number;
  readonly #count: number;
  /** By node: its halves; -1 for leaves, which are the operands. The last node is the root. */
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  /** The indices of each node, and the cost of each pair. */
  readonly #open: Int32Array;
  readonly #costs: Float64Array;
  /** By node: when it was changed last, and when the subtree below it was found to be best. */
  readonly #changed: Int32Array;
  readonly #best: Int32Array;
  #time = 1;

  /** `limit`: elements of an intermediate above which its work is weighted. */
  constructor(sets: IndexSets, pairs: readonly Pair[], limit: number) {
    const count = sets.operands.length / sets.words;
    this.#sets = sets;
    this.#limit = limit;
    this.#count = count;
    this.#left = new Int32Array(2 * count - 1).fill(-1);
    this.#right = new Int32Array(2 * count - 1).fill(-1);
    for (const [k, [i, j]] of pairs.entries()) {
      this.#left[count + k] = i;
      this.#right[count + k] = j;
    }
    this.#open = this.#openIndices();
    this.#costs = new Float64Array(2 * count - 1);
    for (let k = count; k < 2 * count - 1; k++) this.#costs[k] = this.#costOf(k);
    this.#changed = new Int32Array(2 * count - 1).fill(1);
    this.#best = new Int32Array(2 * count - 1);
  }

  get cost(): number {
    return this.#costs.reduce((sum, cost) => sum + cost, 0);
  }

  /** The indices that each node shares with the rest: of all below it, those that are elsewhere as well. */
  #openIndices(): Int32Array {
    const { words, operands, output } = this.#sets;
    const nodes = 2 * this.#count - 1;
    const inside = new Int32Array(nodes * words);
    inside.set(operands);
    for (let k = this.#count; k < nodes; k++)
      for (let w = 0; w < words; w++)
        inside[k * words + w] = inside[this.#left[k]! * words + w]! | inside[this.#right[k]! * words + w]!;
    const outside = new Int32Array(nodes * words);
    outside.set(output, (nodes - 1) * words);
    for (let k = nodes - 1; k >= this.#count; k--) {
      const [l, r] = [this.#left[k]!, this.#right[k]!];
      for (let w = 0; w < words; w++) {
        outside[l * words + w] = outside[k * words + w]! | inside[r * words + w]!;
        outside[r * words + w] = outside[k * words + w]! | inside[l * words + w]!;
      }
    }
    return inside.map((bits, k) => bits & outside[k]!);
  }

  #costOf(k: number): number {
    const { words, volumes } = this.#sets;
    const open = this.#open;
    let volume = 1;
    let sums = 0;
    for (let w = 0; w < words; w++) {
      const union = open[this.#left[k]! * words + w]! | open[this.#right[k]! * words + w]!;
      sums |= union ^ open[k * words + w]!;
      volume *= wordVolume(volumes, w, union);
    }
    return volume * (sums === 0 ? 1 : 2) * this.#weightOf(k);
  }

  #weightOf(k: number): number {
    const isRoot = k === this.#left.length - 1;
    const isOversize = !isRoot && this.#limit < Number.POSITIVE_INFINITY && this.volumeOf(k) > this.#limit;
    return isOversize ? OVERSIZE_WEIGHT : 1;
  }

  volumeOf(k: number): number {
    return setVolume(this.#sets, this.#open, k);
  }

  /**
   * Goes over all subtrees of `leaves` leaves at most until none can be improved, `rounds` times at most, or until no
   * effort is left.
   */
  *improve(leaves: number, rounds: number, effort: Effort): Slices<void> {
    this.#best.fill(0); // of other numbers of leaves
    for (let round = 0; round < rounds; round++) {
      let isBetter = false;
      for (let k = this.#left.length - 1; k >= this.#count; k--) {
        if (effort.left <= 0) return;
        if (yield* this.#improveBelow(k, leaves, effort)) isBetter = true;
        yield;
      }
      if (!isBetter) return;
    }
  }

  *#improveBelow(root: number, leaves: number, effort: Effort): Slices<boolean> {
    const tops: number[] = [this.#left[root]!, this.#right[root]!];
    const inner = [root];
    while (tops.length < leaves) {
      // Of what can be opened, the dearest.
      let at = -1;
      for (const [k, node] of tops.entries())
        if (node >= this.#count && (at < 0 || this.#costs[node]! > this.#costs[tops[at]!]!)) at = k;
      if (at < 0) break;
      const node = tops[at]!;
      inner.push(node);
      tops.splice(at, 1, this.#left[node]!, this.#right[node]!);
    }
    if (tops.length < 3 || inner.every((node) => this.#changed[node]! <= this.#best[root]!)) return false;
    const before = inner.reduce((sum, node) => sum + this.#costs[node]!, 0);
    const { sets, expand } = subnetworkOf(this.#sets, this.#open, tops, root);
    effort.left -=
      SUBTREE_STEPS[this.#sets.words === 1 ? 'one' : 'several'] + exactSteps(tops.length, sets.words);
    const order = yield* exactOrder(sets, this.#limit, before * LEAST_GAIN, this.#weightOf(root));
    this.#best[root] = ++this.#time;
    if (order === undefined) return false;
    const { words } = this.#sets;
    const results = new Int32Array(order.pairs.length * words);
    for (const k of order.pairs.keys())
      expand(order.results.subarray(k * sets.words, (k + 1) * sets.words), results, k * words);
    this.#replace(root, tops, inner, order.pairs, results);
    return true;
  }

  /** Puts other pairs between a root and nodes below it; `inner`: the root and the pairs there were. */
  #replace(
    root: number,
    tops: readonly number[],
    inner: readonly number[],
    pairs: readonly Pair[],
    results: Int32Array,
  ): void {
    const { words } = this.#sets;
    const nodes = [...tops];
    for (const [k, [i, j]] of pairs.entries()) {
      const node = k === pairs.length - 1 ? root : inner[k + 1]!;
      this.#left[node] = nodes[i]!;
      this.#right[node] = nodes[j]!;
      this.#open.set(results.subarray(k * words, (k + 1) * words), node * words);
      nodes.push(node);
    }
    for (const node of inner) {
      this.#costs[node] = this.#costOf(node);
      this.#changed[node] = this.#time;
    }
  }

  /** The pairs, each after those that it needs. */
  pairs(): Pair[] {
    const pairs: Pair[] = [];
    const positions = new Map<number, number>();
    for (let k = 0; k < this.#count; k++) positions.set(k, k);
    const waiting = this.#count > 1 ? [2 * this.#count - 2] : [];
    while (waiting.length > 0) {
      const node = waiting[waiting.length - 1]!;
      const halves = [this.#left[node]!, this.#right[node]!];
      const needed = halves.filter((half) => !positions.has(half));
      if (needed.length > 0) {
        waiting.push(...needed);
        continue;
      }
      waiting.pop();
      const [i, j] = halves.map((half) => positions.get(half)!) as [number, number];
      positions.set(node, this.#count + pairs.length);
      pairs.push([Math.min(i, j), Math.max(i, j)]);
    }
    return pairs;
  }
}
