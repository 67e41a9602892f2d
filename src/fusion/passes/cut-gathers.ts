/**
 * Gathers whose array would be held as a whole, and runs of wide rows, as others that can be cut into tiles and shared:
 *
 *     x at the places of a mask          →   sort of pairs of a place that is kept and an element
 *     x at its argsort                   →   sort of pairs of an element and its position
 *     x at the argsort of a permutation  →   sort of pairs of a place of the permutation and an element
 *     products of runs of rows           →   of some columns, one below the other
 *
 * For plans that do not fit with other routines alone (`cut-routines.ts`), ahead of which this runs
 * (`exec/run/planned.ts`). The results are the same; they take longer.
 */
import { productsByColumns, stretchOfRuns } from '../../graph/bin-products.js';
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
import { type Rule, rewriteInOneWalk } from './rewrite.js';
import { spliced } from './splice.js';

export function* cutGathers(graph: MutableGraph): Slices<void> {
  const given = graph.nodes.length;
  const cut: Rule = (node, editor) => {
    const way = node.id < given ? wayOf(node, (id) => editor.node(id)) : undefined;
    return way && spliced(editor, way.inputs, way.build);
  };
  yield* rewriteInOneWalk(graph, { gather: [cut], call: [cut] });
}

/** Whether a graph has gathers, or runs of rows, that can be cut so. */
export const hasCutGathers = (graph: Graph): boolean =>
  graph.nodes.some((node) => node !== undefined && wayOf(node, (id) => nodeOf(graph, id)) !== undefined);

/** Another way to the elements of a gather or a call, and the nodes that it needs. */
interface Way {
  readonly inputs: readonly number[];
  readonly build: (given: Expr[]) => Expr;
}

function wayOf(node: GraphNode, nodeAt: (id: number) => GraphNode): Way | undefined {
  if (node.kind === 'call') return node.routine === 'runProducts' ? wayOfRuns(node, nodeAt) : undefined;
  if (node.kind !== 'gather') return undefined;
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

function wayOfRuns(
  { inputs, parameters: [most] }: GraphNodeOf<'call'>,
  nodeAt: (id: number) => GraphNode,
): Way | undefined {
  const { shape } = nodeAt(inputs[0]!);
  if (stretchOfRuns(shape, most!) === shape[1]) return undefined;
  return { inputs, build: ([rows, ends]) => productsByColumns(rows!, ends!, most!) };
}
