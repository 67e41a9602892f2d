/**
 * Reads what was rolled along an axis by folds, as filters read beyond an edge, where kernels compute with it:
 *
 *     join along k of y[.., s:], y[.., :s]   →   y at k + s, wrapped
 *
 * so that a stencil on a torus is a window of neighbours like any other, and no roll of it is stored or chosen from two
 * loads. For plans that hold everything at once: a tile at one edge would need the other edge too. Rolls that are
 * results or operands stay joins, which are written part by part.
 */
import {
  Consumers,
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  storedNode,
  topologicalOrder,
} from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { isElementwise } from './element-cost.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';

type Join = GraphNodeOf<'join'>;
type NodeAt = (id: number) => GraphNode;

/** The joins of a graph that are rolls. */
function rollsOf(graph: Graph | MutableGraph): Join[] {
  const nodeAt: NodeAt = (id) => nodeOf(graph, id);
  const nodes: readonly (GraphNode | undefined)[] = graph.nodes;
  return nodes.filter((node): node is Join => node?.kind === 'join' && rollOf(node, nodeAt) !== undefined);
}

/** Whether something may be folded in a graph. */
export const hasRolls = (graph: Graph): boolean => rollsOf(graph).length > 0;

/** Whether something reads by folds from the other end. */
export const hasWraps = ({ nodes }: Graph): boolean =>
  nodes.some((node) => node?.kind === 'view' && node.view.type === 'pad' && node.view.fold === 'wrap');

export function* foldRolls(graph: MutableGraph): Slices<void> {
  const rolls = rollsOf(graph);
  if (rolls.length === 0) return;
  const order = topologicalOrder(graph);
  yield;
  const { first, list } = new Consumers(graph, order);
  yield;
  const stored = new Set(graph.outputs.map((id) => storedNode(graph, id)));
  const isComputedWith = ({ id }: Join): boolean =>
    !stored.has(id) && list.slice(first[id]!, first[id + 1]!).every(isReader);
  const wanted = new Set(rolls.filter(isComputedWith).map(({ id }) => id));
  const fold: Rule = (node, editor) =>
    node.kind === 'join' && wanted.has(node.id) ? folded(node, editor) : undefined;
  if (wanted.size > 0) yield* rewriteInOneWalk(graph, { join: [fold] });
}

const isReader = (node: GraphNode): boolean =>
  isElementwise(node) || node.kind === 'join' || (node.kind === 'view' && node.view.type === 'slice');

/** The array that a join rolls along its axis, and the place there of the element that comes first. */
function rollOf(
  { axis, inputs, shape }: Join,
  nodeAt: NodeAt,
): { readonly rolled: number; readonly start: number } | undefined {
  if (inputs.length !== 2) return undefined;
  const [head, tail] = inputs.map(nodeAt) as [GraphNode, GraphNode];
  if (!isStretch(head) || !isStretch(tail) || head.inputs[0] !== tail.inputs[0]) return undefined;
  const rolled = head.inputs[0]!;
  const isWhole = nodeAt(rolled).shape.every((size, k) => size === shape[k]);
  const start = head.view.starts[axis]!;
  const isRolled =
    tail.shape[axis] === start &&
    tail.view.starts.every((from) => from === 0) &&
    head.view.starts.every((from, k) => k === axis || from === 0);
  return isWhole && isRolled ? { rolled, start } : undefined;
}

type Stretch = GraphNodeOf<'view'> & { readonly view: { readonly type: 'slice' } };

/** Whether a node is a slice of neighbours. */
export const isStretch = (node: GraphNode): node is Stretch =>
  node.kind === 'view' && node.view.type === 'slice' && node.view.steps.every((step) => step === 1);

function folded(join: Join, editor: Editor): number | undefined {
  const found = rollOf(join, (id) => editor.node(id));
  if (found === undefined) return undefined;
  const { axis, shape } = join;
  const { rolled, start } = found;
  const size = shape[axis]!;
  // The shorter way round.
  const by = 2 * start > size ? size - start : -start;
  const inner = editor.node(rolled);
  const before = shape.map((_, k) => (k === axis ? by : 0));
  if (inner.kind === 'view' && inner.view.type === 'pad' && inner.view.fold === 'wrap') {
    // Rolls along several axes are one view.
    const below = inner.inputs[0]!;
    const isRolled = editor.node(below).shape.every((each, k) => each === shape[k]);
    if (isRolled && inner.view.before[axis] === 0) {
      const both = before.map((each, k) => each + (inner.view as { before: readonly number[] }).before[k]!);
      return editor.view(below, { type: 'pad', before: both, fold: 'wrap' }, shape);
    }
  }
  return editor.view(rolled, { type: 'pad', before, fold: 'wrap' }, shape);
}
