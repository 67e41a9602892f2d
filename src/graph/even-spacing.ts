/**
 * Values at equal distances, `start + index * step`, as NumPy computes them: the product is rounded before it is
 * added. NVRTC contracts the two into one operation (`--fmad=true`), which may differ in the last bit. Called by
 * `ranges.ts` and `histograms.ts`.
 */
import type { Expr } from './expr.js';
import { map, type Operand } from './infer.js';

/** `start + product`; a start of the number 0 changes no bits of a contracted sum. */
export const spacedFrom = (start: Operand, product: Expr): Expr =>
  map('add', [start === 0 ? product : rounded(product), start]);

/** The same finite value, which no compiler contracts: the next one up, and from there the next one down. */
const rounded = (x: Expr): Expr =>
  map('nextafter', [map('nextafter', [x, Number.POSITIVE_INFINITY]), Number.NEGATIVE_INFINITY]);
