/**
 * Products of rows in bins. A product of floats depends on the order of its factors, so rows are put in the order
 * of their bins by a stable sort, and the run of rows that a bin then has is multiplied in a fixed order
 * (`runProducts` of `routines.ts`). Used by `segment-reductions.ts` and `writing.ts`.
 *
 * Long runs are multiplied in pieces, whose products are runs of the bins again, so that one bin of all rows is
 * as parallel as many bins:
 *
 *     rows in order  |--- bin 0 ---|- bin 1 -|------------- bin 2 -------------|
 *     pieces         |------|------|---------|---------|---------|-------------|   at most PIECE rows each
 *     products       |--- bin 0 ---|- bin 1 -|------------- bin 2 -------------|
 */
import { slice } from './basic-slicing.js';
import { type Binning, countsIn } from './binning.js';
import { call } from './calls.js';
import { isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, iota, map } from './infer.js';
import { concat } from './joins.js';
import { cumulativeSum } from './scans.js';
import { searchsorted } from './searching.js';
import { argsort } from './sorting.js';
import { broadcast, gather, reshape } from './view-nodes.js';
import { permuteDims } from './views.js';

/** Rows that a run is multiplied at once of. */
const PIECE = 4096;

/**
 * The products of rows in each bin, [bins · width]: 1 where there is none. `values` is [rows · width] of a dtype
 * that `prod` gives; float32 is multiplied in float64 and rounded once.
 */
export function productsIn(bins: Binning, values: Expr, width: number): Expr {
  const { dtype } = values;
  const { keys, count } = bins;
  const rows = sizeOfShape(keys.shape);
  if (rows === 0 || count * width === 0) return broadcast(constant(1, dtype), [count * width]);
  if (isHalf(dtype)) return cast(productsIn(bins, cast(values, 'float32'), width), dtype);
  // Fewer than 2^31 bins are sorted by 32 bits.
  const order = argsort(cast(binOf(bins), count < 2 ** 31 ? 'int32' : 'int64'), 0);
  const table = reshape(values, [rows, width]);
  const inOrder = gather(table, order, 0, 'clip', [rows, width]);
  const counts = countsIn(bins);
  const ends = cumulativeSum(counts);
  const products = rows <= PIECE ? ofRuns(inOrder, ends, rows) : ofPieces(inOrder, counts, ends);
  return cast(reshape(products, [count * width]), dtype);
}

/** The products of the rows up to each end, from the end before on: `most` of them at most. */
const ofRuns = (values: Expr, ends: Expr, most: number): Expr =>
  call('runProducts', [most], [values, ends])[0]!;

function ofPieces(values: Expr, counts: Expr, ends: Expr): Expr {
  const [rows, bins] = [values.shape[0]!, counts.shape[0]!];
  const pieces = map('floorDivide', [map('add', [counts, PIECE - 1]), PIECE]);
  const pieceEnds = cumulativeSum(pieces);
  // As many as there can be. Those behind the last one have no rows.
  const piece = iota(Math.floor(rows / PIECE) + bins);
  const bin = searchsorted(pieceEnds, piece, null, { side: 'right' });
  const of = (line: Expr): Expr => gather(line, bin, 0, 'clip', bin.shape);
  const further = map('subtract', [map('add', [piece, 1]), map('subtract', [of(pieceEnds), of(pieces)])]);
  const start = map('subtract', [of(ends), of(counts)]);
  const end = map('add', [start, map('multiply', [further, PIECE])]);
  const products = ofRuns(values, map('minimum', [of(ends), end]), PIECE);
  return ofRuns(products, pieceEnds, Math.ceil(rows / PIECE));
}

/** The rows that a part of them reads behind its own are as many as a run may have: this part of all at most, where some columns at a time do. */
const MOST_BEHIND = 1 / 64;

/** Columns of a stretch of which runs of up to `most` rows [rows, width] are multiplied, where all at once do not fit. */
export function stretchOfRuns([rows, width]: readonly number[], most: number): number {
  let columns = Math.max(1, Math.min(width!, Math.floor((MOST_BEHIND * rows! * width!) / most)));
  while (width! % columns > 0) columns--;
  return columns;
}

/**
 * As the result of the routine `runProducts`: stretches of columns one below the other are rows of one call. Rows behind the
 * last run of a stretch are runs as well, which nothing reads.
 */
export function productsByColumns(values: Expr, ends: Expr, most: number): Expr {
  const [[rows, width], [runs]] = [values.shape, ends.shape] as unknown as [[number, number], [number]];
  const columns = stretchOfRuns(values.shape, most);
  const count = width / columns;
  const below = reshape(permuteDims(reshape(values, [rows, count, columns]), [1, 0, 2]), [
    count * rows,
    columns,
  ]);
  const last = slice(ends, [runs - 1, runs]);
  const further = map('multiply', [map('add', [iota(Math.ceil(rows / most)), 1]), most]);
  const own = concat([ends, map('minimum', [map('add', [last, further]), rows])]);
  const each = own.shape[0]!;
  const first = reshape(map('multiply', [iota(count), rows]), [count, 1]);
  const all = reshape(map('add', [first, reshape(own, [1, each])]), [count * each]);
  const products = slice(reshape(ofRuns(below, all, most), [count, each, columns]), [0, count], [0, runs]);
  return reshape(permuteDims(products, [1, 0, 2]), [runs, width]);
}

/** The int64 bin of each row; their number where a row has none. */
function binOf({ keys, count, by }: Binning): Expr {
  const mode = by as Exclude<Binning['by'], object>;
  // No int64 holds all of uint64: what is beyond the bins is the first number beyond them.
  const key = keys.dtype === 'uint64' && mode !== 'wrap' ? map('minimum', [keys, BigInt(count)]) : keys;
  if (mode === 'wrap') return cast(map('remainder', [wide(key), BigInt(count)]), 'int64');
  const whole = cast(key, 'int64');
  if (mode === 'clip') return map('minimum', [map('maximum', [whole, 0]), count - 1]);
  const isCounted = mode === 'fromEnd' || mode === 'raiseFromEnd';
  const isNegative = map('less', [whole, 0]);
  const from = isCounted ? map('where', [isNegative, map('add', [whole, count]), whole]) : whole;
  const isNone = map('logicalOr', [map('less', [from, 0]), map('greaterEqual', [from, count])]);
  return map('where', [isNone, count, from]);
}

/** Keys in 64 bits, which hold the number of bins. */
const wide = (keys: Expr): Expr => (keys.dtype === 'uint64' ? keys : cast(keys, 'int64'));
