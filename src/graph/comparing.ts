/**
 * Comparisons of integers that no common dtype holds, exact as in NumPy 2: with a number out of an array's
 * range, and of a signed array with a uint64 one, which would meet in float64. Called by `map` (`infer.ts`).
 */
import { type DType, kindOf, type Scalar } from './dtype.js';
import type { OpName } from './ops.js';
import { inRange } from './scalar.js';

/**
 * Whether a comparison holds where its first argument is below (-1), equal to (0) or above (1) its second.
 */
const HOLDS = {
  equal: (order: number) => order === 0,
  notEqual: (order: number) => order !== 0,
  less: (order: number) => order < 0,
  lessEqual: (order: number) => order <= 0,
  greater: (order: number) => order > 0,
  greaterEqual: (order: number) => order >= 0,
} as const;

export type Comparison = keyof typeof HOLDS;
/** On which side of a comparison something stands. */
export type Side = 'first' | 'second';

export const isComparison = (op: OpName): op is Comparison => Object.hasOwn(HOLDS, op);

/** The result of a comparison whose operand on this side is the smaller one. */
export const answerBelow = (op: Comparison, side: Side): boolean => HOLDS[op](side === 'first' ? -1 : 1);

/**
 * The one answer of a comparison with an integer that `dtype` cannot hold; `undefined`: it holds it, or it is
 * no integer.
 */
export function answerOutOfRange(
  op: Comparison,
  scalar: Scalar,
  dtype: DType,
  side: Side,
): boolean | undefined {
  if (typeof scalar !== 'bigint' && !Number.isInteger(scalar)) return undefined;
  const integer = scalar as number | bigint;
  if (inRange(integer, dtype)) return undefined;
  const order = integer < 0 ? -1 : 1; // of the scalar to every element
  return HOLDS[op](side === 'first' ? order : -order);
}

/** Which of two dtypes is signed, where the other is uint64. */
export function signedBesideUint64(a: DType, b: DType): Side | undefined {
  if (kindOf(a) === 'int' && b === 'uint64') return 'first';
  return a === 'uint64' && kindOf(b) === 'int' ? 'second' : undefined;
}
