/**
 * Functions made of ops of the table: clip, sigmoid, softplus, gelu … Every export is also a method of
 * Lazy and a free function (`lazy.ts`). Composites that give floats take integers and booleans to the float
 * of `exp`.
 */
import { ArgumentError, expected } from '../host/errors.js';
import { checkOptions, finiteNumber } from './arguments.js';
import { type DType, isInteger } from './dtype.js';
import { floatOf } from './dtype-rules.js';
import { areAllEqual } from './equality.js';
import type { Expr } from './expr.js';
import { formatValue } from './format.js';
import {
  cast,
  checkDType,
  constant,
  astype as converted,
  isExpr,
  map,
  type Operand,
  reduce,
  toExpr,
} from './infer.js';
import { integerRange } from './scalar.js';

/**
 * The elements in another dtype. Floats become integers towards zero, saturate at the ends, and NaN gives 0;
 * integers wrap; complex numbers lose their imaginary part; bool is whether an element is not 0. The same
 * array for its dtype.
 *
 * @example
 * await lazy([1.7, -1.7, 300]).astype('int8').compute()
 * //=> [  1  -1 127]
 */
export function astype(x: Expr, dtype: DType): Expr {
  return converted(x, checkDType('astype', dtype));
}

/**
 * Values limited to the interval from `min` to `max`, which broadcast; null or nothing leaves a side open.
 * NaN stays. The dtype is that of the arrays together; numbers beyond an integer dtype limit nothing.
 *
 * @example
 * await lazy([-3, 0.5, 9]).clip(0, 1).compute()
 * //=> [0.  0.5 1. ]
 */
export function clip(x: Expr, min?: Operand | null, max?: Operand | null): Expr {
  const low = min === null || min === undefined ? x : map('maximum', [x, within(x, min)], 'clip');
  return max === null || max === undefined ? low : map('minimum', [low, within(x, max)], 'clip');
}

/** A bound that an integer dtype cannot hold, moved to the end of the dtype's range. */
function within(x: Expr, bound: Operand): Operand {
  if (isExpr(bound) || !isInteger(x.dtype)) return bound;
  if (typeof bound !== 'bigint' && !Number.isInteger(bound)) return bound;
  const { min, max } = integerRange(x.dtype);
  const integer = bound as number | bigint;
  if (integer < min) return min;
  if (integer > max) return max;
  return integer;
}

/** Integers and booleans in the float that float functions compute them in; what is weak stays so. */
function inFloat(x: Expr): Expr {
  const dtype = floatOf(x.dtype);
  return x.dtype === dtype ? x : { ...cast(x, dtype), weak: x.weak };
}

/**
 * The larger of x and 0.
 *
 * @example
 * await lazy([-2, 0, 3]).relu().compute()
 * //=> [0. 0. 3.]
 */
export function relu(x: Expr): Expr {
  return map('maximum', [x, 0]);
}

/**
 * 1 / (1 + exp(-x)).
 *
 * @example
 * await lazy([-2, 0, 2]).sigmoid().compute()
 * //=> [0.11920292 0.5        0.88079708]
 */
export function sigmoid(given: Expr): Expr {
  const x = inFloat(given);
  return map('divide', [1, map('add', [map('exp', [map('negative', [x])]), 1])]);
}

/**
 * x · sigmoid(x).
 *
 * @example
 * await lazy([-2, 0, 2]).silu().compute()
 * //=> [-0.23840584  0.          1.76159416]
 */
export function silu(given: Expr): Expr {
  const x = inFloat(given);
  return map('divide', [x, map('add', [map('exp', [map('negative', [x])]), 1])]);
}

/**
 * log(1 + exp(x)), computed as max(x, 0) + log1p(exp(-|x|)): without overflow, and exact far from 0.
 *
 * @example
 * await lazy([-2, 0, 2]).softplus().compute()
 * //=> [0.12692801 0.69314718 2.12692801]
 */
export function softplus(given: Expr): Expr {
  const x = inFloat(given);
  return map('add', [relu(x), map('log1p', [map('exp', [map('negative', [map('abs', [x])])])])]);
}

/**
 * Gaussian error linear unit, x·Φ(x) (Hendrycks and Gimpel, 2016). `approximate: 'none'` computes Φ with erf,
 * `'tanh'` the paper's ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
 *
 * @example
 * await lazy([-2, 0, 2]).gelu().compute()
 * //=> [-0.04550026  0.          1.95449974]
 */
export function gelu(given: Expr, options?: { readonly approximate?: 'none' | 'tanh' }): Expr {
  checkOptions('gelu', options, ['approximate']);
  const x = inFloat(given);
  const form = options?.approximate ?? 'none';
  const half = map('multiply', [x, 0.5]);
  if (form === 'none') {
    return map('multiply', [half, map('add', [map('erf', [map('multiply', [x, Math.SQRT1_2])]), 1])]);
  }
  if (form !== 'tanh')
    throw new ArgumentError(expected('gelu', "approximate 'none' or 'tanh'", formatValue(form)));
  const cubed = map('multiply', [map('square', [x]), map('multiply', [x, 0.044715])]);
  const inner = map('multiply', [map('add', [x, cubed]), Math.sqrt(2 / Math.PI)]);
  return map('multiply', [half, map('add', [map('tanh', [inner]), 1])]);
}

/**
 * Whether |a - b| <= atol + rtol·|b|, as NumPy's isclose (rtol 1e-5, atol 1e-8); equal infinities are close.
 *
 * @example
 * await lazy([1, 2]).isclose(lazy([1.000001, 2.1])).compute()
 * //=> [ True False]
 */
export function isclose(
  x: Expr,
  other: Operand,
  options?: { readonly rtol?: number; readonly atol?: number; readonly equalNan?: boolean },
): Expr {
  checkOptions('isclose', options, ['rtol', 'atol', 'equalNan']);
  const rtol = finiteNumber('isclose', 'rtol', options?.rtol ?? 1e-5);
  const atol = finiteNumber('isclose', 'atol', options?.atol ?? 1e-8);
  const [a, b] = [differing(x), differing(other)];
  const difference = map('abs', [map('subtract', [a, b], 'isclose')]);
  const bound = map('add', [map('multiply', [map('abs', [b]), rtol]), atol]);
  const near = map('logicalAnd', [map('lessEqual', [difference, bound]), map('isfinite', [b])]);
  const close = map('logicalOr', [near, map('equal', [x, other])]);
  if (!options?.equalNan) return close;
  return map('logicalOr', [close, map('logicalAnd', [map('isnan', [a]), map('isnan', [b])])]);
}

/**
 * Whether all elements are close, as NumPy's allclose: `isclose` with its options, of every element.
 *
 * @example
 * await lazy([1, 2]).allclose(lazy([1.000001, 2])).compute()
 * //=> True
 */
export function allclose(
  x: Expr,
  other: Operand,
  options?: { readonly rtol?: number; readonly atol?: number; readonly equalNan?: boolean },
): Expr {
  const close = isclose(x, other, options);
  return reduce('all', close, [...close.shape.keys()]);
}

/**
 * Whether two arrays have the same shape and equal elements, as NumPy's array_equal; `{ equalNan: true }` takes NaN
 * for equal to NaN.
 *
 * @example
 * await lazy([1, 2]).arrayEqual(lazy([1, 2])).compute()
 * //=> True
 */
export function arrayEqual(x: Expr, other: Operand, options?: { readonly equalNan?: boolean }): Expr {
  checkOptions('arrayEqual', options, ['equalNan']);
  const compare = (a: Expr, b: Operand): Expr => {
    const same = map('equal', [a, b], 'arrayEqual');
    if (!options?.equalNan) return same;
    const areNaN = map('logicalAnd', [map('notEqual', [a, a]), map('notEqual', [b, b])]);
    return map('logicalOr', [same, areNaN]);
  };
  if (isExpr(other)) return areAllEqual(x, other, compare);
  toExpr('arrayEqual', other); // anything but a scalar is refused, whatever the shape of x
  return x.shape.length === 0 ? compare(x, other) : constant(false, 'bool');
}

/** Integers and booleans in float64, in which their differences do not wrap around. */
function differing(x: Operand): Operand {
  if (!isExpr(x)) return x;
  return isInteger(x.dtype) || x.dtype === 'bool' ? cast(x, 'float64') : x;
}
