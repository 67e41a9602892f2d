/** Complex numbers of their parts. */
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, map } from './infer.js';

/**
 * Numbers of a complex dtype of real and imaginary parts, which are kept whatever they are: re + im · i has NaN as its real
 * part where the imaginary one is infinite or NaN, and takes the signs of zeros. -0 is added, which changes nothing:
 *
 *     |im|   →   -0 + |im| i, its conjugate where im has a sign, a constant where it is infinite or NaN
 */
export function fromParts(re: Expr, im: Expr, dtype: DType): Expr {
  const imaginary = (part: number): Expr => constant({ re: -0, im: part }, dtype);
  const modulus = map('abs', [im]);
  const turned = map('multiply', [cast(modulus, dtype), imaginary(1)]);
  const infinite = map('where', [
    map('isnan', [im]),
    imaginary(Number.NaN),
    imaginary(Number.POSITIVE_INFINITY),
  ]);
  const above = map('where', [map('isfinite', [im]), turned, infinite]);
  const signed = map('where', [map('signbit', [im]), map('conj', [above]), above]);
  return map('add', [map('conj', [cast(re, dtype)]), signed]);
}

/** The same as re + im · i where no imaginary part is infinite, NaN or -0, and no real one -0. */
export function fromFiniteParts(re: Expr, im: Expr, dtype: DType): Expr {
  const turned = map('multiply', [cast(im, dtype), constant({ re: 0, im: 1 }, dtype)]);
  return map('add', [cast(re, dtype), turned]);
}
