/**
 * Elements as exact JavaScript values: floats are numbers, integers of every width bigints, booleans
 * booleans, complex values `{ re, im }`. Rounding to a dtype and casting between dtypes, written out slowly.
 *
 * Used by the reference interpreter and by the tests that read results.
 */

import type { Scalar } from '../../src/graph/dtype.js';
import {
  type Complex,
  DTYPE_INFO,
  type DType,
  isComplex,
  isFloat,
  isInteger,
  kindOf,
} from '../../src/graph/dtype.js';

const view = new DataView(new ArrayBuffer(8));

/**
 * The nearest number with `bits` bits of significand and exponents from `least` (of the smallest normal),
 * half to even.
 */
function roundSignificand(value: number, bits: number, least: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  view.setFloat64(0, value);
  const biased = (view.getUint32(0) >>> 20) & 0x7ff;
  const exponent = Math.max(biased - 1023, least);
  // The unit is a power of two, so the quotient is exact.
  const unit = 2 ** (exponent - bits + 1);
  return roundHalfEven(value / unit) * unit;
}

/** Nearest integer, halves to even; keeps the sign of zero. */
export function roundHalfEven(x: number): number {
  if (!Number.isFinite(x) || Math.abs(x) >= 2 ** 52) return x;
  const below = Math.floor(x);
  const rest = x - below;
  const rounded = rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
  return rounded === 0 && (x < 0 || Object.is(x, -0)) ? -0 : rounded;
}

export function toFloat16(value: number): number {
  const rounded = roundSignificand(value, 11, -14);
  return Math.abs(rounded) > 65504 ? Math.sign(rounded) * Number.POSITIVE_INFINITY : rounded;
}

export function toBfloat16(value: number): number {
  const rounded = roundSignificand(value, 8, -126);
  return Math.abs(rounded) > (2 - 2 ** -7) * 2 ** 127
    ? Math.sign(rounded) * Number.POSITIVE_INFINITY
    : rounded;
}

/** The value of 16 bits of a half type. */
export function halfValue(dtype: 'float16' | 'bfloat16', bits: number): number {
  if (dtype === 'bfloat16') {
    view.setUint32(0, bits << 16);
    return view.getFloat32(0);
  }
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The 16 bits of a value that a half type holds. */
export function halfBits(dtype: 'float16' | 'bfloat16', value: number): number {
  if (Number.isNaN(value)) return dtype === 'float16' ? 0x7e00 : 0x7fc0;
  if (dtype === 'bfloat16') {
    view.setFloat32(0, value);
    return view.getUint16(0);
  }
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | (size * 2 ** 24);
  view.setFloat64(0, size);
  const exponent = ((view.getUint32(0) >>> 20) & 0x7ff) - 1023;
  return sign | ((exponent + 15) << 10) | (size * 2 ** (10 - exponent) - 1024);
}

const kept = (value: number): number => value;

/** How numbers are rounded to a float dtype (to its components, for complex dtypes). */
export function roundingTo(dtype: DType): (value: number) => number {
  switch (DTYPE_INFO[dtype].component) {
    case 'float16':
      return toFloat16;
    case 'bfloat16':
      return toBfloat16;
    case 'float32':
      return Math.fround;
    default:
      return kept;
  }
}

/** A number rounded to a float dtype. */
export const roundFloat = (dtype: DType, value: number): number => roundingTo(dtype)(value);

/** The bits of an integer dtype. */
export const bitsOf = (dtype: DType): number => DTYPE_INFO[dtype].byteLength * 8;

/** An integer wrapped to a dtype. */
export const wrap = (dtype: DType, value: bigint): bigint =>
  kindOf(dtype) === 'int' ? BigInt.asIntN(bitsOf(dtype), value) : BigInt.asUintN(bitsOf(dtype), value);

/** The dtype's smallest and largest integer. */
export function integerRange(dtype: DType): { least: bigint; most: bigint } {
  const bits = BigInt(bitsOf(dtype));
  return kindOf(dtype) === 'int'
    ? { least: -(1n << (bits - 1n)), most: (1n << (bits - 1n)) - 1n }
    : { least: 0n, most: (1n << bits) - 1n };
}

export const isComplexValue = (value: Scalar): value is Complex => typeof value === 'object';

/** Whether a value counts as true: everything but zero, NaN included. */
export const isTrue = (value: Scalar): boolean =>
  isComplexValue(value)
    ? value.re !== 0 || value.im !== 0
    : typeof value === 'number'
      ? value !== 0
      : Boolean(value);

/**
 * A value in another dtype: floats to integers truncate and saturate with NaN as 0, integers wrap, `bool` is
 * `!= 0`, complex values lose their imaginary part on the way to real ones. A value that fits comes through
 * unchanged, so this also brings plain data into the form a dtype has here.
 */
export function castScalar(value: Scalar, target: DType): Scalar {
  if (target === 'bool') return isTrue(value);
  if (isComplex(target)) {
    const { re, im } = isComplexValue(value) ? value : { re: Number(value), im: 0 };
    return { re: roundFloat(target, re), im: roundFloat(target, im) };
  }
  if (isComplexValue(value)) return castScalar(value.re, target);
  if (isFloat(target))
    return typeof value === 'bigint' ? roundBigInt(target, value) : roundFloat(target, Number(value));
  if (typeof value !== 'number') return wrap(target, BigInt(value));
  if (Number.isNaN(value)) return 0n;
  const { least, most } = integerRange(target);
  if (value <= Number(least)) return least;
  return value >= Number(most) ? most : BigInt(Math.trunc(value));
}

/**
 * An integer rounded once: float64 first would round twice, so what its rounding dropped is kept as a last
 * odd bit.
 */
function roundBigInt(target: DType, value: bigint): number {
  if (target === 'float64') return Number(value);
  const size = value < 0n ? -value : value;
  const excess = BigInt(Math.max(0, size.toString(2).length - 50));
  const kept = size >> excess;
  const odd = kept << excess === size ? kept : kept | 1n;
  return roundFloat(target, Number((value < 0n ? -odd : odd) << excess));
}

/** The zero of a dtype. */
export function zeroOf(dtype: DType): Scalar {
  if (dtype === 'bool') return false;
  if (isInteger(dtype)) return 0n;
  return isComplex(dtype) ? { re: 0, im: 0 } : 0;
}
