/**
 * Sparse matrices as nodes: the lines of a matrix by rows (CSR), its products, and functions that make other matrices of it.
 * Users have them as `SparseMatrix` (`api/sparse-matrix.ts`).
 *
 *     [10  0 20]      starts   0 2 2 3        row i has the stored elements starts[i] up to starts[i + 1]
 *     [ 0  0  0]      places   0 2 1          their columns
 *     [ 0 30  0]      values   10 20 30
 *
 * How many elements are stored may depend on data. Lines then have a bound, their extent and the last start say the
 * true number, and the keys of elements behind it (row · columns + column) are those of a row below the last one.
 */
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { firsts } from './compaction.js';
import { fromParts } from './complex-parts.js';
import { type DType, isComplex, isFloat, isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { throughBound, upToBound, withExtent } from './extent.js';
import { cast, constant, iota, map, meetingDType } from './infer.js';
import { concat, padTo } from './joins.js';
import { cumulativeSum } from './scans.js';
import { searchsorted } from './searching.js';
import { argsort } from './sorting.js';
import { broadcast, gather, reshape } from './view-nodes.js';

/** A matrix by rows. `starts` and `places` are int32, or both int64; lines are up to their bounds. */
export interface SparseParts {
  readonly shape: readonly [rows: number, columns: number];
  readonly starts: Expr;
  readonly places: Expr;
  readonly values: Expr;
  /** Whether no place is stored twice, and rows are in the order of their columns. */
  readonly isCanonical: boolean;
  /** Whether starts and places are a user's, and may be out of range. */
  readonly isGiven: boolean;
  /** The most elements that a row has stored, where something is known of it. */
  readonly rowBound?: number | undefined;
}

const INT32_MOST = 2 ** 31 - 1;

/** The dtype of indices up to `most`. */
export const indexDType = (most: number): DType => (most <= INT32_MOST ? 'int32' : 'int64');

/** Elements that may be stored. */
export const boundOf = ({ values }: SparseParts): number => values.shape[0]!;

/** Elements that a row may have stored. */
export const rowBoundOf = (matrix: SparseParts): number =>
  Math.min(
    matrix.rowBound ?? Number.POSITIVE_INFINITY,
    boundOf(matrix),
    matrix.isCanonical ? matrix.shape[1] : Number.POSITIVE_INFINITY,
  );

/** Whether all of the lines is stored. */
export const isExact = ({ values }: SparseParts): boolean => values.extent === undefined;

/** The number of stored elements: int64, of shape (). */
export function storedOf(matrix: SparseParts): Expr {
  if (isExact(matrix)) return constant(BigInt(boundOf(matrix)), 'int64');
  return matrix.values.extent!.length;
}

export const at = (line: Expr, index: Expr): Expr =>
  gather(upToBound(line), cast(upToBound(index), 'int64'), 0, 'clip', upToBound(index).shape);

/** A line whose true length is known in the graph alone. A bound of 1 would be an axis that broadcasts, so that it is 2. */
export const bounded = (line: Expr, length: Expr): Expr =>
  line.shape[0] === 0 ? line : withExtent(line.shape[0] === 1 ? broadcast(line, [2]) : line, 0, length);

/** Lines whose true length is the last start. */
export function boundedRows(
  starts: Expr,
  places: Expr,
  values: Expr,
): Pick<SparseParts, 'starts' | 'places' | 'values'> {
  const length = cast(slice(starts, starts.shape[0]! - 1), 'int64');
  return { starts, places: bounded(places, length), values: bounded(values, length) };
}

/** The int64 starts of rows, and the end. Of a matrix that users gave, those out of range or order are refused. */
export function startsOf(matrix: SparseParts, op: string): Expr {
  const starts = cast(upToBound(matrix.starts), 'int64');
  if (!matrix.isGiven) return starts;
  return gather(iota(boundOf(matrix) + 1), starts, 0, 'raiseStarts', starts.shape, op);
}

/** The int64 row of each stored element: behind the true number, the number of rows. */
export function rowsOf(matrix: SparseParts, op: string): Expr {
  const bound = boundOf(matrix);
  if (bound === 0) return broadcast(constant(0n, 'int64'), [0]);
  const starts = matrix.isGiven ? startsOf(matrix, op) : upToBound(matrix.starts);
  return cast(call('sparseRows', [bound], [starts], op)[0]!, 'int64');
}

/**
 * The int64 column of each stored element. Of a matrix that users gave, indices out of range are refused, but for those
 * behind the true number.
 */
export const columnsOf = ({ shape, places, isGiven }: SparseParts, op: string): Expr => {
  if (!isGiven) return cast(upToBound(places), 'int64');
  const index = cast(places, 'int64');
  return upToBound(gather(iota(shape[1]), index, 0, 'raiseFromStart', index.shape, `${op}: indices`));
};

/** The matrix with lines that need no look any more: those of a matrix that users gave are refused as they are read. */
export function checkedLines(matrix: SparseParts, op: string): SparseParts {
  if (!matrix.isGiven || boundOf(matrix) === 0) return matrix;
  const { dtype } = matrix.places;
  const places = throughBound(matrix.places, () => cast(columnsOf(matrix, op), dtype));
  return { ...matrix, starts: cast(startsOf(matrix, op), dtype), places, isGiven: false };
}

/** The column of each stored element, as a key: behind the true number, the number of columns. */
export function columnKeysOf(matrix: SparseParts, op: string): Expr {
  const [rows, columns] = matrix.shape;
  const column = columnsOf(matrix, op);
  const isStored = (): Expr => map('less', [rowsOf(matrix, op), BigInt(rows)]);
  const keys = isExact(matrix) ? column : map('where', [isStored(), column, BigInt(columns)]);
  return cast(keys, indexDType(columns + 1));
}

/** Starts and columns of matrices, all int32 or all int64. */
export function linesOf(...matrices: readonly SparseParts[]): readonly Expr[] {
  const lines = matrices.flatMap(({ starts, places }) => [upToBound(starts), upToBound(places)]);
  const dtype = lines.every((line) => line.dtype === 'int32') ? 'int32' : 'int64';
  return lines.map((line) => cast(line, dtype));
}

/** Where rows begin that have so many elements, and the end: int64. */
export const startsOfCounts = (counts: Expr): Expr =>
  padTo(cumulativeSum(counts), [1], [counts.shape[0]! + 1]);

/** row · columns + column of each stored element. */
export const keysOf = (matrix: SparseParts, op: string): Expr =>
  map('add', [map('multiply', [rowsOf(matrix, op), BigInt(matrix.shape[1])]), columnsOf(matrix, op)]);

/** The matrix of no stored elements. */
export function emptyMatrix(shape: SparseParts['shape'], dtype: DType): SparseParts {
  const none = (each: DType, size: number): Expr => broadcast(constant(0, each), [size]);
  return {
    shape,
    starts: none('int32', shape[0] + 1),
    places: none('int32', 0),
    values: none(dtype, 0),
    isCanonical: true,
    isGiven: false,
  };
}

/** Properties of keys that save work. */
interface Keys {
  /** Whether elements may have equal keys, which are then kept beside each other. */
  readonly areEqual: boolean;
  /** Whether every key is below rows · columns. */
  readonly areStored: boolean;
}

/**
 * The matrix of elements at keys, int64, in any order. Those whose key is not below rows · columns are left out.
 */
export function fromKeys(
  shape: SparseParts['shape'],
  keys: Expr,
  values: Expr,
  { areEqual, areStored }: Keys,
): SparseParts {
  if (keys.shape[0] === 0 || shape[0] * shape[1] === 0) return emptyMatrix(shape, values.dtype);
  const order = argsort(keys, 0);
  const rows = inRows(shape, at(keys, order), at(values, order), !areStored);
  return { ...rows, isCanonical: !areEqual };
}

/**
 * The matrix of elements at rows and columns, int64 and in range, in any order; those at one place are added up. The CPU
 * counts rows and sorts each; other targets sort keys (`sparse-ways.ts`).
 */
export function fromElements(
  op: string,
  shape: SparseParts['shape'],
  [row, column]: readonly [Expr, Expr],
  values: Expr,
): SparseParts {
  const [stored] = values.shape as readonly [number];
  const [rows, columns] = shape;
  if (stored === 0) return emptyMatrix(shape, values.dtype);
  const index = indexDType(Math.max(rows, columns, stored));
  const inputs = [cast(row, index), cast(column, index), cast(values, sumDType(values.dtype))];
  const found = call('sparseElements', [rows, columns, 0], inputs, op);
  const [starts, places, elements] = found as [Expr, Expr, Expr];
  const narrow = indexDType(Math.max(columns, stored));
  return {
    shape,
    ...boundedRows(cast(starts, narrow), cast(places, narrow), cast(elements, values.dtype)),
    isCanonical: true,
    isGiven: false,
  };
}

/** The matrix of elements at keys below rows · columns, in any order; those at one place are added up. */
export function summedByKeys(shape: SparseParts['shape'], keys: Expr, values: Expr): SparseParts {
  const order = argsort(keys, 0);
  const sorted = at(keys, order);
  const { places, starts, runs } = runsOf(sorted);
  return inRows(shape, at(sorted, places), runSums(starts, at(values, order)), true, runs);
}

/**
 * The runs of equal elements of a sorted line: the place of the first of each, where each starts and the last one
 * ends, and how many there are. Behind them, runs are empty.
 */
export function runsOf(sorted: Expr): Readonly<Record<'places' | 'starts' | 'runs', Expr>> {
  const size = sorted.shape[0]!;
  const [places, runs] = call('compact', [], [firsts(sorted)]) as [Expr, Expr];
  const isRun = map('less', [iota(size), runs]);
  const starts = concat([map('where', [isRun, places, BigInt(size)]), constantLine(BigInt(size))]);
  return { places, starts, runs };
}

export const constantLine = (value: bigint): Expr => broadcast(constant(value, 'int64'), [1]);

/** The sums of runs of values; run k is the values from start k up to start k + 1. */
function runSums(starts: Expr, values: Expr): Expr {
  const places = broadcast(constant(0n, 'int64'), values.shape);
  const [rows] = starts.shape as readonly [number];
  return rowSums('sparse', {
    shape: [rows - 1, 1],
    starts,
    places,
    values,
    isCanonical: false,
    isGiven: false,
  });
}

/**
 * The sums of rows: a product with 1, whatever the columns, of complex elements one for each part, as of an infinity
 * 0 · ∞ is NaN.
 */
export function rowSums(op: string, matrix: SparseParts): Expr {
  const { dtype } = matrix.values;
  if (isComplex(dtype)) {
    const part = (name: 'real' | 'imag'): Expr =>
      rowSums(
        op,
        withValues(matrix, (values) => map(name, [values])),
      );
    return fromParts(part('real'), part('imag'), dtype);
  }
  const [rows] = matrix.shape;
  const one = broadcast(constant(1, dtype), [1, 1]);
  return reshape(product(op, matrix, one), [rows]);
}

/** A matrix of keys in order; `runs`: how many of them there are, those behind being the last one again. */
export function inRows(
  shape: SparseParts['shape'],
  keys: Expr,
  values: Expr,
  isBounded: boolean,
  runs?: Expr,
): SparseParts {
  const [rows, columns] = shape;
  const stored = keys.shape[0]!;
  const index = indexDType(Math.max(columns, stored));
  const firstKeys = map('multiply', [iota(rows + 1), BigInt(columns)]);
  const below = searchsorted(keys, firstKeys);
  const starts = runs === undefined ? below : map('minimum', [below, runs]);
  const length = at(starts, constant(BigInt(rows), 'int64'));
  const column = map('remainder', [keys, BigInt(columns)]);
  const line = (each: Expr): Expr => (isBounded ? bounded(each, length) : each);
  return {
    shape,
    starts: cast(starts, index),
    places: line(cast(column, index)),
    values: line(values),
    isCanonical: true,
    isGiven: false,
  };
}

/**
 * The matrix with rows as columns: the stored elements in a stable order of their columns, whose starts are the counts of
 * columns, summed. The CPU counts them once; other targets sort them (`sparse-ways.ts`).
 */
export function transposed(matrix: SparseParts, op: string): SparseParts {
  const [rows, columns] = matrix.shape;
  const stored = boundOf(matrix);
  if (stored === 0) return emptyMatrix([columns, rows], matrix.values.dtype);
  const index = indexDType(Math.max(rows, columns, stored));
  const { starts, places } = checkedLines(matrix, op);
  const own = [starts, places].map((line) => cast(upToBound(line), index));
  const inputs = [...own, upToBound(matrix.values)];
  const parameters = [columns, 0, isExact(matrix) ? 1 : 0];
  const lines = call('sparseTranspose', parameters, inputs, op) as [Expr, Expr, Expr];
  const narrow = indexDType(Math.max(rows, stored));
  const moved = (line: Expr): Expr => (isExact(matrix) ? line : bounded(line, storedOf(matrix)));
  return {
    shape: [columns, rows],
    starts: cast(lines[0], narrow),
    places: moved(cast(lines[1], narrow)),
    values: moved(lines[2]),
    isCanonical: matrix.isCanonical,
    isGiven: false,
  };
}

/** The dtype in which elements of a dtype are multiplied and added. */
export function sumDType(dtype: DType): DType {
  if (isHalf(dtype)) return 'float32';
  if (isFloat(dtype) || isComplex(dtype)) return dtype;
  return dtype === 'uint64' ? 'uint64' : 'int64';
}

/** Partial sums of an element: about two products each, and one of each column where there are several. */
export function lanesOf({ shape }: SparseParts, stored: number, width: number): number {
  if (width >= 4) return 1;
  const each = stored / Math.max(1, shape[0]) / 2;
  return Math.min(32, 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(each, 1)))));
}

/**
 * The product with dense columns [columns, width], or with a row [1, width] that every column has: [rows, width], of the
 * dtype in which both meet.
 */
export function product(op: string, matrix: SparseParts, dense: Expr): Expr {
  const [rows, columns] = matrix.shape;
  const [, width] = dense.shape as readonly [number, number];
  const dtype = meetingDType(op, [matrix.values, dense]);
  const stored = boundOf(matrix);
  if (stored === 0 || rows * width * columns === 0) return broadcast(constant(0, dtype), [rows, width]);
  const [values, factors] = [upToBound(matrix.values), dense].map((each) => cast(each, sumDType(dtype)));
  const lines = [factors!, matrix.starts, upToBound(matrix.places), values!];
  const parameters = [lanesOf(matrix, stored, width), matrix.isGiven ? columns : 0];
  const [result] = call('sparseProduct', parameters, lines, op);
  return cast(result!, dtype);
}

/** The matrix with other values, a function of its own up to their bound. */
export const withValues = (matrix: SparseParts, change: (values: Expr) => Expr): SparseParts => ({
  ...matrix,
  values: throughBound(matrix.values, change),
});

/** The elements of a dense array that broadcasts to the shape, at the stored places. */
export function denseAt(matrix: SparseParts, dense: Expr, op: string): Expr {
  const [rows, columns] = matrix.shape;
  const [height, width] = dense.shape as readonly [number, number];
  if (height === 1 && width === 1) return broadcast(reshape(dense, [1]), [boundOf(matrix)]);
  if (height === 1) return at(reshape(dense, [columns]), columnsOf(matrix, op));
  if (width === 1) return at(reshape(dense, [rows]), rowsOf(matrix, op));
  return at(reshape(dense, [rows * columns]), keysOf(matrix, op));
}
