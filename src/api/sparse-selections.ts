/** Parts of sparse matrices: rows, columns, triangles, and elements that are stored once. */
import { formatShape } from '../graph/format.js';
import { type IndexList, integers } from '../graph/index-lists.js';
import { iota, isExpr } from '../graph/infer.js';
import { checkInteger, clippedInteger } from '../graph/shape.js';
import { type SparseParts, transposed } from '../graph/sparse.js';
import { withoutZeros } from '../graph/sparse-elements.js';
import { canonical } from '../graph/sparse-matmul.js';
import { rowsAt, someColumns, someRows, triangle, turnedBack } from '../graph/sparse-slices.js';
import { taken } from '../graph/taking.js';
import { expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf } from './lazy.js';
import { SparseReductions } from './sparse-reductions.js';

/** Selections of stored elements, and the transposed matrix, of which columns are taken. */
export abstract class SparseSelections extends SparseReductions {
  #transposed: this | undefined;

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
  get T(): this {
    return called(T_GETTER, () => {
      if (this.#transposed === undefined) {
        this.#transposed = this.made(transposed(this.parts, 'sparse.T'));
        this.#transposed.#transposed = this;
      }
      return this.#transposed;
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
  tril(k?: number): this {
    return called(this.tril, () => {
      const op = 'sparse.tril';
      return this.made(triangle(op, this.parts, 'lower', checkInteger(op, 'k', k ?? 0)));
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
  triu(k?: number): this {
    return called(this.triu, () => {
      const op = 'sparse.triu';
      return this.made(triangle(op, this.parts, 'upper', checkInteger(op, 'k', k ?? 0)));
    });
  }

  /**
   * The matrix without stored zeros.
   *
   * @example
   * await sparse.diags([[1, 0, 3]]).eliminateZeros().nnz.compute()
   * //=> 2
   */
  eliminateZeros(): this {
    return called(this.eliminateZeros, () => this.made(withoutZeros('sparse.eliminateZeros', this.parts)));
  }

  /**
   * The matrix with rows in the order of their columns, and elements that are stored at one place added up.
   *
   * @example
   * const a = sparse.csr({ data: [1, 2, 3], indices: [1, 0, 1], indptr: [0, 3] }, [1, 2])
   * await a.sumDuplicates().data.compute()
   * //=> [2. 4.]
   */
  sumDuplicates(): this {
    return called(this.sumDuplicates, () => this.made(canonical(this.parts, 'sparse.sumDuplicates')));
  }

  /**
   * The rows from `start` up to `end` (its number of rows by default), counted from the end where negative.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.rows(1).toDense().compute()
   * //=> [[ 0. 30.  0.]]
   */
  rows(start: number, end?: number): this {
    return called(this.rows, () => {
      const op = 'sparse.rows';
      const [first, last] = stretch(op, start, end, this.shape[0]);
      return this.made(someRows(op, this.parts, first, last));
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
  columns(start: number, end?: number): this {
    return called(this.columns, () => {
      const op = 'sparse.columns';
      const [first, last] = stretch(op, start, end, this.shape[1]);
      return this.made(someColumns(op, this.parts, first, last));
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
  takeRows(numbers: ArrayLike | IndexList): this {
    return called(this.takeRows, () => this.made(this.#taken('sparse.takeRows', this, numbers)));
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
  takeColumns(numbers: ArrayLike | IndexList): this {
    return called(this.takeColumns, () => {
      const op = 'sparse.takeColumns';
      return this.made(turnedBack(op, this.#taken(op, this.T, numbers)));
    });
  }

  #taken(op: string, from: this, numbers: ArrayLike | IndexList): SparseParts {
    const given = Array.isArray(numbers) ? (numbers as IndexList) : integers(op, exprOf(op, numbers));
    if (isExpr(given) && given.shape.length === 1 && given.shape[0]! * from.shape[0] > 0)
      return rowsAt(op, from.parts, given, true);
    const rows = taken(op, iota(from.shape[0]), given, 0);
    if (rows.shape.length === 1) return rowsAt(op, from.parts, rows, false);
    throw new ShapeError(expected(op, 'numbers of one axis', formatShape(rows.shape)));
  }
}

function stretch(op: string, start: number, end: number | undefined, size: number): [number, number] {
  const first = fromEnd(op, 'start', start, size);
  return [first, Math.max(first, end === undefined ? size : fromEnd(op, 'end', end, size))];
}

function fromEnd(op: string, name: string, value: number, size: number): number {
  const place = clippedInteger(op, name, value, -size, size);
  return place < 0 ? place + size : place;
}

/** The function behind the property: traces of errors are cut at it. */
const T_GETTER = Object.getOwnPropertyDescriptor(SparseSelections.prototype, 'T')!.get!;
