/**
 * Finds where a matrix product's operand lies: in a stored buffer, seen through views, if its three axes
 * (batch, row, column) have constant strides of which a library can read it. Otherwise the operand has to be
 * stored itself.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { denseStrides, type Graph, type GraphNode, nodeOf } from '../../graph/graph.js';
import { type BufferKey, nodeBufferKey, sourceBufferKey } from './buffer-key.js';
import { combine, type IndexMap, indexMap, mapThroughView, NeedsSplit, NotAffine } from './index-map.js';

export interface Operand {
  /** Buffer key, and the node behind it. */
  readonly key: BufferKey;
  readonly node: number;
  /** In elements. */
  readonly offset: number;
  readonly strides: readonly number[];
}

/** The index map of an operand itself: its three axes as they are. */
const WHOLE: IndexMap = indexMap(
  [0, 1, 2].map((k) => ({ offset: 0, strides: [0, 1, 2].map((j) => (j === k ? 1 : 0)) })),
  [],
);

/** The operand in the buffer of the node that views lead to; `undefined` if the views do not allow it. */
export function operandThroughViews(
  graph: Graph,
  id: number,
  isStored: (id: number) => boolean,
): Operand | undefined {
  let node = nodeOf(graph, id);
  const { shape } = node;
  let map = WHOLE;
  while (node.kind === 'view' && !isStored(node.id)) {
    const input = nodeOf(graph, node.inputs[0]!);
    try {
      map = mapThroughView(node.view, map, node.shape, input.shape, shape);
    } catch (error) {
      if (error instanceof NotAffine || error instanceof NeedsSplit) return undefined;
      throw error;
    }
    node = input;
  }
  if (map.bounds.length > 0) return undefined;
  const source = node.kind === 'source' && !isStored(node.id) ? node : undefined;
  const address = combine(
    map.coordinates,
    source?.strides ?? denseStrides(node.shape),
    source?.offset ?? 0,
    shape.length,
  );
  const [batch, row, column] = address.strides as [number, number, number];
  return readable(node, shape, row, column, batch)
    ? {
        key: source === undefined ? nodeBufferKey(node.id) : sourceBufferKey(source.input, source.dtype),
        node: node.id,
        offset: address.offset,
        strides: [batch, row, column],
      }
    : undefined;
}

/**
 * One of the two strides is 1 and the other spans at least a line; nothing runs backwards. Of a single row any
 * stride will do.
 */
function readable(
  node: GraphNode,
  shape: readonly number[],
  row: number,
  column: number,
  batch: number,
): boolean {
  const [, rows, columns] = shape as [number, number, number];
  if (byteLengthOf(node.dtype) === 0 || batch < 0) return false;
  return (column === 1 && (rows === 1 || row >= columns)) || (row === 1 && column >= rows);
}
