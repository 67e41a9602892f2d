/**
 * The table of routines: work that is neither arithmetic on elements nor a reduction, and that a plan runs as
 * a whole (a call). A row gives the types of its results; `exec/calls` has the row of the same name with
 * everything that planning and running need.
 *
 * Arrays are in C order. Parameters are plain numbers, which each row documents.
 */
import type { DType } from './dtype.js';

export interface ArrayType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

export interface RoutineRow {
  /** The types of the results, in order. */
  readonly results: (inputs: readonly ArrayType[], parameters: readonly number[]) => readonly ArrayType[];
}

export const ROUTINES = {
  /**
   * The rows along the last axis in order, NaN last. Parameters: whether descending (0 or 1). NaNs come out as
   * the quiet NaN, and -0 before 0 (after it where descending).
   */
  sort: { results: ([x]) => [x!] },
  /**
   * The int64 indices that sort the rows along the last axis, those of equal elements ascending; NaN last, -0
   * and 0 are equal. Parameters: whether descending (0 or 1).
   */
  argsort: { results: ([x]) => [{ dtype: 'int64', shape: x!.shape }] },
} as const satisfies Readonly<Record<string, RoutineRow>>;

export type RoutineName = keyof typeof ROUTINES;

/** A row as the interface says. */
export const routineRow = (name: RoutineName): RoutineRow => ROUTINES[name];
