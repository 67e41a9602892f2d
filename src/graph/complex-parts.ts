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
