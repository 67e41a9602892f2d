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
import { slice } from './basic-slicing.js';
import type { Complex, DType } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, iota, map } from './infer.js';
import { concat, stack } from './joins.js';
import { gather, reshape } from './view-nodes.js';
import { flip, matrixTranspose } from './views.js';

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
  return roots(map('multiply', [reshape(iota(n2), [1, n2, 1]), iota(n1)]), n1 * n2, inverse, dtype);
}

/**
 * e^(∓2πi k / n), times a factor, of integers 0 ≤ k < n: each is the product of a coarse and a fine one of two tables. To
 * compute each by itself takes a CPU longer than the transform.
 */
function roots(k: Expr, n: number, inverse: boolean, dtype: DType, factor: Complex = { re: 1, im: 0 }): Expr {
  const bits = Math.ceil(Math.log2(n) / 2);
  const fine = 2 ** bits;
  const rootsAt = (length: number, step: number): Expr => {
    // Divided first: the quotient is rounded once, and a power of two leaves it exact.
    const parts = map('divide', [cast(map('multiply', [iota(length), step]), 'float64'), n]);
    return map('exp', [map('multiply', [parts, { re: 0, im: (inverse ? 2 : -2) * Math.PI }])]);
  };
  const at = (table: Expr, index: Expr): Expr => gather(cast(table, dtype), index, 0, 'clip', k.shape);
  const coarse = map('multiply', [rootsAt(Math.ceil(n / fine), fine), factor]);
  return map('multiply', [
    at(coarse, map('bitwiseRightShift', [k, bits])),
    at(rootsAt(fine, 1), map('bitwiseAnd', [k, fine - 1])),
  ]);
}

/**
 * The first halves [outer, h + 1] of the spectra of real rows of n = 2h elements, by a function that transforms complex
 * rows of h:
 *
 *     z[j] = x[2j] + i x[2j+1]   →   Z   →   (Z[k] + Z̄[h-k]) / 2 - i/2 e^(-2πik/n) (Z[k] - Z̄[h-k]),  Z[h] = Z[0]
 */
export function halfSpectra(x: Expr, rowsOf: (rows: Expr) => Expr): Expr {
  const [outer, n] = x.shape as readonly [number, number];
  const h = n / 2;
  const pairs = reshape(x, [outer, h, 2]);
  const part = (k: number): Expr => reshape(slice(pairs, [0, outer], [0, h], [k, k + 1]), [outer, h]);
  const z = rowsOf(map('add', [part(0), map('multiply', [part(1), I])]));
  const [even, odd] = halves(z, h, false, { re: 0, im: -0.5 });
  const inner = map('add', [map('multiply', [even, 0.5]), odd]);
  const [re, im] = [map('real', [columns(z, 0, 1)]), map('imag', [columns(z, 0, 1)])];
  return concat([map('add', [re, im]), inner, map('subtract', [re, im])], 1);
}

/** The reverse, times n, by a function that transforms complex rows of h backwards. */
export function fromHalfSpectra(spectra: Expr, rowsOf: (rows: Expr) => Expr): Expr {
  const [outer, kept] = spectra.shape as readonly [number, number];
  const h = kept - 1;
  // The ends have no imaginary parts.
  const [first, last] = [map('real', [columns(spectra, 0, 1)]), map('real', [columns(spectra, h, kept)])];
  const ends = map('add', [map('add', [first, last]), map('multiply', [map('subtract', [first, last]), I])]);
  const z = rowsOf(concat([ends, map('add', halves(spectra, h, true, I))], 1));
  return reshape(stack([map('real', [z]), map('imag', [z])], 2), [outer, 2 * h]);
}

/** Elements 0 < k < h plus, and minus times factor · e^(∓2πik/2h), the conjugates of elements h - k. */
function halves(rows: Expr, h: number, inverse: boolean, factor: Complex): [even: Expr, odd: Expr] {
  const own = columns(rows, 1, h);
  const mirror = map('conj', [flip(own, 1)]);
  const turns = roots(map('add', [iota(h - 1), 1]), 2 * h, inverse, rows.dtype, factor);
  return [map('add', [own, mirror]), map('multiply', [map('subtract', [own, mirror]), turns])];
}

const I = { re: 0, im: 1 };

const columns = (x: Expr, first: number, last: number): Expr => slice(x, [0, x.shape[0]!], [first, last]);
