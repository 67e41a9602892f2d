/**
 * Values at equal distances, `start + index * step`, as NumPy computes them: the product is rounded before it is
 * added. Called by `ranges.ts` and `histograms.ts`.
 */
import type { Expr } from './expr.js';
import { map, type Operand } from './infer.js';
import { rounded } from './rounded-product.js';

/** `start + product`; a start of the number 0 changes no bits of a contracted sum. */
export const spacedFrom = (start: Operand, product: Expr): Expr =>
  map('add', [start === 0 ? product : rounded(product), start]);
