/** Elementwise functions of sparse matrices. */
import { finiteNumber } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import { formatShape, formatValue } from '../graph/format.js';
import { astype, map } from '../graph/infer.js';
import type { OpName } from '../graph/ops.js';
import { isScalar } from '../graph/scalar.js';
import { denseAt } from '../graph/sparse.js';
import { ofBoth, ofEither } from '../graph/sparse-elements.js';
import { toDense } from '../graph/sparse-matmul.js';
import { reshape } from '../graph/view-nodes.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { SparseLines } from './sparse-lines.js';

/** Arithmetic of stored elements, with numbers, dense arrays and other matrices. */
export abstract class SparseElementwise extends SparseLines {
  /**
   * The product, element by element, with a number, a dense array that broadcasts to the shape, or a sparse matrix of
   * the same shape. Stored elements alone are multiplied, of two matrices those at places that both store: elsewhere the
   * product is 0, where the other is infinite or NaN, too, as in CuPy, and with dense arrays in SciPy, whose product of two
   * sparse matrices is NaN there and has to go through the places of either.
   *
   * @example
   * const a = sparse.csr({ data: [10, 20, 30], indices: [0, 2, 1], indptr: [0, 2, 3] }, [2, 3])
   * await a.multiply([1, 10, 100]).toDense().compute()
   * //=> [[  10.    0. 2000.]
   * //=>  [   0.  300.    0.]]
   */
  multiply(other: this | ArrayLike): this {
    return called(this.multiply, () => {
      const op = 'sparse.multiply';
      if (!(other instanceof SparseLines)) return this.#meeting(op, 'multiply', other);
      return this.made(ofBoth(op, 'multiply', this.parts, this.alike(op, other)));
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
  divide(other: ArrayLike): this {
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
  add(other: this): this;
  /** The sum with a dense array that broadcasts to the shape, or has it: a dense array. */
  add(other: ArrayLike): Lazy;
  add(other: this | ArrayLike): this | Lazy {
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
  subtract(other: this): this;
  /** The difference to a dense array that broadcasts to the shape, or has it: a dense array. */
  subtract(other: ArrayLike): Lazy;
  subtract(other: this | ArrayLike): this | Lazy {
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
  maximum(other: this): this {
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
  minimum(other: this): this {
    return called(this.minimum, () => this.#joined('sparse.minimum', 'minimum', other));
  }

  /**
   * The absolute values.
   *
   * @example
   * await sparse.fromDense([[0, -7], [8, -1]]).abs().data.compute()
   * //=> [7. 8. 1.]
   */
  abs(): this {
    return called(this.abs, () => this.changed((values) => map('abs', [values])));
  }

  /**
   * The stored elements to the power of a number above 0, as SciPy's `power`.
   *
   * @example
   * await sparse.fromDense([[0, 7], [8, 9]]).power(2).data.compute()
   * //=> [49. 64. 81.]
   */
  power(exponent: number): this {
    return called(this.power, () => {
      const op = 'sparse.power';
      if (!(finiteNumber(op, 'the exponent', exponent) > 0)) {
        const hint = 'zeros to it are not 0: a.toDense().power(x)';
        throw new ArgumentError(expected(op, 'an exponent above 0', formatValue(exponent), hint));
      }
      return this.changed((values) => map('pow', [values, exponent]));
    });
  }

  /**
   * The complex conjugates; of real numbers the same matrix.
   *
   * @example
   * sparse.eye(2).conj().dtype
   * //=> float64
   */
  conj(): this {
    return called(this.conj, () =>
      this.dtype.startsWith('complex') ? this.changed((values) => map('conj', [values])) : this,
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
  map(change: (data: Lazy) => Lazy): this {
    return called(this.map, () => {
      const op = 'sparse.map';
      if (typeof change !== 'function')
        throw new ArgumentError(expected(op, 'a function of the stored elements', formatValue(change)));
      return this.changed((values) => {
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
  astype(dtype: DType): this {
    return called(this.astype, () => this.changed((values) => astype(values, dtype)));
  }

  #meeting(op: string, by: 'multiply' | 'divide', other: ArrayLike): this {
    // A number does not widen the elements.
    if (isScalar(other)) return this.changed((values) => map(by, [values, other]));
    const given = exprOf(op, other);
    if (given.shape.length === 0) return this.changed((values) => map(by, [values, given]));
    const [rows, columns] = this.shape;
    const lifted = given.shape.length === 1 ? reshape(given, [1, given.shape[0]!]) : given;
    const fits = ([height, width]: readonly number[]): boolean =>
      (height === 1 || height === rows) && (width === 1 || width === columns);
    if (lifted.shape.length !== 2 || !fits(lifted.shape)) {
      const wanted = `a number, or an array that broadcasts to ${formatShape(this.shape)}`;
      throw new ShapeError(expected(op, wanted, formatShape(given.shape)));
    }
    return this.changed((values) => map(by, [values, denseAt(this.parts, lifted, op)]));
  }

  #joined(op: string, by: OpName, other: this): this {
    return this.made(ofEither(op, by, this.parts, this.alike(op, other)));
  }

  #added(op: string, by: 'add' | 'subtract', other: this | ArrayLike): this | Lazy {
    if (other instanceof SparseLines) return this.#joined(op, by, other);
    const dense = exprOf(op, other);
    if (dense.shape.length === 0) {
      const hint = `the result would be dense: a.toDense().${by}(x)`;
      throw new ArgumentError(expected(op, 'a sparse matrix or an array with axes', 'a number', hint));
    }
    return new Lazy(map(by, [toDense(this.parts, op), dense]));
  }
}
