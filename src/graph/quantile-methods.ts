/**
 * Methods of quantiles: those of Hyndman and Fan ("Sample Quantiles in Statistical Packages", 1996) and the four
 * others of NumPy. Each says between which two elements of a sorted row the value lies, and how far from the first.
 * Used by `order-statistics.ts` with numbers of elements that are known, by `counted-quantiles.ts` with arrays of them.
 */

/** How a quantile is taken from the elements around it; see NumPy's `quantile`. */
export type QuantileMethod =
  | 'inverted_cdf'
  | 'averaged_inverted_cdf'
  | 'closest_observation'
  | 'interpolated_inverted_cdf'
  | 'hazen'
  | 'weibull'
  | 'linear'
  | 'median_unbiased'
  | 'normal_unbiased'
  | 'lower'
  | 'higher'
  | 'midpoint'
  | 'nearest';

/** Arithmetic on numbers, or on arrays of them. */
export interface Arithmetic<T> {
  readonly plus: (a: T, b: number) => T;
  readonly times: (a: T, b: number) => T;
  readonly floor: (a: T) => T;
  /** The nearest integer, of two the even one. */
  readonly round: (a: T) => T;
  readonly equal: (a: T, b: T) => T;
  readonly choose: (test: T, a: T, b: T) => T;
}

/** An index from 0, by `n` elements and a probability q; with a fraction where it lies between two. */
type VirtualIndex = <T>(on: Arithmetic<T>, n: T, q: number) => T;

const continuous =
  (alpha: number, beta: number): VirtualIndex =>
  (on, n, q) =>
    on.plus(on.plus(on.times(n, q), alpha + q * (1 - alpha - beta)), -1);

/** The index of the last element at q = 1, of the first at q = 0, and between them in proportion. */
const proportional: VirtualIndex = (on, n, q) => on.times(on.plus(n, -1), q);

const ceil = <T>(on: Arithmetic<T>, at: T): T => on.times(on.floor(on.times(at, -1)), -1);

export const METHODS: Readonly<Record<QuantileMethod, VirtualIndex>> = {
  inverted_cdf: (on, n, q) => ceil(on, on.plus(on.times(n, q), -1)),
  averaged_inverted_cdf: (on, n, q) => {
    const at = on.plus(on.times(n, q), -1);
    const below = on.floor(at);
    return on.choose(on.equal(at, below), on.plus(below, 0.5), on.plus(below, 1));
  },
  closest_observation: (on, n, q) => {
    const at = on.plus(on.times(n, q), -1.5);
    const below = on.floor(at);
    const half = on.times(below, 0.5);
    const isEven = on.equal(half, on.floor(half));
    const above = on.plus(below, 1);
    return on.choose(on.equal(at, below), on.choose(isEven, above, below), above);
  },
  interpolated_inverted_cdf: continuous(0, 1),
  hazen: continuous(0.5, 0.5),
  weibull: continuous(0, 0),
  linear: proportional,
  median_unbiased: continuous(1 / 3, 1 / 3),
  normal_unbiased: continuous(3 / 8, 3 / 8),
  lower: (on, n, q) => on.floor(proportional(on, n, q)),
  higher: (on, n, q) => ceil(on, proportional(on, n, q)),
  midpoint: (on, n, q) => {
    const at = proportional(on, n, q);
    const below = on.floor(at);
    return on.choose(on.equal(at, below), below, on.plus(below, 0.5));
  },
  nearest: (on, n, q) => on.round(proportional(on, n, q)),
};

/** Those whose values are elements. */
export const SELECTING: ReadonlySet<QuantileMethod> = new Set<QuantileMethod>([
  'inverted_cdf',
  'closest_observation',
  'lower',
  'higher',
  'nearest',
]);
