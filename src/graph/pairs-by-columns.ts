/**
 * Lines put in another order by sorting pairs of a place and an element, so that neither line is held as a whole
 * (`sort-by-columns.ts`). A pair is a complex128 number: its real part is the place with what an imaginary part cannot
 * hold of the element. Put in the place of gathers whose line does not fit (`fusion/passes/cut-gathers.ts`).
 *
 *     element, and place or infinity   →   sorted by places   →   the elements
 */
import { slice } from './basic-slicing.js';
import { fromFiniteParts } from './complex-parts.js';
import { DTYPE_INFO, type DType, isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, iota, map } from './infer.js';
import { joinedInteger, LOW_BITS, sortByColumns, splitInteger } from './sort-by-columns.js';

/** Elements that a product with i would not keep, and whose imaginary part is 0; the signs of those are apart. */
const SPECIALS = [Number.NaN, Number.POSITIVE_INFINITY, 0] as const;
/** Numbers of a place in a real part: for other elements, and for each of those of either sign. */
const CODE_FACTOR = 8;

interface Pairs {
  readonly real: Expr;
  readonly imaginary: Expr;
}

/** Elements beside float64 places. */
function pairsOf(line: Expr, place: Expr): Pairs {
  const { dtype } = line;
  if (isFloat(dtype)) {
    const value = cast(line, 'float64');
    const tests = [
      map('isnan', [value]),
      map('isinf', [value]),
      map('logicalAnd', [map('equal', [value, 0]), map('signbit', [value])]),
    ];
    const special = tests.reduce<Expr>(
      (found, test, k) => map('where', [test, 2 * k + 1, found]),
      constant(0, 'float64'),
    );
    const hasSign = map('logicalAnd', [map('greater', [special, 0]), map('signbit', [value])]);
    const code = map('add', [special, cast(hasSign, 'float64')]);
    const real = map('add', [map('multiply', [place, CODE_FACTOR]), code]);
    return { real, imaginary: map('where', [map('equal', [code, 0]), value, 0]) };
  }
  if (DTYPE_INFO[dtype].byteLength < 8) return { real: place, imaginary: cast(line, 'float64') };
  const [imaginary, low] = splitInteger(line).map((part) => cast(part, 'float64')) as [Expr, Expr];
  return { real: map('add', [map('multiply', [place, 2 ** LOW_BITS]), low]), imaginary };
}

/** The elements of pairs. */
function elementsOf({ real, imaginary }: Pairs, dtype: DType): Expr {
  const isThere = map('isfinite', [real]);
  const known = map('where', [isThere, real, 0]);
  if (isFloat(dtype)) {
    const code = map('remainder', [known, CODE_FACTOR]);
    const plain = SPECIALS.reduce<Expr>((found, special, k) => {
      const isIt = map('logicalOr', [map('equal', [code, 2 * k + 1]), map('equal', [code, 2 * k + 2])]);
      return map('where', [isIt, constant(special, 'float64'), found]);
    }, imaginary);
    const hasSign = map('logicalAnd', [
      map('greater', [code, 0]),
      map('equal', [map('remainder', [code, 2]), 0]),
    ]);
    const value = map('where', [hasSign, map('negative', [plain]), plain]);
    return cast(value, dtype);
  }
  if (DTYPE_INFO[dtype].byteLength < 8) return cast(imaginary, dtype);
  return joinedInteger(cast(imaginary, dtype), cast(map('remainder', [known, 2 ** LOW_BITS]), dtype));
}

/** The elements of a line in the order of places; `behind` for infinite places, which come last. */
function inOrderOf(line: Expr, place: Expr, behind: Expr): Expr {
  const { real, imaginary } = pairsOf(line, place);
  const isThere = map('isfinite', [real]);
  const sorted = sortByColumns(
    fromFiniteParts(real, map('where', [isThere, imaginary, 0]), 'complex128'),
    false,
  );
  const pairs = { real: map('real', [sorted]), imaginary: map('imag', [sorted]) };
  return map('where', [map('isfinite', [pairs.real]), elementsOf(pairs, line.dtype), behind]);
}

/** The elements of a line where a mask is true, in order; behind them the last element of the line. */
export function compactedByColumns(mask: Expr, line: Expr): Expr {
  const size = line.shape[0]!;
  const place = map('where', [mask, cast(iota(size), 'float64'), Number.POSITIVE_INFINITY]);
  return inOrderOf(line, place, slice(line, [size - 1, size]));
}

/** Each element of a line at its place of a permutation: as a gather at the permutation's `argsort`. */
export const permutedByColumns = (line: Expr, places: Expr): Expr =>
  inOrderOf(line, cast(places, 'float64'), constant(0, line.dtype));
