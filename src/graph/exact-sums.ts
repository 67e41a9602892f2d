/**
 * Exact sums of float32 by bin, which depend on no order, in one pass over the values: a superaccumulator (Neal, "Fast
 * exact summation using small and large superaccumulators", 2015). A bin has an int64 for each window of `bits`
 * exponents, and one more for what is no finite number; a value is a whole number of its window's least units, to which
 * it is added.
 *
 *     v = m · 2^(e - 149), m of 24 bits   →   window e div bits += m · 2^(e mod bits)
 *     Σ over windows w of its sum · 2^(w · bits - 149), carried from window to window, rounded once
 *
 * `bits` is as many as leave room for all rows: 13 for 2^26 of them, which makes 20 windows. So there have to be many
 * rows for each bin; sums of others are those of `fixed-sums.ts`.
 */
import type { Expr } from './expr.js';
import { cast, constant, map } from './infer.js';
import { slice } from './slicing.js';

/** Exponents of finite numbers, from that of the least units on, and the bits of a fraction. */
const EXPONENTS = 254;
const FRACTION_BITS = 24;
const LEAST_UNIT = 149;
/** Windows of fewer exponents are too many, and longer ones of no use. */
const LEAST_BITS = 8;
const MOST_BITS = 32;
/** Rows that a bin has at least, so that its windows are small beside them. */
const LEAST_PER_BIN = 32;
/** Bins of fewer elements are summed in the shared memory of blocks. */
const LEAST_SLOTS = 4096;

/** How many exponents share a window where there are so many rows; undefined: too few. */
export function windowBits(rows: number): number | undefined {
  const bits = 63 - FRACTION_BITS - Math.ceil(Math.log2(Math.max(rows, 2)));
  return bits < LEAST_BITS ? undefined : Math.min(MOST_BITS, bits);
}

/** The int64 numbers of a bin: its windows and the flags. */
export const windowsOf = (bits: number): number => Math.ceil(EXPONENTS / bits) + 1;

/** Whether float32 rows of `width` elements are summed exactly. */
export const isExact = (rows: number, bins: number, width: number): boolean =>
  bins * width > LEAST_SLOTS && rows >= LEAST_PER_BIN * bins && windowBits(rows) !== undefined;

/**
 * Flags of values that were added, in fields of twelve bits, since flags of up to 1,024 units of rows are added:
 * infinities, NaN, 0 and -0.
 */
export const FLAG_FIELD = 12;
export const FLAGS = { infinite: 0, minusInfinite: 1, nan: 2, zero: 3, minusZero: 4 } as const;

/**
 * The float32 sums by the numbers of bins [windows, bins · width]; `none` where nothing was added, or what was cancels
 * out: 0 or -0.
 */
export function exactSums(numbers: Expr, bits: number, none: number): Expr {
  const windows = numbers.shape[0]!;
  const row = (k: number): Expr => slice(numbers, k);
  const digits: Expr[] = [];
  let carry: Expr = constant(0n, 'int64');
  for (let k = 0; k < windows - 1; k++) {
    const sum = map('add', [row(k), carry]);
    digits.push(map('bitwiseAnd', [sum, constant(2n ** BigInt(bits) - 1n, 'int64')]));
    carry = map('bitwiseRightShift', [sum, constant(BigInt(bits), 'int64')]);
  }
  const value = digits.reduceRight(
    (above, digit) => map('add', [map('multiply', [above, 2 ** bits]), cast(digit, 'float64')]),
    cast(carry, 'float64'),
  );
  return signed(map('multiply', [value, 2 ** -LEAST_UNIT]), row(windows - 1), none);
}

/** A sum, or what flags say. */
function signed(value: Expr, flags: Expr, none: number): Expr {
  const has = (flag: keyof typeof FLAGS): Expr => {
    const field = constant(4095n << BigInt(FLAG_FIELD * FLAGS[flag]), 'int64');
    return map('notEqual', [map('bitwiseAnd', [flags, field]), 0]);
  };
  const number = (a: Expr | number): Expr => (typeof a === 'number' ? constant(a, 'float64') : a);
  const where = (test: Expr, a: Expr | number, b: Expr | number): Expr =>
    map('where', [test, number(a), number(b)]);
  const zero = where(has('zero'), 0, where(has('minusZero'), -0, none));
  const finite = where(map('equal', [value, 0]), zero, value);
  const infinite = where(
    has('infinite'),
    where(has('minusInfinite'), Number.NaN, Number.POSITIVE_INFINITY),
    where(has('minusInfinite'), Number.NEGATIVE_INFINITY, finite),
  );
  return cast(where(has('nan'), Number.NaN, infinite), 'float32');
}
