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
  /**
   * The running sums, products or extremes of the rows along the last axis, of at most `SCAN_TILE` elements.
   * With a second input, which has a value for each tile of `SCAN_TILE` elements of a row, of any length: the
   * tile's scan begins with it; it is float64 for float32, complex128 for complex64, else the rows' dtype.
   * Parameters: the operation's place in `SCAN_OPS`.
   */
  scan: { results: ([x]) => [x!] },
} as const satisfies Readonly<Record<string, RoutineRow>>;

/** The operations of scans, and the elements of a tile. */
export const SCAN_OPS = ['sum', 'prod', 'min', 'max'] as const;
export type ScanOp = (typeof SCAN_OPS)[number];
export const SCAN_TILE = 1024;

export type RoutineName = keyof typeof ROUTINES;

/** A row as the interface says. */
export const routineRow = (name: RoutineName): RoutineRow => ROUTINES[name];
