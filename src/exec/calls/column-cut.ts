/**
 * Routines in columns: where an array is rows whose columns do not depend on one another, a part is some columns of
 * all rows. Windows of a tile are then rows with a pitch of their own, which the step has as its
 * `RoutineStep.columns`. Called by `routine.ts`.
 *
 *     a a b b     unit a: columns 0 and 1 of all rows
 *     a a b b     unit b: columns 2 and 3
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { BytePitches, Cut, Touch } from '../tiles/sweep-cuts.js';
import type { BufferArray, RoutineStep } from './call.js';

/** Columns of a unit: their running values stay in registers and nearest caches. */
const COLUMNS = 64;

/** The columns of a unit, where rows have so many. */
export const columnUnit = (columns: number): number => Math.min(COLUMNS, columns);

const arraysOf = ({ operands, results }: RoutineStep): readonly BufferArray[] => [...operands, ...results];

/** The step whose units are columns, of so many in a row. */
export const inColumns = (step: RoutineStep, columns: number): RoutineStep => ({
  ...step,
  columns: arraysOf(step).map(() => columns),
});

/** The cut of such a step. */
export function columnCut(step: RoutineStep, columns: number): Cut {
  const unit = columnUnit(columns);
  const touch = (array: BufferArray, first: number, last: number, pitches?: BytePitches): Touch => {
    const { buffer, shape, dtype } = array;
    const bytes = byteLengthOf(dtype);
    const [from, to] = [first * unit * bytes, Math.min(columns, last * unit) * bytes];
    const pitch = columns * bytes;
    const range = { buffer, first: from, last: sizeOfShape(shape) * bytes - pitch + to };
    return pitches?.has(buffer) === true ? { ...range, rows: { pitch, width: to - from } } : range;
  };
  return {
    units: Math.ceil(columns / unit),
    touches: (first, last, pitches) => ({
      reads: step.operands.map((array) => touch(array, first, last, pitches)),
      writes: step.results.map((array) => touch(array, first, last, pitches)),
    }),
    ranges: (first, last) => [[first, last, 0, 0, 0, 0]],
    shift: {
      period: 1,
      from: 0,
      to: Math.floor(columns / unit),
      by: new Map(arraysOf(step).map(({ buffer, dtype }) => [buffer, unit * byteLengthOf(dtype)])),
    },
    pitches: (buffer) =>
      arraysOf(step).flatMap((array) =>
        array.buffer === buffer ? [columns * byteLengthOf(array.dtype)] : [],
      ),
  };
}

/** The step with the pitches that its arrays have in slots of a sweep. */
export function columnsInSlots(step: RoutineStep, inSlot: BytePitches): RoutineStep {
  const columns = arraysOf(step).map(({ buffer, dtype }, k) => {
    const pitch = inSlot.get(buffer);
    return pitch === undefined ? step.columns![k]! : pitch / byteLengthOf(dtype);
  });
  return { ...step, columns };
}
