/**
 * The elements at ranks of long rows by counting: a search for their magnitudes, four bits a pass, from the most
 * significant on, by how many elements are below each of fifteen bounds. Passes are reductions, which can be cut; it
 * is put in the place of the routine `ranks` where a row does not fit (`fusion/passes/cut-routines.ts`), and reads the
 * row eight times for elements of 32 bits.
 *
 *     rank r, magnitude m so far   →   counts of x < m + d · 16^k for d = 1 … 15   →   the largest d whose count is at most r
 */
import { DTYPE_INFO, type DType, isFloat, isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, iota, map, type Operand, reduce } from './infer.js';
import { stack } from './joins.js';
import { broadcast, reshape } from './view-nodes.js';

const DIGIT_BITS = 4;
const BOUNDS = 2 ** DIGIT_BITS - 1;
/** Magnitudes are whole numbers of this dtype: those of integers, and floats' bits without the sign. */
const MAGNITUDE: DType = 'uint64';

/** As the result of the routine `ranks` of rows of two axes. */
export function ranksByCounting(rows: Expr, ranks: readonly number[]): Expr {
  const { dtype } = rows;
  if (dtype === 'bool') return cast(ranksByCounting(cast(rows, 'uint8'), ranks), dtype);
  if (isHalf(dtype)) return cast(ranksByCounting(cast(rows, 'float32'), ranks), dtype);
  const [outer, length] = rows.shape as readonly [number, number];
  const own = [outer, ranks.length, 1];
  const rank = broadcast(
    reshape(stack(ranks.map((each) => constant(each, 'int64'))), [1, ranks.length, 1]),
    own,
  );
  // Elements against bounds: [outer, ranks, bounds, length].
  const elements = reshape(rows, [outer, 1, 1, length]);
  const counted = (isCounted: Expr): Expr =>
    reduce('sum', cast(broadcast(isCounted, countedShape(isCounted, length)), 'int64'), [3], 'ranks');
  const negatives = counted(map('less', [elements, constant(0, dtype)]));
  const isNegative = map('less', [rank, negatives]);
  const signs = reshape(isNegative, [...own, 1]);
  let magnitude: Expr = broadcast(constant(0, MAGNITUDE), own);
  for (let shift = magnitudeBits(dtype) - DIGIT_BITS; shift > -DIGIT_BITS; shift -= DIGIT_BITS) {
    const step = constant(2n ** BigInt(Math.max(0, shift)), MAGNITUDE);
    const digits = cast(map('add', [iota(BOUNDS), 1]), MAGNITUDE);
    const tried = map('add', [magnitude, map('multiply', [digits, step])]);
    const bound = reshape(elementOf(dtype, tried, isNegative), [outer, ranks.length, BOUNDS, 1]);
    const isBelow = map('where', [
      signs,
      map('lessEqual', [elements, bound]),
      map('less', [elements, bound]),
    ]);
    const count = counted(isBelow);
    const isReached = map('where', [
      isNegative,
      map('greater', [count, rank]),
      map('lessEqual', [count, rank]),
    ]);
    const isThere = map('logicalAnd', [
      isReached,
      map('lessEqual', [tried, constant(largest(dtype), MAGNITUDE)]),
    ]);
    const digit = reduce('sum', cast(isThere, MAGNITUDE), [2], 'ranks');
    magnitude = map('add', [magnitude, map('multiply', [reshape(digit, own), step])]);
  }
  const found = elementOf(dtype, magnitude, isNegative);
  return reshape(isFloat(dtype) ? withSpecials(found) : found, [outer, ranks.length]);

  /** With zeros' signs, of which the negative ones come first, and NaN, which is last. */
  function withSpecials(value: Expr): Expr {
    const isZero = map('equal', [elements, constant(0, dtype)]);
    const negativeZeros = counted(map('logicalAnd', [isZero, map('signbit', [elements])]));
    const isOfZeros = map('less', [rank, map('add', [negatives, negativeZeros])]);
    const isMinus = map('logicalAnd', [map('equal', [value, constant(0, dtype)]), isOfZeros]);
    const numbers = counted(map('equal', [elements, elements]));
    const signed = map('where', [isMinus, constant(-0, dtype), value]);
    return map('where', [map('less', [rank, numbers]), signed, constant(Number.NaN, dtype)]);
  }
}

const countedShape = ({ shape }: Expr, length: number): readonly number[] => [...shape.slice(0, 3), length];

/** Whole digits of the magnitudes of a dtype. */
const magnitudeBits = (dtype: DType): number => 8 * DTYPE_INFO[dtype].byteLength;

/** Bits of the fraction of a float, and the bias of its exponent. */
const FORMATS = { float32: { fraction: 23, bias: 127 }, float64: { fraction: 52, bias: 1023 } } as const;

/** The magnitude of infinity, or of the largest integer. */
function largest(dtype: DType): bigint {
  if (isFloat(dtype)) {
    const { fraction, bias } = FORMATS[dtype as keyof typeof FORMATS];
    return BigInt(2 * bias + 1) << BigInt(fraction);
  }
  return 2n ** BigInt(magnitudeBits(dtype) - (dtype.startsWith('u') ? 0 : 1)) - 1n;
}

/** The element of a magnitude; that of a negative integer is one less than its distance from 0. */
function elementOf(dtype: DType, magnitude: Expr, isNegative: Expr): Expr {
  const where = (condition: Expr, a: Operand, b: Operand): Expr => map('where', [condition, a, b]);
  if (!isFloat(dtype)) {
    if (dtype.startsWith('u')) return cast(magnitude, dtype);
    const own = cast(magnitude, 'int64');
    return cast(where(isNegative, map('subtract', [-1, own]), own), dtype);
  }
  const { fraction, bias } = FORMATS[dtype as keyof typeof FORMATS];
  const exponent = cast(map('bitwiseRightShift', [magnitude, constant(fraction, MAGNITUDE)]), 'int64');
  const bits = map('bitwiseAnd', [magnitude, constant((1n << BigInt(fraction)) - 1n, MAGNITUDE)]);
  const isNormal = map('greater', [exponent, 0]);
  const hidden = where(isNormal, constant(2 ** fraction, 'float64'), constant(0, 'float64'));
  const significand = map('add', [cast(bits, 'float64'), hidden]);
  const power = map('subtract', [map('maximum', [exponent, 1]), bias + fraction]);
  // In two factors, since the power by itself may be below the least number.
  const half = map('floorDivide', [power, 2]);
  const finite = map('multiply', [
    map('multiply', [significand, powerOfTwo(half)]),
    powerOfTwo(map('subtract', [power, half])),
  ]);
  const isInfinite = map('greaterEqual', [exponent, 2 * bias + 1]);
  const value = where(isInfinite, constant(Number.POSITIVE_INFINITY, 'float64'), finite);
  return cast(where(isNegative, map('negative', [value]), value), dtype);
}

/** 2 to an int64 power between -1022 and 1023, exactly: by the bits of the power. */
function powerOfTwo(power: Expr): Expr {
  const distance = map('abs', [power]);
  let result: Expr = broadcast(constant(1, 'float64'), power.shape);
  for (let bit = 0; bit < 10; bit++) {
    const isSet = map('greater', [map('bitwiseAnd', [distance, 2 ** bit]), 0]);
    const isDown = map('less', [power, 0]);
    const factor = map('where', [
      isDown,
      constant(2 ** -(2 ** bit), 'float64'),
      constant(2 ** (2 ** bit), 'float64'),
    ]);
    result = map('multiply', [result, map('where', [isSet, factor, constant(1, 'float64')])]);
  }
  return result;
}
