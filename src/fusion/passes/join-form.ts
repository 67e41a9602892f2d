/**
 * Forms of joins that passes and partition look for: those that can be written part by part, and the readers that do
 * not mind how an array was written.
 */
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
  if (sizeOfShape(shape) === 0) return false;
  return inputs.every((id) => {
    const part = nodeAt(id);
    return part.kind !== 'join' && part.shape[axis]! * inputs.length === shape[axis];
  });
}
