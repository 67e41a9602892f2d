/**
 * Matrices of rows whose elements lie anywhere in the lines of others: rows of some numbers, and matrices above one
 * another or side by side. Nothing is sorted: what is stored of a row stays in its order. The CPU copies rows; other
 * targets, and plans in which that does not fit, gather each element from its place (`sparse-ways.ts`).
 */
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, meetingDType } from './infer.js';
import { boundedRows, indexDType, linesOf, type SparseParts } from './sparse.js';
import { GATHER_WAYS, type GatherWay } from './sparse-routines.js';
import { gathered } from './sparse-ways.js';

/** Rows of a matrix that are those of others. */
export interface RowsOfMatrices {
  readonly way: GatherWay;
  /** The others, one where rows are chosen or a stretch; starts, and columns that are moved, in range. */
  readonly matrices: readonly SparseParts[];
  /** The first column of each matrix in the result. */
  readonly offsets: readonly number[];
  /** The numbers of the rows that are chosen: int64 and in range, or those of a user. */
  readonly numbers?: Expr;
  readonly columns: number;
  /** Elements of all rows together at most, 1 or more. */
  readonly bound: number;
  /** Whether every element up to the bound is stored. */
  readonly isFull: boolean;
}

/** Starts, columns and elements of such rows. Lines of a user are joined, and looked at where they are read. */
export function gatheredRows(
  op: string,
  { way, matrices, offsets, numbers, columns, bound, isFull }: RowsOfMatrices,
): Pick<SparseParts, 'starts' | 'places' | 'values'> {
  const index = indexDType(Math.max(columns, bound));
  const lines = linesOf(...matrices).map((line) => (index === 'int64' ? cast(line, index) : line));
  const dtype = meetingDType(
    op,
    matrices.map(({ values }) => values),
  );
  const own = matrices.flatMap(({ values }, k) => [
    lines[2 * k]!,
    lines[2 * k + 1]!,
    cast(upToBound(values), dtype),
  ]);
  const inputs = [...(numbers === undefined ? [] : [numbers]), ...own];
  const parameters = [GATHER_WAYS.indexOf(way), bound, 0, isFull ? 1 : 0, ...offsets];
  const isGiven = matrices.some((each) => each.isGiven);
  const found = isGiven ? gathered(inputs, parameters).results : call('sparseGather', parameters, inputs, op);
  const [starts, places, values] = found as [Expr, Expr, Expr];
  const narrow = [cast(starts, index), cast(places, index), values] as const;
  return isFull ? { starts: narrow[0], places: narrow[1], values } : boundedRows(...narrow);
}
