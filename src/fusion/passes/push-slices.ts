/**
 * Pushes slices towards the sources, so that only what is needed is computed.
 *
 *     slice (sum over [1] x)         →   sum over [1] (slice x)
 *     slice (contract ij,jk->ik a b) →   contract (slice a) (slice b)
 *     slice (permute (sum …))        →   permute (slice (sum …))
 *
 * Maps need no rule: a kernel pulls in a sliced map at the sliced elements only. Values do not change, but
 * for the order of sums, which may depend on the size of a product and on the number of rows. A slice of more than half
 * of a value is taken of the whole, a smaller one is computed by itself, whoever else reads the value: a result
 * has the bits that it has alone.
 */

import type { View } from '../../graph/expr.js';
import {
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { type Editor, type Rule, rewrite } from './rewrite.js';

type Slice = Extract<View, { type: 'slice' }>;

export function* pushSlices(graph: MutableGraph): Slices<void> {
  if (!isPushable(graph)) return;
  yield* rewrite(graph, { view: [throughPermute, throughReduce, throughContract] });
}

/** Whether some slice is of what it may be pushed through. */
function isPushable(graph: MutableGraph): boolean {
  for (const node of graph.nodes) {
    if (node === undefined || sliceOf(node) === undefined) continue;
    const input = nodeOf(graph, node.inputs[0]!);
    if (input.kind === 'reduce' || input.kind === 'contract') return true;
    if (input.kind === 'view' && input.view.type === 'permute') return true;
  }
  return false;
}

const sliceOf = (node: { kind: string; view?: View }): Slice | undefined =>
  node.kind === 'view' && node.view?.type === 'slice' ? node.view : undefined;

/** Whether a slice has half of a value's elements at most. */
const isPart = (slice: GraphNode, whole: GraphNode): boolean =>
  2 * sizeOfShape(slice.shape) <= sizeOfShape(whole.shape);

/** A slice along some axes of a node: the others stay whole. */
function sliceAxes(
  id: number,
  axes: readonly { axis: number; start: number; step: number; size: number }[],
  editor: Editor,
): number {
  const { shape } = editor.node(id);
  const starts = shape.map(() => 0);
  const steps = shape.map(() => 1);
  const sizes = [...shape];
  for (const { axis, start, step, size } of axes) {
    starts[axis] = start;
    steps[axis] = step;
    sizes[axis] = size;
  }
  return editor.view(id, { type: 'slice', starts, steps }, sizes);
}

/**
 * A transposed reduction or product is sliced below its permute; other permutes are index maps as they stand.
 */
const throughPermute: Rule = (node, editor) => {
  const slice = sliceOf(node);
  const permute = slice === undefined ? undefined : editor.node(node.inputs[0]!);
  if (slice === undefined || permute?.kind !== 'view' || permute.view.type !== 'permute') return undefined;
  const input = editor.node(permute.inputs[0]!);
  const isPushed = input.kind === 'reduce' || input.kind === 'contract';
  if (!isPushed || !isPart(node, input)) return undefined;
  const axes = permute.view.order.map((axis, k) => ({
    axis,
    start: slice.starts[k]!,
    step: slice.steps[k]!,
    size: node.shape[k]!,
  }));
  return editor.view(sliceAxes(input.id, axes, editor), permute.view, node.shape);
};

const throughReduce: Rule = (node, editor) => {
  const slice = sliceOf(node);
  const reduce = slice === undefined ? undefined : editor.node(node.inputs[0]!);
  if (slice === undefined || reduce?.kind !== 'reduce' || !isPart(node, reduce)) return undefined;
  if (reduce.monoid !== undefined) return undefined;
  const input = editor.node(reduce.inputs[0]!);
  const kept = input.shape.flatMap((_, axis) => (reduce.axes.includes(axis) ? [] : [axis]));
  const axes = kept.map((axis, k) => ({
    axis,
    start: slice.starts[k]!,
    step: slice.steps[k]!,
    size: node.shape[k]!,
  }));
  const { id: _, ...data } = reduce;
  return editor.add({ ...data, shape: node.shape, inputs: [sliceAxes(input.id, axes, editor)] });
};

const throughContract: Rule = (node, editor) => {
  const slice = sliceOf(node);
  const contract = slice === undefined ? undefined : editor.node(node.inputs[0]!);
  if (slice === undefined || contract?.kind !== 'contract' || !isPart(node, contract)) return undefined;
  const inputs = contract.inputs.map((id, k) =>
    sliceOperand(id, contract.labels[k]!, contract, slice, node.shape, editor),
  );
  const { id: _, ...data } = contract;
  return editor.add({ ...data, shape: node.shape, inputs });
};

function sliceOperand(
  id: number,
  labels: readonly number[],
  contract: GraphNodeOf<'contract'>,
  slice: Slice,
  sizes: readonly number[],
  editor: Editor,
): number {
  const axes = labels.flatMap((label, axis) => {
    const k = contract.output.indexOf(label);
    return k < 0 ? [] : [{ axis, start: slice.starts[k]!, step: slice.steps[k]!, size: sizes[k]! }];
  });
  return axes.length === 0 ? id : sliceAxes(id, axes, editor);
}
