/**
 * Distributions: each element is arithmetic on the random words of its place (`random-bits.ts`), so a sample is
 * part of the kernel that uses it. With the generator `threefry2x32`, words and uniform numbers have JAX's bits.
 */
import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { type DType, isFloat, isHalf, isInteger } from './dtype.js';
import type { Expr, Shape } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { take, takeAlongAxis } from './indexing.js';
import { cast, constant, map, type Operand, toExpr } from './infer.js';
import { type Generator, type KeyBits, placesOf, words } from './random-bits.js';
import { integerRange } from './scalar.js';
import { cumulativeSum } from './scans.js';
import { searchsorted } from './searching.js';
import { broadcastShapes } from './shape.js';
import { slice } from './slicing.js';
import { argsort } from './sorting.js';

const uint = (value: number | bigint, dtype: DType): Expr => constant(value, dtype);
const shifted = (x: Expr, by: number): Expr => map('bitwiseRightShift', [x, uint(by, x.dtype)]);

/** The float dtypes of samples; others are refused by the name of the function. */
export function checkFloat(op: string, dtype: DType): void {
  if (!isFloat(dtype)) throw new DTypeError(expected(op, 'a float dtype', dtype));
}

/** Bits of a uniform number's significand: as many as NumPy takes, of Threefry as many as JAX does. */
const SIGNIFICAND: Readonly<Record<Generator, Readonly<Partial<Record<DType, number>>>>> = {
  philox4x32: { float16: 10, bfloat16: 7, float32: 24, float64: 53 },
  threefry2x32: { float16: 10, bfloat16: 7, float32: 23, float64: 52 },
};
/** Bits of the words that they are the upper ones of: halves take the low bits of a word, as in JAX. */
const WORD: Readonly<Partial<Record<DType, number>>> = { float16: 16, bfloat16: 8, float32: 32, float64: 64 };

/**
 * Uniform in [0, 1): the upper bits of a word, times a power of two. The lower ones are masked, as a mask costs a GPU
 * one instruction, a shift by a number that is not in the source several.
 */
export function unit(key: KeyBits, shape: Shape, dtype: DType): Expr {
  const [width, count] = [WORD[dtype]!, SIGNIFICAND[key.impl][dtype]!];
  const word = words(key, shape, width === 64 ? 64 : 32);
  const mask = (2n ** BigInt(count) - 1n) << BigInt(width - count);
  const upper = map('bitwiseAnd', [word, constant(mask, word.dtype)]);
  const exact = isHalf(dtype) ? 'float32' : dtype;
  return cast(map('multiply', [cast(upper, exact), constant(2 ** -width, exact)]), dtype);
}

/** Uniform in [low, high), which broadcast against the shape. */
export function uniform(
  op: string,
  key: KeyBits,
  shape: Shape,
  dtype: DType,
  low: Operand,
  high: Operand,
): Expr {
  const least = parameterOf(op, low, shape, dtype);
  const range = map('subtract', [parameterOf(op, high, shape, dtype), least]);
  return map('add', [map('multiply', [unit(key, shape, dtype), range]), least]);
}

/** A parameter of a distribution in the dtype of the sample; a ShapeError where it does not fit the shape. */
export function parameterOf(op: string, given: Operand, shape: Shape, dtype: DType): Expr {
  const parameter = cast(toExpr(op, given), dtype);
  fitting(op, parameter, shape);
  return parameter;
}

/** Refuses a parameter of a distribution that does not broadcast to the shape. */
function fitting(op: string, parameter: Expr, shape: Shape): void {
  const met = broadcastShapes(op, [parameter.shape, shape]);
  if (met.length !== shape.length || met.some((size, k) => size !== shape[k]))
    throw new ShapeError(
      expected(op, `parameters that broadcast to ${formatShape(shape)}`, formatShape(parameter.shape)),
    );
}

/**
 * Standard normal numbers. Of float32 by Box and Muller, from two words for two numbers: tails reach 6.6 deviations.
 * Of float64 by the quantile of a uniform number, of which 63 bits count down from 1/2 and one is the sign: they reach
 * 9. Threefry takes JAX's √2 erfinv of a number in (-1, 1).
 */
export function standardNormal(key: KeyBits, shape: Shape, dtype: DType): Expr {
  if (isHalf(dtype)) return cast(standardNormal(key, shape, 'float32'), dtype);
  if (key.impl === 'threefry2x32') return jaxNormal(key, shape, dtype);
  if (dtype === 'float32') return map('philoxNormal', [placesOf(shape), key.words]);
  const word = words(key, shape, 64);
  const top = uint(2n ** 63n, 'uint64');
  const rest = cast(map('bitwiseAnd', [word, uint(2n ** 63n - 1n, 'uint64')]), dtype);
  const centred = map('add', [rest, constant(0.5, dtype)]);
  const below = map('ndtri', [map('multiply', [centred, constant(2 ** -64, dtype)])]);
  return map('where', [map('less', [word, top]), below, map('negative', [below])]);
}

function jaxNormal(key: KeyBits, shape: Shape, dtype: DType): Expr {
  const low = dtype === 'float64' ? -1 + 2 ** -53 : -1 + 2 ** -24;
  const between = uniform('random.normal', key, shape, dtype, low, 1);
  return map('multiply', [map('erfinv', [between]), constant(Math.SQRT2, dtype)]);
}

/** mean + deviation · a standard normal number. */
export function normal(
  op: string,
  key: KeyBits,
  shape: Shape,
  dtype: DType,
  mean: Operand,
  deviation: Operand,
): Expr {
  const centre = parameterOf(op, mean, shape, dtype);
  const scaled = map('multiply', [
    standardNormal(key, shape, dtype),
    parameterOf(op, deviation, shape, dtype),
  ]);
  return map('add', [scaled, centre]);
}

/** Uniform in (0, 1), of a bit less than `unit` and half a step up: what logarithms are taken of. Not of halves. */
export function openUnit(key: KeyBits, shape: Shape, dtype: DType): Expr {
  const [width, count] = dtype === 'float64' ? ([64, 52] as const) : ([32, 23] as const);
  const word = words(key, shape, width);
  const mask = (2n ** BigInt(count) - 1n) << BigInt(width - count);
  const upper = cast(map('bitwiseAnd', [word, constant(mask, word.dtype)]), dtype);
  const scaled = map('multiply', [upper, constant(2 ** -width, dtype)]);
  return map('add', [scaled, constant(2 ** -(count + 1), dtype)]);
}

/** -log(1 - u), times the scale. */
export function exponential(op: string, key: KeyBits, shape: Shape, dtype: DType, scale: Operand): Expr {
  const by = parameterOf(op, scale, shape, dtype);
  const u = unit(key, shape, isHalf(dtype) ? 'float32' : dtype);
  const size = map('negative', [map('portableLog', [map('subtract', [constant(1, u.dtype), u])])]);
  return map('multiply', [cast(size, dtype), by]);
}

/** The high 64 bits of the product of two uint64. */
function highProduct(a: Expr, b: Expr): Expr {
  const mask = uint(0xffffffff, 'uint64');
  const low = (x: Expr): Expr => map('bitwiseAnd', [x, mask]);
  const high = (x: Expr): Expr => shifted(x, 32);
  const product = (x: Expr, y: Expr): Expr => map('multiply', [x, y]);
  const upper = map('add', [product(high(a), low(b)), high(product(low(a), low(b)))]);
  const lower = map('add', [product(low(a), high(b)), low(upper)]);
  return map('add', [map('add', [product(high(a), high(b)), high(upper)]), high(lower)]);
}

/** Integers in [low, high) or [low, high], each as likely as another to one part in 2^64 / (high - low). */
export function integers(
  op: string,
  key: KeyBits,
  shape: Shape,
  dtype: DType,
  low: Operand,
  high: Operand,
  endpoint: boolean,
): Expr {
  if (!isInteger(dtype)) throw new DTypeError(expected(op, 'an integer dtype', dtype));
  const bounds = [low, high].map((bound) => integerBound(op, bound, dtype, shape));
  if (typeof bounds[0] === 'bigint' && typeof bounds[1] === 'bigint')
    checkRange(op, bounds[0], bounds[1], endpoint);
  const [least, most] = bounds.map((bound) =>
    typeof bound === 'bigint' ? constant(BigInt.asUintN(64, bound), 'uint64') : cast(bound, 'uint64'),
  ) as [Expr, Expr];
  const span = map('subtract', [most, least]);
  const count = endpoint ? map('add', [span, uint(1, 'uint64')]) : span;
  const word = words(key, shape, 64);
  const below = highProduct(word, count);
  // 2^64 values wrap to a count of 0: the word itself.
  const chosen = endpoint ? map('where', [map('equal', [count, uint(0, 'uint64')]), word, below]) : below;
  return cast(map('add', [chosen, least]), dtype);
}

/** A bound of integers: a whole number in reach of the dtype, or an array of integers that fits the shape. */
function integerBound(op: string, bound: Operand, dtype: DType, shape: Shape): bigint | Expr {
  if (typeof bound === 'number' || typeof bound === 'bigint') {
    if (typeof bound === 'number' && !Number.isInteger(bound))
      throw new ArgumentError(expected(op, 'whole numbers as bounds', formatValue(bound)));
    const { min, max } = integerRange(dtype);
    const value = BigInt(bound);
    if (value < BigInt(min) || value > BigInt(max) + 1n)
      throw new RangeArgumentError(expected(op, `bounds within ${dtype}`, formatValue(bound)));
    return value;
  }
  const array = toExpr(op, bound);
  if (!isInteger(array.dtype)) throw new DTypeError(expected(op, 'integer bounds', array.dtype));
  fitting(op, array, shape);
  return array;
}

function checkRange(op: string, low: bigint, high: bigint, endpoint: boolean): void {
  if (endpoint ? low <= high : low < high) return;
  const wanted = endpoint ? 'a lower bound up to the upper one' : 'a lower bound below the upper one';
  throw new RangeArgumentError(expected(op, wanted, `${low} and ${high}`));
}

/** Whether a uniform number is below a probability. */
export function bernoulli(op: string, key: KeyBits, shape: Shape, probability: Operand): Expr {
  const p = toExpr(op, probability);
  const dtype = p.dtype === 'float64' && typeof probability !== 'number' ? 'float64' : 'float32';
  fitting(op, p, shape);
  return map('less', [unit(key, shape, dtype), cast(p, dtype)]);
}

/** The int64 numbers 0 … n - 1 in random order: the order of 64 random bits each. */
export const randomOrder = (key: KeyBits, n: number): Expr => argsort(words(key, [n], 64));

/** An array whose elements along an axis are in a random order of their own in each row. */
export const permutedAlong = (key: KeyBits, x: Expr, axis: number): Expr =>
  takeAlongAxis(x, argsort(words(key, x.shape, 64), axis), axis, { mode: 'clip' });

/** Places of a sample of `count` from n with replacement, by weights where there are some. */
export function drawn(op: string, key: KeyBits, n: number, shape: Shape, weights: Expr | undefined): Expr {
  if (weights === undefined) return integers(op, key, shape, 'int64', 0, n, false);
  const sums = cumulativeSum(weights);
  const total = slice(sums, -1);
  const u = map('multiply', [unit(key, shape, sums.dtype), total]);
  const found = searchsorted(sums, u, null, { side: 'right' });
  // A product that rounds up to the total.
  return map('minimum', [found, constant(n - 1, 'int64')]);
}

/**
 * Places of a sample of `count` from n without replacement: the first of a random order, with weights those that
 * come first when each waits exponentially, at its weight as the rate (Efraimidis and Spirakis, 2006).
 */
export function drawnOnce(key: KeyBits, n: number, count: number, weights: Expr | undefined): Expr {
  if (weights === undefined) return slice(randomOrder(key, n), [0, count]);
  const waiting = exponential('random.choice', key, [n], 'float64', 1);
  const order = argsort(map('divide', [waiting, cast(weights, 'float64')]));
  return slice(order, [0, count]);
}

/** The elements of an axis at places, which are in range. */
export const takenAt = (x: Expr, places: Expr, axis: number): Expr => take(x, places, axis, { mode: 'clip' });
