/**
 * The table of routines: work that is neither arithmetic on elements nor a reduction, and that a plan runs as
 * a whole (a call). A row gives the types of its results; `exec/calls` has the row of the same name with
 * everything that planning and running need.
 *
 * Arrays are in C order. Parameters are plain numbers, which each row documents.
 */
import { byteLengthOf, type DType } from './dtype.js';

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
   * The rows along the last axis in order, NaN last. Parameters: whether descending (0 or 1). NaNs come out
   * as the quiet NaN, and -0 before 0 (after it where descending).
   */
  sort: { results: ([x]) => [x!] },
  /**
   * The int64 indices that sort the rows along the last axis, those of equal elements ascending; NaN last, -0
   * and 0 are equal. Parameters: whether descending (0 or 1).
   */
  argsort: { results: ([x]) => [{ dtype: 'int64', shape: x!.shape }] },
  /**
   * The running values along the middle axis of three. Inputs: the elements, and where the axis is longer
   * than a tile (`scanTile`) the value before each of its tiles, as `scanBefore` gives them. Parameters: the
   * operation's place in `SCAN_OPS`, and whether from the end of the axis (0 or 1).
   */
  scan: { results: ([x]) => [x!] },
  /**
   * The value over each tile of the middle axis, as `scan` combines its elements; parameters as of `scan`.
   */
  scanTotals: {
    results: ([x], [op]) => {
      const [outer, length, inner] = x!.shape as readonly [number, number, number];
      const tiles = Math.ceil(length / scanTile(x!.dtype, inner));
      return [{ dtype: carriedDType(SCAN_OPS[op!]!, x!.dtype), shape: [outer, tiles, inner] }];
    },
  },
  /** The value over all tiles before each, by the totals of the tiles; parameters as of `scan`. */
  scanBefore: { results: ([totals]) => [totals!] },
} as const satisfies Readonly<Record<string, RoutineRow>>;

/** The operations of scans. */
export const SCAN_OPS = ['sum', 'prod', 'min', 'max', 'logsumexp'] as const;
export type ScanOp = (typeof SCAN_OPS)[number];

/**
 * Elements of a tile along the axis of a scan: with one line of elements as much as a GPU's block holds in
 * shared memory, of columns as much as its threads hold in registers.
 */
export function scanTile(dtype: DType, inner: number): number {
  const size = byteLengthOf(dtype);
  return inner === 1 ? Math.min(8192, 32768 / size) : Math.min(256, 1024 / size);
}

/**
 * The dtype in which values pass from tile to tile: wide enough that a result is rounded once. Sums of
 * exponentials are two float64: the largest exponent, and the sum of the others' exponentials relative to it.
 */
export function carriedDType(op: ScanOp, dtype: DType): DType {
  if (op === 'logsumexp') return 'complex128';
  if (op === 'min' || op === 'max') return dtype;
  return dtype === 'float32' ? 'float64' : dtype === 'complex64' ? 'complex128' : dtype;
}

export type RoutineName = keyof typeof ROUTINES;

/** A row as the interface says. */
export const routineRow = (name: RoutineName): RoutineRow => ROUTINES[name];
