/**
 * Lines put in another order by sorting pairs of a place and an element, so that neither line is held as a whole
 * (`sort-by-columns.ts`). A pair is a complex128 number: its real part is the place with what an imaginary part cannot
 * hold of the element. Put in the place of gathers whose line does not fit (`fusion/passes/cut-gathers.ts`).
 *
 *     element, and place or infinity   →   sorted by places   →   the elements
 */
import { slice } from './basic-slicing.js';
import { DTYPE_INFO, type DType, isComplex, isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, iota, map, reduce } from './infer.js';
import { complexOf, hasColumns, sortByColumns } from './sort-by-columns.js';

/** Elements whose imaginary part is 0: NaN, infinities and -0, which a product with i would not keep. */
const CODES = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0] as const;
/** Places of so many in a real part: numbers, and a code for each of those. */
const CODE_FACTOR = 8;
/** Bits of a 64-bit integer beside the place. */
const LOW_BITS = 11;
/** The longest line whose places have room beside them. */
const MOST_LENGTH = 2 ** 42;

/** Whether lines of a length are put in another order so. */
export const hasPairs = (dtype: DType, length: number): boolean =>
  !isComplex(dtype) && hasColumns(length) && length <= MOST_LENGTH;

interface Pairs {
  readonly real: Expr;
  readonly imaginary: Expr;
}

/** Elements beside float64 places. */
function pairsOf(line: Expr, place: Expr): Pairs {
  const { dtype } = line;
  if (isFloat(dtype)) {
    const value = cast(line, 'float64');
    const isZero = map('logicalAnd', [map('equal', [value, 0]), map('signbit', [value])]);
    const tests = [
      map('isnan', [value]),
      ...CODES.slice(1, 3).map((code) => map('equal', [value, code])),
      isZero,
    ];
    const code = tests.reduce<Expr>(
      (found, test, k) => map('where', [test, k + 1, found]),
      constant(0, 'float64'),
    );
    const real = map('add', [map('multiply', [place, CODE_FACTOR]), code]);
    return { real, imaginary: map('where', [map('equal', [code, 0]), value, 0]) };
  }
  if (DTYPE_INFO[dtype].byteLength < 8) return { real: place, imaginary: cast(line, 'float64') };
  const low = cast(map('bitwiseAnd', [line, constant(2 ** LOW_BITS - 1, dtype)]), 'float64');
  const high = map('bitwiseRightShift', [line, constant(LOW_BITS, dtype)]);
  const real = map('add', [map('multiply', [place, 2 ** LOW_BITS]), low]);
  return { real, imaginary: cast(high, 'float64') };
}

/** The elements of pairs. */
function elementsOf({ real, imaginary }: Pairs, dtype: DType): Expr {
  const isThere = map('isfinite', [real]);
  const known = map('where', [isThere, real, 0]);
  if (isFloat(dtype)) {
    const code = map('remainder', [known, CODE_FACTOR]);
    const value = CODES.reduce<Expr>(
      (found, special, k) => map('where', [map('equal', [code, k + 1]), constant(special, 'float64'), found]),
      imaginary,
    );
    return cast(value, dtype);
  }
  if (DTYPE_INFO[dtype].byteLength < 8) return cast(imaginary, dtype);
  const low = cast(map('remainder', [known, 2 ** LOW_BITS]), dtype);
  const high = map('bitwiseLeftShift', [cast(imaginary, dtype), constant(LOW_BITS, dtype)]);
  return map('bitwiseOr', [high, low]);
}

/** The elements of a line in the order of places; those of infinite ones behind all others, as zeros. */
function inOrderOf(line: Expr, place: Expr): Expr {
  const { real, imaginary } = pairsOf(line, place);
  const sorted = sortByColumns(complexOf(real, map('where', [map('isfinite', [real]), imaginary, 0])), false);
  return elementsOf({ real: map('real', [sorted]), imaginary: map('imag', [sorted]) }, line.dtype);
}

/** The elements of a line where a mask is true, in order; behind them the last element of the line. */
export function compactedByColumns(mask: Expr, line: Expr): Expr {
  const size = line.shape[0]!;
  const length = reduce('sum', cast(mask, 'int64'), [0], 'compact');
  const index = iota(size);
  const place = map('where', [mask, cast(index, 'float64'), Number.POSITIVE_INFINITY]);
  const kept = inOrderOf(line, place);
  return map('where', [map('less', [index, length]), kept, slice(line, [size - 1, size])]);
}

/** Each element of a line at its place of a permutation: as a gather at the permutation's `argsort`. */
export const permutedByColumns = (line: Expr, places: Expr): Expr => inOrderOf(line, cast(places, 'float64'));
