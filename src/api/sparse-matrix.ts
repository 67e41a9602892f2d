/**
 * Sparse matrices: three arrays of a graph, and functions of them that run nothing, as those of Lazy. Made by the
 * functions of `sparse.ts`.
 */
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { upToBound } from '../graph/extent.js';
import { formatShape, formatValue } from '../graph/format.js';
import { astype, constant, map } from '../graph/infer.js';
import { concat } from '../graph/joins.js';
import { reductionRow } from '../graph/reductions.js';
import { clippedInteger } from '../graph/shape.js';
import {
  denseAt,
  fromKeys,
  isExact,
  keysOf,
  product,
  rowsOf,
  type SparseParts,
  someRows,
  storedOf,
  toDense,
  transposed,
  withValues,
} from '../graph/sparse.js';
import { broadcast, reshape } from '../graph/view-nodes.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
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
   * The product with a dense vector (columns) or matrix (columns, k): (rows) or (rows, k), of the promoted dtype.
   * float32 is multiplied exactly and summed in float64, rounded once. Throws a ShapeError where sizes differ; a
   * RangeArgumentError, when it is computed, for indices out of range.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.matmul([1, 2, 3]).compute()
   * //=> [70. 60.]
   */
  matmul(dense: ArrayLike): Lazy {
    return called(this.matmul, () => {
      const op = 'sparse.matmul';
      if ((dense as unknown) instanceof SparseMatrix)
        throw new ArgumentError(expected(op, 'a dense array', 'a sparse matrix', 'b.toDense()'));
      const x = exprOf(op, dense);
      const [rows, columns] = this.shape;
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
   * The product, element by element, with a number or a dense array that broadcasts to the shape: of stored elements
   * alone, so that infinities and NaN elsewhere are not met.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.multiply([1, 10, 100]).toDense().compute()
   * //=> [[  10.    0. 2000.]
   * //=>  [   0.  300.    0.]]
   */
  multiply(other: ArrayLike): SparseMatrix {
    return called(this.multiply, () => this.#meeting('sparse.multiply', 'multiply', other));
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
   * The sum with a sparse matrix of the same shape.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.add(sparse.eye(2, 3)).toDense().compute()
   * //=> [[11.  0. 20.]
   * //=>  [ 0. 31.  0.]]
   */
  add(other: SparseMatrix): SparseMatrix {
    return called(this.add, () => this.#joined('sparse.add', other, false));
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
  subtract(other: SparseMatrix): SparseMatrix {
    return called(this.subtract, () => this.#joined('sparse.subtract', other, true));
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
   * The sums over an axis as an array, (columns) for 0 and (rows) for 1; without an axis of all elements, ().
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.sum(0).compute()
   * //=> [10. 30. 20.]
   */
  sum(axis?: number | null): Lazy {
    return called(this.sum, () => {
      const op = 'sparse.sum';
      if (axis === undefined || axis === null) {
        const rows = this.#sums(op, this.#parts);
        return new Lazy(rows).sum();
      }
      if (axis !== 0 && axis !== 1 && axis !== -1 && axis !== -2)
        throw new ShapeError(expected(op, 'axis 0 or 1', formatValue(axis)));
      return new Lazy(this.#sums(op, axis === 1 || axis === -1 ? this.#parts : this.T.#parts));
    });
  }

  /**
   * The elements (i, i), zeros where nothing is stored: an array of the smaller size.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.diagonal().compute()
   * //=> [10. 30.]
   */
  diagonal(): Lazy {
    return called(this.diagonal, () => {
      const op = 'sparse.diagonal';
      const { places } = this.#parts;
      const isOn = map('equal', [upToBound(places), rowsOf(this.#parts)]);
      const masked = withValues(this.#parts, (values) =>
        map('where', [isOn, values, constant(0, values.dtype)]),
      );
      const sums = new Lazy(astype(this.#sums(op, masked), this.dtype));
      return sums.slice([0, Math.min(...this.shape)]);
    });
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
      const op = 'sparse.rows';
      const [rows] = this.shape;
      const first = fromEnd(op, 'start', start, rows);
      const last = Math.max(first, end === undefined ? rows : fromEnd(op, 'end', end, rows));
      return new SparseMatrix(someRows(this.#parts, first, last));
    });
  }

  /**
   * Computes the three arrays and leaves them on the device, as a matrix to compute further with: its number of
   * stored elements is known then. Rejects as `Lazy.persist` does.
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
      return new SparseMatrix({
        ...this.#parts,
        starts: indptr.expr,
        places: indices.expr,
        values: data.expr,
      });
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

  /** The sums of rows, of the dtype that `sum` gives. */
  #sums(op: string, parts: SparseParts): Expr {
    const { result } = reductionRow('sum').dtype(parts.values.dtype)!;
    const ones = broadcast(constant(1, result), [parts.shape[1], 1]);
    const summed = withValues(parts, (values) => astype(values, result));
    return reshape(product(op, summed, ones), [parts.shape[0]]);
  }

  #meeting(op: string, by: 'multiply' | 'divide', other: ArrayLike): SparseMatrix {
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

  #joined(op: string, other: SparseMatrix, isNegative: boolean): SparseMatrix {
    if (!(other instanceof SparseMatrix))
      throw new ArgumentError(expected(op, 'a sparse matrix', formatValue(other), 'sparse.fromDense(x)'));
    if (other.shape[0] !== this.shape[0] || other.shape[1] !== this.shape[1]) {
      const wanted = `a matrix of shape ${formatShape(this.shape)}`;
      throw new ShapeError(expected(op, wanted, formatShape(other.shape)));
    }
    const second = other.#parts.values;
    const values = isNegative ? map('negative', [upToBound(second)]) : upToBound(second);
    return new SparseMatrix(
      fromKeys(
        this.shape,
        concat([keysOf(this.#parts, op), keysOf(other.#parts, op)]),
        concat([upToBound(this.#parts.values), values]),
        { equal: 'added', areStored: isExact(this.#parts) && isExact(other.#parts) },
      ),
    );
  }
}

function fromEnd(op: string, name: string, value: number, size: number): number {
  const place = clippedInteger(op, name, value, -size, size);
  return place < 0 ? place + size : place;
}

/** The functions behind the properties: traces of errors are cut at them. */
const GETTERS = Object.getOwnPropertyDescriptors(SparseMatrix.prototype);
