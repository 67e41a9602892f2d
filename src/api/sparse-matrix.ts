/**
 * Sparse matrices: three arrays of a graph, and functions of them that run nothing, as those of Lazy. Made by the
 * functions of `sparse.ts`.
 */
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { finiteNumber, refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import type { IndexList } from '../graph/index-lists.js';
import { astype, cast, iota, map, reduce } from '../graph/infer.js';
import type { OpName } from '../graph/ops.js';
import { meanDType } from '../graph/reducing.js';
import { isScalar } from '../graph/scalar.js';
import { checkInteger, clippedInteger } from '../graph/shape.js';
import {
  canonical,
  denseAt,
  product,
  type SparseParts,
  storedOf,
  toDense,
  transposed,
  withValues,
} from '../graph/sparse.js';
import { ofBoth, ofEither, withoutZeros } from '../graph/sparse-elements.js';
import { matrixProduct } from '../graph/sparse-matmul.js';
import {
  countsOf,
  diagonalOf,
  extremesOf,
  type ReducedAxis,
  rowLengths,
  sumsOf,
} from '../graph/sparse-reductions.js';
import { rowsAt, someColumns, someRows, triangle } from '../graph/sparse-slices.js';
import { taken } from '../graph/taking.js';
import { reshape } from '../graph/view-nodes.js';
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import type { NDArray } from '../host/ndarray.js';
import { called, calledAsync } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { compute, exprOf, Lazy, persist } from './lazy.js';

/** The arrays of a sparse matrix by rows, with SciPy's names. */
export interface SparseArrays {
  /** The stored elements, row by row. */
  readonly data: NDArray;
  /** The column of each: int32, or int64 where there are more than 2^31. */
  readonly indices: NDArray;
  /** Row i has the stored elements from `indptr[i]` up to `indptr[i + 1]`. */
  readonly indptr: NDArray;
}

/**
 * A sparse matrix (rows, columns), stored by rows (CSR) as in SciPy, that is not computed yet. Products with dense
 * arrays are kernels of Weft's own, whose sums have a fixed order: the same bits on every device, in every tile.
 */
export class SparseMatrix {
  readonly #parts: SparseParts;
  #transposed: SparseMatrix | undefined;

  /** Matrices are made by the functions of `sparse`. */
  constructor(parts: SparseParts) {
    if ((parts as SparseParts | null | undefined)?.starts?.inputs === undefined)
      throw new ArgumentError(
        expected('SparseMatrix', 'the parts of a matrix', 'another value', 'sparse.csr(…)'),
      );
    this.#parts = parts;
  }

  /**
   * The matrix in the graph.
   *
   * @example
   * sparse.eye(2).parts.isCanonical
   * //=> true
   */
  get parts(): SparseParts {
    return this.#parts;
  }

  /**
   * Rows and columns.
   *
   * @example
   * sparse.eye(2, 3).shape
   * //=> [ 2, 3 ]
   */
  get shape(): readonly [rows: number, columns: number] {
    return this.#parts.shape;
  }

  /**
   * The dtype of the elements.
   *
   * @example
   * sparse.eye(2).dtype
   * //=> float64
   */
  get dtype(): DType {
    return this.#parts.values.dtype;
  }

  /**
   * The number of stored elements, int64 of shape ().
   *
   * @example
   * await sparse.eye(4, 3).nnz.compute()
   * //=> 3
   */
  get nnz(): Lazy<'int64'> {
    return new Lazy(storedOf(this.#parts));
  }

  /**
   * The stored elements, row by row.
   *
   * @example
   * await sparse.fromDense([[0, 7], [8, 9]]).data.compute()
   * //=> [7. 8. 9.]
   */
  get data(): Lazy {
    return new Lazy(this.#parts.values);
  }

  /**
   * The column of each stored element.
   *
   * @example
   * await sparse.fromDense([[0, 7], [8, 9]]).indices.compute()
   * //=> [1 0 1]
   */
  get indices(): Lazy<'int32' | 'int64'> {
    return new Lazy(this.#parts.places);
  }

  /**
   * Row i has the stored elements from `indptr[i]` up to `indptr[i + 1]`.
   *
   * @example
   * await sparse.fromDense([[0, 7], [8, 9]]).indptr.compute()
   * //=> [0 1 3]
   */
  get indptr(): Lazy<'int32' | 'int64'> {
    return new Lazy(this.#parts.starts);
  }

  /**
   * The matrix with rows as columns. Its elements are sorted once, however often it is asked for.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.T.toDense().compute()
   * //=> [[10.  0.]
   * //=>  [ 0. 30.]
   * //=>  [20.  0.]]
   */
  get T(): SparseMatrix {
    return called(GETTERS.T.get!, () => {
      if (this.#transposed === undefined) {
        this.#transposed = new SparseMatrix(transposed(this.#parts, 'sparse.T'));
        this.#transposed.#transposed = this;
      }
      return this.#transposed;
    });
  }

  /**
   * The product with another sparse matrix, a sparse matrix with rows in the order of their columns, whose elements are
   * summed in the order of this one's rows. How many there are depends on data, so it is planned for as many as there
   * may be: what this one stores, times the longest row of the other one, which is known of `eye`, `diags`, `kron`
   * and sums of them, and of any matrix after `await b.persist()`. Throws a ShapeError where sizes differ.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.matmul(a.T).toDense().compute()
   * //=> [[500.   0.]
   * //=>  [  0. 900.]]
   */
  matmul(other: SparseMatrix): SparseMatrix;
  /**
   * The product with a dense vector (columns) or matrix (columns, k): (rows) or (rows, k), of the promoted dtype.
   * float32 is multiplied exactly and summed in float64, rounded once. Throws a ShapeError where sizes differ; a
   * RangeArgumentError, when it is computed, for indices out of range.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.matmul([1, 2, 3]).compute()
   * //=> [70. 60.]
   */
  matmul(dense: ArrayLike): Lazy;
  matmul(other: SparseMatrix | ArrayLike): SparseMatrix | Lazy {
    return called(this.matmul, () => {
      const op = 'sparse.matmul';
      const [rows, columns] = this.shape;
      if (other instanceof SparseMatrix) {
        if (other.shape[0] !== columns)
          throw new ShapeError(expected(op, `a matrix of ${columns} rows`, formatShape(other.shape)));
        return new SparseMatrix(matrixProduct(op, this.#parts, other.#parts));
      }
      const x = exprOf(op, other);
      if (x.shape.length < 1 || x.shape.length > 2 || x.shape[0] !== columns) {
        const wanted = `an array of shape (${columns}) or (${columns}, k)`;
        throw new ShapeError(expected(op, wanted, formatShape(x.shape)));
      }
      if (x.shape.length === 2) return new Lazy(product(op, this.#parts, x));
      return new Lazy(reshape(product(op, this.#parts, reshape(x, [columns, 1])), [rows]));
    });
  }

  /**
   * The dense array, zeros where nothing is stored; elements that are stored twice are added up.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.toDense().compute()
   * //=> [[10.  0. 20.]
   * //=>  [ 0. 30.  0.]]
   */
  toDense(): Lazy {
    return called(this.toDense, () => new Lazy(toDense(this.#parts, 'sparse.toDense')));
  }

  /**
   * The product, element by element, with a number, a dense array that broadcasts to the shape, or a sparse matrix of
   * the same shape: of stored elements alone, so that infinities and NaN elsewhere are not met.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.multiply([1, 10, 100]).toDense().compute()
   * //=> [[  10.    0. 2000.]
   * //=>  [   0.  300.    0.]]
   */
  multiply(other: SparseMatrix | ArrayLike): SparseMatrix {
    return called(this.multiply, () => {
      const op = 'sparse.multiply';
      if (!(other instanceof SparseMatrix)) return this.#meeting(op, 'multiply', other);
      return new SparseMatrix(ofBoth(op, 'multiply', this.#parts, this.#alike(op, other)));
    });
  }

  /**
   * The stored elements divided by a number, or by a dense array that broadcasts to the shape.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.divide([[10], [30]]).toDense().compute()
   * //=> [[1. 0. 2.]
   * //=>  [0. 1. 0.]]
   */
  divide(other: ArrayLike): SparseMatrix {
    return called(this.divide, () => this.#meeting('sparse.divide', 'divide', other));
  }

  /**
   * The sum with a sparse matrix of the same shape. With a number it would be dense: `a.toDense().add(1)`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.add(sparse.eye(2, 3)).toDense().compute()
   * //=> [[11.  0. 20.]
   * //=>  [ 0. 31.  0.]]
   */
  add(other: SparseMatrix): SparseMatrix;
  /** The sum with a dense array that broadcasts to the shape, or has it: a dense array. */
  add(other: ArrayLike): Lazy;
  add(other: SparseMatrix | ArrayLike): SparseMatrix | Lazy {
    return called(this.add, () => this.#added('sparse.add', 'add', other));
  }

  /**
   * The difference to a sparse matrix of the same shape.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.subtract(a).toDense().compute()
   * //=> [[0. 0. 0.]
   * //=>  [0. 0. 0.]]
   */
  subtract(other: SparseMatrix): SparseMatrix;
  /** The difference to a dense array that broadcasts to the shape, or has it: a dense array. */
  subtract(other: ArrayLike): Lazy;
  subtract(other: SparseMatrix | ArrayLike): SparseMatrix | Lazy {
    return called(this.subtract, () => this.#added('sparse.subtract', 'subtract', other));
  }

  /**
   * The larger of each two elements, 0 where neither is stored; NaN where one is.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.maximum(sparse.eye(2, 3).multiply(40)).toDense().compute()
   * //=> [[40.  0. 20.]
   * //=>  [ 0. 40.  0.]]
   */
  maximum(other: SparseMatrix): SparseMatrix {
    return called(this.maximum, () => this.#joined('sparse.maximum', 'maximum', other));
  }

  /**
   * The smaller of each two elements, 0 where neither is stored; NaN where one is.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.minimum(sparse.eye(2, 3).multiply(15)).toDense().compute()
   * //=> [[10.  0.  0.]
   * //=>  [ 0. 15.  0.]]
   */
  minimum(other: SparseMatrix): SparseMatrix {
    return called(this.minimum, () => this.#joined('sparse.minimum', 'minimum', other));
  }

  /**
   * Where elements are greater than a number that is not negative, or than those of a sparse matrix: a matrix of
   * booleans that stores what is true. Where zeros would be true as well it would be dense, so that an ArgumentError
   * refuses other numbers: `a.toDense().greater(-1)`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.greater(15).toDense().compute()
   * //=> [[False False  True]
   * //=>  [False  True False]]
   */
  greater(other: SparseMatrix | number): SparseMatrix {
    return called(this.greater, () => this.#compared('sparse.greater', 'greater', other, (x) => 0 > x));
  }

  /**
   * Where elements are at least a number above 0; else as `greater`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.greaterEqual(20).data.compute()
   * //=> [ True  True]
   */
  greaterEqual(other: number): SparseMatrix {
    const op = 'sparse.greaterEqual';
    return called(this.greaterEqual, () => this.#compared(op, 'greaterEqual', other, (x) => 0 >= x));
  }

  /**
   * Where elements are less than a number that is not positive, or than those of a sparse matrix; else as `greater`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.less(sparse.eye(2, 3).multiply(15)).toDense().compute()
   * //=> [[ True False False]
   * //=>  [False False False]]
   */
  less(other: SparseMatrix | number): SparseMatrix {
    return called(this.less, () => this.#compared('sparse.less', 'less', other, (x) => 0 < x));
  }

  /**
   * Where elements are at most a number below 0; else as `greater`.
   *
   * @example
   * await sparse.fromDense([[0, -7], [8, -1]]).lessEqual(-1).toDense().compute()
   * //=> [[False  True]
   * //=>  [False  True]]
   */
  lessEqual(other: number): SparseMatrix {
    const op = 'sparse.lessEqual';
    return called(this.lessEqual, () => this.#compared(op, 'lessEqual', other, (x) => 0 <= x));
  }

  /**
   * Where elements equal a number other than 0; else as `greater`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.equal(30).toDense().compute()
   * //=> [[False False False]
   * //=>  [False  True False]]
   */
  equal(other: number): SparseMatrix {
    return called(this.equal, () => this.#compared('sparse.equal', 'equal', other, (x) => x === 0));
  }

  /**
   * Where elements differ from 0, or from those of a sparse matrix; else as `greater`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.notEqual(a.T.T.multiply([1, 1, 2])).toDense().compute()
   * //=> [[False False  True]
   * //=>  [False False False]]
   */
  notEqual(other: SparseMatrix | number): SparseMatrix {
    return called(this.notEqual, () => this.#compared('sparse.notEqual', 'notEqual', other, (x) => x !== 0));
  }

  /**
   * The absolute values.
   *
   * @example
   * await sparse.fromDense([[0, -7], [8, -1]]).abs().data.compute()
   * //=> [7. 8. 1.]
   */
  abs(): SparseMatrix {
    return called(this.abs, () => this.#with((values) => map('abs', [values])));
  }

  /**
   * The stored elements to the power of a number above 0, as SciPy's `power`.
   *
   * @example
   * await sparse.fromDense([[0, 7], [8, 9]]).power(2).data.compute()
   * //=> [49. 64. 81.]
   */
  power(exponent: number): SparseMatrix {
    return called(this.power, () => {
      const op = 'sparse.power';
      if (!(finiteNumber(op, 'the exponent', exponent) > 0)) {
        const hint = 'zeros to it are not 0: a.toDense().power(x)';
        throw new ArgumentError(expected(op, 'an exponent above 0', formatValue(exponent), hint));
      }
      return this.#with((values) => map('pow', [values, exponent]));
    });
  }

  /**
   * The complex conjugates; of real numbers the same matrix.
   *
   * @example
   * sparse.eye(2).conj().dtype
   * //=> float64
   */
  conj(): SparseMatrix {
    return called(this.conj, () =>
      this.dtype.startsWith('complex') ? this.#with((values) => map('conj', [values])) : this,
    );
  }

  /**
   * The matrix with a function of its stored elements: `a.map((data) => data.abs().sqrt())`. The function is called
   * once, with all of them as a line, and gives a line of as many.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.map((data) => data.sqrt()).data.compute()
   * //=> [3.16227766 4.47213595 5.47722558]
   */
  map(change: (data: Lazy) => Lazy): SparseMatrix {
    return called(this.map, () => {
      const op = 'sparse.map';
      if (typeof change !== 'function')
        throw new ArgumentError(expected(op, 'a function of the stored elements', formatValue(change)));
      return this.#with((values) => {
        const changed = exprOf(op, change(new Lazy(values)));
        const { shape } = changed;
        if (shape.length === 1 && shape[0] === values.shape[0]) return changed;
        throw new ShapeError(expected(op, `a line of ${values.shape[0]} elements`, formatShape(shape)));
      });
    });
  }

  /**
   * The matrix with its elements in another dtype.
   *
   * @example
   * sparse.eye(2).astype('float32').dtype
   * //=> float32
   */
  astype(dtype: DType): SparseMatrix {
    return called(this.astype, () => this.#with((values) => astype(values, dtype)));
  }

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
      return new Lazy(sumsOf(op, this.#parts, axisOf(op, axis)));
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
        withValues(this.#parts, (values) => cast(values, dtype)),
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
      return along === undefined ? this.nnz : new Lazy(countsOf(op, this.#parts, along));
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
      return new Lazy(diagonalOf(op, this.#parts, checkInteger(op, 'k', k ?? 0)));
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
      return new Lazy(diagonalOf(op, this.#parts, checkInteger(op, 'k', k ?? 0))).sum();
    });
  }

  /**
   * The elements on and below diagonal k, 0 by default.
   *
   * @example
   * await sparse.fromDense([[1, 2], [3, 4]]).tril(-1).toDense().compute()
   * //=> [[0. 0.]
   * //=>  [3. 0.]]
   */
  tril(k?: number): SparseMatrix {
    return called(this.tril, () => {
      const op = 'sparse.tril';
      return new SparseMatrix(triangle(op, this.#parts, 'lower', checkInteger(op, 'k', k ?? 0)));
    });
  }

  /**
   * The elements on and above diagonal k, 0 by default.
   *
   * @example
   * await sparse.fromDense([[1, 2], [3, 4]]).triu().toDense().compute()
   * //=> [[1. 2.]
   * //=>  [0. 4.]]
   */
  triu(k?: number): SparseMatrix {
    return called(this.triu, () => {
      const op = 'sparse.triu';
      return new SparseMatrix(triangle(op, this.#parts, 'upper', checkInteger(op, 'k', k ?? 0)));
    });
  }

  /**
   * The matrix without stored zeros.
   *
   * @example
   * await sparse.diags([[1, 0, 3]]).eliminateZeros().nnz.compute()
   * //=> 2
   */
  eliminateZeros(): SparseMatrix {
    return called(
      this.eliminateZeros,
      () => new SparseMatrix(withoutZeros('sparse.eliminateZeros', this.#parts)),
    );
  }

  /**
   * The matrix with rows in the order of their columns, and elements that are stored at one place added up.
   *
   * @example
   * const a = sparse.csr({ data: [1, 2, 3], indices: [1, 0, 1], indptr: [0, 3] }, [1, 2])
   * await a.sumDuplicates().data.compute()
   * //=> [2. 4.]
   */
  sumDuplicates(): SparseMatrix {
    return called(this.sumDuplicates, () => new SparseMatrix(canonical(this.#parts, 'sparse.sumDuplicates')));
  }

  /**
   * The rows from `start` up to `end` (its number of rows by default), counted from the end where negative.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.rows(1).toDense().compute()
   * //=> [[ 0. 30.  0.]]
   */
  rows(start: number, end?: number): SparseMatrix {
    return called(this.rows, () => {
      const [first, last] = stretch('sparse.rows', start, end, this.shape[0]);
      return new SparseMatrix(someRows(this.#parts, first, last));
    });
  }

  /**
   * The columns from `start` up to `end` (its number of columns by default), counted from the end where negative.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.columns(1, 3).toDense().compute()
   * //=> [[ 0. 20.]
   * //=>  [30.  0.]]
   */
  columns(start: number, end?: number): SparseMatrix {
    return called(this.columns, () => {
      const op = 'sparse.columns';
      const [first, last] = stretch(op, start, end, this.shape[1]);
      return new SparseMatrix(someColumns(op, this.#parts, first, last));
    });
  }

  /**
   * The rows of some numbers, in their order, from the end where negative, as SciPy's `a[[2, 0]]`. Errors are those
   * of `take`.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.takeRows([1, 0, 1]).toDense().compute()
   * //=> [[ 0. 30.  0.]
   * //=>  [10.  0. 20.]
   * //=>  [ 0. 30.  0.]]
   */
  takeRows(numbers: ArrayLike | IndexList): SparseMatrix {
    return called(this.takeRows, () => new SparseMatrix(this.#taken('sparse.takeRows', this, numbers)));
  }

  /**
   * The columns of some numbers, as `takeRows`: rows of the transposed matrix, which is sorted once.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.takeColumns([2, 0]).toDense().compute()
   * //=> [[20. 10.]
   * //=>  [ 0.  0.]]
   */
  takeColumns(numbers: ArrayLike | IndexList): SparseMatrix {
    return called(this.takeColumns, () => {
      const op = 'sparse.takeColumns';
      return new SparseMatrix(transposed(this.#taken(op, this.T, numbers), op));
    });
  }

  /**
   * Computes the three arrays and leaves them on the device, as a matrix to compute further with: its number of
   * stored elements and the length of its longest row are known then. Rejects as `Lazy.persist` does.
   *
   * @example
   * (await sparse.fromDense([[0, 7], [8, 9]]).persist()).data.shape
   * //=> [ 3 ]
   */
  persist(options?: ComputeOptions, ...more: readonly unknown[]): Promise<SparseMatrix> {
    return calledAsync(this.persist, async () => {
      refuseMore('sparse.persist', 1, [options, ...more]);
      const { starts, places, values } = this.#parts;
      const lines = [starts, places, values].map((each) => new Lazy(each));
      const [indptr, indices, data] = (await persist(lines, options)) as unknown as [Lazy, Lazy, Lazy];
      const stored = {
        ...this.#parts,
        starts: indptr.expr,
        places: indices.expr,
        values: data.expr,
      };
      return new SparseMatrix({ ...stored, rowBound: await longestRow(stored, options) });
    });
  }

  /**
   * Computes the three arrays into host memory. Rejects as `Lazy.compute` does.
   *
   * @example
   * (await sparse.fromDense([[0, 7], [8, 9]]).compute()).indices
   * //=> [1 0 1]
   */
  compute(options?: ComputeOptions, ...more: readonly unknown[]): Promise<SparseArrays> {
    return calledAsync(this.compute, async () => {
      refuseMore('sparse.compute', 1, [options, ...more]);
      const { starts, places, values } = this.#parts;
      const [indptr, indices, data] = (await compute(
        [starts, places, values].map((each) => new Lazy(each)),
        options,
      )) as unknown as [NDArray, NDArray, NDArray];
      return { data, indices, indptr };
    });
  }

  #with(change: (values: Expr) => Expr): SparseMatrix {
    return new SparseMatrix(withValues(this.#parts, change));
  }

  #extremes(op: string, kind: 'min' | 'max', axis: number | null | undefined): Lazy {
    if (this.dtype.startsWith('complex'))
      throw new DTypeError(expected(op, 'real numbers or booleans', this.dtype));
    return new Lazy(extremesOf(op, kind, this.#parts, axisOf(op, axis)));
  }

  #taken(op: string, from: SparseMatrix, numbers: ArrayLike | IndexList): SparseParts {
    const given = Array.isArray(numbers) ? (numbers as IndexList) : exprOf(op, numbers);
    const rows = taken(op, iota(from.shape[0]), given, 0);
    if (rows.shape.length === 1) return rowsAt(op, from.#parts, rows);
    throw new ShapeError(expected(op, 'numbers of one axis', formatShape(rows.shape)));
  }

  #meeting(op: string, by: 'multiply' | 'divide', other: ArrayLike): SparseMatrix {
    // A number does not widen the elements.
    if (isScalar(other)) return this.#with((values) => map(by, [values, other]));
    const given = exprOf(op, other);
    if (given.shape.length === 0) return this.#with((values) => map(by, [values, given]));
    const [rows, columns] = this.shape;
    const lifted = given.shape.length === 1 ? reshape(given, [1, given.shape[0]!]) : given;
    const fits = ([height, width]: readonly number[]): boolean =>
      (height === 1 || height === rows) && (width === 1 || width === columns);
    if (lifted.shape.length !== 2 || !fits(lifted.shape)) {
      const wanted = `a number, or an array that broadcasts to ${formatShape(this.shape)}`;
      throw new ShapeError(expected(op, wanted, formatShape(given.shape)));
    }
    return this.#with((values) => map(by, [values, denseAt(this.#parts, lifted, op)]));
  }

  /** The arrays of another matrix of the same shape. */
  #alike(op: string, other: SparseMatrix): SparseParts {
    if (!(other instanceof SparseMatrix))
      throw new ArgumentError(expected(op, 'a sparse matrix', formatValue(other), 'sparse.fromDense(x)'));
    if (other.shape[0] === this.shape[0] && other.shape[1] === this.shape[1]) return other.#parts;
    const wanted = `a matrix of shape ${formatShape(this.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(other.shape)));
  }

  #joined(op: string, by: OpName, other: SparseMatrix): SparseMatrix {
    return new SparseMatrix(ofEither(op, by, this.#parts, this.#alike(op, other)));
  }

  #added(op: string, by: 'add' | 'subtract', other: SparseMatrix | ArrayLike): SparseMatrix | Lazy {
    if (other instanceof SparseMatrix) return this.#joined(op, by, other);
    const dense = exprOf(op, other);
    if (dense.shape.length === 0) {
      const hint = `the result would be dense: a.toDense().${by}(x)`;
      throw new ArgumentError(expected(op, 'a sparse matrix or an array with axes', 'a number', hint));
    }
    return new Lazy(map(by, [toDense(this.#parts, op), dense]));
  }

  /** `ofZero`: whether a zero is true beside a number. */
  #compared(
    op: string,
    by: OpName,
    other: SparseMatrix | number,
    ofZero: (other: number) => boolean,
  ): SparseMatrix {
    if (typeof other !== 'number')
      return new SparseMatrix(withoutZeros(op, ofEither(op, by, this.#parts, this.#alike(op, other))));
    if (ofZero(other)) {
      const hint = `the result would be dense: a.toDense().${by}(${other})`;
      throw new ArgumentError(expected(op, 'a number for which it is false of 0', `${other}`, hint));
    }
    const own = canonical(this.#parts, op);
    return new SparseMatrix(
      withoutZeros(
        op,
        withValues(own, (values) => map(by, [values, other])),
      ),
    );
  }
}

/** The length of the longest row. */
async function longestRow(parts: SparseParts, options?: ComputeOptions): Promise<number> {
  const [rows] = parts.shape;
  if (rows === 0) return 0;
  const most = reduce('max', rowLengths('sparse.persist', { ...parts, isGiven: false }), [0]);
  const [length] = await compute([new Lazy(most)], options);
  return Math.max(0, Number(length.item()));
}

function axisOf(op: string, axis: number | null | undefined): ReducedAxis {
  if (axis === undefined || axis === null) return undefined;
  if (axis === 0 || axis === -2) return 0;
  if (axis === 1 || axis === -1) return 1;
  throw new ShapeError(expected(op, 'axis 0 or 1', formatValue(axis)));
}

function stretch(op: string, start: number, end: number | undefined, size: number): [number, number] {
  const first = fromEnd(op, 'start', start, size);
  return [first, Math.max(first, end === undefined ? size : fromEnd(op, 'end', end, size))];
}

function fromEnd(op: string, name: string, value: number, size: number): number {
  const place = clippedInteger(op, name, value, -size, size);
  return place < 0 ? place + size : place;
}

/** The functions behind the properties: traces of errors are cut at them. */
const GETTERS = Object.getOwnPropertyDescriptors(SparseMatrix.prototype);
