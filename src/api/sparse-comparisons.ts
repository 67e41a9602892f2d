/** Comparisons of sparse matrices with numbers and with one another. */
import { map } from '../graph/infer.js';
import type { OpName } from '../graph/ops.js';
import { withValues } from '../graph/sparse.js';
import { whereEither, withoutZeros } from '../graph/sparse-elements.js';
import { canonical } from '../graph/sparse-matmul.js';
import { ArgumentError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import { SparseElementwise } from './sparse-elementwise.js';

/** Comparisons, false of two zeros, so that their results are sparse. */
export abstract class SparseComparisons extends SparseElementwise {
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
  greater(other: this | number): this {
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
  greaterEqual(other: number): this {
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
  less(other: this | number): this {
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
  lessEqual(other: number): this {
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
  equal(other: number): this {
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
  notEqual(other: this | number): this {
    return called(this.notEqual, () => this.#compared('sparse.notEqual', 'notEqual', other, (x) => x !== 0));
  }

  /** `ofZero`: whether a zero is true beside a number. */
  #compared(op: string, by: OpName, other: this | number, ofZero: (other: number) => boolean): this {
    if (typeof other !== 'number') return this.made(whereEither(op, by, this.parts, this.alike(op, other)));
    if (ofZero(other)) {
      const hint = `the result would be dense: a.toDense().${by}(${other})`;
      throw new ArgumentError(expected(op, 'a number for which it is false of 0', `${other}`, hint));
    }
    const own = canonical(this.parts, op);
    return this.made(
      withoutZeros(
        op,
        withValues(own, (values) => map(by, [values, other])),
      ),
    );
  }
}
