/** Discrete Fourier transforms by their definition, in float64: sums over all elements. Used by the interpreters. */
import type { RoutineName } from '../../src/graph/routines.js';
import type { RoutineInput } from './reference-bins.js';
import { isComplexValue } from './scalar.js';

/** Real and imaginary parts. */
interface Line {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

const lineOf = (n: number): Line => ({ re: new Float64Array(n), im: new Float64Array(n) });

function transformed({ re, im }: Line, sign: number): Line {
  const n = re.length;
  const cos = Float64Array.from({ length: n }, (_, k) => Math.cos((2 * Math.PI * k) / n));
  const sin = Float64Array.from({ length: n }, (_, k) => sign * Math.sin((2 * Math.PI * k) / n));
  const result = lineOf(n);
  for (let k = 0; k < n; k++) {
    let [real, imaginary] = [0, 0];
    for (let j = 0, at = 0; j < n; j++) {
      real += re[j]! * cos[at]! - im[j]! * sin[at]!;
      imaginary += re[j]! * sin[at]! + im[j]! * cos[at]!;
      at += k;
      if (at >= n) at -= n;
    }
    result.re[k] = real;
    result.im[k] = imaginary;
  }
  return result;
}

function partsOf({ values }: RoutineInput): Line {
  const line = lineOf(values.length);
  for (const [k, value] of values.entries()) {
    line.re[k] = isComplexValue(value) ? value.re : Number(value);
    line.im[k] = isComplexValue(value) ? value.im : 0;
  }
  return line;
}

/** All of an array [outer, n, inner] along its middle axis. */
function alongMiddle(all: Line, n: number, inner: number, sign: number): Line {
  const result = lineOf(all.re.length);
  for (let first = 0; first < all.re.length; first += n * inner)
    for (let column = first; column < first + inner; column++) {
      const line = lineOf(n);
      for (let k = 0; k < n; k++) {
        line.re[k] = all.re[column + k * inner]!;
        line.im[k] = all.im[column + k * inner]!;
      }
      const own = transformed(line, sign);
      for (let k = 0; k < n; k++) {
        result.re[column + k * inner] = own.re[k]!;
        result.im[column + k * inner] = own.im[k]!;
      }
    }
  return result;
}

const complexOf = ({ re, im }: Line): { re: number; im: number }[] =>
  Array.from(re, (real, k) => ({ re: real, im: im[k]! }));

/** The values of `fft`, `rfft` and `irfft`. */
export function fourierValues(
  routine: RoutineName,
  [parameter]: readonly number[],
  input: RoutineInput,
): readonly (number | { re: number; im: number })[] {
  const { shape } = input;
  const parts = partsOf(input);
  if (routine === 'fft') {
    let inner = shape.at(-1)!;
    let all = parts;
    for (const n of shape.slice(1, -1).reverse()) {
      all = alongMiddle(all, n, inner, parameter === 1 ? 1 : -1);
      inner *= n;
    }
    return complexOf(all);
  }
  if (routine === 'rfft') {
    const n = shape[1]!;
    const kept = Math.floor(n / 2) + 1;
    return complexOf(alongMiddle(parts, n, 1, -1)).filter((_, k) => k % n < kept);
  }
  const n = parameter!;
  const given = shape[1]!;
  const whole = lineOf(shape[0]! * n);
  for (let row = 0; row < shape[0]!; row++)
    for (let k = 0; k < n; k++) {
      const from = row * given + Math.min(k, n - k);
      whole.re[row * n + k] = parts.re[from]!;
      whole.im[row * n + k] = 2 * k === n || k === 0 ? 0 : Math.sign(n - 2 * k) * parts.im[from]!;
    }
  return Array.from(alongMiddle(whole, n, 1, 1).re);
}
