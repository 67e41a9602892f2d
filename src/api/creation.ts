/**
 * Functions that make arrays: of the user's data, of one value, with a diagonal. Ranges are in `ranges.ts`.
 *
 * Nothing but the user's own data sits in memory: zeros and identities are constants and indices in kernels.
 * Arrays made of JavaScript numbers are float64, of bigints int64, of booleans bool; `dtype` asks for
 * another.
 */

import { checkOptions, refuseMore } from '../graph/arguments.js';
import type { DType, Scalar } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { astype, cast, checkDType, constant, map } from '../graph/infer.js';
import { indexAlong } from '../graph/joins.js';
import { isScalar } from '../graph/scalar.js';
import { checkShape, clippedInteger, type ShapeArgument } from '../graph/shape.js';
import { broadcast } from '../graph/view-nodes.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, expected } from '../host/errors.js';
import { type ArrayOptions, arrayExpr } from '../host/host-array.js';
import { heldScalar, scalarDType } from '../host/nested.js';
import { beginCall, called, endCall, limitTrace } from '../host/site.js';
import { atCaller } from '../host/stack-traces.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { NDArray } from './ndarray.js';

/** Options of functions that make arrays of one dtype. */
export interface DTypeOption {
  /** The dtype of the result. */
  readonly dtype?: DType | undefined;
}

/** Options, or the dtype alone. */
export type DTypeArgument = DType | DTypeOption;

/** The dtype that an argument of type A asks for, D where it asks for none. */
export type Asked<A, D extends DType> = A extends DType
  ? A
  : A extends object
    ? Named<'dtype' extends keyof A ? A['dtype'] : undefined, D>
    : D;
type Named<Given, D extends DType> = Given extends DType ? Given : D;

const LISTED = 'a shape is one list: [2, 3]';

/** The dtype that an argument asks for. */
export function dtypeOf(op: string, argument: DTypeArgument | undefined): DType | undefined {
  if (typeof argument === 'number') throw new ArgumentError(expected(op, 'a dtype', `${argument}`, LISTED));
  if (typeof argument === 'string') return checkDType(op, argument);
  checkOptions(op, argument, ['dtype']);
  return argument?.dtype === undefined ? undefined : checkDType(op, argument.dtype);
}

/**
 * An array of the user's data, without copying typed arrays:
 *
 * - a typed array: one axis, or `shape`; its type gives the dtype. `dtype` reads Uint16Array as float16 or bfloat16 bits and
 *   Float32Array, Float64Array as complex64, complex128 pairs; any other dtype converts, in the graph;
 * - nested lists of numbers (float64), bigints (int64), booleans (bool), `{ re, im }` (complex128) or typed arrays;
 * - one such scalar, an array of shape [];
 * - anything with `data` and `shape` (and `strides` or `stride`, `offset`, `dtype`): NDArray, and other libraries' arrays;
 * - a Lazy, which comes back as it is, or in `dtype`.
 *
 * Typed arrays must not be written to or transferred while a compute runs. Throws a ShapeError for ragged
 * lists and data that is shorter than its shape, a RangeArgumentError for values out of the dtype's range, a
 * TypeError for anything else.
 *
 * @example
 * lazy(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] })
 * //=> Lazy float32 (2, 2)
 * await lazy([[1, 2], [3, 4]], { dtype: 'int32' }).compute()
 * //=> [[1 2]
 * //=>  [3 4]]
 */
export function lazy<D extends DType>(
  input: ArrayLike,
  options: ArrayOptions & { readonly dtype: D },
): Lazy<D>;
/** An array in the dtype of its data; see the form with a dtype. */
export function lazy<T extends ArrayLike>(
  input: T,
  options?: ArrayOptions & { readonly dtype?: undefined },
): Lazy<DTypeOf<T>>;
/** An array in a dtype that may be given; see the form with a dtype. */
export function lazy(input: ArrayLike, options?: ArrayOptions): Lazy;
export function lazy(input: ArrayLike, options?: ArrayOptions, ...more: readonly unknown[]): Lazy {
  const isNoted = options?.dtype !== undefined || !isReadAsItIs(input);
  // Written out, since graphs have many leaves: `called` would capture one frame more.
  const limit = isNoted ? limitTrace() : 0;
  if (isNoted) beginCall(Error(), limit);
  try {
    if (more.length > 0) refuseMore('lazy', 2, [input, options, ...more]);
    checkOptions('lazy', options, LAZY_OPTIONS);
    return input instanceof Lazy ? converted(input, options) : new Lazy(arrayExpr('lazy', input, options));
  } catch (error) {
    throw atCaller(error, lazy); // node-do-not-add-exception-line
  } finally {
    if (isNoted) endCall();
  }
}

const LAZY_OPTIONS = ['dtype', 'shape'];

/**
 * Whether data becomes a leaf of the graph in its own dtype. A leaf computes nothing: errors and `explain()` name the line of
 * its readers, and its own would take as long as all else.
 */
const isReadAsItIs = (input: ArrayLike): boolean =>
  isTypedArray(input) || input instanceof NDArray || Array.isArray(input);

/** A Lazy in the dtype that is asked for. */
function converted(x: Lazy, options: ArrayOptions | undefined): Lazy {
  if (options?.shape !== undefined) {
    throw new ArgumentError(expected('lazy', 'no shape for a Lazy', 'one', 'x.reshape(shape)'));
  }
  return options?.dtype === undefined ? x : new Lazy(astype(x.expr, checkDType('lazy', options.dtype)));
}

function made<D extends DType>(shape: ShapeArgument, value: Scalar, dtype: DType, op: string): Lazy<D> {
  return new Lazy(broadcast(constant(value, dtype), checkShape(op, shape)));
}

/**
 * Zeros of a shape; float64 unless a dtype is given.
 *
 * @example
 * await zeros([2, 2]).compute()
 * //=> [[0. 0.]
 * //=>  [0. 0.]]
 */
export function zeros<A extends DTypeArgument | undefined = undefined>(
  shape: ShapeArgument,
  dtype?: A,
): Lazy<Asked<A, 'float64'>>;
export function zeros(shape: ShapeArgument, dtype?: DTypeArgument, ...more: readonly unknown[]): Lazy {
  return called(zeros, () => {
    refuseMore('zeros', 2, [shape, dtype, ...more], LISTED);
    return made(shape, 0, dtypeOf('zeros', dtype) ?? 'float64', 'zeros');
  });
}

/**
 * Ones of a shape; float64 unless a dtype is given.
 *
 * @example
 * await ones([2, 2], 'int32').compute()
 * //=> [[1 1]
 * //=>  [1 1]]
 */
export function ones<A extends DTypeArgument | undefined = undefined>(
  shape: ShapeArgument,
  dtype?: A,
): Lazy<Asked<A, 'float64'>>;
export function ones(shape: ShapeArgument, dtype?: DTypeArgument, ...more: readonly unknown[]): Lazy {
  return called(ones, () => {
    refuseMore('ones', 2, [shape, dtype, ...more], LISTED);
    return made(shape, 1, dtypeOf('ones', dtype) ?? 'float64', 'ones');
  });
}

/**
 * One value in every element: float64 for a number, int64 for a bigint, bool for a boolean, complex128 for `{
 * re, im }`.
 *
 * @example
 * await full([2, 2], 7).compute()
 * //=> [[7. 7.]
 * //=>  [7. 7.]]
 */
export function full<T extends Scalar, A extends DTypeArgument | undefined = undefined>(
  shape: ShapeArgument,
  value: T,
  dtype?: A,
): Lazy<Asked<A, DTypeOf<T>>>;
export function full(
  shape: ShapeArgument,
  value: Scalar,
  dtype?: DTypeArgument,
  ...more: readonly unknown[]
): Lazy {
  return called(full, () => {
    refuseMore('full', 3, [shape, value, dtype, ...more], LISTED);
    return filled('full', shape, value, dtypeOf('full', dtype));
  });
}

function filled<D extends DType>(
  op: string,
  shape: ShapeArgument,
  value: Scalar,
  dtype: DType | undefined,
): Lazy<D> {
  if (!isScalar(value))
    throw new ArgumentError(expected(op, 'a number, bigint, boolean or { re, im }', formatValue(value)));
  const held = dtype ?? scalarDType(op, value);
  return made(shape, heldScalar(op, value, held), held, op);
}

/** One value in the shape of an array, and where none is given in its dtype. */
function madeLike<D extends DType>(op: string, like: Expr, value: Scalar, dtype: DType | undefined): Lazy<D> {
  const { expr } = filled(op, like.shape, value, dtype ?? like.dtype);
  return new Lazy(like.extent === undefined ? expr : { ...expr, extent: like.extent });
}

/**
 * Zeros in the shape and dtype of an array, or in another dtype.
 *
 * @example
 * await zerosLike(lazy([1, 2])).compute()
 * //=> [0. 0.]
 */
export function zerosLike<T extends ArrayLike, A extends DTypeArgument | undefined = undefined>(
  x: T,
  dtype?: A,
): Lazy<Asked<A, DTypeOf<T>>>;
export function zerosLike(x: ArrayLike, dtype?: DTypeArgument, ...more: readonly unknown[]): Lazy {
  return called(zerosLike, () => {
    refuseMore('zerosLike', 2, [x, dtype, ...more]);
    const like = exprOf('zerosLike', x);
    return madeLike('zerosLike', like, 0, dtypeOf('zerosLike', dtype));
  });
}

/**
 * Ones in the shape and dtype of an array, or in another dtype.
 *
 * @example
 * await onesLike(lazy([1, 2])).compute()
 * //=> [1. 1.]
 */
export function onesLike<T extends ArrayLike, A extends DTypeArgument | undefined = undefined>(
  x: T,
  dtype?: A,
): Lazy<Asked<A, DTypeOf<T>>>;
export function onesLike(x: ArrayLike, dtype?: DTypeArgument, ...more: readonly unknown[]): Lazy {
  return called(onesLike, () => {
    refuseMore('onesLike', 2, [x, dtype, ...more]);
    const like = exprOf('onesLike', x);
    return madeLike('onesLike', like, 1, dtypeOf('onesLike', dtype));
  });
}

/**
 * One value in the shape and dtype of an array, or in another dtype. Throws a RangeArgumentError where it
 * does not fit.
 *
 * @example
 * await fullLike(lazy([1, 2]), 9).compute()
 * //=> [9. 9.]
 */
export function fullLike<T extends ArrayLike, A extends DTypeArgument | undefined = undefined>(
  x: T,
  value: Scalar,
  dtype?: A,
): Lazy<Asked<A, DTypeOf<T>>>;
export function fullLike(
  x: ArrayLike,
  value: Scalar,
  dtype?: DTypeArgument,
  ...more: readonly unknown[]
): Lazy {
  return called(fullLike, () => {
    refuseMore('fullLike', 3, [x, value, dtype, ...more]);
    const like = exprOf('fullLike', x);
    return madeLike('fullLike', like, value, dtypeOf('fullLike', dtype));
  });
}

/** Options of `eye`. */
export interface EyeOptions extends DTypeOption {
  /**
   * The diagonal that holds ones: 0 the main one, above it positive; none of the matrix's is of all zeros.
   */
  readonly k?: number | undefined;
}

/**
 * Ones on a diagonal of an otherwise zero (rows, columns) matrix; square for one size, float64 unless a dtype
 * is given.
 *
 * @example
 * await eye(2, 3).compute()
 * //=> [[1. 0. 0.]
 * //=>  [0. 1. 0.]]
 */
export function eye<A extends EyeOptions | undefined = undefined>(
  rows: number,
  columns?: number | null,
  options?: A,
): Lazy<Asked<A, 'float64'>>;
export function eye(
  rows: number,
  columns?: number | null,
  options?: EyeOptions,
  ...more: readonly unknown[]
): Lazy {
  return called(eye, () => {
    refuseMore('eye', 3, [rows, columns, options, ...more]);
    if (Array.isArray(rows))
      throw new ArgumentError(expected('eye', 'a number of rows', formatValue(rows), 'eye(rows, columns)'));
    if (typeof columns === 'object' && columns !== null)
      throw new ArgumentError(
        expected(
          'eye',
          'a number of columns',
          formatValue(columns),
          'options come third: eye(3, 3, { k: 1 })',
        ),
      );
    checkOptions('eye', options, ['k', 'dtype']);
    const [n, m] = checkShape('eye', [rows, columns ?? rows]) as [number, number];
    const k = clippedInteger('eye', 'a diagonal', options?.k ?? 0, -n, m);
    const dtype = checkDType('eye', options?.dtype ?? 'float64');
    const onDiagonal = map('equal', [indexAlong(1, m, 2), map('add', [indexAlong(0, n, 2), k])]);
    return new Lazy(cast(onDiagonal, dtype));
  });
}

/**
 * The identity matrix of a size; float64 unless a dtype is given.
 *
 * @example
 * await identity(2).compute()
 * //=> [[1. 0.]
 * //=>  [0. 1.]]
 */
export function identity<A extends DTypeArgument | undefined = undefined>(
  size: number,
  dtype?: A,
): Lazy<Asked<A, 'float64'>>;
export function identity(size: number, dtype?: DTypeArgument, ...more: readonly unknown[]): Lazy {
  return called(identity, () => {
    refuseMore('identity', 2, [size, dtype, ...more]);
    if (typeof size !== 'number')
      throw new ArgumentError(expected('identity', 'a number of rows', formatValue(size)));
    return eye(size, size, { dtype: dtypeOf('identity', dtype) });
  });
}
