/**
 * How far two arrays are apart: units in the last place for floats, by norm for complex values, equality for
 * the rest. NaN equals NaN. Used by every test that compares values.
 */
import {
  type Complex,
  DTYPE_INFO,
  type DType,
  isComplex,
  isFloat,
  type Scalar,
} from '../../src/graph/dtype.js';
import { elementAt, type HostArray, sizeOf } from './host.js';
import { isComplexValue } from './scalar.js';

export interface Tolerance {
  /** Largest distance in units in the last place. */
  readonly ulp: number;
  /** An absolute error that is always allowed. */
  readonly absolute?: number;
  /**
   * The unit is never taken of a value smaller than this: for functions with zeros that rounding cannot hit.
   */
  readonly floor?: number;
  /** Whether -0 and 0 may stand for each other. */
  readonly anyZero?: boolean;
}

export const EXACT: Tolerance = { ulp: 0 };

const PRECISION: Partial<Record<DType, { bits: number; least: number }>> = {
  float16: { bits: 11, least: -14 },
  bfloat16: { bits: 8, least: -126 },
  float32: { bits: 24, least: -126 },
  float64: { bits: 53, least: -1022 },
};

/** The distance from a value of a float dtype to the next larger in size. */
export function unitOf(dtype: DType, value: number): number {
  const { bits, least } = PRECISION[dtype]!;
  const size = Math.abs(value);
  if (size < 2 ** least) return 2 ** (least - bits + 1);
  let exponent = Math.floor(Math.log2(size));
  if (2 ** exponent > size) exponent--;
  if (2 ** (exponent + 1) <= size) exponent++;
  return 2 ** (exponent - bits + 1);
}

const buffer = new DataView(new ArrayBuffer(8));

/** Position of a float among all of its dtype, so that neighbours differ by 1; -0 and 0 share one. */
function ordinal(dtype: DType, value: number): bigint {
  buffer.setFloat64(0, value);
  let bits = buffer.getBigInt64(0);
  if (dtype === 'float32' || dtype === 'bfloat16') {
    buffer.setFloat32(0, value);
    bits = BigInt(buffer.getInt32(0)) >> (dtype === 'bfloat16' ? 16n : 0n);
    return bits < 0n ? -(bits & (dtype === 'bfloat16' ? 0x7fffn : 0x7fffffffn)) : bits;
  }
  if (dtype === 'float16') return halfOrdinal(value);
  return bits < 0n ? -(bits & 0x7fffffffffffffffn) : bits;
}

function halfOrdinal(value: number): bigint {
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return value > 0 ? 0x7c00n : -0x7c00n;
  const unit = unitOf('float16', size);
  const exponent = size < 2 ** -14 ? 0 : Math.round(Math.log2(unit)) + 25;
  const position = exponent === 0 ? size / unit : exponent * 1024 + size / unit - 1024;
  return BigInt(Math.sign(value) * position);
}

/** Units in the last place between two floats of a dtype; infinity is one past the largest. */
export function ulpDistance(dtype: DType, a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b))
    return Number.isNaN(a) && Number.isNaN(b) ? 0 : Number.POSITIVE_INFINITY;
  const distance = ordinal(dtype, a) - ordinal(dtype, b);
  return Number(distance < 0n ? -distance : distance);
}

function closeReal(dtype: DType, actual: number, expected: number, t: Tolerance): boolean {
  if (Object.is(actual, expected)) return true;
  if (actual === 0 && expected === 0) return t.anyZero === true || t.ulp > 0 || Object.is(actual, expected);
  if (t.absolute !== undefined && Math.abs(actual - expected) <= t.absolute) return true;
  if (
    t.floor !== undefined &&
    Math.abs(expected) < t.floor &&
    Math.abs(actual - expected) <= t.ulp * unitOf(dtype, t.floor)
  )
    return true;
  return ulpDistance(dtype, actual, expected) <= t.ulp;
}

const infinite = (z: Complex): boolean =>
  Math.abs(z.re) === Number.POSITIVE_INFINITY || Math.abs(z.im) === Number.POSITIVE_INFINITY;
const finite = (z: Complex): boolean => Number.isFinite(z.re) && Number.isFinite(z.im);

/**
 * By the norm of the difference. A complex infinity is any with an infinite part; a NaN may stand in no
 * finite place.
 */
function closeComplex(dtype: DType, actual: Complex, expected: Complex, t: Tolerance): boolean {
  if (infinite(expected)) return infinite(actual);
  if (!finite(expected)) return !finite(actual);
  const component = DTYPE_INFO[dtype].component;
  if (t.ulp === 0 && t.absolute === undefined)
    return closeReal(component, actual.re, expected.re, t) && closeReal(component, actual.im, expected.im, t);
  const error = Math.hypot(actual.re - expected.re, actual.im - expected.im);
  const size = Math.max(Math.hypot(expected.re, expected.im), t.floor ?? 0);
  return error <= t.ulp * unitOf(component, size) || error <= (t.absolute ?? 0);
}

export function isClose(dtype: DType, actual: Scalar, expected: Scalar, tolerance: Tolerance): boolean {
  if (isComplexValue(actual) && isComplexValue(expected))
    return closeComplex(dtype, actual, expected, tolerance);
  if (isFloat(dtype)) return closeReal(dtype, Number(actual), Number(expected), tolerance);
  return actual === expected;
}

export const show = (value: Scalar): string =>
  isComplexValue(value) ? `${value.re}+${value.im}i` : Object.is(value, -0) ? '-0' : String(value);

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/**
 * Describes up to four elements that are too far apart, or gives undefined. `describe` adds what led to
 * element i.
 */
export function mismatch(
  actual: HostArray,
  expected: HostArray,
  toleranceOf: Tolerance | ((i: number) => Tolerance | undefined),
  describe: (i: number) => string = () => '',
): string | undefined {
  if (actual.dtype !== expected.dtype) return `dtype ${actual.dtype}, expected ${expected.dtype}`;
  if (actual.shape.join() !== expected.shape.join())
    return `shape [${actual.shape}], expected [${expected.shape}]`;
  const { dtype } = expected;
  const count = sizeOf(expected.shape);
  const values = isComplex(dtype) ? 2 * count : count;
  if (actual.data.length !== values) return `${actual.data.length} values, expected ${values}`;
  if (bytesOf(actual.data).equals(bytesOf(expected.data))) return undefined;
  const wrong: string[] = [];
  for (let i = 0; i < count; i++) {
    const tolerance = typeof toleranceOf === 'function' ? toleranceOf(i) : toleranceOf;
    if (tolerance === undefined) continue;
    const [a, e] = [elementAt(dtype, actual.data, i), elementAt(dtype, expected.data, i)];
    if (!isClose(dtype, a, e, tolerance)) wrong.push(`[${i}] ${describe(i)} ${show(a)}, expected ${show(e)}`);
  }
  if (wrong.length === 0) return undefined;
  return `${wrong.length} of ${count} differ: ${wrong.slice(0, 4).join('; ')}`;
}
