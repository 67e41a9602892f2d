/** Complex numbers of their parts. */
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, map } from './infer.js';

/**
 * Numbers of a complex dtype of real and imaginary parts, as re + im · i: of an infinite imaginary part the real one is NaN,
 * and of -0 the imaginary one 0.
 */
export function fromParts(re: Expr, im: Expr, dtype: DType): Expr {
  const turned = map('multiply', [cast(im, dtype), constant({ re: 0, im: 1 }, dtype)]);
  return map('add', [cast(re, dtype), turned]);
}

/** The same where an imaginary part may be infinite or NaN: it is then one of three constants, and the real part is kept. */
export function fromAnyParts(re: Expr, im: Expr, dtype: DType): Expr {
  const imaginary = (part: number): Expr => constant({ re: -0, im: part }, dtype);
  const signed = map('where', [
    map('less', [im, 0]),
    imaginary(Number.NEGATIVE_INFINITY),
    imaginary(Number.NaN),
  ]);
  const special = map('where', [map('greater', [im, 0]), imaginary(Number.POSITIVE_INFINITY), signed]);
  const turned = map('multiply', [cast(im, dtype), constant({ re: 0, im: 1 }, dtype)]);
  return map('add', [cast(re, dtype), map('where', [map('isfinite', [im]), turned, special])]);
}
