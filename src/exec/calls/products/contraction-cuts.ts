/**
 * How a contraction by cuTENSOR is run in parts: along any label of its result, each part of which is a contraction of its
 * own. An operand without the label is needed whole by every part, so batches, which all have, are tried first; of several
 * cuts that fit, the planner takes the one whose tiles hold least (`sweep-groups.ts`).
 *
 *     abc,cd->abd of windows along b   →   rows (a) of b's part, c; the result as rows (a) of b's part, d; cd whole
 *
 * Called by `contraction.ts`.
 */
import { joinRows, rowsIn, type Split, splitInRows } from '../../../codegen/cuts/pitch.js';
import { type Box, rangeIn } from '../../../fusion/kernel/boxes.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { InternalError } from '../../../host/errors.js';
import type { BytePitches, Cut, Touch } from '../../tiles/sweep-cuts.js';
import type { ContractionStep, TensorOperand } from './product-steps.js';

const operandsOf = ({ left, right, result }: ContractionStep): readonly TensorOperand[] => [
  left,
  right,
  result,
];

/** All of an operand; of one label a range. */
const boxOf = (
  { sizes }: ContractionStep,
  { labels }: TensorOperand,
  cut?: { readonly label: number; readonly range: readonly [number, number] },
): Box => labels.map((label) => (label === cut?.label ? cut.range : [0, sizes[label]!]));

/** An operand as rows of its buffer, `pitch` elements apart. */
const inRows = (step: ContractionStep, operand: TensorOperand, pitch: number): Split | undefined =>
  splitInRows(operand, boxOf(step, operand), pitch);

const volumeOf = ({ sizes }: ContractionStep, { labels }: TensorOperand): number =>
  labels.reduce((product, label) => product * sizes[label]!, 1);

/** A cut along each label of the result, beginning with those that leave least whole; none with an addend. */
export function contractionCuts(step: ContractionStep): Cut[] {
  if (step.addend !== undefined) return [];
  const whole = (label: number): number =>
    operandsOf(step).reduce(
      (sum, operand) => sum + (operand.labels.includes(label) ? 0 : volumeOf(step, operand)),
      0,
    );
  return [...step.result.labels].sort((x, y) => whole(x) - whole(y)).map((label) => cutAlong(step, label));
}

function cutAlong(step: ContractionStep, label: number): Cut {
  const { left, right, result, sizes } = step;
  return {
    units: sizes[label]!,
    touches: (first, last, pitches) => {
      const touch = (operand: TensorOperand): Touch =>
        touchOf(step, operand, boxOf(step, operand, { label, range: [first, last] }), pitches);
      return { reads: [touch(left), touch(right)], writes: [touch(result)] };
    },
    ranges: (first, last) => [[first, last, label, label + 1, 0, 0]],
    pitches: (buffer) => pitchesOf(step, buffer),
  };
}

function touchOf(
  step: ContractionStep,
  operand: TensorOperand,
  box: Box,
  pitches: BytePitches | undefined,
): Touch {
  const size = byteLengthOf(step.dtype);
  const { buffer } = operand;
  const pitch = pitches?.get(buffer);
  if (pitch === undefined) {
    const [low, high] = rangeIn(operand, box);
    return { buffer, first: low * size, last: (high + 1) * size };
  }
  const { first, last, rows } = rowsIn(inRows(step, operand, pitch / size)!, box, pitch / size);
  return { buffer, first: first * size, last: last * size, rows: { pitch, width: rows.width * size } };
}

/** The strides, in bytes, by which all operands in a buffer are rows. */
function pitchesOf(step: ContractionStep, buffer: number): number[] {
  const operands = operandsOf(step).filter((operand) => operand.buffer === buffer);
  const strides = operands.flatMap((operand) => operand.strides.filter((stride) => stride > 1));
  return [...new Set(strides)]
    .filter((pitch) => operands.every((operand) => inRows(step, operand, pitch) !== undefined))
    .map((pitch) => pitch * byteLengthOf(step.dtype));
}

/** The step with the strides that its operands have in slots, whose rows are `inSlot` bytes apart. */
export function contractionInSlots(
  step: ContractionStep,
  pitches: BytePitches,
  inSlot: BytePitches,
): ContractionStep {
  const size = byteLengthOf(step.dtype);
  const moved = (operand: TensorOperand): TensorOperand => {
    const [from, to] = [pitches.get(operand.buffer), inSlot.get(operand.buffer)];
    if (to === undefined) return operand;
    const split = from === undefined ? undefined : inRows(step, operand, from / size);
    if (split === undefined) throw new InternalError(`an operand that is no rows of ${from} bytes`);
    return { ...operand, ...joinRows(split, to / size) };
  };
  return { ...step, left: moved(step.left), right: moved(step.right), result: moved(step.result) };
}
