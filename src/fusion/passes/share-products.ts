/**
 * Products that differ by a ReLU alone are one product, and a map of it:
 *
 *     contract a b, + bias;  contract a b, + bias, relu   →   p = contract a b, + bias;  p;  maximum p 0
 *
 * A ReLU chooses, so that it makes no difference to the bits where it is done, and is taken into no call that may give it -0.
 * Whatever else an epilogue computes may be rounded otherwise in a library's call than by ops of the product (on an H200 a
 * float32 product times 0.7 in 8 of 42 sizes, one to which 0.3 of an array is added in 29), so that each of these stays a
 * call, which a result has alone, too. Called by `fuse-epilogues.ts`.
 */
import { PLAIN } from '../../graph/epilogue.js';
import { type GraphNodeOf, type MutableGraph, nodeOf, orderOf } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { type Editor, rewriteInOneWalk } from './rewrite.js';

type Contract = GraphNodeOf<'contract'>;

export function* shareProducts(graph: MutableGraph): Slices<void> {
  const products = productsBeside(graph);
  if (products.size === 0) return;
  yield* rewriteInOneWalk(graph, {
    contract: [
      (node, editor) => {
        const product = products.get(node.id);
        return product === undefined ? undefined : reluOf(product, editor);
      },
    ],
  });
}

/** By the id of a product with a ReLU, the one that is computed without, where there is such. */
function productsBeside(graph: MutableGraph): ReadonlyMap<number, Contract> {
  const [plain, withRelu] = [new Map<string, Contract>(), new Map<string, Contract[]>()];
  for (const id of orderOf(graph)) {
    const node = nodeOf(graph, id);
    if (node.kind !== 'contract') continue;
    const { labels, output, precision, library, conjugated, dtype, inputs } = node;
    const { activation, ...epilogue } = node.epilogue ?? PLAIN;
    const key = JSON.stringify([labels, output, precision, library, conjugated, dtype, inputs, epilogue]);
    if (activation === undefined) plain.set(key, node);
    else if (activation === 'relu') withRelu.set(key, [...(withRelu.get(key) ?? []), node]);
  }
  const found = new Map<number, Contract>();
  for (const [key, nodes] of withRelu) {
    const product = plain.get(key);
    if (product !== undefined) for (const { id } of nodes) found.set(id, product);
  }
  return found;
}

function reluOf({ id: _, ...product }: Contract, editor: Editor): number {
  const { dtype, shape } = product;
  const zero = editor.broadcast(editor.constant(0, dtype), shape);
  return editor.add({ kind: 'map', op: 'maximum', dtype, shape, inputs: [editor.add(product), zero] });
}
