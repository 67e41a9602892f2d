/**
 * Writes short reductions out as ops where a reduction takes them up, so that they need no memory:
 *
 *     Σj exp(-Σk (x[i, k] - y[j, k])²), k < 3   →   the inner sum unrolled: (d[0] + d[1]) + d[2]
 *
 * A reduction takes in a short one of more elements than it has itself, within a few nodes of its own expression. Those
 * that others read as well, or values that are computed with them, are computed once. On the CPU the kernels of short
 * reductions combine their elements as they are written out here, so that this changes no bits. On a GPU values change by the
 * order of a few terms, also under `exact`: where those cancel out, as in the residual of an orthogonal basis, the norm of a
 * vector would not be that of the vector beside it, were they written out for others.
 */
import {
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  orderOf,
  sharedNodes,
  sizeOfShape,
} from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import { SHORT_REDUCTION } from '../../graph/reductions.js';
import type { Slices } from '../../host/slices.js';
import { ElementCosts, isComputed, isUnrolled, lengthOf } from './element-cost.js';
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

/** The most that the terms of a reduction that is written out may cost together. */
const MAX_UNROLLED_COST = 512;
/** Nodes of an expression that are searched for short reductions. */
const MAX_NODES = 128;

export function* unrollReductions(graph: MutableGraph): Slices<void> {
  const isShort = (node: GraphNode | undefined): boolean =>
    node !== undefined && isShortReduction(graph, node);
  if (!graph.nodes.some(isShort)) return;
  const costs = ElementCosts.of(graph, orderOf(graph));
  const shared = new Set(sharedNodes(graph));
  const rule: Rule = (node, editor) => {
    if (node.kind !== 'reduce' || isUnrolled(node)) return undefined;
    const expression = new OwnExpression(node, editor, costs, graph, shared);
    if (expression.short.size === 0) return undefined;
    const made = expression.unrolled();
    if (shared.has(node.id)) shared.add(made);
    return made;
  };
  yield* rewriteInOneWalk(graph, { reduce: [rule] });
}

const isShortReduction = (graph: MutableGraph, node: GraphNode): node is GraphNodeOf<'reduce'> =>
  node.kind === 'reduce' &&
  node.unrolled !== true &&
  node.monoid === undefined &&
  node.reduction in UNROLLED &&
  lengthOf(node, nodeOf(graph, node.inputs[0]!)) <= SHORT_REDUCTION;

/**
 * The expression of a reduction as far as it is its own, down to values in memory and those that others read too: a
 * tree, for each of its nodes is read once.
 */
class OwnExpression {
  /** The short reductions in it. */
  readonly short = new Set<number>();
  readonly #root: GraphNodeOf<'reduce'>;
  readonly #editor: Editor;
  readonly #costs: ElementCosts;
  readonly #graph: MutableGraph;
  readonly #nodes = new Set<number>();

  constructor(
    root: GraphNodeOf<'reduce'>,
    editor: Editor,
    costs: ElementCosts,
    graph: MutableGraph,
    shared: ReadonlySet<number>,
  ) {
    this.#root = root;
    this.#editor = editor;
    this.#costs = costs;
    this.#graph = graph;
    this.#search(shared);
  }

  #search(shared: ReadonlySet<number>): void {
    const open = [...this.#root.inputs];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (shared.has(id)) continue;
      if (this.#nodes.size === MAX_NODES) {
        this.short.clear();
        return;
      }
      const node = this.#editor.node(id);
      const isShort = this.#isShort(node);
      if (!isShort && !isComputed(node)) continue;
      this.#nodes.add(id);
      if (isShort) this.short.add(id);
      // The array that a gather reads is in memory.
      open.push(...(node.kind === 'gather' ? node.inputs.slice(1) : node.inputs));
    }
  }

  #isShort(node: GraphNode): boolean {
    if (!isShortReduction(this.#graph, node)) return false;
    const input = this.#editor.node(node.inputs[0]!);
    const { shape } = this.#editor.node(this.#root.inputs[0]!);
    // One of fewer elements than its reader has, as a row's mean, is computed once for all of them.
    if (sizeOfShape(input.shape) <= sizeOfShape(shape)) return false;
    return lengthOf(node, input) * (this.#costs.at(input.id) + 1) <= MAX_UNROLLED_COST;
  }

  /** The reduction of values that are computed with the short ones unrolled. */
  unrolled(): number {
    const { id: _, ...root } = this.#root;
    return this.#editor.add({ ...root, inputs: root.inputs.map((id) => this.#rewrite(id)) });
  }

  /** Recursion is as deep as the search, which is bounded. */
  #rewrite(id: number): number {
    if (!this.#nodes.has(id)) return id;
    const { id: _, ...node } = this.#editor.node(id);
    const isOne = this.short.has(id);
    const inputs = node.inputs.map((input) => this.#rewrite(input));
    if (!isOne && inputs.every((input, k) => input === node.inputs[k])) return id;
    const made = this.#editor.add({ ...node, ...(isOne ? { unrolled: true } : {}), inputs } as typeof node);
    this.#costs.note(this.#editor.node(made), this.#graph);
    return made;
  }
}
