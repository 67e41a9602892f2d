/**
 * Sparse matrices of arrays, of diagonals and of dense ones. Whatever format a matrix is given in, it is held by rows.
 */
import { checkOptions } from '../graph/arguments.js';
import { slice } from '../graph/basic-slicing.js';
import { placesWhere } from '../graph/compaction.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { upToBound } from '../graph/extent.js';
import { formatShape, formatValue } from '../graph/format.js';
import type { IndexList } from '../graph/index-lists.js';
import { cast, checkDType, constant, iota, map } from '../graph/infer.js';
import { concat } from '../graph/joins.js';
import { checkInteger } from '../graph/shape.js';
import {
  bounded,
  emptyMatrix,
  fromElements,
  fromKeys,
  inRows,
  type SparseParts,
  transposed,
} from '../graph/sparse.js';
import { broadcast, gather, reshape } from '../graph/view-nodes.js';
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf } from './lazy.js';
import { indexLine, line, type MatrixShape, matrixShape, sameLength, sizes } from './sparse-arguments.js';
import { SparseMatrix } from './sparse-matrix.js';

/** The arrays of a matrix by rows, or for `csc` by columns. */
export interface CompressedArrays {
  /** The stored elements, row by row. */
  readonly data: ArrayLike;
  /** The column of each: integers. */
  readonly indices: ArrayLike | IndexList;
  /** Row i has the stored elements from `indptr[i]` up to `indptr[i + 1]`: integers, one more than rows. */
  readonly indptr: ArrayLike | IndexList;
}

/** The arrays of a matrix element by element. */
export interface CoordinateArrays {
  readonly data: ArrayLike;
  readonly row: ArrayLike | IndexList;
  readonly col: ArrayLike | IndexList;
}

/** Options of `sparse.eye` and `sparse.diags`. */
export interface SparseDiagonalOptions {
  /** float64 by default, of `diags` the dtype in which the diagonals meet. */
  readonly dtype?: DType | undefined;
}

/**
 * The matrix of arrays by rows (CSR), as SciPy's `csr_array((data, indices, indptr), shape)`. Columns within a row may
 * be in any order and occur twice. Elements behind the last start are left out; where `indptr` is no list and no typed
 * array, how many there are depends on data. Throws a ShapeError for lengths that do not fit each other, a DTypeError for
 * indices that are no integers, a RangeArgumentError for a list or typed array `indptr` that does not begin with 0, descends
 * within up to 32,768 elements, or ends beyond the elements, which a matrix without rows or columns has none of. Those of other
 * arrays, a longer `indptr` that descends and indices out of range are a RangeArgumentError when something is computed that
 * reads them, before anything runs.
 *
 * @example
 * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
 * await a.toDense().compute()
 * //=> [[10.  0. 20.]
 * //=>  [ 0. 30.  0.]]
 */
export function csr(arrays: CompressedArrays, shape: MatrixShape): SparseMatrix {
  return called(csr, () => compressed('sparse.csr', 'csr', arrays, shape));
}

/**
 * The matrix of arrays by columns (CSC): `indices` are rows, `indptr` begins columns. Else as `sparse.csr`.
 *
 * @example
 * await sparse.csc({ data: [1, 2], indices: [0, 1], indptr: [0, 0, 2] }, [2, 2]).toDense().compute()
 * //=> [[0. 1.]
 * //=>  [0. 2.]]
 */
export function csc(arrays: CompressedArrays, shape: MatrixShape): SparseMatrix {
  return called(csc, () => compressed('sparse.csc', 'csc', arrays, shape));
}

/**
 * The matrix of elements at (row, col), in any order; those at one place are added up, as by SciPy's
 * `coo_array((data, (row, col)), shape).tocsr()`. Errors are those of `sparse.csr`: negative indices are out of range.
 *
 * @example
 * await sparse.coo({ data: [1, 2, 3], row: [1, 0, 1], col: [0, 1, 0] }, [2, 2]).toDense().compute()
 * //=> [[0. 2.]
 * //=>  [4. 0.]]
 */
export function coo(arrays: CoordinateArrays, shape: MatrixShape): SparseMatrix {
  return called(coo, () => {
    const op = 'sparse.coo';
    const size = sizes(op, shape);
    const values = line(op, 'data', arrays?.data);
    const [row, col] = (['row', 'col'] as const).map((name, axis) => {
      const index = cast(indexLine(op, name, arrays[name]), 'int64');
      sameLength(op, values, name, index);
      return gather(iota(size[axis]!), index, 0, 'raiseFromStart', index.shape, `${op}: ${name}`);
    });
    if (size[0] * size[1] === 0 && values.shape[0]! > 0) {
      const wanted = `no elements in a matrix of ${formatShape(size)}`;
      throw new RangeArgumentError(expected(op, wanted, `${values.shape[0]}`));
    }
    return new SparseMatrix(fromElements(op, size, [row!, col!], values));
  });
}

/**
 * The stored elements of a dense matrix: those that are not 0, and NaN. Throws a ShapeError for other than two axes.
 *
 * @example
 * await sparse.fromDense([[0, 7], [8, 9]]).data.compute()
 * //=> [7. 8. 9.]
 */
export function fromDense(x: ArrayLike): SparseMatrix {
  return called(fromDense, () => {
    const op = 'sparse.fromDense';
    const dense = exprOf(op, x);
    const [rows, columns] = matrixShape(op, dense);
    if (rows * columns === 0) return new SparseMatrix(emptyMatrix([rows, columns], dense.dtype));
    const places = placesWhere(dense);
    const bound = upToBound(places);
    const isPlace = map('less', [iota(bound.shape[0]!), places.extent?.length ?? BigInt(bound.shape[0]!)]);
    const keys = map('where', [isPlace, bound, BigInt(rows * columns)]);
    const values = gather(reshape(dense, [rows * columns]), bound, 0, 'clip', bound.shape);
    return new SparseMatrix(inRows([rows, columns], keys, values, true));
  });
}

/**
 * Ones on diagonal k (0 by default) of a matrix (n, m), as SciPy's `eye`. m is n by default.
 *
 * @example
 * await sparse.eye(2, 3, 1).toDense().compute()
 * //=> [[0. 1. 0.]
 * //=>  [0. 0. 1.]]
 */
export function eye(n: number, m?: number, k?: number, options?: SparseDiagonalOptions): SparseMatrix {
  return called(eye, () => {
    const op = 'sparse.eye';
    checkOptions(op, options, ['dtype']);
    const dtype = options?.dtype === undefined ? 'float64' : checkDType(op, options.dtype);
    const size = sizes(op, [n, m ?? n]);
    return new SparseMatrix(onDiagonals(op, [constant(1, dtype)], [checkInteger(op, 'k', k ?? 0)], size));
  });
}

/**
 * The matrix of some diagonals, as SciPy's `diags`: diagonal `offsets[i]` (0 the main one, above it positive) has the
 * elements of `diagonals[i]`, a number or an array as long as the diagonal. Without a shape the matrix is square and
 * the first diagonal fills its own. Throws a ShapeError for a diagonal of another length.
 *
 * @example
 * await sparse.diags([[1, 2, 3], [4, 5]], [0, 1]).toDense().compute()
 * //=> [[1. 4. 0.]
 * //=>  [0. 2. 5.]
 * //=>  [0. 0. 3.]]
 */
export function diags(
  diagonals: readonly ArrayLike[],
  offsets?: readonly number[],
  shape?: MatrixShape,
  options?: SparseDiagonalOptions,
): SparseMatrix {
  return called(diags, () => {
    const op = 'sparse.diags';
    checkOptions(op, options, ['dtype']);
    if (!Array.isArray(diagonals) || diagonals.length === 0)
      throw new ArgumentError(expected(op, 'a list of diagonals', formatValue(diagonals)));
    const lines = diagonals.map((each) => exprOf(op, each));
    const places = (offsets ?? lines.map((_, k) => k)).map((each) => checkInteger(op, 'an offset', each));
    if (places.length !== lines.length || new Set(places).size !== places.length) {
      const wanted = `${lines.length} different offsets`;
      throw new ArgumentError(expected(op, wanted, formatValue(offsets)));
    }
    const side = (lines[0]!.shape[0] ?? 1) + Math.abs(places[0]!);
    const size = sizes(op, shape ?? [side, side]);
    const parts = onDiagonals(op, lines, places, size);
    if (options?.dtype === undefined) return new SparseMatrix(parts);
    return new SparseMatrix(parts).astype(checkDType(op, options.dtype));
  });
}

/** The matrix of arrays by rows or columns; `stored`: how many elements it has, where the caller knows. */
export function compressed(
  op: string,
  format: 'csr' | 'csc',
  arrays: CompressedArrays,
  shape: MatrixShape,
  stored?: number,
): SparseMatrix {
  const [rows, columns] = sizes(op, shape);
  if (format === 'csr') return new SparseMatrix(byRows(op, arrays, [rows, columns], stored));
  return new SparseMatrix(transposed(byRows(op, arrays, [columns, rows], stored), op));
}

function byRows(
  op: string,
  arrays: CompressedArrays,
  shape: MatrixShape,
  stored: number | undefined,
): SparseParts {
  const values = line(op, 'data', arrays?.data);
  const [places, starts] = (['indices', 'indptr'] as const).map((name) => indexLine(op, name, arrays[name]));
  sameLength(op, values, 'indices', places!);
  if (starts!.shape[0] !== shape[0] + 1)
    throw new ShapeError(expected(op, `indptr of ${shape[0] + 1} elements`, `${starts!.shape[0]}`));
  const areNarrow = [places!, starts!].every(({ dtype }) => dtype === 'int32');
  const [own, begins] = [places!, starts!].map((each) => (areNarrow ? each : cast(each, 'int64')));
  const hasPlaces = shape[0] * shape[1] > 0;
  const bound = hasPlaces ? values.shape[0]! : 0;
  const { known = stored, areChecked } = givenStarts(op, starts!);
  if (known !== undefined && (known < 0 || known > bound)) {
    const end = hasPlaces
      ? `at most ${bound}, the number of elements`
      : `0 in a matrix of ${formatShape(shape)}`;
    throw new RangeArgumentError(expected(op, `indptr to end with ${end}`, `${known}`));
  }
  if ((known === undefined && bound === 0) || (known === 0 && !areChecked))
    return hasPlaces ? withoutElements(op, shape, begins!, values.dtype) : emptyMatrix(shape, values.dtype);
  const last = cast(slice(begins!, shape[0]), 'int64');
  const length = gather(iota(bound + 1), last, 0, 'raiseFromStart', [], `${op}: indptr`);
  const stretch = (x: Expr): Expr => {
    if (known === undefined) return bounded(x, length);
    return known === x.shape[0] ? x : slice(x, [0, known]);
  };
  return {
    shape,
    starts: begins!,
    places: stretch(own!),
    values: stretch(values),
    isCanonical: false,
    isGiven: true,
  };
}

/** The last start of rows, if it is known, and whether none of them is below the one before. */
interface GivenStarts {
  readonly known?: number;
  readonly areChecked: boolean;
}

/** Starts in host memory that are looked at one by one where the matrix is made, in less than a tenth of a millisecond. */
const MOST_CHECKED = 2 ** 15;

function givenStarts(op: string, starts: Expr): GivenStarts {
  if (starts.kind !== 'source' || starts.source.type !== 'host') return { areChecked: false };
  const { data, offset, strides } = starts.source;
  // Placeholders have no elements.
  if (data.length === 0) return { areChecked: false };
  const length = starts.shape[0]!;
  const startAt = (k: number): number => Number(data[offset + k * (strides[0] ?? 0)]);
  if (startAt(0) !== 0) throw new RangeArgumentError(expected(op, 'indptr to begin with 0', `${startAt(0)}`));
  const areChecked = length <= MOST_CHECKED;
  for (let k = 1; areChecked && k < length; k++)
    if (startAt(k) < startAt(k - 1)) {
      const received = `${startAt(k)} behind ${startAt(k - 1)} at ${k}`;
      throw new RangeArgumentError(expected(op, 'indptr that does not descend', received));
    }
  return { known: startAt(length - 1), areChecked };
}

/**
 * A matrix of which nothing is stored, by starts that are not known. Functions read no starts of lines that are empty, so
 * these have two zeros, which are no part of the matrix, and starts are refused that are not 0.
 */
function withoutElements(op: string, shape: MatrixShape, starts: Expr, dtype: DType): SparseParts {
  const checked = gather(iota(1), cast(starts, 'int64'), 0, 'raiseStarts', starts.shape, op);
  const length = slice(checked, shape[0]);
  const [places, values] = (['int64', dtype] as const).map((each) =>
    bounded(broadcast(constant(0, each), [2]), length),
  ) as [Expr, Expr];
  return { shape, starts: checked, places, values, isCanonical: true, isGiven: false };
}

/** Elements along diagonals: a number, or a line as long as the diagonal, for each. */
function onDiagonals(
  op: string,
  lines: readonly Expr[],
  offsets: readonly number[],
  [rows, columns]: [number, number],
): SparseParts {
  const placed = lines.map((given, k) => {
    const offset = offsets[k]!;
    const length = Math.min(rows - Math.max(-offset, 0), columns - Math.max(offset, 0));
    if (length < 0 || (length === 0 && rows * columns > 0 && given.shape.length > 0))
      throw new RangeArgumentError(
        expected(op, `a diagonal of ${formatShape([rows, columns])}`, `${offset}`),
      );
    const isLine = given.shape.length === 1 && given.shape[0] !== 1;
    if (given.shape.length > 1 || (isLine && given.shape[0] !== length))
      throw new ShapeError(
        expected(op, `${length} elements of diagonal ${offset}`, formatShape(given.shape)),
      );
    const index = map('multiply', [iota(length), BigInt(columns + 1)]);
    const first = BigInt(Math.max(-offset, 0)) * BigInt(columns) + BigInt(Math.max(offset, 0));
    const line = isLine ? given : broadcast(given.shape.length === 1 ? given : reshape(given, [1]), [length]);
    return { keys: map('add', [index, first]), values: line };
  });
  const keys = concat(placed.map((each) => each.keys));
  const values = concat(placed.map((each) => each.values));
  const parts = fromKeys([rows, columns], keys, values, { areEqual: false, areStored: true });
  return { ...parts, rowBound: lines.length };
}
