/**
 * Compactions as kernels and a scan, which can be cut into tiles and shared:
 *
 *     compact mask   →   words of its bits, running counts of their ones, a search for each place
 *
 * For plans in which a compaction does not fit as it is (`exec/run/planned.ts`): it has every element's place, 8 bytes
 * each, and the mask at once. The results are the same; a search takes longer than a compaction.
 */
import { type Graph, type MutableGraph, nodeOf, topologicalOrder } from '../../graph/graph.js';
import { argumentLike } from '../../graph/loops.js';
import { packedPlaces } from '../../graph/packed-places.js';
import { graphOfArguments } from './canonicalize.js';
import { isCompaction } from './compact-values.js';
import { type Editor, rewriteInOneWalk } from './rewrite.js';

export function cutCompactions(graph: MutableGraph): void {
  rewriteInOneWalk(graph, {
    call: [
      (node, editor) => {
        if (!isCompaction(node)) return undefined;
        const [mask] = node.inputs as readonly [number];
        const outputs = packedPlaces(argumentLike(editor.node(mask)));
        return spliced(editor, graphOfArguments([outputs[node.result]!]), [mask])[0];
      },
    ],
  });
}

/** Adds the nodes of a graph of arguments, which are nodes already; the ids of its outputs. */
function spliced(editor: Editor, graph: Graph, given: readonly number[]): number[] {
  const ids = new Map<number, number>();
  for (const id of topologicalOrder(graph)) {
    const node = nodeOf(graph, id);
    const inputs = node.inputs.map((input) => ids.get(input)!);
    ids.set(id, node.kind === 'source' ? given[node.input]! : editor.add({ ...node, inputs }));
  }
  return graph.outputs.map((output) => ids.get(output)!);
}
