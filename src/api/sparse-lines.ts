/**
 * The lines of a sparse matrix as properties: the root of its class, `sparse-matrix.ts`, whose functions come in groups,
 * a file and an abstract class each, since a class and its documentation stand in one piece.
 */
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { type SparseParts, storedOf, withValues } from '../graph/sparse.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { Lazy } from './lazy.js';

/** The three lines of a sparse matrix, as which every group of its functions has it. */
export abstract class SparseLines {
  readonly #parts: SparseParts;

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

  /** A matrix of other lines, of the class that has all groups: no group imports it. */
  protected made(parts: SparseParts): this {
    return new (this.constructor as new (parts: SparseParts) => this)(parts);
  }

  /** The matrix with other elements at the same places. */
  protected changed(change: (values: Expr) => Expr): this {
    return this.made(withValues(this.parts, change));
  }

  /** The parts of another matrix of the same shape. */
  protected alike(op: string, other: this): SparseParts {
    if (!(other instanceof SparseLines))
      throw new ArgumentError(expected(op, 'a sparse matrix', formatValue(other), 'sparse.fromDense(x)'));
    if (other.shape[0] === this.shape[0] && other.shape[1] === this.shape[1]) return other.parts;
    const wanted = `a matrix of shape ${formatShape(this.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(other.shape)));
  }
}
