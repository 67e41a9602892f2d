/**
 * Elementwise functions made of ops of the table: nanToNum, fmax, sinc, bitCount … Every export is also a method
 * of Lazy and a free function (`fluent.ts`).
 */
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { fromParts } from './complex-parts.js';
import { DTYPE_INFO, type DType, isComplex, isFloat, isInteger } from './dtype.js';
import { floatOf } from './dtype-rules.js';
import type { Expr } from './expr.js';
import { formatValue } from './format.js';
import { cast, constant, isExpr, map, type Operand } from './infer.js';

/** Options of `nanToNum`. */
export interface NanToNumOptions {
  /** In the place of NaN; 0 by default. */
  readonly nan?: number | undefined;
  /** In the place of Infinity; the largest number of the dtype by default. */
  readonly posinf?: number | undefined;
  /** In the place of -Infinity; the least number of the dtype by default. */
  readonly neginf?: number | undefined;
}

/**
 * The elements with numbers in the place of NaN and of infinities, as NumPy's `nan_to_num`: `x.nanToNum({ nan: -1,
 * posinf: 1e6 })`. Complex numbers have them replaced in both parts; integers and booleans stay.
 *
 * @example
 * await lazy([1, NaN, Infinity]).nanToNum({ nan: -1, posinf: 99 }).compute()
 * //=> [ 1. -1. 99.]
 */
export function nanToNum(x: Expr, options?: NanToNumOptions): Expr {
  const op = 'nanToNum';
  checkOptions(op, options, ['nan', 'posinf', 'neginf']);
  for (const value of [options?.nan, options?.posinf, options?.neginf])
    if (value !== undefined && typeof value !== 'number')
      throw new ArgumentError(expected(op, 'numbers', formatValue(value)));
  if (isComplex(x.dtype)) {
    const [re, im] = (['real', 'imag'] as const).map((part) => finite(map(part, [x]), options));
    return fromParts(re!, im!, x.dtype);
  }
  return isFloat(x.dtype) ? finite(x, options) : x;
}

function finite(x: Expr, options: NanToNumOptions | undefined): Expr {
  const most = MOST[x.dtype as keyof typeof MOST];
  const { nan = 0, posinf = most, neginf = -most } = options ?? {};
  const infinite = map('where', [map('greater', [x, 0]), rounded(posinf, x), rounded(neginf, x)]);
  const bounded = map('where', [map('isinf', [x]), infinite, x]);
  return map('where', [map('isnan', [x]), rounded(nan, x), bounded]);
}

/** A number in the dtype of an array, rounded as its elements are. */
const rounded = (value: number, x: Expr): Expr => cast(constant(value, 'float64'), x.dtype);

/** The largest finite numbers. */
const MOST = {
  float16: 65504,
  bfloat16: 2 ** 128 - 2 ** 120,
  float32: 2 ** 128 - 2 ** 104,
  float64: Number.MAX_VALUE,
} as const;

/**
 * Larger of two values; the other one where one of them is NaN, as NumPy's `fmax`. Real numbers only.
 *
 * @example
 * await lazy([1, NaN, 3]).fmax(lazy([2, 2, NaN])).compute()
 * //=> [2. 2. 3.]
 */
export function fmax(x: Expr, other: Operand): Expr {
  return ignoringNaN('fmax', 'maximum', x, other);
}

/**
 * Smaller of two values; the other one where one of them is NaN, as NumPy's `fmin`. Real numbers only.
 *
 * @example
 * await lazy([1, NaN, 3]).fmin(lazy([2, 2, NaN])).compute()
 * //=> [1. 2. 3.]
 */
export function fmin(x: Expr, other: Operand): Expr {
  return ignoringNaN('fmin', 'minimum', x, other);
}

function ignoringNaN(op: string, choose: 'maximum' | 'minimum', x: Expr, other: Operand): Expr {
  const chosen = map(choose, [x, other], op);
  if (!isFloat(chosen.dtype)) return chosen;
  const y = isExpr(other) ? other : cast(constant(Number(other), 'float64'), chosen.dtype);
  const beside = map('where', [map('isnan', [x]), y, x]);
  return map('where', [map('isnan', [chosen]), beside, chosen]);
}

/**
 * The Heaviside step: 0 below 0, 1 above it, and the second argument at 0, as NumPy's `heaviside`; NaN at NaN.
 * Integers and booleans give the float of `exp`. Real numbers only.
 *
 * @example
 * await lazy([-1, 0, 1]).heaviside(0.5).compute()
 * //=> [0.  0.5 1. ]
 */
export function heaviside(x: Expr, atZero: Operand): Expr {
  const step = inFloat('heaviside', x);
  const above = cast(map('greater', [step, 0]), step.dtype);
  const chosen = map('where', [map('equal', [step, 0]), atZero, above], 'heaviside');
  return map('where', [map('isnan', [step]), step, chosen]);
}

/**
 * sin(πx) / πx, and 1 at 0, as NumPy's `sinc`. Integers and booleans give the float of `exp`. Throws a DTypeError
 * for complex numbers.
 *
 * @example
 * await lazy([0, 0.5, 1.5]).sinc().compute()
 * //=> [ 1.          0.63661977 -0.21220659]
 */
export function sinc(x: Expr): Expr {
  const angle = map('multiply', [inFloat('sinc', x), Math.PI]);
  return map('where', [map('equal', [angle, 0]), 1, map('divide', [map('sin', [angle]), angle])]);
}

/**
 * An angle in radians as one in degrees. Integers and booleans give the float of `exp`. Real numbers only.
 *
 * @example
 * await lazy([Math.PI, 1]).degrees().compute()
 * //=> [180.          57.29577951]
 */
export function degrees(x: Expr): Expr {
  return map('multiply', [inFloat('degrees', x), 180 / Math.PI]);
}

/**
 * An angle in degrees as one in radians. Integers and booleans give the float of `exp`. Real numbers only.
 *
 * @example
 * await lazy([180, 90]).radians().compute()
 * //=> [3.14159265 1.57079633]
 */
export function radians(x: Expr): Expr {
  return map('multiply', [inFloat('radians', x), Math.PI / 180]);
}

/**
 * The angle of complex numbers from the real axis, in radians from -π to π, as NumPy's `angle`; of real numbers 0 or π.
 * `{ degrees: true }` gives degrees. Integers and booleans give the float of `exp`.
 *
 * @example
 * await lazy([{ re: 0, im: 1 }, { re: -1, im: 0 }]).angle({ degrees: true }).compute()
 * //=> [ 90. 180.]
 */
export function angle(x: Expr, options?: { readonly degrees?: boolean }): Expr {
  checkOptions('angle', options, ['degrees']);
  const values = cast(x, floatOf(x.dtype));
  const [re, im] = isComplex(x.dtype)
    ? [map('real', [values]), map('imag', [values])]
    : [values, constant(0, values.dtype)];
  const radian = map('atan2', [im, re]);
  return options?.degrees === true ? degrees(radian) : radian;
}

/**
 * The number of ones among the bits of the absolute value of integers, as NumPy's `bitwise_count`, in uint8. Throws
 * a DTypeError for floats and complex numbers. Counted in parallel (Warren, "Hacker's Delight", 2002, 5-1).
 *
 * @example
 * await lazy([5, 255, 0], { dtype: 'uint8' }).bitCount().compute()
 * //=> [2 8 0]
 */
export function bitCount(x: Expr): Expr {
  if (x.dtype === 'bool') return cast(x, 'uint8');
  if (!isInteger(x.dtype)) throw new DTypeError(expected('bitCount', 'integers or booleans', x.dtype));
  const wide = DTYPE_INFO[x.dtype].byteLength > 4;
  const word: DType = wide ? 'uint64' : 'uint32';
  const repeated = (byte: bigint): bigint => byte * (wide ? 0x0101010101010101n : 0x01010101n);
  const masked = (value: Expr, byte: bigint): Expr => map('bitwiseAnd', [value, repeated(byte)]);
  const shifted = (value: Expr, by: number): Expr => map('bitwiseRightShift', [value, by]);
  // The absolute value of the least integer is itself, whose bits are those of its modulus.
  const unsigned = cast(map('abs', [x]), `uint${8 * DTYPE_INFO[x.dtype].byteLength}` as DType);
  const bits = cast(unsigned, word);
  const pairs = map('subtract', [bits, masked(shifted(bits, 1), 0x55n)]);
  const fours = map('add', [masked(pairs, 0x33n), masked(shifted(pairs, 2), 0x33n)]);
  const bytes = masked(map('add', [fours, shifted(fours, 4)]), 0x0fn);
  return cast(shifted(map('multiply', [bytes, repeated(1n)]), wide ? 56 : 24), 'uint8');
}

/** Real numbers in a float dtype. */
function inFloat(op: string, x: Expr): Expr {
  if (isComplex(x.dtype)) throw new DTypeError(expected(op, 'real numbers or booleans', x.dtype));
  return cast(x, floatOf(x.dtype));
}
