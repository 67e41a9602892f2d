/**
 * Products of values of pairs with few columns: as a sum for each column, so that the values are computed where they are added
 * up, once for all columns and for other sums of them, and are not in memory:
 *
 *     k = exp(-‖x[i] - x[j]‖²);  k @ x, two columns;  k.sum(1)   →   three sums of one kernel
 *     (labels[i] = c).T @ x, three columns                       →   three sums, which compare labels
 *
 * The product and what its operands are computed of alone decide, so that a result has the bits that it has by itself. Asked
 * by `pair-products.ts`.
 */
import { type GraphNode, type MutableGraph, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { lengthOf } from './element-cost.js';
import { isShortReduction, MAX_PAIR_TERMS } from './own-expression.js';
import { isOfPairs } from './pair-values.js';
import type { Editor } from './rewrite.js';

/** Columns whose sums are computed together. */
const MOST_COLUMNS = 4;

/** Whether an operand is of values of pairs that so many sums compute, short sums as distances in space among them. */
export function suitsColumns(id: number, columns: number, graph: MutableGraph): boolean {
  if (columns > MOST_COLUMNS) return false;
  const at = (input: number): GraphNode => nodeOf(graph, input);
  const isShort = (node: GraphNode): boolean =>
    isShortReduction(graph, node) && lengthOf(node, at(node.inputs[0]!)) <= MAX_PAIR_TERMS;
  return isOfPairs(id, sizeOfShape(at(id).shape), at, isShort);
}

/** Why such a product is a kernel's, for `explain()`. */
export const columnsReason = (columns: number): string =>
  `that computes one operand, of pairs of rows, as it adds up ${columns} columns: in memory it would be larger than all that it is computed of`;

/** The columns of an operand along an axis, without it. */
export function columnsOf(id: number, axis: number, editor: Editor): number[] {
  const { shape } = editor.node(id);
  const steps = shape.map(() => 1);
  return Array.from({ length: shape[axis]! }, (_, k) => {
    const starts = shape.map((_, at) => (at === axis ? k : 0));
    const column = editor.view(id, { type: 'slice', starts, steps }, shape.with(axis, 1));
    return editor.reshape(column, shape.toSpliced(axis, 1));
  });
}
