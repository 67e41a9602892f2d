/**
 * Reductions of many rows to few results that share what is computed of a row, as sums of columns by weights of the row:
 *
 *     s[i] = 1 / Σc 1 / |x[i] - centre[c]|²;  Σi (s[i] / |x[i] - centre[c]|²)² x[i, k]   →   16 sums, 8 centres by 2 columns
 *     p = softmax(x @ w);  x.T @ (p - y), 16 columns and 4 classes                       →   64 sums
 *
 * One kernel then has an accumulator for each result (`together`) and reads each row once. Asked by `unroll-reductions.ts`;
 * sizes and the expression alone decide, so that a result has the bits that it has by itself.
 */
import type { Shape } from '../../graph/expr.js';
import {
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import { SHORT_REDUCTION } from '../../graph/reductions.js';
import { LeafMaps } from '../partition/leaf-maps.js';
import { isUnrolled, lengthOf } from './element-cost.js';
import type { Editor } from './rewrite.js';

/** Results, and how many times more rows there are at least. */
const MOST_RESULTS = 64;
const LEAST_ROWS = 16;
/** Results where what is read lies along the rows: a GPU has an accumulator for each element of a chunk of rows then. */
export const MOST_ALONG = 16;
/** Ops of a row, at most: half of what a kernel may hold; and those by which an element is compared for a place. */
const MOST_ROW_OPS = 512;
const OPS_OF_PLACE = 8;

/** The rows of a reduction to few results, and how many results it has. */
export interface RowResults {
  readonly rows: number;
  readonly results: number;
}

/** Those of a reduction of values of a shape; undefined: it has many results, or few rows. */
export function rowResultsOf({ inputs, axes }: GraphNodeOf<'reduce'>, shape: Shape): RowResults | undefined {
  if (inputs.length > 1) return undefined;
  const rows = axes.reduce((count, axis) => count * shape[axis]!, 1);
  const results = rows === 0 ? 0 : sizeOfShape(shape) / rows;
  return results > 0 && results <= MOST_RESULTS && rows >= LEAST_ROWS * results
    ? { rows, results }
    : undefined;
}

/** Values of a node for each row; 0: it has too many, or not the same number for each. */
export function valuesOfRow({ shape }: GraphNode, { rows }: RowResults): number {
  const count = sizeOfShape(shape) / rows;
  return Number.isInteger(count) && count <= MOST_RESULTS ? count : 0;
}

/** Whether several results share the values of a node, or the only result needs them. */
export const areShared = (count: number, { results }: RowResults): boolean =>
  count === 1 || (count > 0 && count < results);

/** Whether a reduction of few elements gives the place of one, and can be written out as choices. */
export const isShortPlace = (node: GraphNodeOf<'reduce'>, read: GraphNode): boolean =>
  !isUnrolled(node) &&
  (node.reduction === 'argmin' || node.reduction === 'argmax') &&
  lengthOf(node, read) <= SHORT_REDUCTION;

/** Whether most of what an expression reads are columns of rows, by the innermost axis of the rows. */
export function readsColumns(id: number, inner: number, { rows }: RowResults, graph: MutableGraph): boolean {
  let columns = 0;
  for (const { leaf, strides } of new LeafMaps(graph, () => false).of(id)) {
    const count = leaf < 0 ? 0 : sizeOfShape(nodeOf(graph, leaf).shape) / rows;
    if (count >= 1) columns += Math.abs(strides[inner]!) > 1 ? count : -count;
  }
  return columns > 0;
}

/** Ops of a short reduction that is written out. */
function opsOfShort(node: GraphNodeOf<'reduce'>, read: GraphNode): number {
  const isPlace = node.reduction === 'argmin' || node.reduction === 'argmax';
  return lengthOf(node, read) * (isPlace ? OPS_OF_PLACE : 1);
}

/**
 * Whether so many ops of a row are fit for one kernel, which computes them whatever is stored for others: loops are not.
 * `nodes`: all that is computed of a row, once.
 */
export function areFewOps(nodes: Iterable<number>, of: RowResults, editor: Editor): boolean {
  let ops = of.results;
  for (const id of nodes) {
    const node = editor.node(id);
    if (node.kind === 'view') continue;
    if (node.kind === 'repeat' || node.kind === 'function') return false;
    const terms = node.kind === 'reduce' ? opsOfShort(node, editor.node(node.inputs[0]!)) : 1;
    const size = sizeOfShape(node.shape);
    ops += terms * (size < of.rows ? Math.min(size, MOST_ROW_OPS) : size / of.rows);
    if (ops > MOST_ROW_OPS) return false;
  }
  return true;
}
