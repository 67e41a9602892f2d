/**
 * Routines over a whole line as others that can be cut into tiles and shared:
 *
 *     compact mask     →   words of its bits, running counts of their ones, a search for each place
 *     top of a row     →   top of each of its parts, then of those
 *     ranks of a row   →   counts of its elements below bounds, for every four bits of the results
 *     sort of a row    →   sorts of its columns, four times
 *     argsort of one   →   sort of numbers that have an element and its position
 *     sums by bin      →   sums by units of rows, as integers
 *     rows of sparse matrices, their transposes, and elements in order   →   gathers, sorts and sums by rows
 *     distinct of it   →   sort of what differs from the element before, with the others behind it
 *     a few of many    →   greatest of the elements whose index is sought, the others being the least of all
 *
 * For plans in which a routine does not fit as it is (`exec/run/planned.ts`). The results are the same; they take
 * longer.
 */
import type { Expr } from '../../graph/expr.js';
import { gatherByReduction, isSparse } from '../../graph/gather-by-reduction.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import { packedPlaces } from '../../graph/packed-places.js';
import { ranksByCounting } from '../../graph/ranks-by-counting.js';
import {
  argsortByColumns,
  distinctByColumns,
  hasColumns,
  hasPositionKeys,
  sortByColumns,
} from '../../graph/sort-by-columns.js';
import { partsOfRow, topOfParts } from '../../graph/top-of-parts.js';
import type { Slices } from '../../host/slices.js';
import { inParts, isInParts } from './both-ways.js';
import { rewriteInOneWalk } from './rewrite.js';
import { spliced } from './splice.js';

export function* cutRoutines(graph: MutableGraph): Slices<void> {
  yield* inParts(graph);
  // Parts of rows are selected from by the same routine: nodes made here are not offered again.
  const given = graph.nodes.length;
  yield* rewriteInOneWalk(graph, {
    call: [
      (node, editor) => {
        if (node.kind !== 'call' || node.id >= given) return undefined;
        const results = resultsOf(node, (id) => editor.node(id));
        return results && spliced(editor, node.inputs, ([line]) => results(line!)[node.result]!);
      },
    ],
    gather: [
      (node, editor) => {
        if (node.kind !== 'gather' || node.id >= given || !isCutGather(node, (id) => editor.node(id)))
          return undefined;
        return spliced(editor, node.inputs, ([x, index]) =>
          gatherByReduction(x!, index!, node.axis, node.mode),
        );
      },
    ],
  });
}

/** Whether routines of a graph can be cut so. */
export const hasCutRoutines = (graph: Graph): boolean =>
  graph.nodes.some(
    (node) =>
      isInParts(node) ||
      (node?.kind === 'call' && resultsOf(node, (id) => nodeOf(graph, id)) !== undefined) ||
      (node?.kind === 'gather' && isCutGather(node, (id) => nodeOf(graph, id))),
  );

function isCutGather({ inputs, axis }: GraphNodeOf<'gather'>, nodeAt: (id: number) => GraphNode): boolean {
  const [x, index] = inputs.map(nodeAt);
  return isSparse(x!.dtype, x!.shape[axis]!, sizeOfShape(index!.shape));
}

/** The results of a routine over the lines that it is given first, by routines that can be cut. */
function resultsOf(
  { routine, parameters, inputs }: GraphNodeOf<'call'>,
  nodeAt: (id: number) => GraphNode,
): ((lines: Expr) => readonly Expr[]) | undefined {
  const [first] = inputs;
  if (first === undefined) return undefined; // a kernel of the user's may read nothing
  const { dtype, shape } = nodeAt(first);
  switch (routine) {
    case 'compact':
      return inputs.length === 1 ? packedPlaces : undefined;
    case 'sort':
      // Rows with a unit of their own are columns already.
      return parameters.length === 1 && hasColumns(shape.at(-1)!)
        ? (rows) => [sortByColumns(rows, parameters[0] === 1)]
        : undefined;
    case 'argsort':
      return hasPositionKeys({ dtype, shape })
        ? (rows) => [argsortByColumns(rows, parameters[0] === 1)]
        : undefined;
    case 'distinct':
      return hasColumns(shape[0]!) ? distinctByColumns : undefined;
    case 'ranks':
      return (rows) => [ranksByCounting(rows, parameters)];
    case 'top':
      return partsOfRow(shape[1]!, parameters[1]!) > 1 ? (rows) => topOfParts(rows, parameters) : undefined;
    default:
      return undefined;
  }
}
