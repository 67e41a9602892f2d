/**
 * Finds where a matrix product's operand lies: in a stored buffer, seen through views, if its three axes
 * (batch, row, column) have constant strides of which a library can read it. Otherwise the operand has to be
 * stored itself.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import type { Shape } from '../../graph/expr.js';
import { denseStrides, type Graph, type GraphNode, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
import { type BufferKey, nodeBufferKey, sourceBufferKey } from './buffer-key.js';
import { type StridedView, stridedViewOf } from './strided-view.js';

export interface Operand {
  /** Buffer key, and the node behind it. */
  readonly key: BufferKey;
  readonly node: number;
  /** In elements. */
  readonly offset: number;
  readonly strides: readonly number[];
}

/** The operand in the buffer of the node that views lead to; `undefined` if the views do not allow it. */
export function operandThroughViews(
  graph: Graph,
  id: number,
  isStored: (id: number) => boolean,
): Operand | undefined {
  const views: GraphNodeOf<'view'>[] = [];
  let node = nodeOf(graph, id);
  while (node.kind === 'view' && !isStored(node.id)) {
    views.push(node);
    node = nodeOf(graph, node.inputs[0]!);
  }
  const source = node.kind === 'source' && !isStored(node.id) ? node : undefined;
  let strided: StridedView = source ?? { offset: 0, strides: denseStrides(node.shape) };
  let { shape } = node;
  for (const view of views.reverse()) {
    const next = stridedViewOf(view.view, strided, shape, view.shape);
    if (next === undefined) return undefined;
    strided = next;
    ({ shape } = view);
  }
  if (!readable(node, shape, strided.strides)) return undefined;
  return {
    key: source === undefined ? nodeBufferKey(node.id) : sourceBufferKey(source.input, source.dtype),
    node: node.id,
    offset: strided.offset,
    strides: strided.strides,
  };
}

/**
 * One of the two strides is 1 and the other spans at least a line; nothing runs backwards. Of a single row any
 * stride will do.
 */
function readable(node: GraphNode, shape: Shape, strides: readonly number[]): boolean {
  const [, rows, columns] = shape as [number, number, number];
  const [batch, row, column] = strides as [number, number, number];
  if (byteLengthOf(node.dtype) === 0 || batch < 0) return false;
  return (column === 1 && (rows === 1 || row >= columns)) || (row === 1 && column >= rows);
}
