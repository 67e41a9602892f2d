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
import { factors } from './linear-solves.js';
import { isEmpty, leadOf, realDType, squares, zerosOf } from './matrices.js';
import { broadcast, reshape } from './view-nodes.js';

const ones = (dtype: DType, shape: readonly number[]): Expr => broadcast(constant(1, dtype), shape);

/** The product of the pivots. */
export function determinant(op: string, x: Expr): Expr {
  const a = squares(op, x);
  if (isEmpty(a)) return ones(a.dtype, leadOf(a));
  return reshape(call('determinants', [], factors(a))[0]!, leadOf(a));
}

export function signAndLog(op: string, x: Expr): readonly [sign: Expr, logarithm: Expr] {
  const a = squares(op, x);
  const lead = leadOf(a);
  if (isEmpty(a)) return [ones(a.dtype, lead), zerosOf(realDType(a.dtype), lead)];
  const [, sign, logarithm] = call('determinants', [], factors(a));
  return [reshape(sign!, lead), reshape(logarithm!, lead)];
}

/** With the sign of the exchanges, and no negative zeros. */
const signed = (x: Expr, isOdd: Expr): Expr =>
  map('add', [map('where', [isOdd, map('negative', [x]), x]), 0]);

/**
 * The results of `determinants` as a GPU has them, in kernels around the call: products of the diagonals, and where one is 0 or
 * not finite on its way, by their logarithms.
 */
export function determinantsByKernels([lu, pivots]: readonly Expr[]): readonly Expr[] {
  const exchanged = map('notEqual', [pivots!, map('add', [iota(pivots!.shape[1]!), 1])]);
  const odd = map('remainder', [reduce('sum', cast(exchanged, 'int64'), [1]), 2]);
  const isOdd = map('equal', [odd, 1]);
  const diagonals = diagonal(lu!);
  const product = signed(reduce('prod', diagonals, [1]), isOdd);
  const sign = signed(reduce('prod', map('sign', [diagonals]), [1]), isOdd);
  const logarithm = reduce('sum', map('log', [map('abs', [diagonals])]), [1]);
  const isPlain = map('logicalAnd', [map('isfinite', [product]), map('notEqual', [product, 0])]);
  const byLogarithm = map('multiply', [sign, cast(map('exp', [logarithm]), lu!.dtype)]);
  return [map('where', [isPlain, product, byLogarithm]), sign, logarithm];
}
