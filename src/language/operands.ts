/**
 * Booleans as numbers, and numbers as booleans, as JavaScript converts them. Numbers that come of literals and
 * comparisons are weak: they take the dtype of the arrays that they meet.
 */
import { byteLengthOf, isFloat, isInteger, type Scalar } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { cast, constant, isExpr, map } from '../graph/infer.js';
import type { Condition, Operand } from './value.js';

export const isWeak = (value: Operand): boolean => !isExpr(value) || value.weak;

/** A node that meets arrays as a literal does. */
export const weakened = (x: Expr): Expr => (x.weak ? x : { ...x, weak: true });

/** A boolean as 0 or 1; other values as they are. */
export function numeric(value: Operand): Operand {
  if (isExpr(value)) return value.dtype === 'bool' ? weakened(cast(value, 'int64')) : value;
  return typeof value === 'boolean' ? Number(value) : value;
}

/** Whether a value counts as true: numbers but 0 and NaN. */
export function truth(value: Operand): Condition {
  if (!isExpr(value)) return isTrue(value);
  if (value.dtype === 'bool') return value;
  if (!isFloat(value.dtype)) return map('notEqual', [value, 0]);
  return map('greater', [map('abs', [value]), 0]);
}

const isTrue = (value: Scalar): boolean =>
  typeof value === 'object' ? value.re !== 0 || value.im !== 0 : Boolean(value);

/** Whether bitwise operators take a value as a number of JavaScript's: all but the integers of an array. */
export const isNumber = (value: Operand): boolean =>
  !isExpr(value) || value.weak || !(isInteger(value.dtype) || value.dtype === 'bool');

/** A number as the 32-bit integer that bitwise operators take. */
export function toInt32(value: Operand): Expr {
  const number = numeric(value);
  if (!isExpr(number)) return constant(Number(number) | 0, 'int32');
  if (isInteger(number.dtype)) return cast(number, 'int32');
  // Modulo 2^32, which is exact, and which halves do not hold; NaN and infinities give 0.
  const whole = map('trunc', [byteLengthOf(number.dtype) === 2 ? cast(number, 'float32') : number]);
  const turns = map('trunc', [map('multiply', [whole, 2 ** -32])]);
  const word = map('subtract', [whole, map('multiply', [turns, 2 ** 32])]);
  const isHeld = map('less', [map('abs', [word]), 2 ** 32]);
  return cast(cast(map('where', [isHeld, word, 0]), 'int64'), 'int32');
}

/** An operand beside the integers of an array, whose dtype it takes. */
export const toInteger = (value: Operand): Operand =>
  isExpr(value) ? (isNumber(value) ? weakened(cast(toInt32(value), 'int64')) : value) : wholeOf(value);

const wholeOf = (value: Scalar): Scalar =>
  typeof value === 'number' ? (Number.isFinite(value) ? Math.trunc(value) : 0) : value;
