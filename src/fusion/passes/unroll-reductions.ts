/**
 * Writes short reductions out as ops where a reduction takes them up, so that they need no memory:
 *
 *     Σj exp(-Σk (x[i, k] - y[j, k])²), k < 3   →   the inner sum unrolled: (d[0] + d[1]) + d[2]
 *
 * A reduction takes them in for what it is: a short one of more elements than the reduction has itself, that is at one
 * place of its expression, within a few nodes. Where short reductions are at several places, as in a stencil, they are
 * computed once, and so are those that others read as well, or values that are computed with them: written out, they
 * would differ by the order of a few terms, and where those cancel out, as in the residual of an orthogonal basis, the
 * norm of a vector would not be that of the vector beside it.
 */
import type { Shape } from '../../graph/expr.js';
import {
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  sharedNodes,
  sizeOfShape,
  topologicalOrder,
} from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { constantAffine, type IndexMap, indexMap } from '../partition/index-map.js';
import { ElementCosts, isComputed, isElementwise, isUnrolled, lengthOf } from './element-cost.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';

/** The op that combines two values of a reduction. */
const UNROLLED: Readonly<Record<string, OpName>> = {
  sum: 'add',
  prod: 'multiply',
  min: 'minimum',
  max: 'maximum',
  any: 'logicalOr',
  all: 'logicalAnd',
};

/** The op that combines two values of a reduction that is written out. */
export const combiningOp = ({ reduction }: GraphNodeOf<'reduce'>): OpName => UNROLLED[reduction]!;

/** Longest reduction that is written out inside another, and the most its terms may cost together. */
const MAX_UNROLLED = 16;
const MAX_UNROLLED_COST = 512;
/** Nodes of an expression that are searched for short reductions, at each place where they are read. */
const MAX_PLACES = 128;

export function* unrollReductions(graph: MutableGraph): Slices<void> {
  const isShort = ({ kind }: GraphNode, node: GraphNode): boolean =>
    kind === 'reduce' && isShortReduction(graph, node);
  if (!graph.nodes.some((node) => node !== undefined && isShort(node, node))) return;
  const costs = ElementCosts.of(graph, topologicalOrder(graph));
  const shared = sharedNodes(graph);
  const rule: Rule = (node, editor) => {
    if (node.kind !== 'reduce' || isUnrolled(node)) return undefined;
    const places = new Places(node, editor, costs, graph, shared);
    return places.unrolled.size === 0 ? undefined : places.rewritten();
  };
  yield* rewriteInOneWalk(graph, { reduce: [rule] });
}

const isShortReduction = (graph: MutableGraph, node: GraphNode): boolean =>
  node.kind === 'reduce' &&
  node.unrolled !== true &&
  node.monoid === undefined &&
  node.reduction in UNROLLED &&
  lengthOf(node, graph.nodes[node.inputs[0]!]!) <= MAX_UNROLLED;

const wideAxes = (shape: Shape): Shape => shape.filter((size) => size !== 1);

const isViewOf = (node: GraphNode, type: 'broadcast' | 'reshape'): boolean =>
  node.kind === 'view' && node.view.type === type;

/**
 * The places in the expression of a reduction where values are read, down to those in memory: `frames` tells where a
 * value is needed beside each element that is taken.
 */
class Places {
  /** Short reductions that are read at one place. */
  readonly unrolled = new Set<number>();
  readonly #root: GraphNodeOf<'reduce'>;
  readonly #editor: Editor;
  readonly #costs: ElementCosts;
  readonly #graph: MutableGraph;
  readonly #shared: ReadonlySet<number>;
  readonly #frames = new Map<string, number>();
  readonly #seen = new Map<number, Set<number>>();
  readonly #made = new Map<number, number>();

  constructor(
    root: GraphNodeOf<'reduce'>,
    editor: Editor,
    costs: ElementCosts,
    graph: MutableGraph,
    shared: ReadonlySet<number>,
  ) {
    this.#shared = shared;
    this.#root = root;
    this.#editor = editor;
    this.#costs = costs;
    this.#graph = graph;
    this.#search();
  }

  #search(): void {
    const open = this.#root.inputs.map((id) => ({ id, frame: 0 }));
    for (let count = 0, place = open.pop(); place !== undefined; place = open.pop()) {
      const { id, frame } = place;
      const frames = this.#seen.get(id) ?? new Set();
      if (frames.has(frame) || this.#shared.has(id)) continue;
      if (++count > MAX_PLACES) {
        this.unrolled.clear();
        return;
      }
      this.#seen.set(id, frames.add(frame));
      const node = this.#editor.node(id);
      if (this.#isShort(node)) {
        if (frames.size === 1) this.unrolled.add(id);
        else this.unrolled.delete(id);
      } else if (!isComputed(node)) continue;
      // The array that a gather reads is in memory.
      const inputs = node.kind === 'gather' ? node.inputs.slice(1) : node.inputs;
      for (const input of inputs) open.push({ id: input, frame: this.#frameOf(frame, input, node) });
    }
  }

  #isShort(node: GraphNode): node is GraphNodeOf<'reduce'> {
    if (!isShortReduction(this.#graph, node)) return false;
    const [input] = node.inputs as readonly [number];
    const { shape } = this.#editor.node(input);
    // One that comes back beside its elements, as a row's mean, is computed once by a kernel that walks the row twice.
    if (sizeOfShape(shape) <= sizeOfShape(this.#editor.node(this.#root.inputs[0]!).shape)) return false;
    const count = lengthOf(node as GraphNodeOf<'reduce'>, this.#editor.node(input));
    return count * (this.#costs.at(input) + 1) <= MAX_UNROLLED_COST;
  }

  /** The frame of an input of a node in a frame: another one where elements are elsewhere than the node's. */
  #frameOf(frame: number, input: number, consumer: GraphNode): number {
    const { shape } = this.#editor.node(input);
    const isBroadcast = isElementwise(consumer) || isViewOf(consumer, 'broadcast');
    const isKept = isBroadcast || isViewOf(consumer, 'reshape');
    // Axes of one element do not change where an element is.
    if (isKept && sameShape(wideAxes(consumer.shape), wideAxes(shape))) return frame;
    const crossing = isBroadcast ? `${shape} to ${consumer.shape}` : `${consumer.id} to ${input}`;
    const key = `${frame} ${crossing}`;
    const known = this.#frames.get(key) ?? this.#frames.size + 1;
    this.#frames.set(key, known);
    return known;
  }

  /** The reduction of values that are computed with the short ones unrolled. */
  rewritten(): number {
    const { id: _, ...root } = this.#root;
    return this.#editor.add({ ...root, inputs: root.inputs.map((id) => this.#rewrite(id)) });
  }

  /** Recursion is as deep as the search, which is bounded. */
  #rewrite(id: number): number {
    if (!this.#seen.has(id)) return id;
    const known = this.#made.get(id);
    if (known !== undefined) return known;
    const { id: _, ...node } = this.#editor.node(id);
    const isOne = this.unrolled.has(id);
    const isOpen = isOne || isComputed(this.#editor.node(id));
    const inputs = isOpen ? node.inputs.map((input) => this.#rewrite(input)) : node.inputs;
    const isSame = !isOne && inputs.every((input, k) => input === node.inputs[k]);
    const made = isSame
      ? id
      : this.#editor.add({ ...node, ...(isOne ? { unrolled: true } : {}), inputs } as typeof node);
    this.#costs.note(this.#editor.node(made), this.#graph);
    this.#made.set(id, made);
    return made;
  }
}

/** The index map of each element that is reduced, in C order, given the map of the result. */
export function elementMaps(
  map: IndexMap,
  shape: Shape,
  reduced: readonly number[],
  axes: number,
): IndexMap[] {
  let indices: number[][] = [[]];
  for (const axis of reduced) {
    indices = indices.flatMap((index) => Array.from({ length: shape[axis]! }, (_, k) => [...index, k]));
  }
  return indices.map((index) => {
    let kept = 0;
    const coordinates = shape.map((_, axis) => {
      const at = reduced.indexOf(axis);
      return at < 0 ? map.coordinates[kept++]! : constantAffine(index[at]!, axes);
    });
    return indexMap(coordinates, map.bounds);
  });
}

/** Combines values pairwise, so that the depth grows with the logarithm of their number. */
export function combinePairwise(
  values: readonly number[],
  combine: (a: number, b: number) => number,
): number {
  let level = [...values];
  while (level.length > 1) {
    const next: number[] = [];
    for (let k = 0; k < level.length; k += 2) {
      next.push(k + 1 < level.length ? combine(level[k]!, level[k + 1]!) : level[k]!);
    }
    level = next;
  }
  return level[0]!;
}
