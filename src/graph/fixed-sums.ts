/**
 * Sums of floats that depend on no order: every element is rounded to a multiple of a power of two that its bin
 * has, and multiples are integers, whose sums are the same in any order. So atomic operations, tiles, devices
 * and threads may add them as they like. (Demmel and Nguyen, "Parallel reproducible summation", 2015, do the
 * same with floats.)
 *
 *     sums of v by bin   →   e = the largest exponent of each bin (`scale`)
 *                            m = Σ round(v / 2^(e - bits)), int64, for each bin (`fixed`)
 *                            m · 2^(e - bits), rounded once
 *
 * `bits` is as many as leave room for so many elements in 62: 36 for 2^26 of them. A second number of as many bits
 * has what the first one's rounding left. An element is so rounded at 2^(-2 · bits) of the largest one of its
 * bin, which is below the error bound of any order of sums.
 *
 * That reads values twice. Of float32 with many rows for each bin, `exact-sums.ts` has sums in one pass; where both
 * numbers hold all values exactly, the routine `binSums` has.
 *
 * A scale is the exponent and one, 0 where there is nothing but -0; 4096 where there are infinities, whose
 * numbers the sums then are, and 8192 where there is a NaN.
 */
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, map } from './infer.js';
import { slice } from './slicing.js';
import { reshape } from './view-nodes.js';

const INFINITE = 4096;
const NOT_A_NUMBER = 8192;
/** Bits of sums, without the sign and one for rounding. */
const SUM_BITS = 62;
/** Bits below 1 that a float64 has room for, alone and beside the ten that are left of a number of 63 bits. */
const MOST_BITS_BELOW = 52;
const BITS_BESIDE = 40;
/** Numbers that a sum has. */
export const FIXED_PARTS = 2;

/** Combined results of the routine: scales [bins · width], and fixed sums, with a first axis of their parts. */
type Combined = (op: 'scale' | 'fixed', inputs: readonly Expr[], parts: number) => Expr;

/** The bits that each number of an element has where rows are so many. */
export const fixedBits = (rows: number): number => SUM_BITS - Math.ceil(Math.log2(Math.max(rows, 2)));

/** The sums in `dtype` of float32 or float64 `values` in their bins; -0 where there is nothing but -0. */
export function floatSums(values: Expr, dtype: DType, bits: number, combined: Combined): Expr {
  const scales = combined('scale', [values], 1);
  const sums = combined('fixed', [values, scales], FIXED_PARTS);
  const part = (k: number): Expr => reshape(slice(sums, k), scales.shape);
  const [whole, rest] = [part(0), part(1)];
  const finite = map('where', [map('equal', [scales, 0]), -0, scaledBack(scales, whole, rest, bits)]);
  const infinite = infinities(scales, whole, rest);
  return cast(map('where', [map('greaterEqual', [scales, INFINITE]), infinite, finite]), dtype);
}

/** (whole + rest · 2^-bits) · 2^(e - bits), rounded once. */
function scaledBack(scales: Expr, whole: Expr, rest: Expr, bits: number): Expr {
  const multiple = map('multiply', [nearest(whole, rest, bits), 2 ** (1 - bits)]);
  const place = map('maximum', [map('subtract', [scales, 2]), 0]);
  return map('multiply', [multiple, powerOfTwo(place)]);
}

/**
 * The float64 next to whole + rest · 2^-bits. Bits of the rest that are too many for the fraction's place are one, which
 * is set where any of them is (rounding to odd), so that only the last sum rounds.
 */
function nearest(whole: Expr, rest: Expr, bits: number): Expr {
  const int = (value: bigint): Expr => constant(value, 'int64');
  const carry = map('bitwiseRightShift', [rest, int(BigInt(bits))]);
  const above = map('add', [whole, carry]);
  const below = map('bitwiseAnd', [rest, int(2n ** BigInt(bits) - 1n)]);
  const leading = cast(above, 'float64');
  const left = map('subtract', [above, cast(leading, 'int64')]);
  /** The remainder beside `leading`, of which `most` bits are below 1. */
  const fraction = (most: number): Expr => {
    const kept = Math.min(bits, most);
    const dropped = BigInt(bits - kept);
    const isLost = map('notEqual', [map('bitwiseAnd', [below, int(2n ** dropped - 1n)]), int(0n)]);
    const odd = map('bitwiseOr', [map('bitwiseRightShift', [below, int(dropped)]), cast(isLost, 'int64')]);
    const digits = dropped === 0n ? below : odd;
    const sum = map('add', [map('multiply', [left, int(2n ** BigInt(kept))]), digits]);
    return map('multiply', [cast(sum, 'float64'), 2 ** -kept]);
  };
  // Above 2^53 something may be left, and the first bits below 1 say which way to round; else nothing is.
  const some =
    bits <= BITS_BESIDE
      ? fraction(bits)
      : map('where', [map('equal', [left, int(0n)]), fraction(MOST_BITS_BELOW), fraction(BITS_BESIDE)]);
  const sum = map('add', [leading, some]);
  // Numbers below 2 are one of 64 bits.
  const all = map('add', [map('multiply', [above, int(2n ** BigInt(bits))]), below]);
  const isSmall = map('logicalAnd', [map('greaterEqual', [above, int(-2n)]), map('less', [above, int(2n)])]);
  return map('where', [isSmall, map('multiply', [cast(all, 'float64'), 2 ** -bits]), sum]);
}

/** Of bins with infinities or NaN: the numbers count those of each sign. */
function infinities(scales: Expr, plus: Expr, minus: Expr): Expr {
  const [hasPlus, hasMinus] = [map('greater', [plus, 0]), map('greater', [minus, 0])];
  const isUndefined = map('logicalOr', [
    map('greaterEqual', [scales, NOT_A_NUMBER]),
    map('logicalAnd', [hasPlus, hasMinus]),
  ]);
  const infinity = constant(Number.POSITIVE_INFINITY, 'float64');
  const signed = map('where', [hasPlus, infinity, map('negative', [infinity])]);
  return map('where', [isUndefined, constant(Number.NaN, 'float64'), signed]);
}

const float = (value: number): Expr => constant(value, 'float64');

/** 2^(place - 1022), of places from 0 to 2045, by the bits of the exponent: a table would be an array that the graph reads. */
function powerOfTwo(place: Expr): Expr {
  const exponent = map('subtract', [place, 1022]);
  const size = map('abs', [exponent]);
  const factors = Array.from({ length: 10 }, (_, bit) => {
    const isSet = map('notEqual', [map('bitwiseAnd', [size, 2 ** bit]), 0]);
    return map('where', [isSet, float(2 ** (2 ** bit)), float(1)]);
  });
  const power = factors.reduce((product, factor) => map('multiply', [product, factor]));
  return map('where', [map('less', [exponent, 0]), map('divide', [float(1), power]), power]);
}
