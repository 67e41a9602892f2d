/** Sparse matrices of random elements at random places: functions of a key, as all random numbers. */
import { checkOptions, finiteNumber } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import { formatShape, formatValue } from '../graph/format.js';
import { checkDType } from '../graph/infer.js';
import { distinctPlaces } from '../graph/random-places.js';
import { emptyMatrix, fromKeys } from '../graph/sparse.js';
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called, outsideCall } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf } from './lazy.js';
import { random as numbers } from './random.js';
import { bitsOf, type KeyArgument, type RandomKey } from './random-arguments.js';
import { type MatrixShape, sizes } from './sparse-arguments.js';
import { SparseMatrix } from './sparse-matrix.js';

/** Options of `sparse.random`. */
export interface SparseRandomOptions {
  /** The share of places that are stored, 0.01 by default, rounded to a whole number of them. */
  readonly density?: number | undefined;
  /** Of the elements; float64 by default. */
  readonly dtype?: DType | undefined;
  /** The stored elements, by a key and their shape; `random.uniform` by default. */
  readonly sampler?: ((key: RandomKey, shape: [number]) => ArrayLike) | undefined;
}

/**
 * A matrix whose stored elements are at random places, each set of them equally likely, as SciPy's `random_array`:
 * uniform in [0, 1) by default. Throws a RangeArgumentError for a density that is not from 0 to 1.
 *
 * @example
 * const a = sparse.random(random.key(7), [3, 4], { density: 0.25 })
 * await a.nnz.compute()
 * //=> 3
 */
export function random(key: KeyArgument, shape: MatrixShape, options?: SparseRandomOptions): SparseMatrix {
  return called(random, () => {
    const op = 'sparse.random';
    checkOptions(op, options, ['density', 'dtype', 'sampler']);
    const [rows, columns] = sizes(op, shape);
    const density = finiteNumber(op, 'density', options?.density ?? 0.01);
    if (density < 0 || density > 1)
      throw new RangeArgumentError(expected(op, 'a density from 0 to 1', `${density}`));
    const dtype = options?.dtype === undefined ? 'float64' : checkDType(op, options.dtype);
    const count = Math.round(density * rows * columns);
    if (count === 0) return new SparseMatrix(emptyMatrix([rows, columns], dtype));
    bitsOf(op, key);
    const [where, what] = numbers.split(key) as [RandomKey, RandomKey];
    const keys = distinctPlaces(op, bitsOf(op, where), rows * columns, count);
    const sampler = options?.sampler ?? ((own, size) => numbers.uniform(own, size));
    if (typeof sampler !== 'function')
      throw new ArgumentError(expected(op, 'a function as sampler', formatValue(sampler)));
    const values = exprOf(
      op,
      outsideCall(() => sampler(what, [count])),
    );
    if (values.shape.length !== 1 || values.shape[0] !== count)
      throw new ShapeError(expected(op, `${count} elements of the sampler`, formatShape(values.shape)));
    const matrix = new SparseMatrix(
      fromKeys([rows, columns], keys, values, { areEqual: false, areStored: true }),
    );
    return matrix.dtype === dtype || (options?.dtype === undefined && options?.sampler !== undefined)
      ? matrix
      : matrix.astype(dtype);
  });
}
