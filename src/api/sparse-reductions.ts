/** Reductions of sparse matrices along an axis, and along a diagonal. */
import { formatValue } from '../graph/format.js';
import { cast, map } from '../graph/infer.js';
import { meanDType } from '../graph/reducing.js';
import { checkInteger } from '../graph/shape.js';
import { withValues } from '../graph/sparse.js';
import { countsOf, diagonalOf, extremesOf, type ReducedAxis, sumsOf } from '../graph/sparse-reductions.js';
import { DTypeError, expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import { Lazy } from './lazy.js';
import { SparseComparisons } from './sparse-comparisons.js';

/** Reductions, whose results are dense. */
export abstract class SparseReductions extends SparseComparisons {
  /**
   * The sums over an axis as an array, (columns) for 0 and (rows) for 1; without an axis of all elements, (). Those of
   * columns are gathered in a fixed-point number each, so that nothing is sorted for them.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.sum(0).compute()
   * //=> [10. 30. 20.]
   */
  sum(axis?: number | null): Lazy {
    return called(this.sum, () => {
      const op = 'sparse.sum';
      return new Lazy(sumsOf(op, this.parts, axisOf(op, axis)));
    });
  }

  /**
   * The means over an axis, of all elements, stored or not: float64 of integers. Axes are those of `sum`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.mean(1).compute()
   * //=> [10. 10.]
   */
  mean(axis?: number | null): Lazy {
    return called(this.mean, () => {
      const op = 'sparse.mean';
      const along = axisOf(op, axis);
      const [rows, columns] = this.shape;
      const count = along === undefined ? rows * columns : this.shape[along];
      const dtype = meanDType(this.dtype);
      const sums = sumsOf(
        op,
        withValues(this.parts, (values) => cast(values, dtype)),
        along,
      );
      return new Lazy(cast(map('divide', [sums, count]), dtype));
    });
  }

  /**
   * The largest elements over an axis, with the zeros that are not stored; NaN where one is. Axes are those of `sum`.
   * Throws a DTypeError for complex numbers, a ShapeError for an axis without elements.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.max(0).compute()
   * //=> [10. 30. 20.]
   */
  max(axis?: number | null): Lazy {
    return called(this.max, () => this.#extremes('sparse.max', 'max', axis));
  }

  /**
   * The least elements over an axis; else as `max`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.min(1).compute()
   * //=> [0. 0.]
   */
  min(axis?: number | null): Lazy {
    return called(this.min, () => this.#extremes('sparse.min', 'min', axis));
  }

  /**
   * How many stored elements there are along an axis, int64, as SciPy's `getnnz`: of each column for 0, of each row
   * for 1. Without an axis it is `nnz`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.countStored(1).compute()
   * //=> [2 1]
   */
  countStored(axis?: number | null): Lazy<'int64'> {
    return called(this.countStored, () => {
      const op = 'sparse.countStored';
      const along = axisOf(op, axis);
      return along === undefined ? this.nnz : new Lazy(countsOf(op, this.parts, along));
    });
  }

  /**
   * The elements (i, i + k), k being 0 by default, zeros where nothing is stored.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.diagonal().compute()
   * //=> [10. 30.]
   */
  diagonal(k?: number): Lazy {
    return called(this.diagonal, () => {
      const op = 'sparse.diagonal';
      return new Lazy(diagonalOf(op, this.parts, checkInteger(op, 'k', k ?? 0)));
    });
  }

  /**
   * The sum of diagonal k, 0 by default.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.trace().compute()
   * //=> 40.0
   */
  trace(k?: number): Lazy {
    return called(this.trace, () => {
      const op = 'sparse.trace';
      return new Lazy(diagonalOf(op, this.parts, checkInteger(op, 'k', k ?? 0))).sum();
    });
  }

  #extremes(op: string, kind: 'min' | 'max', axis: number | null | undefined): Lazy {
    if (this.dtype.startsWith('complex'))
      throw new DTypeError(expected(op, 'real numbers or booleans', this.dtype));
    return new Lazy(extremesOf(op, kind, this.parts, axisOf(op, axis)));
  }
}

function axisOf(op: string, axis: number | null | undefined): ReducedAxis {
  if (axis === undefined || axis === null) return undefined;
  if (axis === 0 || axis === -2) return 0;
  if (axis === 1 || axis === -1) return 1;
  throw new ShapeError(expected(op, 'axis 0 or 1', formatValue(axis)));
}
