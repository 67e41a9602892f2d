/**
 * The product of two sparse matrices, row by row (Gustavson, "Two fast algorithms for sparse matrices", 1978), in two
 * steps: how many elements each row has, then the elements. Sums are in the order of the first matrix's row, so that the
 * bits are the same everywhere. And the canonical form of a matrix, which is its product with ones on the diagonal, or of many
 * columns made of its elements.
 *
 *     row i of A (k, a) (l, b)   →   a · row k of B + b · row l of B, by column
 */
import { expected, RangeArgumentError } from '../host/errors.js';
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { fromParts } from './complex-parts.js';
import { type DType, isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, iota, map, meetingDType } from './infer.js';
import {
  at,
  bounded,
  boundedRows,
  boundOf,
  columnsOf,
  emptyMatrix,
  fromElements,
  indexDType,
  isExact,
  linesOf,
  rowBoundOf,
  rowsOf,
  type SparseParts,
  startsOfCounts,
  sumDType,
  withValues,
} from './sparse.js';
import { broadcast } from './view-nodes.js';

/** Products of elements at most: more than any device holds, and than a plan would be tried for. */
const MOST_PRODUCTS = 2 ** 36;

/** The product of matrices whose sizes fit, of the dtype in which both meet. */
export function matrixProduct(op: string, a: SparseParts, b: SparseParts): SparseParts {
  const bound = boundOf(a) * rowBoundOf(b);
  if (bound > MOST_PRODUCTS) {
    const received = `up to ${boundOf(a)} · ${rowBoundOf(b)}`;
    const hint = 'await b.persist() or b.measure() first: the length of its longest row is known then';
    throw new RangeArgumentError(
      expected(op, `at most ${MOST_PRODUCTS} products of elements`, received, hint),
    );
  }
  return gustavson(op, a, canonical(b, op));
}

/** The matrix with rows in the order of their columns, and each place stored once; complex elements by parts, as `rowSums`. */
export function canonical(matrix: SparseParts, op: string): SparseParts {
  if (matrix.isCanonical || boundOf(matrix) === 0) return matrix;
  const { dtype } = matrix.values;
  if (isWide(matrix)) return canonicalOfElements(matrix, op);
  if (!isComplex(dtype)) return gustavson(op, matrix, identity(matrix.shape[1], dtype));
  const part = (name: 'real' | 'imag'): SparseParts =>
    canonical(
      withValues(matrix, (values) => map(name, [values])),
      op,
    );
  const [re, im] = [part('real'), part('imag')];
  return withValues(re, (values) => fromParts(values, upToBound(im.values), dtype));
}

/** Whether ones on the diagonal would be many more than the elements. */
const isWide = (matrix: SparseParts): boolean =>
  matrix.shape[1] > Math.max(2 ** 16, 4 * (boundOf(matrix) + matrix.shape[0]));

/** The canonical form by its elements. Those behind the true number go to a row behind the last one, which is no part of it. */
function canonicalOfElements(matrix: SparseParts, op: string): SparseParts {
  const [rows, columns] = matrix.shape;
  const [row, column] = [rowsOf(matrix, op), columnsOf(matrix, op)];
  const isStored = map('less', [row, BigInt(rows)]);
  const place = isExact(matrix) ? column : map('where', [isStored, column, 0n]);
  const { starts, places, values } = fromElements(
    op,
    [rows + 1, columns],
    [row, place],
    upToBound(matrix.values),
  );
  const lines = [places, values].map(upToBound) as [Expr, Expr];
  return {
    shape: matrix.shape,
    ...boundedRows(slice(starts, [0, rows + 1]), ...lines),
    isCanonical: true,
    isGiven: false,
    rowBound: rowBoundOf(matrix),
  };
}

function gustavson(op: string, a: SparseParts, b: SparseParts): SparseParts {
  const [rows, columns] = [a.shape[0], b.shape[1]];
  const dtype = meetingDType(op, [a.values, b.values]);
  const products = Math.min(boundOf(a), rowBoundOf(a)) * rowBoundOf(b);
  const rowBound = Math.min(columns, products);
  const bound = Math.min(boundOf(a) * rowBoundOf(b), rows * rowBound);
  if (bound === 0) return emptyMatrix([rows, columns], dtype);
  const [startsA, placesA, startsB, placesB] = linesOf(a, b) as readonly [Expr, Expr, Expr, Expr];
  const sizes = [columns, products, rowBoundOf(b)];
  const lines = [startsA, placesA, startsB, placesB];
  const [counts] = call('sparseMatmulCounts', [...sizes, a.isGiven ? 1 : 0], lines, op) as [Expr];
  const starts = startsOfCounts(counts);
  const [x, y] = [a, b].map(({ values }) => cast(upToBound(values), sumDType(dtype))) as [Expr, Expr];
  const inputs = [startsA, placesA, x, startsB, placesB, y, starts];
  const [places, values] = call('sparseMatmul', [...sizes, bound, 0], inputs, op) as [Expr, Expr];
  const length = at(starts, constant(BigInt(rows), 'int64'));
  return {
    shape: [rows, columns],
    starts: cast(starts, indexDType(Math.max(columns, bound))),
    places: bounded(places, length),
    values: bounded(cast(values, dtype), length),
    isCanonical: true,
    isGiven: false,
    rowBound,
  };
}

/** Ones on the diagonal. */
function identity(size: number, dtype: DType): SparseParts {
  const index = indexDType(size);
  return {
    shape: [size, size],
    starts: cast(iota(size + 1), index),
    places: cast(iota(size), index),
    values: broadcast(constant(1, dtype), [size]),
    isCanonical: true,
    isGiven: false,
    rowBound: 1,
  };
}

/** The dense array: zeros where nothing is stored. */
export function toDense(matrix: SparseParts, op: string): Expr {
  const [rows, columns] = matrix.shape;
  const own = canonical(matrix, op);
  if (boundOf(own) * rows * columns === 0) return broadcast(constant(0, own.values.dtype), [rows, columns]);
  return call('sparseDense', [columns], [...linesOf(own), upToBound(own.values)], op)[0]!;
}
