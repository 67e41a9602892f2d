/**
 * Scalars: the dtype a JavaScript value takes beside arrays, and the value it has in a dtype.
 *
 * The value of a constant is what the dtype holds: a bigint for 64-bit integers, a boolean for bool, `{ re,
 * im }` for complex, else a number already rounded to the dtype. Conversions are those of the `cast` node:
 * floats saturate to integers and NaN gives 0, integers wrap, anything but 0 is true.
 */
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import {
  type Complex,
  DTYPE_INFO,
  DTYPES,
  type DType,
  type DTypeKind,
  isComplex,
  isInteger,
  kindOf,
  promote,
  type Scalar,
} from './dtype.js';
import { formatValue } from './format.js';
import { toBfloat16, toFloat16 } from './half.js';

export const isComplexValue = (value: unknown): value is Complex =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Complex).re === 'number' &&
  typeof (value as Complex).im === 'number';

/** Whether two values have the same bits in their dtype: zeros of either sign differ, and a NaN is itself. */
export function sameScalar(a: Scalar, b: Scalar): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return Object.is(a, b);
  return Object.is(a.re, b.re) && Object.is(a.im, b.im);
}

export const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'number' ||
  typeof value === 'bigint' ||
  typeof value === 'boolean' ||
  isComplexValue(value);

/**
 * The kinds of weak scalars, in promotion order. A number without a fraction that 64 bits hold counts as an
 * integer: as a float64 beside int64, it would take the array to a dtype that holds fewer integers.
 */
export type WeakKind = 'bool' | 'int' | 'float' | 'complex';

function weakKindOf(value: Scalar): WeakKind {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 64 ? 'int' : 'float';
    default:
      return 'complex';
  }
}

/** The dtype of a weak scalar beside arrays that promote to `strong`; alone, NumPy's default for its kind. */
export function weakDType(op: string, value: Scalar, strong: DType | undefined): DType {
  const kind = weakKindOf(value);
  if (strong === undefined) {
    if (kind === 'int') return defaultInteger(op, value as number | bigint);
    return kind === 'bool' ? 'bool' : kind === 'float' ? 'float64' : 'complex128';
  }
  if (kind === 'int' && strong === 'bool') return defaultInteger(op, value as number | bigint);
  return kindBeside(kind, strong);
}

const ARRAY_KINDS: Readonly<Record<DTypeKind, WeakKind>> = {
  bool: 'bool',
  int: 'int',
  uint: 'int',
  float: 'float',
  complex: 'complex',
};

/** The dtype of a weak array of dtype `own` beside arrays that promote to `strong`. */
export function weakArrayDType(own: DType, strong: DType): DType {
  const kind = ARRAY_KINDS[kindOf(own)];
  return kind === 'int' && strong === 'bool' ? own : kindBeside(kind, strong);
}

function kindBeside(kind: WeakKind, strong: DType): DType {
  switch (kind) {
    case 'bool':
    case 'int':
      return strong;
    case 'float':
      return strong === 'bool' || isInteger(strong) ? 'float64' : strong;
    case 'complex':
      if (strong === 'bool' || isInteger(strong)) return 'complex128';
      return promote(strong, 'complex64');
  }
}

function defaultInteger(op: string, value: number | bigint): DType {
  if (inRange(value, 'int64')) return 'int64';
  if (inRange(value, 'uint64')) return 'uint64';
  throw new RangeArgumentError(expected(op, 'an integer of at most 64 bits', `${value}`));
}

const bitsOf = (dtype: DType): number => 8 * DTYPE_INFO[dtype].byteLength;

interface IntegerRange {
  readonly min: bigint;
  readonly max: bigint;
}

const RANGES = new Map(DTYPES.filter(isInteger).map((dtype) => [dtype, rangeOfBits(dtype)]));

function rangeOfBits(dtype: DType): IntegerRange {
  const bits = BigInt(bitsOf(dtype));
  return kindOf(dtype) === 'int'
    ? { min: -(1n << (bits - 1n)), max: (1n << (bits - 1n)) - 1n }
    : { min: 0n, max: (1n << bits) - 1n };
}

/** Smallest and largest value of an integer dtype. */
export const integerRange = (dtype: DType): IntegerRange => RANGES.get(dtype)!;

/** Whether an integer is a value of an integer dtype. */
export function inRange(value: number | bigint, dtype: DType): boolean {
  const { min, max } = integerRange(dtype);
  return value >= min && value <= max; // mixed comparisons are exact
}

/**
 * A weak scalar as a value of `dtype`; refuses integers that an integer dtype has no place for, as NumPy 2.
 */
export function weakValue(op: string, value: Scalar, dtype: DType): Scalar {
  if (
    isInteger(dtype) &&
    (typeof value === 'bigint' || typeof value === 'number') &&
    !inRange(value, dtype)
  ) {
    const { min, max } = integerRange(dtype);
    throw new RangeArgumentError(
      expected(
        op,
        `an integer from ${min} to ${max} beside ${dtype}`,
        `${value}`,
        'cast the array first for more',
      ),
    );
  }
  return convertScalar(value, dtype);
}

/** A value in `dtype`, by the rules of the cast node. */
export function convertScalar(value: Scalar, dtype: DType): Scalar {
  if (dtype === 'bool') {
    if (typeof value === 'object') return value.re !== 0 || value.im !== 0;
    return typeof value === 'number' ? value !== 0 : Boolean(value);
  }
  if (isComplex(dtype)) {
    const component = DTYPE_INFO[dtype].component;
    if (typeof value !== 'object') return { re: toFloat(value, component), im: 0 };
    return { re: toFloat(value.re, component), im: toFloat(value.im, component) };
  }
  const real = typeof value === 'object' ? value.re : value;
  return isInteger(dtype) ? toInteger(real, dtype) : toFloat(real, dtype);
}

function toInteger(value: number | bigint | boolean, dtype: DType): number | bigint {
  const bits = bitsOf(dtype);
  let integer: bigint;
  if (typeof value === 'bigint') {
    integer = kindOf(dtype) === 'int' ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  } else {
    integer = saturated(Number(value), dtype);
  }
  return bits === 64 ? integer : Number(integer);
}

function saturated(value: number, dtype: DType): bigint {
  const { min, max } = integerRange(dtype);
  if (Number.isNaN(value)) return 0n;
  if (value <= min) return min;
  return value >= max ? max : BigInt(Math.trunc(value));
}

function toFloat(value: number | bigint | boolean, dtype: DType): number {
  const number = typeof value === 'bigint' ? oddRounded(value) : Number(value);
  switch (dtype) {
    case 'float16':
      return toFloat16(number);
    case 'bfloat16':
      return toBfloat16(number);
    case 'float32':
      return Math.fround(number);
    default:
      return Number(value);
  }
}

/** A bigint as a double rounded to odd, so that rounding it once more to a shorter float is exact. */
function oddRounded(value: bigint): number {
  const magnitude = value < 0n ? -value : value;
  const excess = magnitude.toString(2).length - 53;
  if (excess <= 0) return Number(value);
  const kept = magnitude >> BigInt(excess);
  const odd = kept << BigInt(excess) === magnitude ? kept : kept | 1n;
  return Number(odd << BigInt(excess)) * (value < 0n ? -1 : 1);
}

/** A constant of dtype `from` cast to `to`: integers wrap even where a number holds them. */
export function castScalar(value: Scalar, from: DType, to: DType): Scalar {
  const whole = typeof value === 'number' && isInteger(from) && isInteger(to);
  return convertScalar(whole ? BigInt(value as number) : value, to);
}

/** Refuses what is neither an array nor a scalar. */
export function refuseOperand(op: string, value: unknown): never {
  const wanted = 'an array or a number, bigint, boolean or { re, im }';
  throw new ArgumentError(expected(op, wanted, formatValue(value)));
}
