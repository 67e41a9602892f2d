/**
 * Routines over a whole line as others that can be cut into tiles and shared:
 *
 *     compact mask     →   words of its bits, running counts of their ones, a search for each place
 *     top of a row     →   top of each of its parts, then of those
 *
 * For plans in which a routine does not fit as it is (`exec/run/planned.ts`). The results are the same; they take
 * longer.
 */
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
} from '../../graph/graph.js';
import { packedPlaces } from '../../graph/packed-places.js';
import { partsOfRow, topOfParts } from '../../graph/top-of-parts.js';
import { isCompaction } from './compact-values.js';
import { rewriteInOneWalk } from './rewrite.js';
import { spliced } from './splice.js';

export function cutRoutines(graph: MutableGraph): void {
  // Parts of rows are selected from by the same routine: what is made is not offered again.
  const given = graph.nodes.length;
  rewriteInOneWalk(graph, {
    call: [
      (node, editor) => {
        if (node.id >= given || node.kind !== 'call') return undefined;
        const { inputs, parameters, result } = node;
        if (isCompaction(node)) return spliced(editor, inputs, ([mask]) => packedPlaces(mask!)[result]!);
        if (!isLongTop(editor.node(inputs[0]!), node)) return undefined;
        return spliced(editor, inputs, ([rows]) => topOfParts(rows!, parameters)[result]!);
      },
    ],
  });
}

/** Whether routines of a graph can be cut so. */
export const hasCutRoutines = (graph: Graph): boolean =>
  graph.nodes.some((node) => {
    if (node?.kind !== 'call') return false;
    return isLongTop(nodeOf(graph, node.inputs[0]!), node) || isCompaction(node);
  });

const isLongTop = ({ shape }: GraphNode, { routine, parameters }: GraphNodeOf<'call'>): boolean =>
  routine === 'top' && partsOfRow(shape[1]!, parameters[1]!) > 1;
