/**
 * Recognizes a softmax along the last axis, as `statistics.ts` builds it or as users write it out:
 *
 *     exp(x - max(x)) / sum(exp(x - max(x)))   →   x
 *
 * Called by `fuse-attention.ts`.
 */
import type { GraphNode, GraphNodeOf } from '../../graph/graph.js';
import type { Editor } from './rewrite.js';

type Nodes = Pick<Editor, 'node'>;

/** x of a node that is the form, through a cast of it. */
export function softmaxArgument(id: number, editor: Nodes): number | undefined {
  const outer = editor.node(id);
  const divided = mapOf(outer.kind === 'cast' ? outer.inputs[0]! : id, 'divide', editor);
  if (divided === undefined) return undefined;
  const [power, total] = divided.inputs as readonly [number, number];
  if (alongLast(total, 'sum', divided.shape, editor) !== power) return undefined;
  const exponent = mapOf(power, 'exp', editor)?.inputs[0];
  const difference = exponent === undefined ? undefined : mapOf(exponent, 'subtract', editor);
  if (difference === undefined) return undefined;
  const [x, largest] = difference.inputs as readonly [number, number];
  return alongLast(largest, 'max', difference.shape, editor) === x ? x : undefined;
}

function mapOf(id: number, op: string, editor: Nodes): GraphNodeOf<'map'> | undefined {
  const node = editor.node(id);
  return node.kind === 'map' && node.op === op ? node : undefined;
}

/** The argument of a reduction along the last axis of a shape, kept with one element or broadcast again. */
function alongLast(
  id: number,
  reduction: string,
  shape: readonly number[],
  editor: Nodes,
): number | undefined {
  let node: GraphNode = editor.node(id);
  while (node.kind === 'view' && (node.view.type === 'reshape' || node.view.type === 'broadcast')) {
    const { length } = node.shape;
    // Elements stay with their rows.
    const isKept = node.shape.every((size, axis) => axis === length - 1 || size === shape.at(axis - length));
    if (!isKept) return undefined;
    node = editor.node(node.inputs[0]!);
  }
  if (node.kind !== 'reduce' || node.reduction !== reduction || node.monoid !== undefined) return undefined;
  const [argument] = node.inputs as readonly [number];
  const isRow = node.axes.length === 1 && node.axes[0] === shape.length - 1;
  const isSame = editor.node(argument).shape.every((size, axis) => size === shape[axis]);
  return isRow && isSame ? argument : undefined;
}
