/**
 * Facts about dtypes and shapes that need no array: canCast, finfo, iinfo, isdtype, broadcastShapes.
 */
import { refuseMore } from '../graph/arguments.js';
import { DTYPE_INFO, type DType, isComplex, isFloat, isInteger, kindOf, promote } from '../graph/dtype.js';
import type { Shape } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { checkDType } from '../graph/infer.js';
import { integerRange } from '../graph/scalar.js';
import { broadcastShapes as broadcastOf, checkShape, type ShapeArgument } from '../graph/shape.js';
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import { Lazy } from './lazy.js';

/** The dtype of an array, or one by name. */
const dtypeOf = (op: string, type: unknown): DType =>
  type instanceof Lazy ? type.dtype : checkDType(op, type);

/**
 * Whether every value of a dtype (or of an array's) is one of another, as NumPy's `can_cast` with the rule
 * `'safe'`: `canCast('int16', 'float32')`, not `canCast('int32', 'float32')`. As in NumPy, 64-bit integers
 * count as values of float64. Throws a DTypeError for what is no dtype.
 *
 * @example
 * canCast('int16', 'float32')
 * //=> true
 * canCast('int32', 'float32')
 * //=> false
 */
export function canCast(from: DType | Lazy, to: DType, ...more: readonly unknown[]): boolean {
  return called(canCast, () => {
    refuseMore('canCast', 2, [from, to, ...more]);
    const target = checkDType('canCast', to);
    return promote(dtypeOf('canCast', from), target) === target;
  });
}

/** Limits of a floating-point dtype. */
export interface FloatInfo {
  /** The dtype: of complex numbers, that of their components. */
  readonly dtype: DType;
  /** Bits of a number. */
  readonly bits: number;
  /** The distance from 1 to the next number. */
  readonly eps: number;
  /** The largest finite number. */
  readonly max: number;
  /** The least finite number, -max. */
  readonly min: number;
  /** The smallest positive number with full precision. */
  readonly smallestNormal: number;
  /** The smallest positive number. */
  readonly smallestSubnormal: number;
}

/** Bits of the exponent and of the fraction. */
const FLOAT_BITS: Readonly<Partial<Record<DType, readonly [exponent: number, fraction: number]>>> = {
  float16: [5, 10],
  bfloat16: [8, 7],
  float32: [8, 23],
  float64: [11, 52],
};

/**
 * Limits of a floating-point dtype, or of an array's; of complex numbers those of a component. Throws a
 * DTypeError for integers and booleans.
 *
 * @example
 * finfo('float32').eps
 * //=> 1.1920928955078125e-7
 */
export function finfo(type: DType | Lazy, ...more: readonly unknown[]): FloatInfo {
  return called(finfo, () => {
    refuseMore('finfo', 1, [type, ...more]);
    const dtype = DTYPE_INFO[dtypeOf('finfo', type)].component;
    const parts = FLOAT_BITS[dtype];
    if (parts === undefined) throw new DTypeError(expected('finfo', 'a float or complex dtype', dtype));
    const [exponent, fraction] = parts;
    const bias = 2 ** (exponent - 1) - 1;
    const eps = 2 ** -fraction;
    const max = 2 ** bias * (2 - eps);
    const smallestNormal = 2 ** (1 - bias);
    return {
      dtype,
      bits: 1 + exponent + fraction,
      eps,
      max,
      min: -max,
      smallestNormal,
      smallestSubnormal: smallestNormal * eps,
    };
  });
}

/** Limits of an integer dtype; those of 64 bits are bigints. */
export interface IntegerInfo {
  readonly dtype: DType;
  /** Bits of a number. */
  readonly bits: number;
  readonly max: number | bigint;
  readonly min: number | bigint;
}

/**
 * Limits of an integer dtype, or of an array's: numbers, or bigints of 64-bit integers. Throws a DTypeError for
 * other dtypes.
 *
 * @example
 * iinfo('int8').max
 * //=> 127
 */
export function iinfo(type: DType | Lazy, ...more: readonly unknown[]): IntegerInfo {
  return called(iinfo, () => {
    refuseMore('iinfo', 1, [type, ...more]);
    const dtype = dtypeOf('iinfo', type);
    if (!isInteger(dtype)) throw new DTypeError(expected('iinfo', 'an integer dtype', dtype));
    const bits = 8 * DTYPE_INFO[dtype].byteLength;
    const { min, max } = integerRange(dtype);
    return bits === 64 ? { dtype, bits, max, min } : { dtype, bits, max: Number(max), min: Number(min) };
  });
}

/** The kinds of dtypes that the array API standard names. */
const KINDS = {
  bool: (dtype: DType) => dtype === 'bool',
  'signed integer': (dtype: DType) => kindOf(dtype) === 'int',
  'unsigned integer': (dtype: DType) => kindOf(dtype) === 'uint',
  integral: isInteger,
  'real floating': isFloat,
  'complex floating': isComplex,
  numeric: (dtype: DType) => dtype !== 'bool',
} as const;

/** A kind of dtypes, by the array API standard's name. */
export type DTypeKindName = keyof typeof KINDS;

/**
 * Whether a dtype is of a kind, is another dtype, or is any of a list of those: `isdtype(x.dtype, 'real
 * floating')`, `isdtype(x.dtype, ['integral', 'float32'])`. Throws an ArgumentError for other kinds.
 *
 * @example
 * isdtype('float32', 'real floating')
 * //=> true
 */
export function isdtype(
  dtype: DType,
  kind: DTypeKindName | DType | readonly (DTypeKindName | DType)[],
  ...more: readonly unknown[]
): boolean {
  return called(isdtype, () => {
    refuseMore('isdtype', 2, [dtype, kind, ...more]);
    const tested = checkDType('isdtype', dtype);
    const kinds: readonly unknown[] = Array.isArray(kind) ? kind : [kind];
    return kinds.map((each) => isOfKind(tested, each)).includes(true);
  });
}

function isOfKind(dtype: DType, kind: unknown): boolean {
  if (typeof kind === 'string' && Object.hasOwn(KINDS, kind)) return KINDS[kind as DTypeKindName](dtype);
  if (typeof kind === 'string' && Object.hasOwn(DTYPE_INFO, kind)) return dtype === kind;
  const kinds = Object.keys(KINDS).map((name) => `'${name}'`);
  throw new ArgumentError(expected('isdtype', `a dtype or ${kinds.join(', ')}`, formatValue(kind)));
}

/**
 * The shape that arrays of these shapes broadcast to, by NumPy's rule: `broadcastShapes([3, 1], [4])` is [3,
 * 4]. Throws a ShapeError where they do not broadcast.
 *
 * @example
 * broadcastShapes([3, 1], [4])
 * //=> [ 3, 4 ]
 */
export function broadcastShapes(...shapes: readonly ShapeArgument[]): Shape {
  return called(broadcastShapes, () => {
    const checked = shapes.map((shape) => checkShape('broadcastShapes', shape));
    return [...broadcastOf('broadcastShapes', checked)];
  });
}
