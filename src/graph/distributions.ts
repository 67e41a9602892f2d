/**
 * Distributions beside those of `random.ts`. Those drawn by rejection are ops of a seed: element k of a sample is drawn
 * from the stream of `foldIn(key, k)`, and of nothing else. The others are functions of a uniform or normal number of
 * the element. Both are parts of the kernel that uses them. Logarithms and powers are the portable ones, so that numbers
 * have the same bits on every device.
 */

import { slice } from './basic-slicing.js';
import { type DType, isHalf } from './dtype.js';
import type { Expr, Shape } from './expr.js';
import { cast, constant, map, type Operand } from './infer.js';
import { stack } from './joins.js';
import { openUnit, parameterOf, standardNormal } from './random.js';
import { derived, type KeyBits, placesOf } from './random-bits.js';
import { reduceAlong } from './reducing.js';
import { roundedProduct } from './rounded-product.js';

/** The common arguments of samplers: a name for errors, a key, a shape and the dtype of the sample. */
export interface Sampling {
  readonly op: string;
  readonly key: KeyBits;
  readonly shape: Shape;
  readonly dtype: DType;
}

const add = (a: Operand, b: Operand): Expr => map('add', [a, b]);
const subtract = (a: Operand, b: Operand): Expr => map('subtract', [a, b]);
const multiply = (a: Operand, b: Operand): Expr => map('multiply', [a, b]);
const divide = (a: Operand, b: Operand): Expr => map('divide', [a, b]);
const negative = (x: Expr): Expr => map('negative', [x]);
const log = (x: Expr): Expr => map('portableLog', [x]);
const exp = (x: Expr): Expr => map('portableExp', [x]);

/** The seed of each element: the key of a stream of its own. */
const seedsOf = (key: KeyBits, shape: Shape): Expr => derived(key, placesOf(shape));

/** A key for a further number of an element, which shares nothing with those of other numbers. */
const further = (key: KeyBits, number: number): KeyBits => ({
  impl: key.impl,
  words: derived(key, constant(BigInt(number), 'uint64')),
});

/** A sample computed in float64, in its own dtype. */
const inFull = ({ dtype, ...rest }: Sampling, compute: (sampling: Sampling) => Expr): Expr =>
  cast(compute({ ...rest, dtype: 'float64' }), dtype);

/** A parameter in the dtype of the sample. */
const given = ({ op, shape, dtype }: Sampling, parameter: Operand): Expr =>
  parameterOf(op, parameter, shape, dtype);

/** scale · x. */
export const scaled = (sampling: Sampling, x: Expr, scale: Operand): Expr =>
  multiply(x, given(sampling, scale));

/** x + loc. */
export const moved = (sampling: Sampling, x: Expr, loc: Operand): Expr => add(x, given(sampling, loc));

// ---------------------------------------------------------------- by rejection

/** Of shape `a` and scale 1. */
export const standardGamma = (sampling: Sampling, a: Operand): Expr =>
  inFull(sampling, (full) => map('drawGamma', [seedsOf(full.key, full.shape), given(full, a)]));

const logGamma = (full: Sampling, a: Operand): Expr =>
  map('drawLogGamma', [seedsOf(full.key, full.shape), given(full, a)]);

/** The share of one gamma distributed number in two, by their logarithms: tiny shapes give 0 and 1, not 0 / 0. */
export const beta = (sampling: Sampling, a: Operand, b: Operand): Expr =>
  inFull(sampling, (full) => {
    const [first, second] = [a, b].map((shape, k) =>
      logGamma({ ...full, key: further(full.key, k) }, shape),
    ) as [Expr, Expr];
    return map('reciprocal', [add(exp(subtract(second, first)), 1)]);
  });

/** Twice a gamma distributed number of half the degrees of freedom. */
export const chisquare = (sampling: Sampling, df: Operand): Expr =>
  inFull(sampling, (full) => multiply(standardGamma(full, multiply(given(full, df), 0.5)), 2));

/** A chi-squared number whose degrees of freedom a Poisson number of mean `distance` / 2 adds two each to. */
export const noncentralChisquare = (sampling: Sampling, df: Operand, distance: Operand): Expr =>
  inFull(sampling, (full) => {
    const more = poisson({ ...full, key: further(full.key, 0) }, multiply(given(full, distance), 0.5));
    const all = add(multiply(given(full, df), 0.5), more);
    const isNone = map('less', [more, 0]);
    const shape = map('where', [isNone, Number.NaN, all]);
    return multiply(standardGamma({ ...full, key: further(full.key, 1) }, shape), 2);
  });

/** The quotient of a noncentral chi-squared number and a chi-squared one, each over its degrees of freedom. */
export const noncentralFisher = (
  sampling: Sampling,
  top: Operand,
  bottom: Operand,
  distance: Operand,
): Expr =>
  inFull(sampling, (full) => {
    const first = noncentralChisquare({ ...full, key: further(full.key, 0) }, top, distance);
    const second = chisquare({ ...full, key: further(full.key, 1) }, bottom);
    return divide(divide(first, given(full, top)), divide(second, given(full, bottom)));
  });

/** The quotient of two chi-squared numbers, each over its degrees of freedom. */
export const fisher = (sampling: Sampling, top: Operand, bottom: Operand): Expr =>
  inFull(sampling, (full) => {
    const [first, second] = [top, bottom].map((df, k) =>
      divide(chisquare({ ...full, key: further(full.key, k) }, df), given(full, df)),
    ) as [Expr, Expr];
    return divide(first, second);
  });

/** A normal number over the root of a chi-squared one that is divided by its degrees of freedom. */
export const standardT = (sampling: Sampling, df: Operand): Expr =>
  inFull(sampling, (full) => {
    const squares = chisquare({ ...full, key: further(full.key, 1) }, df);
    const spread = map('sqrt', [divide(squares, given(full, df))]);
    return divide(standardNormal(further(full.key, 0), full.shape, 'float64'), spread);
  });

/** Of a mean; -1 where it is none. */
export const poisson = (sampling: Sampling, mean: Operand): Expr =>
  inFull(sampling, (full) => map('drawPoisson', [seedsOf(full.key, full.shape), given(full, mean)]));

/** Successes of n trials; -1 where n and p are none. */
export const binomial = (sampling: Sampling, n: Operand, p: Operand): Expr =>
  inFull(sampling, (full) =>
    map('drawBinomial', [seedsOf(full.key, full.shape), given(full, n), given(full, p)]),
  );

/** Good ones among `count` without replacement; -1 where the numbers are none. */
export const hypergeometric = (sampling: Sampling, good: Operand, bad: Operand, count: Operand): Expr =>
  inFull(sampling, (full) => {
    const numbers = [good, bad, count].map((each) => given(full, each));
    return map('drawHypergeometric', [seedsOf(full.key, full.shape), ...numbers]);
  });

/** Angles from -π to π around `mu`, of a concentration; NaN where it is none. */
export const vonmises = (sampling: Sampling, mu: Operand, kappa: Operand): Expr =>
  inFull(sampling, (full) => {
    const angle = add(
      map('drawVonMises', [seedsOf(full.key, full.shape), given(full, kappa)]),
      given(full, mu),
    );
    const turned = subtract(map('remainder', [add(angle, Math.PI), 2 * Math.PI]), Math.PI);
    return map('where', [map('lessEqual', [map('abs', [angle]), Math.PI]), angle, turned]);
  });

/** Of probability k^-a / ζ(a); -1 where a is not above 1. */
export const zipf = (sampling: Sampling, a: Operand): Expr =>
  inFull(sampling, (full) => map('drawZipf', [seedsOf(full.key, full.shape), given(full, a)]));

/** Failures before n successes: a Poisson number whose mean is gamma distributed. */
export const negativeBinomial = (sampling: Sampling, n: Operand, p: Operand): Expr =>
  inFull(sampling, (full) => {
    const chance = given(full, p);
    const rate = standardGamma({ ...full, key: further(full.key, 0) }, n);
    const mean = roundedProduct(rate, divide(subtract(1, chance), chance));
    return poisson({ ...full, key: further(full.key, 1) }, mean);
  });

// ---------------------------------------------------------------- of a uniform or normal number

/** The dtype in which functions of uniform numbers are computed. */
const computed = (sampling: Sampling): Sampling =>
  isHalf(sampling.dtype) ? { ...sampling, dtype: 'float32' } : sampling;

const ofUnit = (sampling: Sampling, compute: (u: Expr) => Expr): Expr => {
  const { key, shape, dtype } = computed(sampling);
  return cast(compute(openUnit(key, shape, dtype)), sampling.dtype);
};

/** The tail of an exponential distribution on each side. */
export const standardLaplace = (sampling: Sampling): Expr =>
  ofUnit(sampling, (u) => {
    const rest = subtract(1, u);
    return map('where', [map('less', [u, 0.5]), log(add(u, u)), negative(log(add(rest, rest)))]);
  });

/** log(u / (1 - u)). */
export const standardLogistic = (sampling: Sampling): Expr =>
  ofUnit(sampling, (u) => subtract(log(u), log(subtract(1, u))));

/** -log(-log(u)). */
export const standardGumbel = (sampling: Sampling): Expr =>
  ofUnit(sampling, (u) => negative(log(negative(log(u)))));

/** √(-2 log(u)). */
export const standardRayleigh = (sampling: Sampling): Expr =>
  ofUnit(sampling, (u) => map('sqrt', [multiply(log(u), -2)]));

/** (-log(u))^(1/a). */
export const weibull = (sampling: Sampling, a: Operand): Expr =>
  inFull(sampling, (full) => exp(divide(log(negative(log(unitOf(full)))), given(full, a))));

/** u^(-1/a) - 1: the Pareto distribution of the second kind, from 0 on, as NumPy's. */
export const pareto = (sampling: Sampling, a: Operand): Expr =>
  inFull(sampling, (full) => subtract(exp(divide(negative(log(unitOf(full))), given(full, a))), 1));

/** u^(1/a). */
export const power = (sampling: Sampling, a: Operand): Expr =>
  inFull(sampling, (full) => exp(divide(log(unitOf(full)), given(full, a))));

const unitOf = ({ key, shape, dtype }: Sampling): Expr => openUnit(key, shape, dtype);

/** The quotient of two normal numbers. */
export const standardCauchy = (sampling: Sampling): Expr =>
  inFull(sampling, ({ key, shape }) => {
    const [top, bottom] = [0, 1].map((k) => standardNormal(further(key, k), shape, 'float64'));
    return divide(top!, bottom!);
  });

/** e raised to a normal number. */
export const lognormal = (sampling: Sampling, mean: Operand, deviation: Operand): Expr => {
  const own = computed(sampling);
  return cast(
    exp(moved(own, scaled(own, standardNormal(own.key, own.shape, own.dtype), deviation), mean)),
    sampling.dtype,
  );
};

/** The inverse of the two parabolas that the distribution function is. */
export const triangular = (sampling: Sampling, left: Operand, mode: Operand, right: Operand): Expr =>
  inFull(sampling, (full) => {
    const [low, middle, high] = [left, mode, right].map((bound) => given(full, bound)) as [Expr, Expr, Expr];
    const u = unitOf(full);
    const [width, rise, fall] = [subtract(high, low), subtract(middle, low), subtract(high, middle)];
    const below = add(low, map('sqrt', [multiply(multiply(u, width), rise)]));
    const above = subtract(high, map('sqrt', [multiply(multiply(subtract(1, u), width), fall)]));
    return map('where', [map('less', [multiply(u, width), rise]), below, above]);
  });

/** Trials as far as the first success, from 1 on: an exponential number over -log(1 - p), rounded up. -1 of no p. */
export const geometric = (sampling: Sampling, p: Operand): Expr =>
  inFull(sampling, (full) => {
    const chance = given(full, p);
    const rest = subtract(1, chance);
    // log(1 - p), of a small p too.
    const logarithm = subtract(log(rest), divide(add(subtract(rest, 1), chance), rest));
    const trials = map('ceil', [divide(log(unitOf(full)), logarithm)]);
    const isSure = map('equal', [chance, 1]);
    const isChance = map('logicalAnd', [map('greater', [chance, 0]), map('lessEqual', [chance, 1])]);
    const most = map('minimum', [map('maximum', [trials, 1]), 2 ** 62]);
    return map('where', [isChance, map('where', [isSure, 1, most]), -1]);
  });

/**
 * The inverse Gaussian distribution: Michael, Schucany and Haas, "Generating random variates using transformations with
 * multiple roots" (1976). The roots are mean / r and mean · r, without differences of near numbers.
 */
export const wald = (sampling: Sampling, mean: Operand, scale: Operand): Expr =>
  inFull(sampling, (full) => {
    const centre = given(full, mean);
    const z = standardNormal(further(full.key, 0), full.shape, 'float64');
    const spread = divide(centre, multiply(given(full, scale), 2));
    const w = roundedProduct(multiply(z, z), spread);
    const r = add(add(w, map('sqrt', [multiply(w, add(w, 2))])), 1);
    const u = unitOf({ ...full, key: further(full.key, 1) });
    // Of the smaller root with probability mean / (mean + mean / r).
    const isSmall = map('lessEqual', [u, divide(r, add(r, 1))]);
    return map('where', [isSmall, divide(centre, r), multiply(centre, r)]);
  });

/**
 * Of probability p^k / (-k log(1 - p)): Kemp, "Efficient generation of logarithmically distributed pseudo-random
 * variables" (1981), LK. -1 of no p.
 */
export const logseries = (sampling: Sampling, p: Operand): Expr =>
  inFull(sampling, (full) => {
    const chance = given(full, p);
    const [v, u] = [0, 1].map((k) => unitOf({ ...full, key: further(full.key, k) })) as [Expr, Expr];
    const q = subtract(1, exp(multiply(log(subtract(1, chance)), u)));
    const far = map('floor', [add(divide(log(v), log(q)), 1)]);
    const most = map('minimum', [map('maximum', [far, 1]), 2 ** 62]);
    const isOne = map('logicalOr', [map('greaterEqual', [v, chance]), map('greaterEqual', [v, q])]);
    const isFar = map('lessEqual', [v, multiply(q, q)]);
    const number = map('where', [isOne, 1, map('where', [isFar, most, 2])]);
    const isChance = map('logicalAnd', [map('greaterEqual', [chance, 0]), map('less', [chance, 1])]);
    return map('where', [isChance, number, -1]);
  });

// ---------------------------------------------------------------- of several numbers

/** Gamma distributed numbers of the last axis over their sum, by their logarithms. */
export function dirichlet(sampling: Sampling, alpha: Operand): Expr {
  return inFull(sampling, (full) => {
    const logarithms = logGamma(full, alpha);
    const last = [full.shape.length - 1];
    const most = reduceAlong(full.op, 'max', logarithms, last, true);
    const sizes = exp(subtract(logarithms, most));
    return divide(sizes, reduceAlong(full.op, 'sum', sizes, last, true));
  });
}

/**
 * How many of n trials have each of the outcomes along the last axis of `p`: a binomial number of what is left for each
 * but the last. `shape` is without that axis.
 */
export function multinomial(sampling: Sampling, n: Operand, p: Expr): Expr {
  return inFull(sampling, (full) => {
    const outcomes = p.shape.at(-1)!;
    const counts: Expr[] = [];
    let left = given(full, n);
    let chances: Expr = constant(1, 'float64');
    for (let k = 0; k < outcomes - 1; k++) {
      const own = slice(p, '...', k);
      // Rounding may leave less than the last ones have.
      const share = map('minimum', [map('maximum', [divide(own, chances), 0]), 1]);
      const isLeft = map('greater', [chances, 0]);
      const count = binomial({ ...full, key: further(full.key, k) }, left, map('where', [isLeft, share, 0]));
      counts.push(count);
      left = subtract(left, count);
      chances = subtract(chances, own);
    }
    return stack([...counts, left], -1);
  });
}

/**
 * How many elements of each kind are among `count` without replacement, of as many of each as the last axis of `kinds` has: a
 * hypergeometric number of what is left for each but the last. `shape` is without that axis.
 */
export function multivariateHypergeometric(sampling: Sampling, kinds: Expr, count: Operand): Expr {
  return inFull(sampling, (full) => {
    const sizes = cast(kinds, 'float64');
    const counts: Expr[] = [];
    let left = given(full, count);
    let rest = reduceAlong(full.op, 'sum', sizes, [sizes.shape.length - 1], false);
    for (let k = 0; k < sizes.shape.at(-1)! - 1; k++) {
      const own = slice(sizes, '...', k);
      rest = subtract(rest, own);
      const found = hypergeometric({ ...full, key: further(full.key, k) }, own, rest, left);
      counts.push(found);
      left = subtract(left, found);
    }
    return stack([...counts, left], -1);
  });
}
