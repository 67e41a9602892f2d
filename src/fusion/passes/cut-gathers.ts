/**
 * Gathers whose array would be held as a whole as others that can be cut into tiles and shared:
 *
 *     x at the places of a mask          →   sort of pairs of a place that is kept and an element
 *     x at its argsort                   →   sort of pairs of an element and its position
 *     x at the argsort of a permutation  →   sort of pairs of a place of the permutation and an element
 *
 * For plans that do not fit with other routines alone (`cut-routines.ts`), ahead of which this runs
 * (`exec/run/planned.ts`). The results are the same; they take longer.
 */
import type { Expr } from '../../graph/expr.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
} from '../../graph/graph.js';
import { compactedByColumns, permutedByColumns } from '../../graph/pairs-by-columns.js';
import { hasPositionKeys, orderByColumns } from '../../graph/sort-by-columns.js';
import type { Slices } from '../../host/slices.js';
import { rewriteInOneWalk } from './rewrite.js';
import { spliced } from './splice.js';

export function* cutGathers(graph: MutableGraph): Slices<void> {
  const given = graph.nodes.length;
  yield* rewriteInOneWalk(graph, {
    gather: [
      (node, editor) => {
        if (node.kind !== 'gather' || node.id >= given) return undefined;
        const way = wayOf(node, (id) => editor.node(id));
        return way && spliced(editor, way.inputs, way.build);
      },
    ],
  });
}

/** Whether gathers of a graph can be cut so. */
export const hasCutGathers = (graph: Graph): boolean =>
  graph.nodes.some((node) => node?.kind === 'gather' && wayOf(node, (id) => nodeOf(graph, id)) !== undefined);

/** Another way to a gather's elements, and the nodes that it needs. */
interface Way {
  readonly inputs: readonly number[];
  readonly build: (given: Expr[]) => Expr;
}

function wayOf(node: GraphNodeOf<'gather'>, nodeAt: (id: number) => GraphNode): Way | undefined {
  const [x, index] = node.inputs.map(nodeAt) as [GraphNode, GraphNode];
  const isLine = x.shape.length === 1 && index.shape.length === 1 && x.shape[0] === index.shape[0];
  if (isLine && index.kind === 'call' && hasPositionKeys(x)) {
    const [line] = index.inputs as readonly [number];
    const from = nodeAt(line);
    if (index.routine === 'compact' && index.result === 0 && index.inputs.length === 1)
      return { inputs: [line, x.id], build: ([mask, of]) => compactedByColumns(mask!, of!) };
    const isPermutation = from.kind === 'call' && from.routine === 'argsort' && from.shape.length === 1;
    if (index.routine === 'argsort' && line === x.id)
      return { inputs: [line], build: ([of]) => orderByColumns(of!, index.parameters[0] === 1).elements };
    if (index.routine === 'argsort' && index.parameters[0] !== 1 && isPermutation)
      return { inputs: [line, x.id], build: ([places, of]) => permutedByColumns(of!, places!) };
  }
  return undefined;
}
