/**
 * Rows of the second matrix of a product that blocks of rows of the first one need: those from its least column up to its
 * largest one. So the product of two matrices of which neither fits is computed in blocks of the first, each with a window of
 * the second, where columns are near each other, as on meshes and in bands.
 *
 *     rows of A (0, 2) (1), (5, 7) (6), blocks of two   →   first rows of B 0 5, ends 3 8, and the starts of these rows
 */
import { extremesIn } from './binning.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { cast, constant, map } from './infer.js';
import { concat } from './joins.js';
import { at } from './sparse.js';

/** The lines that say which rows of a second matrix are read. */
export interface RowReach {
  /** Of the first matrix. */
  readonly starts: Expr;
  readonly places: Expr;
  /** Of the second matrix. */
  readonly others: Expr;
  /** Elements of the second matrix, at most. */
  readonly stored: number;
}

/** By the starts and columns of the first matrix and the starts of the second one: matrices may share any of them. */
const known = new WeakMap<Expr, WeakMap<Expr, WeakMap<Expr, Expr>>>();

/**
 * For blocks of so many rows: the first row of each and its end, then where their elements begin and end, all int64. Those
 * of a block without elements are 0.
 */
export function reachOf({ starts, places, others }: Omit<RowReach, 'stored'>, blockRows: number): Expr {
  const ofStarts = known.get(starts) ?? new WeakMap<Expr, WeakMap<Expr, Expr>>();
  known.set(starts, ofStarts);
  const ofPlaces = ofStarts.get(places) ?? new WeakMap<Expr, Expr>();
  ofStarts.set(places, ofPlaces);
  const found = ofPlaces.get(others) ?? computedReach({ starts, places, others }, blockRows);
  ofPlaces.set(others, found);
  return found;
}

function computedReach({ starts, places, others }: Omit<RowReach, 'stored'>, blockRows: number): Expr {
  const [rows, inner] = [starts, others].map(({ shape }) => BigInt(shape[0]! - 1)) as [bigint, bigint];
  const count = Math.ceil(Number(rows) / blockRows);
  const row = cast(call('sparseRows', [places.shape[0]!], [starts])[0]!, 'int64');
  const block = map('floorDivide', [row, BigInt(blockRows)]);
  // Behind the last element there are no rows.
  const keys = map('where', [map('less', [row, rows]), block, BigInt(count)]);
  const columns = cast(places, 'int64');
  const bins = { asked: 'sparse.matmul', count, keys, by: 'within' } as const;
  const [least, most] = (['min', 'max'] as const).map((op) => extremesIn(bins, op, columns, 1));
  const isEmpty = map('less', [most!, least!]);
  const within = (line: Expr): Expr =>
    map('where', [isEmpty, 0n, map('minimum', [map('maximum', [line, 0n]), inner])]);
  const first = within(least!);
  const end = within(map('add', [most!, constant(1n, 'int64')]));
  const [begins, ends] = [first, end].map((line) => cast(at(others, line), 'int64'));
  return concat([first, end, begins!, ends!]);
}

/** A range of rows and their elements. */
export interface ReachedRows {
  readonly rows: readonly [first: number, end: number];
  readonly elements: readonly [first: number, end: number];
}

const NONE: ReachedRows = { rows: [0, 0], elements: [0, 0] };

/** The rows that blocks [first, last) read, of the numbers of `reachOf` for `count` blocks. */
export function reachedRows(numbers: readonly number[], first: number, last: number): ReachedRows {
  const count = numbers.length / 4;
  let found = NONE;
  for (let block = first; block < Math.min(last, count); block++) {
    const [row, end, begin, stop] = [0, 1, 2, 3].map((k) => numbers[k * count + block]!) as [
      number,
      number,
      number,
      number,
    ];
    if (end === row) continue;
    found =
      found === NONE
        ? { rows: [row, end], elements: [begin, stop] }
        : {
            rows: [Math.min(found.rows[0], row), Math.max(found.rows[1], end)],
            elements: [Math.min(found.elements[0], begin), Math.max(found.elements[1], stop)],
          };
  }
  return found;
}
