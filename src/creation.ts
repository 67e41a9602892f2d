/**
 * Functions that make arrays: of the user's data, of one value, with a diagonal. Ranges are in `ranges.ts`.
 *
 * Nothing but the user's own data sits in memory: zeros and identities are constants and indices in kernels.
 * Arrays made of JavaScript numbers are float64, of bigints int64, of booleans bool; `dtype` asks for another.
 */
import { ArgumentError, expected } from './errors.js';
import type { ArrayLike } from './fluent.js';
import { checkOptions } from './graph/arguments.js';
import type { DType, Scalar } from './graph/dtype.js';
import { formatValue } from './graph/format.js';
import { broadcast, cast, checkDType, constant, map } from './graph/infer.js';
import { indexAlong } from './graph/joins.js';
import { isScalar } from './graph/scalar.js';
import { checkInteger, checkShape, type ShapeArgument } from './graph/shape.js';
import { type ArrayOptions, arrayExpr } from './host-array.js';
import { exprOf, Lazy } from './lazy.js';
import { heldScalar, scalarDType } from './nested.js';
import { beginCall, called, endCall, limitTrace } from './site.js';

/** Options of functions that make arrays of one dtype. */
export interface DTypeOption {
  /** The dtype of the result. */
  readonly dtype?: DType | undefined;
}

/** Options, or the dtype alone. */
export type DTypeArgument = DType | DTypeOption;

/** The dtype that an argument asks for. */
export function dtypeOf(op: string, argument: DTypeArgument | undefined): DType | undefined {
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
 * Typed arrays must not be written to or transferred while a compute runs. Throws a ShapeError for ragged lists and data that is shorter
 * than its shape, a RangeArgumentError for values out of the dtype's range, a TypeError for anything else.
 */
export function lazy(input: ArrayLike, options?: ArrayOptions): Lazy {
  // Written out, since graphs have many leaves: `called` would capture one frame more.
  const limit = limitTrace();
  beginCall(Error(), limit);
  try {
    checkOptions('lazy', options, LAZY_OPTIONS);
    return input instanceof Lazy ? converted(input, options) : new Lazy(arrayExpr('lazy', input, options));
  } finally {
    endCall();
  }
}

const LAZY_OPTIONS = ['dtype', 'shape'];

/** A Lazy in the dtype that is asked for. */
function converted(x: Lazy, options: ArrayOptions | undefined): Lazy {
  if (options?.shape !== undefined) {
    throw new ArgumentError(expected('lazy', 'no shape for a Lazy', 'one', 'x.reshape(shape)'));
  }
  return options?.dtype === undefined ? x : new Lazy(cast(x.expr, checkDType('lazy', options.dtype)));
}

function made(shape: ShapeArgument, value: Scalar, dtype: DType, op: string): Lazy {
  return new Lazy(broadcast(constant(value, dtype), checkShape(op, shape)));
}

/** Zeros of a shape; float64 unless a dtype is given. */
export function zeros(shape: ShapeArgument, dtype?: DTypeArgument): Lazy {
  return called(() => {
    return made(shape, 0, dtypeOf('zeros', dtype) ?? 'float64', 'zeros');
  });
}

/** Ones of a shape; float64 unless a dtype is given. */
export function ones(shape: ShapeArgument, dtype?: DTypeArgument): Lazy {
  return called(() => {
    return made(shape, 1, dtypeOf('ones', dtype) ?? 'float64', 'ones');
  });
}

/** One value in every element: float64 for a number, int64 for a bigint, bool for a boolean, complex128 for `{ re, im }`. */
export function full(shape: ShapeArgument, value: Scalar, dtype?: DTypeArgument): Lazy {
  return called(() => {
    return filled('full', shape, value, dtypeOf('full', dtype));
  });
}

function filled(op: string, shape: ShapeArgument, value: Scalar, dtype: DType | undefined): Lazy {
  if (!isScalar(value))
    throw new ArgumentError(expected(op, 'a number, bigint, boolean or { re, im }', formatValue(value)));
  const held = dtype ?? scalarDType(op, value);
  return made(shape, heldScalar(op, value, held), held, op);
}

/** Zeros in the shape and dtype of an array, or in another dtype. */
export function zerosLike(x: ArrayLike, dtype?: DTypeArgument): Lazy {
  return called(() => {
    const like = exprOf('zerosLike', x);
    return made(like.shape, 0, dtypeOf('zerosLike', dtype) ?? like.dtype, 'zerosLike');
  });
}

/** Ones in the shape and dtype of an array, or in another dtype. */
export function onesLike(x: ArrayLike, dtype?: DTypeArgument): Lazy {
  return called(() => {
    const like = exprOf('onesLike', x);
    return made(like.shape, 1, dtypeOf('onesLike', dtype) ?? like.dtype, 'onesLike');
  });
}

/** One value in the shape and dtype of an array, or in another dtype. Throws a RangeArgumentError where it does not fit. */
export function fullLike(x: ArrayLike, value: Scalar, dtype?: DTypeArgument): Lazy {
  return called(() => {
    const like = exprOf('fullLike', x);
    return filled('fullLike', like.shape as number[], value, dtypeOf('fullLike', dtype) ?? like.dtype);
  });
}

/** Options of `eye`. */
export interface EyeOptions extends DTypeOption {
  /** The diagonal that holds ones: 0 the main one, above it positive. */
  readonly k?: number | undefined;
}

/** Ones on a diagonal of an otherwise zero (rows, columns) matrix; square for one size, float64 unless a dtype is given. */
export function eye(rows: number, columns?: number | null, options?: EyeOptions): Lazy {
  return called(() => {
    checkOptions('eye', options, ['k', 'dtype']);
    const [n, m] = checkShape('eye', [rows, columns ?? rows]) as [number, number];
    const k = checkInteger('eye', 'a diagonal', options?.k ?? 0);
    const dtype = checkDType('eye', options?.dtype ?? 'float64');
    const onDiagonal = map('equal', [indexAlong(1, m, 2), map('add', [indexAlong(0, n, 2), k])]);
    return new Lazy(cast(onDiagonal, dtype));
  });
}

/** The identity matrix of a size; float64 unless a dtype is given. */
export function identity(size: number, dtype?: DTypeArgument): Lazy {
  return called(() => {
    return eye(size, size, { dtype: dtypeOf('identity', dtype) });
  });
}
