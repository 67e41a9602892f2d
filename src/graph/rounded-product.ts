/**
 * Products that are rounded before they meet a sum, as NumPy computes them. On a GPU a sum with a product is otherwise one
 * operation (`fusion/passes/multiply-add.ts`), which may differ in the last bit. Called by `distributions.ts`,
 * `even-spacing.ts` and `counted-quantiles.ts`.
 */
import type { Expr } from './expr.js';
import { map, type Operand } from './infer.js';

/** `x * y` of finite values, in floats. */
export const roundedProduct = (x: Expr, y: Operand): Expr => rounded(map('multiply', [x, y]));

/** The same finite value, which no sum is written with: the next one up, and from there the next one down. */
export const rounded = (x: Expr): Expr =>
  map('nextafter', [map('nextafter', [x, Number.POSITIVE_INFINITY]), Number.NEGATIVE_INFINITY]);
