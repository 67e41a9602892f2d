/**
 * Determinants as nodes, by LU factors with the sign of their exchanges.
 *
 *     det(a)   →   luFactors of a, determinants of those
 *
 * Called by `api/linalg-numbers.ts`.
 */
import { call } from './calls.js';
import { diagonal } from './diagonals.js';
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, iota, map, reduce } from './infer.js';
import { SMALL_ROWS } from './linear-routines.js';
import { factors } from './linear-solves.js';
import { isEmpty, leadOf, realDType, squares, stacked, zerosOf } from './matrices.js';
import { broadcast, reshape } from './view-nodes.js';

const ones = (dtype: DType, shape: readonly number[]): Expr => broadcast(constant(1, dtype), shape);

/** The product of the pivots. */
export function determinant(op: string, x: Expr): Expr {
  const a = squares(op, x);
  if (isEmpty(a)) return ones(a.dtype, leadOf(a));
  return reshape(determinantsCall(a)[0]!, leadOf(a));
}

export function signAndLog(op: string, x: Expr): readonly [sign: Expr, logarithm: Expr] {
  const a = squares(op, x);
  const lead = leadOf(a);
  if (isEmpty(a)) return [ones(a.dtype, lead), zerosOf(realDType(a.dtype), lead)];
  const [, sign, logarithm] = determinantsCall(a);
  return [reshape(sign!, lead), reshape(logarithm!, lead)];
}

/** The results of the routine; of small matrices a GPU takes those of the matrices themselves (`fusion/passes/both-ways.ts`). */
function determinantsCall(a: Expr): readonly Expr[] {
  const isSmall = a.shape.at(-1)! <= SMALL_ROWS;
  return call(
    'determinants',
    [],
    [...factors(a), ...(isSmall ? call('smallDeterminants', [], [stacked(a)]) : [])],
  );
}

/** With the sign of the exchanges, and no negative zeros. */
const signed = (x: Expr, isOdd: Expr): Expr =>
  map('add', [map('where', [isOdd, map('negative', [x]), x]), 0]);

/** x · 2^exponent for whole exponents, in two steps: 2^exponent may be no number of the dtype. */
function timesPower(x: Expr, exponent: Expr): Expr {
  const half = map('trunc', [map('divide', [exponent, 2])]);
  const power = (by: Expr): Expr => cast(map('exp2', [by]), x.dtype);
  return map('multiply', [map('multiply', [x, power(half)]), power(map('subtract', [exponent, half]))]);
}

/**
 * The results of `determinants` as a GPU has them, in kernels around the call: products of the diagonals without their powers of
 * two, which are summed, so that no product overflows on its way or loses digits.
 */
export function determinantsByKernels([lu, pivots]: readonly Expr[]): readonly Expr[] {
  const exchanged = map('notEqual', [pivots!, map('add', [iota(pivots!.shape[1]!), 1])]);
  const odd = map('remainder', [reduce('sum', cast(exchanged, 'int64'), [1]), 2]);
  const isOdd = map('equal', [odd, 1]);
  const diagonals = diagonal(lu!);
  const sizes = map('abs', [diagonals]);
  const powers = map('round', [map('log2', [sizes])]);
  // Of 0, infinities and NaN there are none.
  const exponents = map('where', [map('isfinite', [powers]), powers, 0]);
  const fraction = reduce('prod', timesPower(diagonals, map('negative', [exponents])), [1]);
  const sign = signed(reduce('prod', map('sign', [diagonals]), [1]), isOdd);
  const logarithm = reduce('sum', map('log', [sizes]), [1]);
  const determinant = timesPower(fraction, reduce('sum', exponents, [1]));
  return [signed(determinant, isOdd), sign, logarithm];
}
