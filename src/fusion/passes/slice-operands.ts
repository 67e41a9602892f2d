/**
 * The parts of a contraction whose labels are sliced: each has slices of the operands, and their results are
 * added in order.
 *
 *     ab,bc,cd->ad, b of 10 in 4 parts   →   b of 3, 3, 2 and 2 elements
 *
 * Called by `lower-contractions.ts`.
 */
import type { GraphNodeOf } from '../../graph/graph.js';
import type { Slice } from '../paths/slicing.js';
import type { Editor } from './rewrite.js';

/** The range of a label in a part. */
interface Range {
  readonly label: number;
  readonly start: number;
  readonly size: number;
}

/** One part: the operands, and the sizes of their labels. */
export interface SlicedOperands {
  readonly inputs: readonly number[];
  readonly sizeOf: (label: number) => number;
}

/** All parts, the last label's changing fastest. */
export function* partsOf(
  node: GraphNodeOf<'contract'>,
  slices: readonly Slice[],
  sizeOf: (label: number) => number,
  editor: Editor,
): Generator<SlicedOperands> {
  for (const ranges of rangesOf(slices, sizeOf)) {
    const sizes = new Map(ranges.map(({ label, size }) => [label, size]));
    const inputs = node.inputs.map((id, k) => sliced(id, node.labels[k]!, ranges, editor));
    yield { inputs, sizeOf: (label) => sizes.get(label) ?? sizeOf(label) };
  }
}

function* rangesOf(slices: readonly Slice[], sizeOf: (label: number) => number): Generator<Range[]> {
  const [first, ...rest] = slices;
  if (first === undefined) return yield [];
  const { label, parts } = first;
  const size = sizeOf(label);
  const startOf = (part: number): number => part * Math.floor(size / parts) + Math.min(part, size % parts);
  for (let part = 0; part < parts; part++) {
    const start = startOf(part);
    for (const others of rangesOf(rest, sizeOf))
      yield [{ label, start, size: startOf(part + 1) - start }, ...others];
  }
}

/** An operand within ranges of labels; itself where those are all of it. */
export function sliced(
  id: number,
  labels: readonly number[],
  ranges: readonly Range[],
  editor: Editor,
): number {
  const { shape } = editor.node(id);
  const found = labels.map((label) => ranges.find((range) => range.label === label));
  if (found.every((range, axis) => range === undefined || range.size === shape[axis])) return id;
  const starts = found.map((range) => range?.start ?? 0);
  const sizes = found.map((range, axis) => range?.size ?? shape[axis]!);
  return editor.view(id, { type: 'slice', starts, steps: labels.map(() => 1) }, sizes);
}
