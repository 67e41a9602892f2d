/**
 * Distributions with SciPy's names: `stats.norm.cdf(x)`, `stats.t.ppf(0.975, 9)`. Each function is made of ops, so it
 * fuses with what surrounds it.
 */
import { checkOptions } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import { isExpr, map, type Operand, toExpr } from '../graph/infer.js';
import { isScalar } from '../graph/scalar.js';
import { ndtr, xlogy } from '../graph/special.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** Where a distribution lies: the functions take (x - loc) / scale. */
export interface LocationOptions {
  /** 0 by default: a number, or an array that broadcasts. */
  readonly loc?: ArrayLike | undefined;
  /** 1 by default, and positive. */
  readonly scale?: ArrayLike | undefined;
}

/** The functions of a distribution without parameters. */
export interface Distribution {
  /** The density at x. */
  pdf(x: ArrayLike, options?: LocationOptions): Lazy;
  /** The probability of at most x. */
  cdf(x: ArrayLike, options?: LocationOptions): Lazy;
  /** The probability of more than x, accurate where it is small. */
  sf(x: ArrayLike, options?: LocationOptions): Lazy;
  /** The quantile: the x at which `cdf` is p. NaN where p is not from 0 to 1. */
  ppf(p: ArrayLike, options?: LocationOptions): Lazy;
}
/** The functions of a distribution by its degrees of freedom, which are positive and need not be whole. */
export interface DistributionOfFreedom {
  /** The density at x. */
  pdf(x: ArrayLike, df: ArrayLike, options?: LocationOptions): Lazy;
  /** The probability of at most x. */
  cdf(x: ArrayLike, df: ArrayLike, options?: LocationOptions): Lazy;
  /** The probability of more than x, accurate where it is small. */
  sf(x: ArrayLike, df: ArrayLike, options?: LocationOptions): Lazy;
  /** The quantile: the x at which `cdf` is p. NaN where p is not from 0 to 1. */
  ppf(p: ArrayLike, df: ArrayLike, options?: LocationOptions): Lazy;
}

/** The functions of a standard distribution, of arrays; `df` is 0 for one without degrees of freedom. */
interface Standard {
  readonly density: (z: Expr, df: Operand) => Expr;
  readonly below: (z: Expr, df: Operand) => Expr;
  readonly above: (z: Expr, df: Operand) => Expr;
  readonly quantile: (p: Expr, df: Operand) => Expr;
}

const half = (x: Operand): Operand => (isExpr(x) ? map('multiply', [x, 0.5]) : Number(x) / 2);

const NORMAL: Standard = {
  density: (z) =>
    map('multiply', [map('exp', [map('multiply', [map('square', [z]), -0.5])]), 1 / Math.sqrt(2 * Math.PI)]),
  below: ndtr,
  above: (z) => ndtr(map('negative', [z])),
  quantile: (p) => map('ndtri', [p]),
};

const STUDENT: Standard = {
  density: (z, df) => {
    const degrees = map('add', [map('multiply', [z, 0]), df]);
    const [n, next] = [map('multiply', [degrees, 0.5]), map('multiply', [map('add', [degrees, 1]), 0.5])];
    const factor = map('subtract', [map('lgamma', [next]), map('lgamma', [n])]);
    const tail = map('multiply', [next, map('log1p', [map('divide', [map('square', [z]), degrees])])]);
    return map('divide', [
      map('exp', [map('subtract', [factor, tail])]),
      map('sqrt', [map('multiply', [degrees, Math.PI])]),
    ]);
  },
  below: (z, df) => map('stdtr', [df, z]),
  above: (z, df) => map('stdtr', [df, map('negative', [z])]),
  quantile: (p, df) => map('stdtrit', [df, p]),
};

const CHI_SQUARED: Standard = {
  density: (z, df) => {
    const n = map('add', [map('multiply', [z, 0]), half(df)]);
    const powers = map('subtract', [xlogy(map('subtract', [n, 1]), z), map('multiply', [z, 0.5])]);
    const factor = map('add', [map('multiply', [n, Math.LN2]), map('lgamma', [n])]);
    return map('where', [map('less', [z, 0]), 0, map('exp', [map('subtract', [powers, factor])])]);
  },
  below: (z, df) => map('gammainc', [half(df), map('multiply', [map('maximum', [z, 0]), 0.5])]),
  above: (z, df) => map('gammaincc', [half(df), map('multiply', [map('maximum', [z, 0]), 0.5])]),
  quantile: (p, df) => map('multiply', [map('gammaincinv', [half(df), p]), 2]),
};

const operandOf = (op: string, value: ArrayLike): Operand => (isScalar(value) ? value : exprOf(op, value));

/** The arguments behind x of a distribution's functions: its degrees of freedom and its options. */
type ArgumentsOf<A extends readonly unknown[]> = (
  ...given: A
) => readonly [df: ArrayLike, options: LocationOptions | undefined];

const withoutFreedom = (options?: LocationOptions) => [0, options] as const;
const withFreedom = (df: ArrayLike, options?: LocationOptions) => [df, options] as const;

/** The standard distribution moved to `loc` and stretched by `scale`. */
function located<A extends readonly unknown[]>(
  name: string,
  { density, below, above, quantile }: Standard,
  argumentsOf: ArgumentsOf<A>,
): Readonly<Record<'pdf' | 'cdf' | 'sf' | 'ppf', (x: ArrayLike, ...given: A) => Lazy>> {
  type Parts = { readonly x: Expr; readonly df: Operand; readonly loc: Operand; readonly scale: Operand };
  const of = (
    member: 'pdf' | 'cdf' | 'sf' | 'ppf',
    compute: (parts: Parts) => Expr,
  ): ((x: ArrayLike, ...given: A) => Lazy) => {
    const op = `stats.${name}.${member}`;
    const made = (x: ArrayLike, ...given: A): Lazy =>
      called(made, () => {
        const [df, options] = argumentsOf(...given);
        checkOptions(op, options, ['loc', 'scale']);
        const [loc, scale] = [operandOf(op, options?.loc ?? 0), operandOf(op, options?.scale ?? 1)];
        return new Lazy(compute({ x: toExpr(op, operandOf(op, x)), df: operandOf(op, df), loc, scale }));
      });
    return made;
  };
  const z = ({ x, loc, scale }: Parts): Expr => map('divide', [map('subtract', [x, loc]), scale]);
  return Object.freeze({
    pdf: of('pdf', (parts) => map('divide', [density(z(parts), parts.df), parts.scale])),
    cdf: of('cdf', (parts) => below(z(parts), parts.df)),
    sf: of('sf', (parts) => above(z(parts), parts.df)),
    ppf: of('ppf', ({ x, df, loc, scale }) => map('add', [map('multiply', [quantile(x, df), scale]), loc])),
  });
}

/**
 * The normal distribution.
 *
 * @example
 * await stats.norm.cdf([-1.96, 0, 1.96]).compute()
 * //=> [0.0249979 0.5       0.9750021]
 * await stats.norm.ppf([0.975], { loc: 10, scale: 2 }).compute()
 * //=> [13.91992797]
 */
const norm: Distribution = located('norm', NORMAL, withoutFreedom);
/**
 * Student's t distribution.
 *
 * @example
 * await stats.t.ppf([0.975], 9).compute()
 * //=> [2.26215716]
 */
const t: DistributionOfFreedom = located('t', STUDENT, withFreedom);
/**
 * The chi-squared distribution.
 *
 * @example
 * await stats.chi2.sf([3.841], 1).compute()
 * //=> [0.05001368]
 */
const chi2: DistributionOfFreedom = located('chi2', CHI_SQUARED, withFreedom);

/** Distributions with SciPy's names: `stats.norm.cdf(x)`, `stats.t.ppf(0.975, 9)`. */
export const stats = {
  norm,
  t,
  chi2,
} as const;
