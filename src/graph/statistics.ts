/**
 * Reductions made of others: mean, var, std, norm, softmax … Every export is also a method of Lazy and a free
 * function (`lazy.ts`). They are composites: the optimizer makes them few kernels, nothing treats them
 * specially.
 *
 * float16 and bfloat16 are computed in float32 and rounded once, as NumPy does for mean and var.
 */
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import {
  type AxisOr,
  checkOptions,
  finiteNumber,
  type ReduceOptions,
  reduceArguments,
  type SumOptions,
  type VarianceOptions,
} from './arguments.js';
import { DTYPE_INFO, type DType, isComplex, isInteger } from './dtype.js';
import { floatOf } from './dtype-rules.js';
import type { Expr } from './expr.js';
import { formatValue } from './format.js';
import { cast, checkDType, isExpr, map, type Operand } from './infer.js';
import { countAlong, meanDType, reduceAlong, squaredModulus, throughFloat32 } from './reducing.js';
import { type Axes, ascendingAxes } from './shape.js';

/**
 * Arithmetic mean; NaN of no elements. Integers and booleans are averaged in float64, floats in their dtype
 * (halves in float32), or in `dtype`.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).mean(0).compute()
 * //=> [2. 3.]
 * await lazy([1, 2]).mean({ keepdims: true }).compute()
 * //=> [1.5]
 */
export function mean(x: Expr, axis?: AxisOr<SumOptions>, options?: SumOptions): Expr {
  const given = reduceArguments<SumOptions>('mean', axis, options, ['dtype']);
  const axes = ascendingAxes('mean', given.axis, x.shape.length);
  const dtype = given.dtype === undefined ? meanDType(x.dtype) : checkDType('mean', given.dtype);
  if (isInteger(dtype) || dtype === 'bool')
    throw new DTypeError(expected('mean', 'a float or complex dtype', dtype));
  return throughFloat32(cast(x, dtype), (values) =>
    map('divide', [reduceAlong('mean', 'sum', values, axes, given.keepdims), countAlong(values, axes)]),
  );
}

/**
 * Variance: the sum of squared deviations over n - correction (0 by default), computed as in Chan, Golub and
 * LeVeque (1979), so that it neither cancels nor needs a second look. NaN where n is not above the
 * correction. Integers in float64, complex numbers give a float.
 *
 * @example
 * await lazy([1, 2, 3, 4]).var().compute()
 * //=> 1.25
 */
export function variance(x: Expr, axis?: AxisOr<VarianceOptions>, options?: VarianceOptions): Expr {
  const given = reduceArguments<VarianceOptions>('var', axis, options, ['correction']);
  return throughFloat32(cast(x, meanDType(x.dtype)), (values) => varianceOf('var', values, given));
}
export { variance as var };

/**
 * Standard deviation: the square root of the variance, with the same options.
 *
 * @example
 * await lazy([1, 2, 3, 4]).std().compute()
 * //=> 1.118033988749895
 * await lazy([1, 2, 3, 4]).std({ correction: 1 }).compute()
 * //=> 1.2909944487358056
 */
export function std(x: Expr, axis?: AxisOr<VarianceOptions>, options?: VarianceOptions): Expr {
  const given = reduceArguments<VarianceOptions>('std', axis, options, ['correction']);
  return throughFloat32(cast(x, meanDType(x.dtype)), (values) =>
    map('sqrt', [varianceOf('std', values, given)]),
  );
}

function varianceOf(op: string, x: Expr, options: VarianceOptions): Expr {
  const correction = finiteNumber(op, 'correction', options.correction ?? 0);
  const axes = ascendingAxes(op, options.axis, x.shape.length);
  const count = countAlong(x, axes);
  if (typeof count === 'number') {
    const squares = reduceAlong(op, 'squaredDeviations', x, axes, options.keepdims);
    return map('divide', [squares, Math.max(count - correction, 0)]);
  }
  // Of a size that depends on data: the deviations from the mean, summed up to the length.
  const center = map('divide', [reduceAlong(op, 'sum', x, axes, true), count]);
  const squares = squaredModulus(map('subtract', [x, center]));
  const divisor = map('maximum', [map('subtract', [count, correction]), 0]);
  return map('divide', [reduceAlong(op, 'sum', squares, axes, options.keepdims), divisor]);
}

/**
 * Number of elements that are not 0, as int64.
 *
 * @example
 * await lazy([[0, 1], [2, 3]]).countNonzero(1).compute()
 * //=> [1 2]
 */
export function countNonzero(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  const given = reduceArguments<ReduceOptions>('countNonzero', axis, options, []);
  const axes = ascendingAxes('countNonzero', given.axis, x.shape.length);
  return reduceAlong('countNonzero', 'sum', cast(x, 'bool'), axes, given.keepdims);
}

/**
 * Range of the values: largest minus smallest. Real numbers only.
 *
 * @example
 * await lazy([3, 9, 5]).ptp().compute()
 * //=> 6.0
 */
export function ptp(x: Expr, axis?: AxisOr<ReduceOptions>, options?: ReduceOptions): Expr {
  const given = reduceArguments<ReduceOptions>('ptp', axis, options, []);
  const axes = ascendingAxes('ptp', given.axis, x.shape.length);
  const [high, low] = (['max', 'min'] as const).map((name) =>
    reduceAlong('ptp', name, x, axes, given.keepdims),
  );
  return map('subtract', [high!, low!]);
}

/** Which norm: a number p, ±Infinity, 0 (how many are not 0), or 'fro' (the same as 2, of a matrix). */
export type NormOrder = number | 'fro';

/** Options of `norm`. */
export interface NormOptions extends ReduceOptions {
  /** 2 where none is given. */
  readonly ord?: NormOrder | undefined;
}

/**
 * Vector norm over the axes together: (Σ|x|^p)^(1/p), the largest or smallest |x| for ±Infinity, the count of
 * nonzeros for 0. Integers are taken in float64; complex numbers give a float. `x.norm(2, 0)`, `x.norm({ ord:
 * 1, axis: 0 })`.
 *
 * @example
 * await lazy([3, 4]).norm().compute()
 * //=> 5.0
 */
export function norm(
  x: Expr,
  ord?: NormOrder | NormOptions,
  axis?: AxisOr<ReduceOptions>,
  options?: ReduceOptions,
): Expr {
  if (typeof ord === 'object') {
    checkOptions('norm', ord, ['ord', 'axis', 'keepdims']);
    if (axis !== undefined || options !== undefined) {
      throw new ArgumentError(expected('norm', 'options once', 'options and further arguments'));
    }
    return norm(x, ord.ord, { axis: ord.axis, keepdims: ord.keepdims });
  }
  const given = reduceArguments<ReduceOptions>('norm', axis, options, []);
  const axes = ascendingAxes('norm', given.axis, x.shape.length);
  const p = ord === undefined || ord === 'fro' ? 2 : ord;
  if (typeof p !== 'number' || Number.isNaN(p))
    throw new ArgumentError(expected('norm', "a number or 'fro'", formatValue(p)));
  const float = meanDType(x.dtype);
  const result = DTYPE_INFO[float].component;
  const over = (name: 'sum' | 'max' | 'min', values: Expr): Expr =>
    reduceAlong('norm', name, values, axes, given.keepdims);
  return throughFloat32(
    cast(x, float),
    (values) => {
      if (p === 0) return cast(over('sum', cast(values, 'bool')), DTYPE_INFO[values.dtype].component);
      if (p === 2) return map('sqrt', [over('sum', squaredModulus(values))]);
      const modulus = map('abs', [values]);
      if (p === Infinity) return over('max', modulus);
      if (p === -Infinity) return over('min', modulus);
      if (p === 1) return over('sum', modulus);
      return map('pow', [over('sum', map('pow', [modulus, p])), 1 / p]);
    },
    result,
  );
}

// ---------------------------------------------------------------- normalisations: shape in, same shape out

/** The argument in a float dtype, for functions of real numbers. */
function real(op: string, x: Expr, dtypeOf: (dtype: DType) => DType): Expr {
  if (isComplex(x.dtype)) throw new DTypeError(expected(op, 'real numbers or booleans', x.dtype));
  return cast(x, dtypeOf(x.dtype));
}

/** The axes of a function that goes along the last one by default, and along all for null. */
const axesOf = (op: string, x: Expr, axis: Axes | null = -1): number[] =>
  ascendingAxes(op, axis, x.shape.length);

/**
 * exp(x) over its sum along the axes (the last by default), with the maximum taken off first. Integers give
 * the float of `exp`.
 *
 * @example
 * await lazy([[0, 0], [0, 1]]).softmax(1).compute()
 * //=> [[0.5        0.5       ]
 * //=>  [0.26894142 0.73105858]]
 */
export function softmax(x: Expr, axis?: Axes | null): Expr {
  const axes = axesOf('softmax', x, axis);
  return throughFloat32(real('softmax', x, floatOf), (values) => {
    const exp = map('exp', [map('subtract', [values, reduceAlong('softmax', 'max', values, axes, true)])]);
    return map('divide', [exp, reduceAlong('softmax', 'sum', exp, axes, true)]);
  });
}

/**
 * Logarithm of the softmax, x - logsumexp(x), without losing small probabilities. Integers give the float of
 * `exp`.
 *
 * @example
 * await lazy([0, 0, 0]).logSoftmax(0).compute()
 * //=> [-1.09861229 -1.09861229 -1.09861229]
 */
export function logSoftmax(x: Expr, axis?: Axes | null): Expr {
  const axes = axesOf('logSoftmax', x, axis);
  return throughFloat32(real('logSoftmax', x, floatOf), (values) =>
    map('subtract', [values, reduceAlong('logSoftmax', 'logsumexp', values, axes, true)]),
  );
}

/** Options of `standardize`. */
export interface StandardizeOptions extends VarianceOptions {
  /** Added to the variance, against division by 0; 0 by default. */
  readonly epsilon?: number | undefined;
}

/**
 * (x - mean) / std along the axes; all of them by default. Integers in float64.
 *
 * @example
 * await lazy([[1, 10], [3, 30]]).standardize(0).compute()
 * //=> [[-1. -1.]
 * //=>  [ 1.  1.]]
 */
export function standardize(x: Expr, axis?: AxisOr<StandardizeOptions>, options?: StandardizeOptions): Expr {
  const given = reduceArguments<StandardizeOptions>('standardize', axis, options, ['correction', 'epsilon']);
  return throughFloat32(real('standardize', x, meanDType), (values) =>
    standardized('standardize', values, given),
  );
}

function standardized(op: string, x: Expr, options: StandardizeOptions): Expr {
  const axes = ascendingAxes(op, options.axis, x.shape.length);
  const center = map('divide', [reduceAlong(op, 'sum', x, axes, true), countAlong(x, axes)]);
  const spread = varianceOf(op, x, { axis: axes, keepdims: true, correction: options.correction });
  const epsilon = finiteNumber(op, 'epsilon', options.epsilon ?? 0);
  const shifted = epsilon === 0 ? spread : map('add', [spread, epsilon]);
  return map('divide', [map('subtract', [x, center]), map('sqrt', [shifted])]);
}

/**
 * Layer normalisation (Ba, Kiros and Hinton, 2016): (x - mean) / sqrt(var + epsilon) over the last axes,
 * those of `weight` (or the last one), then times weight, plus bias. Both broadcast against x; epsilon is
 * 1e-5 by default.
 *
 * @example
 * await lazy([[1, 2, 3], [2, 4, 6]]).layerNorm().compute()
 * //=> [[-1.22473569  0.          1.22473569]
 * //=>  [-1.22474258  0.          1.22474258]]
 */
export function layerNorm(
  x: Expr,
  weight?: Operand | null,
  bias?: Operand | null,
  options?: { readonly epsilon?: number; readonly axis?: number | readonly number[] },
): Expr {
  checkOptions('layerNorm', options, ['epsilon', 'axis']);
  const last = Array.from(
    { length: isExpr(weight) ? Math.max(weight.shape.length, 1) : 1 },
    (_, k) => -1 - k,
  );
  const axis = options?.axis ?? last;
  return throughFloat32(real('layerNorm', x, meanDType), (values) => {
    let result = standardized('layerNorm', values, { axis, epsilon: options?.epsilon ?? 1e-5 });
    const scale: [Operand | null | undefined, 'multiply' | 'add'][] = [
      [weight, 'multiply'],
      [bias, 'add'],
    ];
    for (const [operand, op] of scale)
      if (operand !== null && operand !== undefined) result = map(op, [result, operand], 'layerNorm');
    return result;
  });
}
