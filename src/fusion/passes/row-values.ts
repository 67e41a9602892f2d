/**
 * Values that are the same along some axes of an array: found below the views that bring them to its shape, and
 * brought to the shape of its reductions. Called by `online-formulas.ts`.
 *
 *     x (5, 7);  reshape (5) → (5, 1)  of  sum over [1] x        →   the sum: one value for each row of x
 *     x (5, 5);  sum over [1] x of shape (5), broadcast to x     →   none: it is one for each column there
 */
import type { Shape } from '../../graph/expr.js';
import type { GraphNode } from '../../graph/graph.js';
import type { Editor } from './rewrite.js';

/** For each axis of an array, which axis of the outermost shape it moves along; of size 1: none. */
type Labels = readonly (number | undefined)[];

/** The labels of an array that broadcasts to one whose labels are given. */
function broadcastLabels(shape: Shape, to: Labels): Labels {
  const lead = to.length - shape.length;
  return shape.map((size, axis) => (size === 1 ? undefined : to[lead + axis]));
}

/** The labels of the array that is reshaped to one with these labels, where that adds or drops axes of size 1 alone. */
function reshapedLabels(shape: Shape, result: Shape, labels: Labels): Labels | undefined {
  const long = [...labels.keys()].filter((axis) => result[axis] !== 1);
  const own = [...shape.keys()].filter((axis) => shape[axis] !== 1);
  if (long.length !== own.length || own.some((axis, k) => shape[axis] !== result[long[k]!])) return undefined;
  return shape.map((size, axis) => (size === 1 ? undefined : labels[long[own.indexOf(axis)]!]));
}

/** A node below views that only repeat its elements, and where its axes are in the outermost shape. */
export interface RowValue {
  readonly node: GraphNode;
  readonly labels: Labels;
}

/** `id`, as it broadcasts to an array of so many axes, without the views that do no more than that. */
export function belowBroadcasts(id: number, axisCount: number, editor: Editor): RowValue {
  let node = editor.node(id);
  let labels = broadcastLabels(
    node.shape,
    Array.from({ length: axisCount }, (_, axis) => axis),
  );
  for (;;) {
    if (node.kind !== 'view') return { node, labels };
    const input = editor.node(node.inputs[0]!);
    const below =
      node.view.type === 'broadcast'
        ? broadcastLabels(input.shape, labels)
        : node.view.type === 'reshape'
          ? reshapedLabels(input.shape, node.shape, labels)
          : undefined;
    if (below === undefined) return { node, labels };
    [node, labels] = [input, below];
  }
}

/** Goes on from a value to an input that has its shape but for views. */
export function inputOf({ node, labels }: RowValue, input: number, editor: Editor): RowValue {
  const below = belowBroadcasts(input, node.shape.length, editor);
  return { node: below.node, labels: below.labels.map((axis) => (axis === undefined ? axis : labels[axis])) };
}

/** Whether a reduction of x over these axes has its values where x has the elements that they are reduced from. */
export function isAlong({ node, labels }: RowValue, shape: Shape, axes: readonly number[]): boolean {
  const kept = [...shape.keys()].filter((axis) => !axes.includes(axis));
  return labels.length === kept.length && kept.every((axis, k) => node.shape[k] === 1 || labels[k] === axis);
}

/**
 * A value that broadcasts to `shape` and is the same along `axes`, in the shape of reductions over them; undefined:
 * it is not.
 */
export function withoutAxes(
  id: number,
  shape: Shape,
  axes: readonly number[],
  editor: Editor,
): number | undefined {
  const { node, labels } = belowBroadcasts(id, shape.length, editor);
  if (labels.some((axis) => axis !== undefined && axes.includes(axis))) return undefined;
  const kept = [...shape.keys()].filter((axis) => !axes.includes(axis));
  const sizes = kept.map((axis) => node.shape[labels.indexOf(axis)] ?? 1);
  const full = kept.map((axis) => shape[axis]!);
  return editor.broadcast(editor.reshape(node.id, sizes), full);
}
