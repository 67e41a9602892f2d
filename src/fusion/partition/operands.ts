/**
 * Finds where a product's operand lies: in a stored buffer, seen through views, if its axes have constant
 * strides at which its library can read it: of a matrix product those of batches, rows and columns; of a contraction
 * by cuTENSOR any. Otherwise the operand has to be stored itself.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import type { Shape } from '../../graph/expr.js';
import { denseStrides, type Graph, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
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

/** Whether a library can read an array of a shape at such strides. */
export type Readable = (shape: Shape, strides: readonly number[]) => boolean;

/**
 * The operand in the buffer of the node that views lead to; `undefined` if the views do not allow it. `stored`: a node
 * that is read where it is stored, even if it is a view.
 */
export function operandThroughViews(
  graph: Graph,
  id: number,
  stored?: number,
  isReadable: Readable = asMatrix,
): Operand | undefined {
  let views: GraphNodeOf<'view'>[] | undefined;
  let node = nodeOf(graph, id);
  while (node.kind === 'view' && node.id !== stored) {
    views ??= [];
    views.push(node);
    node = nodeOf(graph, node.inputs[0]!);
  }
  const source = node.kind === 'source' && node.id !== stored ? node : undefined;
  let strided: StridedView = source ?? { offset: 0, strides: denseStrides(node.shape) };
  let { shape } = node;
  for (let k = views === undefined ? -1 : views.length - 1; k >= 0; k--) {
    const view = views![k]!;
    const next = stridedViewOf(view.view, strided, shape, view.shape);
    if (next === undefined) return undefined;
    strided = next;
    ({ shape } = view);
  }
  if (byteLengthOf(node.dtype) === 0 || !isReadable(shape, strided.strides)) return undefined;
  return {
    key: source === undefined ? nodeBufferKey(node.id) : sourceBufferKey(source.input, source.dtype),
    node: node.id,
    offset: strided.offset,
    strides: strided.strides,
  };
}

/**
 * As a stack of matrices: one of their two strides is 1 and the other spans at least a line; neither runs
 * backwards. Of a single row any stride will do. A single batch axis does not run backwards either; several are
 * loops over calls, with any strides.
 */
export const asMatrix: Readable = (shape, strides) => {
  const [rows, columns] = shape.slice(-2) as [number, number];
  const [row, column] = strides.slice(-2) as [number, number];
  if (shape.length === 3 && strides[0]! < 0) return false;
  return (column === 1 && (rows === 1 || row >= columns)) || (row === 1 && column >= rows);
};

/** As an array of any number of axes: nothing runs backwards, and no axis is broadcast. */
export const asTensor: Readable = (shape, strides) =>
  shape.every((size, axis) => size === 1 || strides[axis]! > 0);

/** As the result, whose rows are its axis `rowAxis` and whose columns the last one, in rows. */
export const asRows =
  (rowAxis: number): Readable =>
  (shape, strides) =>
    strides.at(-1) === 1 &&
    (shape[rowAxis] === 1 || strides[rowAxis]! >= shape.at(-1)!) &&
    strides.every((stride) => stride >= 0);

/** As any strides say: packed from where the elements lie. */
export const asStrided: Readable = (shape, strides) =>
  !shape.includes(0) || strides.every((stride) => stride >= 0);

/** As all of an array in C order. */
export const asWhole: Readable = (shape, strides) => {
  const dense = denseStrides(shape);
  return shape.every((size, axis) => size === 1 || strides[axis] === dense[axis]);
};
