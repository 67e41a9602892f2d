/**
 * Forms of joins that passes and partition look for: those that can be written part by part, and the readers that do
 * not mind how an array was written.
 */
import type { Shape } from '../../graph/expr.js';
import type { Consumers, GraphNode, GraphNodeOf } from '../../graph/graph.js';
import { sizeOfShape } from '../../graph/graph.js';

/** Whether a node reads an input from memory, in whatever way that is written: calls, loops, arrays of gathers. */
export const readsFromMemory = ({ kind, inputs }: GraphNode, input: number): boolean =>
  kind === 'contract' || kind === 'call' || kind === 'loop' || (kind === 'gather' && inputs[0] === input);

/** Whether no kernel reads a node: kernels compute what they read instead, and want it in one piece. */
export function isOnlyStored(id: number, { first, list }: Consumers): boolean {
  for (let k = first[id]!; k < first[id + 1]!; k++) if (!readsFromMemory(list[k]!, id)) return false;
  return true;
}

/** Whether the parts of a join, which are not joins themselves, have one shape. */
export function hasEqualParts(
  { axis, inputs, shape }: GraphNodeOf<'join'>,
  nodeAt: (id: number) => GraphNode,
): boolean {
  if (sizeOfShape(shape) === 0 || !isInStretches(shape, axis, inputs.length)) return false;
  return inputs.every((id) => {
    const part = nodeAt(id);
    return part.kind !== 'join' && part.shape[axis]! * inputs.length === shape[axis];
  });
}

/**
 * Whether so many parts along an axis lie in a stretch of memory each, or take turns element by element. A range of
 * blocks then writes a stretch of each part, or one of all, and can be a tile's or a device's; of rows in pieces,
 * the first and the last may be in part another's.
 */
export function isInStretches(shape: Shape, axis: number, count: number): boolean {
  const outer = sizeOfShape(shape.slice(0, axis));
  return outer === 1 || sizeOfShape(shape.slice(axis)) === count;
}
