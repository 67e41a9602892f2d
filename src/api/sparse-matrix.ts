/**
 * Sparse matrices: three arrays of a graph, and functions of them that run nothing, as those of Lazy. Made by the
 * functions of `sparse.ts`. Its functions of stored elements come with the classes that it extends.
 */
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { refuseMore } from '../graph/arguments.js';
import { formatShape } from '../graph/format.js';
import { reduce } from '../graph/infer.js';
import { product, rowBoundOf, type SparseParts } from '../graph/sparse.js';
import { matrixProduct, toDense } from '../graph/sparse-matmul.js';
import { rowLengths } from '../graph/sparse-reductions.js';
import { reshape } from '../graph/view-nodes.js';
import { expected, ShapeError } from '../host/errors.js';
import { called, calledAsync } from '../host/site.js';
import { compute, persist } from './compute.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import type { NDArray } from './ndarray.js';
import { SparseSelections } from './sparse-selections.js';

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
export class SparseMatrix extends SparseSelections {
  /**
   * The product with another sparse matrix, a sparse matrix with rows in the order of their columns, whose elements are
   * summed in the order of this one's rows. How many there are depends on data, so it is planned for as many as there
   * may be: what this one stores, times the longest row of the other one, which is known of `eye`, `diags`, `kron`
   * and sums of them, and of any matrix after `await b.persist()` or `await b.measure()`. Throws a ShapeError where sizes differ.
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
        return new SparseMatrix(matrixProduct(op, this.parts, other.parts));
      }
      const x = exprOf(op, other);
      if (x.shape.length < 1 || x.shape.length > 2 || x.shape[0] !== columns) {
        const wanted = `an array of shape (${columns}) or (${columns}, k)`;
        throw new ShapeError(expected(op, wanted, formatShape(x.shape)));
      }
      if (x.shape.length === 2) return new Lazy(product(op, this.parts, x));
      return new Lazy(reshape(product(op, this.parts, reshape(x, [columns, 1])), [rows]));
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
    return called(this.toDense, () => new Lazy(toDense(this.parts, 'sparse.toDense')));
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
      const { starts, places, values } = this.parts;
      const lines = [starts, places, values].map((each) => new Lazy(each));
      const [indptr, indices, data] = (await persist(lines, options)) as unknown as [Lazy, Lazy, Lazy];
      const stored = {
        ...this.parts,
        starts: indptr.expr,
        places: indices.expr,
        values: data.expr,
      };
      return new SparseMatrix({
        ...stored,
        rowBound: await longestRow('sparse.persist', stored, options),
      });
    });
  }

  /**
   * Computes the length of the longest row alone: for the second matrix of a product that stays where it is, as in files
   * that are larger than the device. Rejects as `Lazy.compute` does.
   *
   * @example
   * const b = await sparse.fromDense([[0, 7], [8, 9]]).measure()
   * b.matmul(b).data.shape
   * //=> [ 4 ]
   */
  measure(options?: ComputeOptions, ...more: readonly unknown[]): Promise<SparseMatrix> {
    return calledAsync(this.measure, async () => {
      refuseMore('sparse.measure', 1, [options, ...more]);
      const rowBound = Math.min(
        rowBoundOf(this.parts),
        await longestRow('sparse.measure', this.parts, options),
      );
      return new SparseMatrix({ ...this.parts, rowBound });
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
      const { starts, places, values } = this.parts;
      const [indptr, indices, data] = (await compute(
        [starts, places, values].map((each) => new Lazy(each)),
        options,
      )) as unknown as [NDArray, NDArray, NDArray];
      return { data, indices, indptr };
    });
  }
}

/** The length of the longest row. */
async function longestRow(op: string, parts: SparseParts, options?: ComputeOptions): Promise<number> {
  const [rows] = parts.shape;
  if (rows === 0) return 0;
  const most = reduce('max', rowLengths(op, parts), [0]);
  const [length] = await compute([new Lazy(most)], options);
  return Math.max(0, Number(length.item()));
}
