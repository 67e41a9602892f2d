/** Puts graphs of functions into a graph that is being rewritten. Called by the passes that cut routines. */
import type { Expr } from '../../graph/expr.js';
import { nodeOf, topologicalOrder } from '../../graph/graph.js';
import { argumentLike } from '../../graph/loops.js';
import { graphOfArguments } from './canonicalize.js';
import type { Editor } from './rewrite.js';

/** The node that a function of expressions gives for some nodes. */
export function spliced(editor: Editor, given: readonly number[], build: (given: Expr[]) => Expr): number {
  const argument = (id: number, k: number): Expr => {
    const { dtype, shape } = editor.node(id);
    // The nodes of a draft are gone behind the pass, with their sizes.
    return argumentLike({ dtype, shape: [...shape] }, k);
  };
  const graph = graphOfArguments([build(given.map(argument))]);
  const ids = new Map<number, number>();
  for (const id of topologicalOrder(graph)) {
    const node = nodeOf(graph, id);
    const inputs = node.inputs.map((input) => ids.get(input)!);
    ids.set(id, node.kind === 'source' ? given[node.input]! : editor.add({ ...node, inputs }));
  }
  return ids.get(graph.outputs[0]!)!;
}
