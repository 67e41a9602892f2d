/**
 * Which stored values a reduction computes for itself, so that the order of its elements is the one that it has alone.
 *
 * The order follows from how the arrays lie in memory that a reduction reads. A value that is stored for others may lie
 * otherwise than what it is computed from:
 *
 *     x.T.sum([0, 1]) beside x.T            reads x, as alone, although x.T is in memory
 *     softmax(x).std() beside softmax(x)    reads x and its rows, along two axes; the softmax would be one axis
 *     exp(x).sum() beside exp(x)            may read exp(x), which lies as x
 *
 * Called by `build-kernel.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { type Graph, type GraphNode, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
import { isExactReduction } from '../../graph/reductions.js';
import { isComputed } from '../passes/element-cost.js';
import { type LeafMap, LeafMaps } from './leaf-maps.js';
import { walkOf } from './reduced-order.js';

const NOTHING: ReadonlySet<number> = new Set();

export class OwnReadings {
  readonly #graph: Graph;
  readonly #stored: ReadonlySet<number>;
  /** As each value is read alone, down to what is in memory for any expression. */
  readonly #alone: LeafMaps;
  /** As it is read with what is stored; made anew where more is. */
  #beside: LeafMaps | undefined;
  #storedCount = -1;
  #hasValues = false;

  /** `stored`: may grow. */
  constructor(graph: Graph, stored: ReadonlySet<number>) {
    this.#graph = graph;
    this.#stored = stored;
    this.#alone = new LeafMaps(graph, () => false);
  }

  /**
   * The stored nodes that the kernel of a reduction computes itself: of several, one below the other, those that it would
   * read. With all of them a chain of transposed values would be computed anew at each step.
   */
  of(root: GraphNodeOf<'reduce'>): ReadonlySet<number> {
    this.#notice();
    const input = nodeOf(this.#graph, root.inputs[0]!);
    if (!this.#hasValues || isExactReduction(root.reduction, input.dtype)) return NOTHING;
    const read = root.inputs.flatMap((id) => leavesOf(this.#beside!.of(id)));
    const values = read.filter((id) => this.#isValue(nodeOf(this.#graph, id)));
    if (values.length === 0) return NOTHING;
    const isAlike = readingBy(this.#alone, root, input) === readingBy(this.#beside!, root, input);
    return isAlike ? NOTHING : new Set(values);
  }

  #notice(): void {
    if (this.#stored.size === this.#storedCount) return;
    this.#storedCount = this.#stored.size;
    this.#beside = new LeafMaps(this.#graph, (node) => this.#isValue(node));
    this.#hasValues = [...this.#stored].some((id) => this.#isValue(nodeOf(this.#graph, id)));
  }

  /** Whether a node is in memory that might as well be computed. */
  #isValue(node: GraphNode): boolean {
    return this.#stored.has(node.id) && (isComputed(node) || node.kind === 'source');
  }
}

/** The nodes that are read by some maps. */
const leavesOf = (maps: readonly LeafMap[]): number[] =>
  maps
    .flatMap(({ leaf, split }) => (split === undefined ? leaf : leavesOf(split)))
    .filter((leaf) => leaf >= 0);

/** Bytes of a line of the caches. */
const LINE_BYTES = 64;

/** A stride as far as it matters: where it leads, or that it is short or long. */
function reachOf(stride: number, bytes: number): string {
  if (Math.abs(stride) <= 1) return `${stride}`;
  return Math.abs(stride) * bytes < LINE_BYTES ? 'near' : 'far';
}

/** Axes from the one with the longest stride to the one with the shortest, and which of them are walked as one. */
function orderOf(strides: readonly number[], sizes: readonly number[]): string {
  const axes = [...strides.keys()]
    .filter((axis) => strides[axis] !== 0)
    .sort((a, b) => Math.abs(strides[b]!) - Math.abs(strides[a]!) || a - b);
  const isOne = (axis: number, inner: number): boolean => strides[axis] === strides[inner]! * sizes[inner]!;
  return axes
    .map((axis, k) => `${axis}${k + 1 < axes.length && isOne(axis, axes[k + 1]!) ? '=' : ''}`)
    .join();
}

/** The properties of what a reduction reads by which code generators choose the order of its elements, as text. */
function readingBy(leafMaps: LeafMaps, root: GraphNodeOf<'reduce'>, { shape }: GraphNode): string {
  const axes = [...shape.keys()].filter((axis) => shape[axis] !== 1);
  const parallel = axes.filter((axis) => !root.axes.includes(axis));
  const reduced = axes.filter((axis) => root.axes.includes(axis));
  const placed = alikeOf(root.inputs.flatMap((id) => leafMaps.of(id))).map((alike) => ({
    ...alike,
    offset: 0,
    strides: [...parallel, ...reduced].map((axis) => alike.map.strides[axis]!),
  }));
  const first = parallel.length;
  const loads = placed.filter(({ map }) => map.leaf >= 0);
  const walk = walkOf({ first, sizes: reduced.map((axis) => shape[axis]!) }, loads, placed);
  const rows = parallel.map((axis, k) => {
    const size = shape[axis]!;
    return k > 0 && placed.every(({ strides }) => strides[k - 1] === strides[k]! * size) ? '' : `|${axis}`;
  });
  const sizes = [...parallel, ...reduced].map((axis) => shape[axis]!);
  return [walk, rows.join(), ...kindsOf(loads, first, sizes)].join(' ; ');
}

/** Maps of the same strides and dtype, of which one stands for all. */
interface Alike {
  readonly map: LeafMap;
  readonly leaves: readonly number[];
}

function alikeOf(maps: readonly LeafMap[]): readonly Alike[] {
  const found = new Map<string, { map: LeafMap; leaves: number[] }>();
  for (const map of maps) {
    const { strides, dtype, isGathered, split, leaf } = map;
    const key = `${leaf < 0 ? '' : dtype} ${isGathered} ${strides} ${split === undefined ? '' : textOf(split)}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, { map, leaves: [leaf] });
    else known.leaves.push(leaf);
  }
  return [...found.values()];
}

/** The kinds of loads that move along reduced axes: how often each is there where there are several. */
function kindsOf(
  loads: readonly (Alike & { readonly strides: readonly number[] })[],
  first: number,
  sizes: readonly number[],
): string[] {
  const moving = loads.filter(({ strides }) => strides.some((stride, k) => k >= first && stride !== 0));
  const isOnRows = moving.some(({ strides }) => strides.some((stride, k) => k < first && stride !== 0));
  // Elements that are the same for every row: a GPU's blocks share them, by what is computed of them too.
  if (first > 0 && !isOnRows) return moving.map(({ leaves }) => leaves.join());
  const counts = new Map<string, number>();
  for (const { strides, map, leaves } of moving) {
    const { dtype, isGathered, split } = map;
    const reaches = strides.map((stride) => reachOf(stride, byteLengthOf(dtype)));
    const below = split === undefined ? '' : `split ${textOf(split)}`;
    const kind = `${dtype} ${isGathered} ${reaches} by ${orderOf(strides, sizes)} ${below}`;
    counts.set(kind, (counts.get(kind) ?? 0) + leaves.length);
  }
  const kinds = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return kinds.map(([kind, count]) => (kinds.length === 1 ? kind : `${count} ${kind}`));
}

const textOf = (maps: readonly LeafMap[]): string =>
  maps
    .map(({ dtype, strides, split }) => `${dtype} ${strides} ${split === undefined ? '' : textOf(split)}`)
    .join(' ');
