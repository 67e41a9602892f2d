/**
 * Transforms of long sequences in four steps (D. H. Bailey, "FFTs in external or hierarchical memory", 1990), of which
 * each is a map or transforms many short rows: what does not fit into a budget passes through memory in tiles, with the
 * bits of the whole.
 *
 *     x of n = n1 · n2   →   [n1, n2], its columns transformed   →   · e^(-2πi k1 j2 / n)   →   rows transformed
 *                                                                              →   [n1, n2] transposed, as one row
 *
 * Whether a sequence is transformed so its length alone says. Called by `fourier.ts`.
 */
import type { Expr } from './expr.js';
import { cast, iota, map } from './infer.js';
import { reshape } from './view-nodes.js';
import { matrixTranspose } from './views.js';

/** Longer sequences are transformed in steps: up to there a call is faster, and its memory is that of most devices. */
export const MOST_AT_ONCE = 2 ** 26;

/**
 * The factors n1 ≤ n2, as near to each other as may be; undefined: one of them would be too long itself, since the
 * length has a large prime factor.
 */
export function stepsOf(n: number): readonly [n1: number, n2: number] | undefined {
  for (let n1 = Math.floor(Math.sqrt(n)); n1 > 1 && n / n1 <= MOST_AT_ONCE; n1--)
    if (n % n1 === 0) return [n1, n / n1];
  return undefined;
}

/** The transforms of the rows of [outer, n1 · n2], by a function that transforms rows of n1 and of n2 elements. */
export function inSteps(
  x: Expr,
  [n1, n2]: readonly [number, number],
  inverse: boolean,
  rowsOf: (rows: Expr) => Expr,
): Expr {
  const outer = x.shape[0]!;
  const alongLast = (matrices: Expr): Expr => {
    const length = matrices.shape[2]!;
    return reshape(rowsOf(reshape(matrices, [(outer * n1 * n2) / length, length])), matrices.shape);
  };
  // [outer, j2, k1].
  const columns = alongLast(matrixTranspose(reshape(x, [outer, n1, n2])));
  const turned = map('multiply', [columns, twiddles(columns, inverse)]);
  const rows = alongLast(matrixTranspose(turned));
  return reshape(matrixTranspose(rows), [outer, n1 * n2]);
}

/** e^(∓2πi k1 j2 / n) of [outer, j2, k1], from exact products of the indices. */
function twiddles({ shape, dtype }: Expr, inverse: boolean): Expr {
  const [, n2, n1] = shape as readonly [number, number, number];
  const products = map('multiply', [reshape(iota(n2), [1, n2, 1]), iota(n1)]);
  const turn = (inverse ? 2 : -2) * Math.PI;
  // Divided first: the quotient is rounded once, and a power of two leaves it exact.
  const parts = map('divide', [cast(products, 'float64'), n1 * n2]);
  return cast(map('exp', [map('multiply', [parts, { re: 0, im: turn }])]), dtype);
}
