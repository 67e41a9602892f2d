/**
 * JavaScript's operators on operands. Constants are computed by JavaScript itself; nodes by ops of the table,
 * in the dtypes of Weft's promotion, so that they agree with JavaScript in float64. Integers follow Weft: they
 * keep their dtype and wrap around.
 */
import { isFloat, isInteger, type Scalar } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { cast, isExpr, map } from '../graph/infer.js';
import type { OpName } from '../graph/ops.js';
import { isCondition, negation } from './choice.js';
import { isNumber, isWeak, numeric, toInt32, toInteger, truth, weakened } from './operands.js';
import type { Operand } from './value.js';

type Number2 = (a: number, b: number) => number | boolean;
// Operators of bigints and of numbers are the same; a mixture throws a TypeError, as in JavaScript.
const FOLDED: Readonly<Record<string, Number2>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
  '**': (a, b) => a ** b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  // biome-ignore lint/suspicious/noDoubleEquals: the operator of the function
  '==': (a, b) => a == b,
  // biome-ignore lint/suspicious/noDoubleEquals: the operator of the function
  '!=': (a, b) => a != b,
  '===': (a, b) => a === b,
  '!==': (a, b) => a !== b,
  '&': (a, b) => a & b,
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
  '<<': (a, b) => a << b,
  '>>': (a, b) => a >> b,
  '>>>': (a, b) => a >>> b,
};

const isComplexScalar = (value: Operand): boolean => typeof value === 'object' && !isExpr(value);

type Binary = (a: Operand, b: Operand) => Expr;

const numbers =
  (op: OpName): Binary =>
  (a, b) =>
    map(op, [numeric(a), numeric(b)]);

const compared =
  (op: OpName): Binary =>
  (a, b) =>
    isCondition(a) && isCondition(b) ? map(op, [a, b]) : numbers(op)(a, b);

/** `===`: a boolean is no number. */
const strict =
  (op: OpName, name: string): Binary =>
  (a, b) => {
    if (isCondition(a) !== isCondition(b)) throw new NoOperator(`${name} of a boolean and a number`);
    return compared(op)(a, b);
  };

/** Operands that an operator does not take: an error that the caller gives a place. */
export class NoOperator extends Error {}

const BINARY: Readonly<Record<string, Binary>> = {
  '+': numbers('add'),
  '-': numbers('subtract'),
  '*': numbers('multiply'),
  '/': numbers('divide'),
  '%': remainder,
  '**': power,
  '<': compared('less'),
  '<=': compared('lessEqual'),
  '>': compared('greater'),
  '>=': compared('greaterEqual'),
  '==': compared('equal'),
  '!=': compared('notEqual'),
  '===': strict('equal', '==='),
  '!==': strict('notEqual', '!=='),
  '&': bitwise('bitwiseAnd'),
  '|': bitwise('bitwiseOr'),
  '^': bitwise('bitwiseXor'),
  '<<': shift('bitwiseLeftShift'),
  '>>': shift('bitwiseRightShift'),
  '>>>': unsignedShift,
};

export const hasBinary = (operator: string): boolean => Object.hasOwn(BINARY, operator);

/** An operator of two operands. */
export function binary(operator: string, a: Operand, b: Operand): Operand {
  if (!isExpr(a) && !isExpr(b) && !isComplexScalar(a) && !isComplexScalar(b))
    return FOLDED[operator]!(a as number, b as number);
  const result = BINARY[operator]!(a, b);
  return isWeak(a) && isWeak(b) && result.dtype !== 'bool' ? weakened(result) : result;
}

/** A function of a dtype's kind; weak operands meet first. */
const meeting = (a: Operand, b: Operand): Expr => map('multiply', [numeric(a), numeric(b)]);

/** The remainder with the sign of the first operand, where Weft's `remainder` has the second's. */
function remainder(a: Operand, b: Operand): Expr {
  const [x, y] = inFloat(numeric(a), numeric(b), (divisor) => divisor !== 0);
  if (isFloat(meeting(x, y).dtype)) return map('copysign', [map('remainder', [absolute(x), absolute(y)]), x]);
  const floored = map('remainder', [x, y]);
  const differs = isExpr(y)
    ? map('notEqual', [map('less', [x, 0]), map('less', [y, 0])])
    : map(Number(y) < 0 ? 'greater' : 'less', [x, 0]);
  const isMoved = map('logicalAnd', [map('notEqual', [floored, 0]), differs]);
  return map('where', [isMoved, map('subtract', [floored, y]), floored]);
}

/**
 * Numbers of JavaScript's in float64, where their integers do not hold the result: of a second operand that is not
 * known, or not one that they hold it for.
 */
function inFloat(x: Operand, y: Operand, isHeld: (y: number) => boolean): [Operand, Operand] {
  if (!isWeak(x) || !isWeak(y) || (!isExpr(y) && isHeld(Number(y)))) return [x, y];
  return isExpr(x) ? [cast(x, 'float64'), y] : [x, cast(y as Expr, 'float64')];
}

const absolute = (x: Operand): Operand => (isExpr(x) ? map('abs', [x]) : Math.abs(x as number));

/** A power; in C that of 1 is 1 even where the exponent is NaN or infinite. */
export function power(a: Operand, b: Operand): Expr {
  const [x, y] = inFloat(numeric(a), numeric(b), (exponent) => exponent >= 0);
  if (y === 2) return map('multiply', [x, x]);
  const result = map('pow', [x, y]);
  if (!isFloat(result.dtype) || (!isExpr(y) && Number.isFinite(y))) return result;
  const isUndefined = map('logicalAnd', [
    map('equal', [absolute(x), 1]),
    negation(map('isfinite', [asExpr(y)])),
  ]);
  return map('where', [isUndefined, Number.NaN, result]);
}

const asExpr = (x: Operand): Expr => (isExpr(x) ? x : map('positive', [x]));

/** JavaScript's numbers are taken as 32-bit integers, and give numbers; integers of arrays keep their dtype. */
function bitwise(op: OpName): Binary {
  return (a, b) =>
    isNumber(a) && isNumber(b)
      ? fromWord(map(op, [toInt32(a), toInt32(b)]))
      : map(op, [toInteger(a), toInteger(b)]);
}

/** A 32-bit integer as a number, which meets arrays as a literal does and does not wrap around. */
const fromWord = (word: Expr): Expr => weakened(cast(word, 'int64'));

/** JavaScript takes the shift modulo 32. */
const shiftOf = (b: Operand): Operand =>
  isNumber(b) ? map('bitwiseAnd', [toInt32(b), 31]) : map('bitwiseAnd', [b, 31]);

function shift(op: OpName): Binary {
  return (a, b) => {
    const count = shiftOf(b);
    return isNumber(a) ? fromWord(map(op, [toInt32(a), count])) : map(op, [a, count]);
  };
}

function unsignedShift(a: Operand, b: Operand): Expr {
  const value = isNumber(a) ? toInt32(a) : (a as Expr);
  const unsigned = cast(value, value.dtype.replace(/^int/, 'uint') as Expr['dtype']);
  const shifted = map('bitwiseRightShift', [unsigned, cast(shiftOf(b) as Expr, unsigned.dtype)]);
  return isNumber(a) ? fromWord(shifted) : shifted;
}

// ---------------------------------------------------------------- one operand

/** An operator of one operand. */
export function unary(operator: '+' | '-' | '!' | '~', a: Operand): Operand {
  if (operator === '!') return negation(truth(a));
  const value = numeric(a);
  if (!isExpr(value)) return foldedUnary(operator, value);
  if (operator === '+') return value;
  if (operator === '~')
    return isNumber(value) ? fromWord(map('bitwiseInvert', [toInt32(value)])) : map('bitwiseInvert', [value]);
  const result = map('negative', [value]);
  return value.weak ? weakened(result) : result;
}

function foldedUnary(operator: '+' | '-' | '~', value: Scalar): Scalar {
  if (typeof value === 'object') {
    if (operator === '-') return { re: -value.re, im: -value.im };
    if (operator === '+') return value;
    throw new NoOperator('~ of a complex number');
  }
  if (operator === '+') return +(value as number);
  return operator === '-' ? -(value as number) : ~(value as number);
}

/** Whether a dtype has integers, which JavaScript's rounding leaves as they are. */
export const isWhole = (x: Expr): boolean => isInteger(x.dtype) || x.dtype === 'bool';
