/**
 * Operands of attention whose batches are of two axes, which it reads where they lie: Q, K and V may be parts of one array,
 * and heads may stand behind positions. `passes/place-attention.ts` makes such nodes; rows have elements side by side, at
 * places from which a GPU copies 16 bytes.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { type Graph, type GraphNode, nodeOf } from '../../graph/graph.js';
import { type Operand, operandThroughViews, type Readable } from './operands.js';

/** Q, K and V; what follows is read in C order. */
const OPERANDS = 3;

/** Bytes of a copy. */
const ACCESS_BYTES = 16;

/** Kinds of nodes whose values are in memory: what is computed is stored as it is read. */
const STORED: ReadonlySet<string> = new Set(['source', 'reduce', 'contract', 'call', 'loop']);

/** Whether batches of a node are of two axes. */
export const isPlaced = (node: GraphNode | undefined): boolean =>
  node?.kind === 'call' && node.routine === 'attention' && node.shape.length === 4;

/** The operand number k of a call, where it is read through views of what is in memory. */
export const placedOperand = (graph: Graph, node: GraphNode, k: number): Operand | undefined =>
  k < OPERANDS && isPlaced(node) ? operandInPlace(graph, node.inputs[k]!) : undefined;

/** An array (batches, neighbours, rows, columns) through views of what is in memory, where attention can read it so. */
export function operandInPlace(graph: Graph, id: number): Operand | undefined {
  const chunk = ACCESS_BYTES / byteLengthOf(nodeOf(graph, id).dtype);
  const found = operandThroughViews(graph, id, undefined, asRowsOfChunks(chunk));
  if (found === undefined || !STORED.has(nodeOf(graph, found.node).kind)) return undefined;
  const isAligned = nodeOf(graph, id).shape[3]! % chunk !== 0 || found.offset % chunk === 0;
  return isAligned ? found : undefined;
}

const asRowsOfChunks =
  (chunk: number): Readable =>
  (shape, strides) => {
    const width = shape[3]!;
    if (width > 1 && strides[3] !== 1) return false;
    const isWhole = width % chunk === 0;
    return strides
      .slice(0, 3)
      .every((stride, axis) => stride >= 0 && (shape[axis] === 1 || !isWhole || stride % chunk === 0));
  };
