/**
 * Matrices of rows whose elements lie anywhere in the lines of others: rows of some numbers, and matrices above one
 * another or side by side. Nothing is sorted: what is stored of a row stays in its order. The CPU copies rows; other
 * targets, and plans in which that does not fit, gather each element from its place (`fusion/passes/both-ways.ts`):
 *
 *     begins 4 0 0, lengths 1 2 2   →   starts 0 1 3 5, of elements 4 0 1 0 1
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, iota, map } from './infer.js';
import { at, bounded, indexDType, linesOf, type SparseParts, startsOfCounts } from './sparse.js';
import type { GatherWay } from './sparse-routines.js';
import { GATHER_WAYS } from './sparse-routines.js';

/** The columns and elements of rows, up to a bound. */
export type ElementLines = Readonly<Record<'places' | 'values', Expr>>;

export interface RowsInLines extends ElementLines {
  /** Where each row begins in the lines, and its elements: int64. */
  readonly begins: Expr;
  readonly lengths: Expr;
  /** Elements of all rows together at most, 1 or more. */
  readonly bound: number;
}

/** The elements of the rows one after the other. */
export function elementsInRows(
  op: string,
  { begins, lengths, places, values, bound }: RowsInLines,
): ElementLines {
  const count = begins.shape[0]!;
  const starts = startsOfCounts(lengths);
  const [row] = call('sparseRows', [bound], [starts], op) as [Expr];
  const moves = map('subtract', [begins, slice(starts, [0, -1])]);
  const from = map('add', [iota(bound), at(moves, map('minimum', [row, count - 1]))]);
  return { places: at(places, from), values: at(values, from) };
}

/** Rows of a matrix that are those of others. */
export interface RowsOfMatrices {
  readonly way: GatherWay;
  /** The others, one where rows are chosen; starts, and columns that are moved, in range. */
  readonly matrices: readonly SparseParts[];
  /** The first column of each matrix in the result. */
  readonly offsets: readonly number[];
  /** The numbers of the rows that are chosen, int64 and in range. */
  readonly numbers?: Expr;
  readonly columns: number;
  /** Whether every element up to the bound is stored. */
  readonly isFull: boolean;
  /** The int64 starts of the result's rows, and the elements, as other nodes give them. */
  readonly otherWay: ElementLines & Readonly<Record<'starts', Expr>>;
}

/** Starts, columns and elements of such rows. */
export function gatheredRows(
  op: string,
  { way, matrices, offsets, numbers, columns, isFull, otherWay }: RowsOfMatrices,
): Pick<SparseParts, 'starts' | 'places' | 'values'> {
  const [bound] = otherWay.places.shape as readonly [number];
  const index = indexDType(Math.max(columns, bound));
  const lines = linesOf(...matrices).map((line) => (index === 'int64' ? cast(line, index) : line));
  const { dtype } = otherWay.values;
  const own = matrices.flatMap(({ values }, k) => [
    lines[2 * k]!,
    lines[2 * k + 1]!,
    cast(upToBound(values), dtype),
  ]);
  const others = [otherWay.starts, otherWay.places].map((line) => cast(line, lines[0]!.dtype));
  const inputs = [...(numbers === undefined ? [] : [numbers]), ...own, ...others, otherWay.values];
  const parameters = [GATHER_WAYS.indexOf(way), bound, 0, ...offsets];
  const [starts, places, values] = call('sparseGather', parameters, inputs, op) as [Expr, Expr, Expr];
  const length = cast(at(starts, constant(BigInt(starts.shape[0]! - 1), 'int64')), 'int64');
  const line = (each: Expr): Expr => (isFull ? each : bounded(each, length));
  return { starts: cast(starts, index), places: line(cast(places, index)), values: line(values) };
}
