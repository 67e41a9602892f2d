/**
 * Distributions of `random` with their distribution functions, and how far a sample is from its own as Kolmogorov and
 * Smirnov measure it: the conformance suite on small samples, `test/devices/distributions.ts` on 10^8 numbers.
 */
import {
  arange,
  bincount,
  type Lazy,
  lazy,
  maximum,
  type RandomKey,
  random,
  stats,
  where,
} from '../../src/index.js';

interface Case {
  readonly name: string;
  readonly draw: (key: RandomKey, n: number) => Lazy;
  /** The probability of at most x. */
  readonly cdf: (x: Lazy) => Lazy;
  /** Of whole numbers: a number that none of 10^8 reaches. */
  readonly most?: number;
}

const gammaBelow = (a: number, x: Lazy): Lazy => x.mul(0).add(a).gammainc(x);
const betaBelow = (a: number, b: number, x: Lazy): Lazy => x.mul(0).add(a).betainc(b, x);
/** P(X ≤ k) of n trials: 1 - I(p; k + 1, n - k). */
const binomialBelow =
  (n: number, p: number) =>
  (k: Lazy): Lazy =>
    where(
      k.less(n),
      k
        .mul(-1)
        .add(n)
        .maximum(1)
        .betainc(k.add(1), k.mul(0).add(1 - p)),
      1,
    );
const poissonBelow =
  (mean: number) =>
  (k: Lazy): Lazy =>
    k.add(1).gammaincc(mean);

/** The integral of von Mises' density e^(κ cos x), by its series of Bessel functions. */
function vonMisesBelow(kappa: number, x: Lazy): Lazy {
  const bessel = (order: number): number => {
    let [term, sum] = [1, 0];
    for (let j = 1; j <= order; j++) term *= kappa / 2 / j;
    for (let k = 1; k < 60; k++) {
      sum += term;
      term *= (kappa / 2) ** 2 / (k * (k + order));
    }
    return sum;
  };
  const terms = Array.from({ length: 25 }, (_, j) =>
    x
      .mul(j + 1)
      .sin()
      .mul((2 * bessel(j + 1)) / ((j + 1) * bessel(0))),
  );
  return terms
    .reduce((sum, term) => sum.add(term), x)
    .div(2 * Math.PI)
    .add(0.5);
}

/** Σ probabilities of `mean` / 2 Poisson numbers, times the distribution function of each. */
const noncentralBelow = (noncentrality: number, below: (more: number) => Lazy): Lazy => {
  let chance = Math.exp(-noncentrality / 2);
  let sum = below(0).mul(chance);
  for (let j = 1; j < 24; j++) {
    chance *= noncentrality / 2 / j;
    sum = sum.add(below(j).mul(chance));
  }
  return sum;
};

/** The share of uniform numbers in [0, 1) that are at most x. */
const unitBelow = (x: Lazy): Lazy => x.astype('float64');
/** Normal numbers in rows of four, whose words share a block, to the last column. */
const fours = (key: RandomKey, n: number): Lazy =>
  random.normal(key, [n, 4], { dtype: 'float32' }).astype('float64');

/** P(X ≤ k) for each k of n drawn of good and bad ones, by quotients of neighbouring probabilities. */
function hypergeometricBelow(good: number, bad: number, n: number): () => Lazy {
  const chances = [1];
  for (let k = 0; k < n; k++)
    chances.push((chances[k]! * (good - k) * (n - k)) / ((k + 1) * (bad - n + k + 1)));
  const all = chances.reduce((sum, chance) => sum + chance, 0);
  return () => lazy(chances).div(all).cumulativeSum();
}

/** Σ probabilities of 1 … k. */
const sumsOf =
  (probability: (k: Lazy) => Lazy) =>
  (k: Lazy): Lazy =>
    where(k.less(1), 0, probability(k.maximum(1))).cumulativeSum();

// biome-ignore format: a table, one row a line
export const DISTRIBUTIONS: readonly Case[] = [
  { name: 'uniform of float32', draw: (key, n) => random.uniform(key, [n], { dtype: 'float32' }), cdf: unitBelow },
  { name: 'uniform', draw: (key, n) => random.uniform(key, [n]), cdf: unitBelow },
  { name: 'uniform of Threefry', draw: (_, n) => random.uniform(random.key(5, { impl: 'threefry2x32' }), [n], { dtype: 'float32' }), cdf: unitBelow },
  { name: 'uniform from -3 to 5', draw: (key, n) => random.uniform(key, [n], { low: -3, high: 5 }), cdf: (x) => x.add(3).div(8) },
  { name: 'sums of neighbouring uniform numbers', draw: (key, n) => random.uniform(key, [n, 2]).sum(1), cdf: (x) => where(x.less(1), x.square().div(2), x.sub(2).square().div(-2).add(1)) },
  { name: 'squares of pairs of normal numbers', draw: (key, n) => fours(key, n).slice([], [0, 2]).square().sum(1), cdf: (x) => x.div(-2).expm1().neg() },
  { name: 'quotients in pairs of normal numbers', draw: (key, n) => fours(key, n).slice([], 0).div(fours(key, n).slice([], 1)), cdf: (x) => x.atan().div(Math.PI).add(0.5) },
  { name: 'sums of fours of normal numbers', draw: (key, n) => fours(key, n).sum(1).div(2), cdf: (x) => stats.norm.cdf(x) },
  { name: 'normal of float32', draw: (key, n) => random.normal(key, [n], { dtype: 'float32' }), cdf: (x) => stats.norm.cdf(x.astype('float64')) },
  { name: 'normal', draw: (key, n) => random.normal(key, [n]), cdf: (x) => stats.norm.cdf(x) },
  { name: 'exponential', draw: (key, n) => random.exponential(key, [n]), cdf: (x) => x.neg().expm1().neg() },
  { name: 'gamma of 0.5', draw: (key, n) => random.gamma(key, [n], 0.5), cdf: (x) => gammaBelow(0.5, x) },
  { name: 'gamma of 3', draw: (key, n) => random.gamma(key, [n], 3, { scale: 2 }), cdf: (x) => gammaBelow(3, x.mul(0.5)) },
  { name: 'gamma of 100', draw: (key, n) => random.gamma(key, [n], 100), cdf: (x) => gammaBelow(100, x) },
  { name: 'beta of 0.5 and 0.5', draw: (key, n) => random.beta(key, [n], 0.5, 0.5), cdf: (x) => betaBelow(0.5, 0.5, x) },
  { name: 'beta of 2 and 5', draw: (key, n) => random.beta(key, [n], 2, 5), cdf: (x) => betaBelow(2, 5, x) },
  { name: 'chi-squared', draw: (key, n) => random.chisquare(key, [n], 3), cdf: (x) => stats.chi2.cdf(x, 3) },
  { name: 'F', draw: (key, n) => random.f(key, [n], 3, 7), cdf: (x) => betaBelow(1.5, 3.5, x.mul(3).div(x.mul(3).add(7))) },
  { name: 'noncentral chi-squared', draw: (key, n) => random.noncentralChisquare(key, [n], 1.5, 4), cdf: (x) => noncentralBelow(4, (j) => gammaBelow(0.75 + j, x.div(2))) },
  { name: 'noncentral F', draw: (key, n) => random.noncentralF(key, [n], 3, 7, 4), cdf: (x) => noncentralBelow(4, (j) => betaBelow(1.5 + j, 3.5, x.mul(3).div(x.mul(3).add(7)))) },
  { name: "Student's t", draw: (key, n) => random.standardT(key, [n], 4), cdf: (x) => stats.t.cdf(x, 4) },
  { name: 'Weibull', draw: (key, n) => random.weibull(key, [n], 1.5), cdf: (x) => x.pow(1.5).neg().expm1().neg() },
  { name: 'Pareto', draw: (key, n) => random.pareto(key, [n], 3), cdf: (x) => x.add(1).pow(-3).neg().add(1) },
  { name: 'power', draw: (key, n) => random.power(key, [n], 2), cdf: (x) => x.square() },
  { name: 'triangular', draw: (key, n) => random.triangular(key, [n], -1, 0.5, 3), cdf: (x) => where(x.less(0.5), x.add(1).square().div(6), x.sub(3).square().div(-10).add(1)) },
  { name: 'von Mises of 0.5', draw: (key, n) => random.vonmises(key, [n], 0, 0.5), cdf: (x) => vonMisesBelow(0.5, x) },
  { name: 'von Mises of 8', draw: (key, n) => random.vonmises(key, [n], 0, 8), cdf: (x) => vonMisesBelow(8, x) },
  { name: 'Wald', draw: (key, n) => random.wald(key, [n], 3, 2), cdf: (x) => stats.norm.cdf(x.div(3).sub(1).mul(x.reciprocal().mul(2).sqrt())).add(stats.norm.cdf(x.div(-3).sub(1).mul(x.reciprocal().mul(2).sqrt())).mul(Math.exp(4 / 3))) },
  { name: 'Laplace', draw: (key, n) => random.laplace(key, [n], { loc: 1, scale: 2 }), cdf: (x) => where(x.less(1), x.sub(1).div(2).minimum(0).exp().div(2), x.sub(1).div(-2).minimum(0).exp().div(-2).add(1)) },
  { name: 'logistic', draw: (key, n) => random.logistic(key, [n]), cdf: (x) => x.sigmoid() },
  { name: 'Gumbel', draw: (key, n) => random.gumbel(key, [n]), cdf: (x) => x.neg().exp().neg().exp() },
  { name: 'Cauchy', draw: (key, n) => random.cauchy(key, [n]), cdf: (x) => x.atan().div(Math.PI).add(0.5) },
  { name: 'Rayleigh', draw: (key, n) => random.rayleigh(key, [n]), cdf: (x) => x.square().div(-2).expm1().neg() },
  { name: 'lognormal', draw: (key, n) => random.lognormal(key, [n]), cdf: (x) => stats.norm.cdf(x.log()) },
  { name: 'Poisson of 3', draw: (key, n) => random.poisson(key, [n], 3), cdf: poissonBelow(3), most: 40 },
  { name: 'Poisson of 10', draw: (key, n) => random.poisson(key, [n], 10), cdf: poissonBelow(10), most: 70 },
  { name: 'Poisson of 5000', draw: (key, n) => random.poisson(key, [n], 5000), cdf: poissonBelow(5000), most: 6000 },
  { name: 'binomial of 10', draw: (key, n) => random.binomial(key, [n], 10, 0.3), cdf: binomialBelow(10, 0.3), most: 11 },
  { name: 'binomial of 100', draw: (key, n) => random.binomial(key, [n], 100, 0.4), cdf: binomialBelow(100, 0.4), most: 101 },
  { name: 'binomial of 1000', draw: (key, n) => random.binomial(key, [n], 1000, 0.9), cdf: binomialBelow(1000, 0.9), most: 1001 },
  { name: 'negative binomial', draw: (key, n) => random.negativeBinomial(key, [n], 3, 0.4), cdf: (k) => k.mul(0).add(3).betainc(k.add(1), k.mul(0).add(0.4)), most: 100 },
  { name: 'Zipf of 4', draw: (key, n) => random.zipf(key, [n], 4).minimum(9999), cdf: sumsOf((k) => k.pow(-4).mul(90 / Math.PI ** 4)), most: 9999 },
  { name: 'logarithmic series', draw: (key, n) => random.logseries(key, [n], 0.9), cdf: sumsOf((k) => k.mul(Math.log(0.9)).exp().div(k).div(Math.log(10))), most: 400 },
  { name: 'hypergeometric of 7', draw: (key, n) => random.hypergeometric(key, [n], 15, 25, 7), cdf: hypergeometricBelow(15, 25, 7), most: 8 },
  { name: 'hypergeometric of 60', draw: (key, n) => random.hypergeometric(key, [n], 300, 200, 60), cdf: hypergeometricBelow(300, 200, 60), most: 61 },
  { name: 'hypergeometric of all but 20', draw: (key, n) => random.hypergeometric(key, [n], 80, 400, 460).mul(-1).add(80), cdf: hypergeometricBelow(80, 400, 20), most: 21 },
  { name: 'geometric', draw: (key, n) => random.geometric(key, [n], 0.2), cdf: (k) => k.mul(Math.log(0.8)).expm1().neg(), most: 200 },
];

/** √n times the largest distance of a sample's distribution function from its own. */
export function distanceOf({ draw, cdf, most }: Case, key: RandomKey, n: number): Lazy {
  if (most !== undefined) {
    const shares = bincount(draw(key, n), most).cumulativeSum().div(n);
    return shares
      .sub(cdf(arange(most).astype('float64')))
      .abs()
      .max()
      .mul(Math.sqrt(n));
  }
  const below = cdf(draw(key, n).sort());
  const rank = arange(n).astype('float64');
  return maximum(below.sub(rank.div(n)).max(), rank.add(1).div(n).sub(below).max()).mul(Math.sqrt(n));
}

/** √n times the distance beyond which one sample in 10^5 is. */
export const MOST_DISTANCE = 2.47;
