/**
 * Recognizes a softmax along the last axis, as `statistics.ts` builds it or as users write it out:
 *
 *     exp(x - max(x)) / sum(exp(x - max(x)))   →   x
 *
 * Called by `fuse-attention.ts`.
 */
import type { GraphNode, GraphNodeOf } from '../../graph/graph.js';
import type { Reading } from './reading.js';

/** x of a node that is the form, through a cast of it; nothing outside of the form may read what is within. */
export function softmaxArgument(id: number, reading: Reading): number | undefined {
  const outer = reading.node(id);
  if (!reading.isReadBy(id, 1)) return undefined;
  const cast = outer.kind === 'cast' && reading.isReadBy(outer.inputs[0]!, 1);
  const divided = mapOf(cast ? outer.inputs[0]! : id, 'divide', reading);
  if (divided === undefined) return undefined;
  const [power, total] = divided.inputs as readonly [number, number];
  const sum = alongLast(total, 'sum', divided.shape, reading);
  if (sum !== power || !reading.isReadBy(power, 2)) return undefined;
  const exponent = mapOf(power, 'exp', reading)?.inputs[0];
  if (exponent === undefined || !reading.isReadBy(exponent, 1)) return undefined;
  const difference = mapOf(exponent, 'subtract', reading);
  if (difference === undefined) return undefined;
  const [x, largest] = difference.inputs as readonly [number, number];
  return alongLast(largest, 'max', difference.shape, reading) === x && reading.isReadBy(x, 2) ? x : undefined;
}

function mapOf(id: number, op: string, reading: Reading): GraphNodeOf<'map'> | undefined {
  const node = reading.node(id);
  return node.kind === 'map' && node.op === op ? node : undefined;
}

/** The argument of a reduction along the last axis of a shape, kept with one element or broadcast again. */
function alongLast(
  id: number,
  reduction: string,
  shape: readonly number[],
  reading: Reading,
): number | undefined {
  let node: GraphNode = reading.node(id);
  while (node.kind === 'view' && (node.view.type === 'reshape' || node.view.type === 'broadcast')) {
    if (!reading.isReadBy(node.id, 1)) return undefined;
    const { length } = node.shape;
    // Elements stay with their rows.
    const isKept = node.shape.every((size, axis) => axis === length - 1 || size === shape.at(axis - length));
    if (!isKept) return undefined;
    node = reading.node(node.inputs[0]!);
  }
  if (node.kind !== 'reduce' || node.reduction !== reduction || node.monoid !== undefined) return undefined;
  const [argument] = node.inputs as readonly [number];
  const isRow = node.axes.length === 1 && node.axes[0] === shape.length - 1;
  const isSame = reading.node(argument).shape.every((size, axis) => size === shape[axis]);
  return isRow && isSame && reading.isReadBy(node.id, 1) ? argument : undefined;
}
