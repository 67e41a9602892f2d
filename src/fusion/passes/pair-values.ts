/**
 * Values of pairs: those that are computed for every pair of rows, from far fewer elements than there are pairs.
 *
 *     exp(-Σk (x[i, k] - y[j, k])²)     n m values, of 3 (n + m) elements
 *     labels[i] = k                     a row of as many as there are labels for each
 *
 * They take more memory than all that they are computed from. Asked by `unroll-reductions.ts`,
 * `product-columns.ts` and `multiply-add.ts`.
 */
import { type GraphNode, sizeOfShape } from '../../graph/graph.js';
import { isComputed } from './element-cost.js';

/** Nodes of an expression that are searched. */
const MAX_NODES = 128;
/** How many more pairs than elements of what they are computed from there are at least. */
const LEAST_PAIRS = 8;

/**
 * Whether so many values are computed from far fewer elements. `isTaken`: which nodes beside those that any kernel computes are
 * computed with them.
 */
export function isOfPairs(
  id: number,
  size: number,
  nodeOf: (id: number) => GraphNode,
  isTaken: (node: GraphNode) => boolean = () => false,
): boolean {
  const seen = new Set<number>();
  const open = [id];
  let read = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const node = nodeOf(at);
    if (isComputed(node) || isTaken(node)) open.push(...node.inputs);
    else read += sizeOfShape(node.shape);
    if (seen.size > MAX_NODES || LEAST_PAIRS * read > size) return false;
  }
  return true;
}
