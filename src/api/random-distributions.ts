/**
 * Distributions of real numbers beside those of `random.ts`, with NumPy's names and parameters. Parameters are numbers,
 * which are checked, or arrays that broadcast to the shape, which are not looked at: where they make no sense an element
 * is NaN.
 */

import * as distributions from '../graph/distributions.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { checkFloat } from '../graph/random.js';
import type { ShapeArgument } from '../graph/shape.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { Lazy } from './lazy.js';
import {
  type Distribution,
  drawn,
  type KeyArgument,
  type NormalOptions,
  operandOf,
  parameter,
  type SampleOptions,
  sample,
  withLastAxis,
} from './random-arguments.js';

/** Options of distributions that are stretched. */
export interface ScaledOptions<D extends DType = DType> extends SampleOptions<D> {
  /** The factor, 1 by default, and not negative. */
  readonly scale?: ArrayLike | undefined;
}
/** Options of distributions that are stretched and moved. */
export interface LocatedOptions<D extends DType = DType> extends ScaledOptions<D> {
  /** Added to each number, 0 by default. */
  readonly loc?: ArrayLike | undefined;
}

const DISTRIBUTIONS = {
  gamma: {
    node: distributions.standardGamma,
    parameters: [['the shape', 'not negative']],
    options: ['scale'],
  },
  beta: {
    node: distributions.beta,
    parameters: [
      ['a', 'positive'],
      ['b', 'positive'],
    ],
  },
  chisquare: { node: distributions.chisquare, parameters: [['the degrees of freedom', 'positive']] },
  f: {
    node: distributions.fisher,
    parameters: [
      ['the degrees of freedom', 'positive'],
      ['the degrees of freedom', 'positive'],
    ],
  },
  noncentralChisquare: {
    node: distributions.noncentralChisquare,
    parameters: [
      ['the degrees of freedom', 'positive'],
      ['the noncentrality', 'not negative'],
    ],
  },
  noncentralF: {
    node: distributions.noncentralFisher,
    parameters: [
      ['the degrees of freedom', 'positive'],
      ['the degrees of freedom', 'positive'],
      ['the noncentrality', 'not negative'],
    ],
  },
  standardT: { node: distributions.standardT, parameters: [['the degrees of freedom', 'positive']] },
  weibull: { node: distributions.weibull, parameters: [['the shape', 'positive']] },
  pareto: { node: distributions.pareto, parameters: [['the shape', 'positive']] },
  power: { node: distributions.power, parameters: [['the shape', 'positive']] },
  vonmises: { node: distributions.vonmises, parameters: [['mu'], ['the concentration', 'not negative']] },
  wald: {
    node: distributions.wald,
    parameters: [
      ['the mean', 'positive'],
      ['the scale', 'positive'],
    ],
  },
  triangular: { node: distributions.triangular, parameters: [['left'], ['mode'], ['right']] },
  laplace: { node: distributions.standardLaplace, parameters: [], options: ['loc', 'scale'] },
  logistic: { node: distributions.standardLogistic, parameters: [], options: ['loc', 'scale'] },
  gumbel: { node: distributions.standardGumbel, parameters: [], options: ['loc', 'scale'] },
  cauchy: { node: distributions.standardCauchy, parameters: [], options: ['loc', 'scale'] },
  rayleigh: { node: distributions.standardRayleigh, parameters: [], options: ['scale'] },
} as const satisfies Record<string, Distribution>;

// ---------------------------------------------------------------- of shape parameters

/**
 * Gamma distributed numbers of shape `a`, of scale 1 by default, as NumPy's `gamma`: float64 unless a dtype is given.
 * Drawn by Marsaglia and Tsang's rejection (2000), each from a stream of its own. Throws a RangeArgumentError for a
 * negative shape or scale.
 *
 * @example
 * await random.gamma(random.key(7), [3], 2.5).compute()
 * //=> [2.76104527 2.73846047 1.98735743]
 */
export function gamma<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  a: ArrayLike,
  options?: ScaledOptions<D>,
): Lazy<D> {
  return called(gamma, () => floats('gamma', from, shape, options, a));
}

/**
 * Beta distributed numbers, from 0 to 1, as NumPy's `beta`: the share of one gamma distributed number in two. Parameters
 * near 0 give numbers near 0 and 1. Throws a RangeArgumentError for parameters that are not positive.
 *
 * @example
 * await random.beta(random.key(7), [3], 2, 5).compute()
 * //=> [0.10818421 0.29392062 0.5624572 ]
 */
export function beta<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  a: ArrayLike,
  b: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(beta, () => floats('beta', from, shape, options, a, b));
}

/**
 * Chi-squared numbers of `df` degrees of freedom, which are positive and need not be whole, as NumPy's `chisquare`.
 *
 * @example
 * await random.chisquare(random.key(7), [3], 3).compute()
 * //=> [3.23177917 3.19677184 2.07290505]
 */
export function chisquare<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  df: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(chisquare, () => floats('chisquare', from, shape, options, df));
}

/**
 * Numbers of Fisher's F distribution, of the degrees of freedom above and below, as NumPy's `f`.
 *
 * @example
 * await random.f(random.key(7), [3], 3, 7).compute()
 * //=> [0.23746466 1.03811908 3.75167287]
 */
export function f<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  dfTop: ArrayLike,
  dfBottom: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(f, () => floats('f', from, shape, options, dfTop, dfBottom));
}

/**
 * Noncentral chi-squared numbers, as NumPy's `noncentral_chisquare`: sums of squares of `df` normal numbers whose means have
 * `noncentrality` as the sum of theirs; `df` is positive and need not be whole. NaN where an element of an array is none.
 *
 * @example
 * await random.noncentralChisquare(random.key(7), [3], 3, 5).compute()
 * //=> [18.59508672 10.34941475  2.55247965]
 */
export function noncentralChisquare<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  df: ArrayLike,
  noncentrality: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(noncentralChisquare, () =>
    floats('noncentralChisquare', from, shape, options, df, noncentrality),
  );
}

/**
 * Numbers of the noncentral F distribution, of the degrees of freedom above and below, as NumPy's `noncentral_f`. NaN where
 * an element of an array is none.
 *
 * @example
 * await random.noncentralF(random.key(7), [3], 3, 7, 5).compute()
 * //=> [0.72175442 5.73517763 1.15816515]
 */
export function noncentralF<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  dfTop: ArrayLike,
  dfBottom: ArrayLike,
  noncentrality: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(noncentralF, () =>
    floats('noncentralF', from, shape, options, dfTop, dfBottom, noncentrality),
  );
}

/**
 * Numbers of Student's t distribution of `df` degrees of freedom, as NumPy's `standard_t`.
 *
 * @example
 * await random.standardT(random.key(7), [3], 4).compute()
 * //=> [-0.63073616  1.42385623 -0.50054555]
 */
export function standardT<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  df: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(standardT, () => floats('standardT', from, shape, options, df));
}

/**
 * Weibull distributed numbers of shape `a`, as NumPy's `weibull`: (-log(u))^(1/a).
 *
 * @example
 * await random.weibull(random.key(7), [3], 1.5).compute()
 * //=> [0.43558296 1.82102772 0.37436426]
 */
export function weibull<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  a: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(weibull, () => floats('weibull', from, shape, options, a));
}

/**
 * Pareto distributed numbers of the second kind, from 0 on, of shape `a`, as NumPy's `pareto`: u^(-1/a) - 1.
 *
 * @example
 * await random.pareto(random.key(7), [3], 3).compute()
 * //=> [0.10056796 1.26852856 0.07934242]
 */
export function pareto<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  a: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(pareto, () => floats('pareto', from, shape, options, a));
}

/**
 * Numbers from 0 to 1 of density a x^(a - 1), as NumPy's `power`.
 *
 * @example
 * await random.power(random.key(7), [3], 2).compute()
 * //=> [0.86611328 0.29267365 0.89178699]
 */
export function power<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  a: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(power, () => floats('power', from, shape, options, a));
}

/**
 * Numbers between `left` and `right` whose density rises to `mode` and falls from there, as NumPy's `triangular`. NaN
 * where the mode is not between the ends.
 *
 * @example
 * await random.triangular(random.key(7), [3], -1, 0.5, 3).compute()
 * //=> [ 1.41934261 -0.2830989   1.56921014]
 */
export function triangular<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  left: ArrayLike,
  mode: ArrayLike,
  right: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(triangular, () => floats('triangular', from, shape, options, left, mode, right));
}

/**
 * Angles from -π to π around `mu`, of the concentration kappa, as NumPy's `vonmises`: uniform where kappa is 0, about
 * normal of variance 1 / kappa where it is large. Drawn by Best and Fisher's rejection (1979), each from a stream of its
 * own. Throws a RangeArgumentError for a negative kappa.
 *
 * @example
 * await random.vonmises(random.key(7), [3], 0, 4).compute()
 * //=> [ 0.61230508 -1.03332507  0.34587493]
 */
export function vonmises<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  mu: ArrayLike,
  kappa: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(vonmises, () => floats('vonmises', from, shape, options, mu, kappa));
}

/**
 * Numbers of the inverse Gaussian distribution of a mean and a scale, as NumPy's `wald`. By Michael, Schucany and Haas
 * (1976). Throws a RangeArgumentError for parameters that are not positive.
 *
 * @example
 * await random.wald(random.key(7), [3], 3, 2).compute()
 * //=> [0.90142282 0.85567804 1.69113084]
 */
export function wald<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  mean: ArrayLike,
  scale: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(wald, () => floats('wald', from, shape, options, mean, scale));
}

// ---------------------------------------------------------------- of location and scale

/**
 * Laplace distributed numbers, exponential on both sides of `loc`, as NumPy's `laplace`.
 *
 * @example
 * await random.laplace(random.key(7), [3]).compute()
 * //=> [ 0.69375625 -1.76424705  0.89298463]
 */
export function laplace<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: LocatedOptions<D>,
): Lazy<D> {
  return called(laplace, () => floats('laplace', from, shape, options));
}

/**
 * Logistically distributed numbers, as NumPy's `logistic`: log(u / (1 - u)), scaled and moved.
 *
 * @example
 * await random.logistic(random.key(7), [3]).compute()
 * //=> [ 1.0994243  -2.36784378  1.35707586]
 */
export function logistic<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: LocatedOptions<D>,
): Lazy<D> {
  return called(logistic, () => floats('logistic', from, shape, options));
}

/**
 * Gumbel distributed numbers, as NumPy's `gumbel`: -log(-log(u)), scaled and moved.
 *
 * @example
 * await random.gumbel(random.key(7), [3]).compute()
 * //=> [ 1.24660501 -0.89910153  1.47378899]
 */
export function gumbel<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: LocatedOptions<D>,
): Lazy<D> {
  return called(gumbel, () => floats('gumbel', from, shape, options));
}

/**
 * Cauchy distributed numbers, as SciPy's `cauchy`: the quotient of two normal ones, scaled and moved.
 *
 * @example
 * await random.cauchy(random.key(7), [3]).compute()
 * //=> [ 0.6190135  -1.07295344  1.55000951]
 */
export function cauchy<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: LocatedOptions<D>,
): Lazy<D> {
  return called(cauchy, () => floats('cauchy', from, shape, options));
}

/**
 * Rayleigh distributed numbers, the lengths of pairs of normal ones, as NumPy's `rayleigh`.
 *
 * @example
 * await random.rayleigh(random.key(7), [3]).compute()
 * //=> [0.75826002 2.21693222 0.67683964]
 */
export function rayleigh<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: ScaledOptions<D>,
): Lazy<D> {
  return called(rayleigh, () => floats('rayleigh', from, shape, options));
}

/**
 * Numbers whose logarithms are normally distributed, of mean 0 and deviation 1 by default, as NumPy's `lognormal`.
 *
 * @example
 * await random.lognormal(random.key(7), [3]).compute()
 * //=> [1.96209113 0.25461865 1.71260054]
 */
export function lognormal<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: NormalOptions<D>,
): Lazy<D> {
  return called(lognormal, () => {
    const op = 'random.lognormal';
    const own = floatSampling(op, from, shape, options, ['mean', 'deviation']);
    const [mean, deviation] = [operandOf(op, options?.mean ?? 0), operandOf(op, options?.deviation ?? 1)];
    return new Lazy<D>(distributions.lognormal(own, mean, deviation));
  });
}

// ---------------------------------------------------------------- of several numbers

/**
 * Positive numbers that add up to 1 along a last axis, as NumPy's `dirichlet`: float64 unless a dtype is given. The shape
 * is without that axis, whose size is that of the last axis of `alpha`, a list or an array that broadcasts. Throws a
 * ShapeError for an alpha without axes, or that does not fit.
 *
 * @example
 * await random.dirichlet(random.key(7), [2], [1, 2, 3]).compute()
 * //=> [[0.17996302 0.38409333 0.43594365]
 * //=>  [0.10394544 0.61948152 0.27657304]]
 */
export function dirichlet<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  alpha: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(dirichlet, () => {
    const op = 'random.dirichlet';
    const own = floatSampling(op, from, shape, options, []);
    const parameters = withLastAxis(op, 'alpha', alpha);
    const all = { ...own, shape: [...own.shape, parameters.shape.at(-1)!] };
    return new Lazy<D>(distributions.dirichlet(all, parameters));
  });
}

// ---------------------------------------------------------------- arguments

function floats<D extends DType>(
  name: keyof typeof DISTRIBUTIONS,
  from: KeyArgument,
  shape: ShapeArgument,
  options: LocatedOptions<D> | undefined,
  ...parameters: readonly ArrayLike[]
): Lazy<D> {
  const distribution: Distribution = DISTRIBUTIONS[name];
  const own = floatSampling(`random.${name}`, from, shape, options, distribution.options ?? []);
  return new Lazy<D>(located(own, drawn(distribution, own, parameters), options));
}

/** The arguments of a sample of float numbers, checked. */
function floatSampling(
  op: string,
  from: KeyArgument,
  shape: ShapeArgument,
  options: SampleOptions | undefined,
  known: readonly string[],
): distributions.Sampling {
  const own = sample(op, from, shape, options, known, 'float64');
  checkFloat(op, own.dtype);
  return own;
}

/** A sample that is stretched by the scale and moved by the location, where options say so. */
function located(own: distributions.Sampling, x: Expr, options: LocatedOptions | undefined): Expr {
  const { scale, loc } = options ?? {};
  const stretched =
    scale === undefined
      ? x
      : distributions.scaled(own, x, parameter(own.op, 'the scale', 'not negative', scale));
  return loc === undefined ? stretched : distributions.moved(own, stretched, operandOf(own.op, loc));
}
