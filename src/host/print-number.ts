/**
 * Numbers as NumPy prints them: the shortest digits that name a value of the dtype, cut at a precision where
 * asked, with exact halves rounded to even. Called by `print-array.ts`.
 *
 * The conventions are those of Dragon4 (Steele and White, 1990) in NumPy's "unique" mode.
 */
import type { DType } from '../graph/dtype.js';
import { toBfloat16, toFloat16 } from '../graph/half.js';

/** Rounds a number to the values of a float dtype. */
export function rounderOf(dtype: DType): (value: number) => number {
  switch (dtype) {
    case 'float16':
      return toFloat16;
    case 'bfloat16':
      return toBfloat16;
    case 'float32':
    case 'complex64':
      return Math.fround;
    default:
      return (value) => value;
  }
}

/** Decimal digits that any value of a float dtype keeps: NumPy's `finfo.precision`. */
export const decimalPrecision = (dtype: DType): number => {
  switch (dtype) {
    case 'float16':
      return 3;
    case 'bfloat16':
      return 2;
    case 'float32':
    case 'complex64':
      return 6;
    default:
      return 15;
  }
};

/** Shortest scientific form, `d.ddde±x`, that reads back as the same value of the dtype. */
function shortest(magnitude: number, dtype: DType): string {
  const round = rounderOf(dtype);
  if (decimalPrecision(dtype) === 15) return magnitude.toExponential();
  for (let digits = 0; digits < 12; digits++) {
    const text = roundedHalfEven(magnitude, digits, exponential);
    if (round(Number(text)) === magnitude) return text;
  }
  return magnitude.toExponential();
}

/** The exact value to `digits` places by `write` (toFixed or toExponential); exact halves to even, not up. */
function roundedHalfEven(
  magnitude: number,
  digits: number,
  write: (value: number, digits: number) => string,
): string {
  const rounded = write(magnitude, digits);
  const [mantissa, exponent] = rounded.split('e');
  if (Number(mantissa!.at(-1)) % 2 === 0) return rounded;
  const [exact, exactExponent] = write(magnitude, 100).split('e');
  const kept = exact!.slice(0, mantissa!.length);
  const isHalf = exactExponent === exponent && /^\.?50*$/.test(exact!.slice(mantissa!.length));
  if (!isHalf) return rounded;
  return exponent === undefined ? kept : `${kept}e${exponent}`;
}

const fixed = (value: number, digits: number): string => value.toFixed(digits);
const exponential = (value: number, digits: number): string => value.toExponential(digits);

/** Digits before and after the point of a magnitude, at most `precision` after it, without trailing zeros. */
export function positionalParts(
  magnitude: number,
  dtype: DType,
  precision: number,
): readonly [string, string] {
  const [mantissa, exponent] = shortest(magnitude, dtype).split('e');
  const digits = mantissa!.replace('.', '');
  const point = Number(exponent) + 1; // place of the point in `digits`
  if (digits.length - point <= precision) {
    const whole = point <= 0 ? '0' : digits.slice(0, point).padEnd(point, '0');
    const fraction = point <= 0 ? '0'.repeat(-point) + digits : digits.slice(point);
    return [whole, fraction.replace(/0+$/, '')];
  }
  const [whole, fraction] = roundedHalfEven(magnitude, precision, fixed).split('.');
  return [whole!, (fraction ?? '').replace(/0+$/, '')];
}

/**
 * Leading digit, further digits (at most `precision`, without trailing zeros) and exponent of a magnitude.
 */
export function scientificParts(
  magnitude: number,
  dtype: DType,
  precision: number,
): readonly [string, string, number] {
  let text = shortest(magnitude, dtype);
  if (text.split('e')[0]!.length - 2 > precision) text = roundedHalfEven(magnitude, precision, exponential);
  const [mantissa, exponent] = text.split('e');
  const [whole, fraction] = mantissa!.split('.');
  return [whole!, (fraction ?? '').replace(/0+$/, ''), Number(exponent)];
}

/**
 * A magnitude in scientific form with exactly `digits` digits after the point: the exact value rounded, zeros
 * kept.
 */
export function scientificDigits(magnitude: number, digits: number): readonly [string, number] {
  const [mantissa, exponent] = roundedHalfEven(magnitude, digits, exponential).split('e');
  return [mantissa!.includes('.') ? mantissa! : `${mantissa}.`, Number(exponent)];
}

/** An exponent with its sign and at least `size` digits. */
export const exponentText = (exponent: number, size: number): string =>
  `e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(size, '0')}`;

export const isNegative = (value: number): boolean => value < 0 || Object.is(value, -0);

/** The largest magnitude (not included) that one number alone is printed without an exponent at. */
const scalarLimit = (dtype: DType): number =>
  decimalPrecision(dtype) === 15 ? 1e16 : 10 ** decimalPrecision(dtype);

/**
 * One number alone, as `str(np.float32(x))`: all its digits; `point` is what follows a whole number ('.0' or
 * '').
 */
export function scalarText(value: number, dtype: DType, point: '.0' | ''): string {
  if (Number.isNaN(value)) return 'nan';
  const sign = isNegative(value) ? '-' : '';
  const magnitude = Math.abs(value);
  if (magnitude === Infinity) return `${sign}inf`;
  if (magnitude === 0 || (magnitude >= 1e-4 && magnitude < scalarLimit(dtype))) {
    const [whole, fraction] = positionalParts(magnitude, dtype, 100);
    return `${sign}${whole}${fraction === '' ? point : `.${fraction}`}`;
  }
  const [whole, fraction, exponent] = scientificParts(magnitude, dtype, 100);
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${exponentText(exponent, 2)}`;
}
