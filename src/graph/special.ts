/**
 * Special functions made of ops of the table: xlogy, ndtr, beta … Every export is also a method of Lazy and a free
 * function (`fluent.ts`). Integers and booleans are computed in the float of `exp`; complex numbers have none.
 */
import { DTypeError, expected } from '../host/errors.js';
import { sigmoid } from './composites.js';
import { type DType, isComplex } from './dtype.js';
import { floatOf } from './dtype-rules.js';
import type { Expr } from './expr.js';
import { besideArray, cast, map, meetingDType, type Operand } from './infer.js';

/**
 * The logistic function 1 / (1 + exp(-x)), as SciPy's `expit`: `sigmoid`.
 *
 * @example
 * await lazy([-2, 0, 2]).expit().compute()
 * //=> [0.11920292 0.5        0.88079708]
 */
export function expit(x: Expr): Expr {
  return sigmoid(x);
}

/**
 * x log(y), and 0 where x is 0 and y is not NaN, as SciPy's `xlogy`. Real numbers only.
 *
 * @example
 * await lazy([0, 2]).xlogy(lazy([0, 3])).compute()
 * //=> [0.         2.19722458]
 */
export function xlogy(x: Expr, y: Operand): Expr {
  const [a, b] = inFloat('xlogy', x, y);
  return orZero(a, b, map('log', [b]));
}

/**
 * x log(1 + y), and 0 where x is 0 and y is not NaN, as SciPy's `xlog1py`. Real numbers only.
 *
 * @example
 * await lazy([0, 2]).xlog1py(lazy([-1, 0.5])).compute()
 * //=> [0.         0.81093022]
 */
export function xlog1py(x: Expr, y: Operand): Expr {
  const [a, b] = inFloat('xlog1py', x, y);
  return orZero(a, b, map('log1p', [b]));
}

function orZero(x: Expr, y: Expr, logarithm: Expr): Expr {
  const isZero = map('logicalAnd', [map('equal', [x, 0]), map('equal', [y, y])]);
  return map('where', [isZero, 0, map('multiply', [x, logarithm])]);
}

/**
 * The distribution function of the standard normal distribution, erfc(-x / √2) / 2, as SciPy's `ndtr`.
 *
 * @example
 * await lazy([-1.96, 0, 1.96]).ndtr().compute()
 * //=> [0.0249979 0.5       0.9750021]
 */
export function ndtr(x: Expr): Expr {
  const [a] = inFloat('ndtr', x, x);
  return map('multiply', [map('erfc', [map('multiply', [a, -Math.SQRT1_2])]), 0.5]);
}

/**
 * The logarithm of the absolute value of the beta function, as SciPy's `betaln`. Real numbers only.
 *
 * @example
 * await lazy([1, 200]).betaln(300).compute()
 * //=> [  -5.70378247 -337.98011307]
 */
export function betaln(x: Expr, y: Operand): Expr {
  return logBeta('betaln', x, y);
}

/**
 * The beta function of positive numbers, gamma(x) gamma(y) / gamma(x + y), as SciPy's `beta`. Real numbers only.
 *
 * @example
 * await lazy([1, 2]).beta(3).compute()
 * //=> [0.33333333 0.08333333]
 */
export function beta(x: Expr, y: Operand): Expr {
  return map('exp', [logBeta('beta', x, y)]);
}

function logBeta(op: string, x: Expr, y: Operand): Expr {
  const [a, b] = inFloat(op, x, y);
  const both = map('add', [map('lgamma', [a]), map('lgamma', [b])]);
  return map('subtract', [both, map('lgamma', [map('add', [a, b])])]);
}

/** Two operands in the float dtype in which they meet. */
function inFloat(op: string, x: Expr, y: Operand): [Expr, Expr] {
  const met: DType = floatOf(meetingDType(op, [x, y]));
  if (isComplex(met)) throw new DTypeError(expected(op, 'real numbers or booleans', met));
  return [cast(x, met), cast(besideArray(op, y, met), met)];
}
