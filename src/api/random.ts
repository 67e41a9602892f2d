/**
 * Random numbers: functions of a key, a shape and nothing else. Numbers are not in memory, but part of the kernels
 * that use them, and are the same whatever the device, the tiles, the budget and the order of computing.
 */
import { checkOptions, oneOf } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import { formatShape, formatValue } from '../graph/format.js';
import { cast, constant, iota } from '../graph/infer.js';
import * as distributions from '../graph/random.js';
import { derived, GENERATORS, type Generator, words } from '../graph/random-bits.js';
import { isScalar } from '../graph/scalar.js';
import { checkInteger, checkShape, normalizeAxis, type ShapeArgument } from '../graph/shape.js';
import { slice } from '../graph/slicing.js';
import { reshape } from '../graph/view-nodes.js';
import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import {
  bitsOf,
  type KeyArgument,
  keyOf,
  type NormalOptions,
  operandOf,
  type RandomKey,
  type SampleOptions,
  sample,
  sizeOf,
  weightsOf,
} from './random-arguments.js';
import {
  binomial,
  geometric,
  hypergeometric,
  logseries,
  multinomial,
  multivariateHypergeometric,
  negativeBinomial,
  poisson,
  zipf,
} from './random-counts.js';
import {
  beta,
  cauchy,
  chisquare,
  dirichlet,
  f,
  gamma,
  gumbel,
  laplace,
  logistic,
  lognormal,
  noncentralChisquare,
  noncentralF,
  pareto,
  power,
  rayleigh,
  standardT,
  triangular,
  vonmises,
  wald,
  weibull,
} from './random-distributions.js';
import { multivariateNormal } from './random-multivariate.js';

/** Options of `random.key`. */
export interface KeyOptions {
  /**
   * `'philox4x32'` (the default), or `'threefry2x32'`, a few times the arithmetic, whose bits, uniform numbers,
   * split and folded keys are those of JAX.
   */
  readonly impl?: Generator | undefined;
}

/** Options of `random.uniform`. */
export interface UniformOptions<D extends DType = DType> extends SampleOptions<D> {
  /** The least value, 0 by default: a number, or an array that broadcasts to the shape. */
  readonly low?: ArrayLike | undefined;
  /** The end, 1 by default, which only rounding can give. */
  readonly high?: ArrayLike | undefined;
}
/** Options of `random.exponential`. */
export interface ExponentialOptions<D extends DType = DType> extends SampleOptions<D> {
  /** The mean, 1 by default. */
  readonly scale?: ArrayLike | undefined;
}
/** Options of `random.integers`. */
export interface IntegersOptions<D extends DType = DType> extends SampleOptions<D> {
  /** Whether `high` may be drawn itself. */
  readonly endpoint?: boolean | undefined;
}
/** Options of `random.choice`. */
export interface ChoiceOptions {
  /** The shape of the sample, () by default. */
  readonly shape?: ShapeArgument | undefined;
  /** Whether an element may be drawn again; true by default. */
  readonly replace?: boolean | undefined;
  /** A weight for each element, not negative; they need not add up to 1. */
  readonly p?: ArrayLike | undefined;
  /** The axis that is drawn from, 0 by default. */
  readonly axis?: number | undefined;
}

/**
 * The key of a seed: a whole number from -2^63 to 2^64 - 1 (numbers as far as 2^53).
 *
 * @example
 * const key = random.key(7)
 * await random.uniform(key, [2]).compute()
 * //=> [0.75015222 0.08565787]
 */
function key(seed: number | bigint, options?: KeyOptions): RandomKey {
  return called(key, () => {
    checkOptions('random.key', options, ['impl']);
    const impl = oneOf('random.key', 'a generator', GENERATORS, options?.impl ?? 'philox4x32');
    if (typeof seed !== 'bigint') checkInteger('random.key', 'the seed', seed);
    const value = BigInt(seed);
    if (value < -(2n ** 63n) || value >= 2n ** 64n)
      throw new RangeArgumentError(expected('random.key', 'a seed of 64 bits', formatValue(seed)));
    return keyOf({ impl, words: constant(BigInt.asUintN(64, value), 'uint64') });
  });
}

/**
 * As many keys as asked for, 2 by default, that share nothing with each other: `const [a, b] = random.split(key)`.
 *
 * @example
 * const [a, b] = random.split(random.key(7))
 * await random.uniform(a!, [2]).compute()
 * //=> [0.14871324 0.63724752]
 */
function split(from: KeyArgument, count = 2): RandomKey[] {
  return called(split, () => {
    const bits = bitsOf('random.split', from);
    if (checkInteger('random.split', 'the number of keys', count) < 0)
      throw new RangeArgumentError(expected('random.split', 'a number of keys', `${count}`));
    const all = derived(bits, cast(iota(count), 'uint64'));
    return Array.from({ length: count }, (_, k) => keyOf({ impl: bits.impl, words: slice(all, k) }));
  });
}

/**
 * The key of another and a number: of the step of a loop, say. The number is whole and not negative, or an integer
 * array of shape (), of which Philox takes 62 bits.
 *
 * @example
 * const key = random.foldIn(random.key(7), 12)
 * await random.uniform(key, [2]).compute()
 * //=> [0.95593787 0.16376188]
 */
function foldIn(from: KeyArgument, number: ArrayLike): RandomKey {
  return called(foldIn, () => {
    const bits = bitsOf('random.foldIn', from);
    const data = operandOf('random.foldIn', number);
    const isWhole = typeof data === 'bigint' || (typeof data === 'number' && Number.isInteger(data));
    if (isScalar(data) && !(isWhole && BigInt(data as number) >= 0n))
      throw new ArgumentError(expected('random.foldIn', 'a whole number', formatValue(data)));
    const node = isScalar(data) ? constant(BigInt(data as number), 'uint64') : cast(data, 'uint64');
    if (node.shape.length > 0)
      throw new ShapeError(expected('random.foldIn', 'one number', formatShape(node.shape)));
    return keyOf({ impl: bits.impl, words: derived(bits, node) });
  });
}

/**
 * Random words: uint32 by default, or uint64.
 *
 * @example
 * await random.bits(random.key(7), [2]).compute()
 * //=> [4099963437 3221879260]
 */
function bits<D extends 'uint32' | 'uint64' = 'uint32'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(bits, () => {
    const { key: node, shape: of, dtype } = sample('random.bits', from, shape, options, [], 'uint32');
    if (dtype !== 'uint32' && dtype !== 'uint64')
      throw new DTypeError(expected('random.bits', 'uint32 or uint64', dtype));
    return new Lazy<D>(words(node, of, dtype === 'uint32' ? 32 : 64));
  });
}

/**
 * Numbers that are equally likely in [low, high), [0, 1) by default: float64 unless a dtype is given.
 *
 * @example
 * await random.uniform(random.key(7), [3]).compute()
 * //=> [0.75015222 0.08565787 0.79528404]
 */
function uniform<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: UniformOptions<D>,
): Lazy<D> {
  return called(uniform, () => {
    const op = 'random.uniform';
    const { key: node, shape: of, dtype } = sample(op, from, shape, options, ['low', 'high'], 'float64');
    distributions.checkFloat(op, dtype);
    const plain = options?.low === undefined && options?.high === undefined;
    if (plain) return new Lazy<D>(distributions.unit(node, of, dtype));
    const [low, high] = [operandOf(op, options?.low ?? 0), operandOf(op, options?.high ?? 1)];
    return new Lazy<D>(distributions.uniform(op, node, of, dtype, low, high));
  });
}

/**
 * Normally distributed numbers, of mean 0 and deviation 1 by default: float64 unless a dtype is given. Those of float64
 * are quantiles of uniform ones; of float32 two words give two, by Box and Muller.
 *
 * @example
 * await random.normal(random.key(7), [3]).compute()
 * //=> [ 0.67401081 -1.36798832  0.538013  ]
 */
function normal<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: NormalOptions<D>,
): Lazy<D> {
  return called(normal, () => {
    const op = 'random.normal';
    const {
      key: node,
      shape: of,
      dtype,
    } = sample(op, from, shape, options, ['mean', 'deviation'], 'float64');
    distributions.checkFloat(op, dtype);
    const plain = options?.mean === undefined && options?.deviation === undefined;
    if (plain) return new Lazy<D>(distributions.standardNormal(node, of, dtype));
    const [mean, deviation] = [operandOf(op, options?.mean ?? 0), operandOf(op, options?.deviation ?? 1)];
    return new Lazy<D>(distributions.normal(op, node, of, dtype, mean, deviation));
  });
}

/**
 * Exponentially distributed numbers, of mean 1 by default: float64 unless a dtype is given.
 *
 * @example
 * await random.exponential(random.key(7), [3]).compute()
 * //=> [1.38690343 0.08955045 1.58613181]
 */
function exponential<D extends DType = 'float64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  options?: ExponentialOptions<D>,
): Lazy<D> {
  return called(exponential, () => {
    const op = 'random.exponential';
    const { key: node, shape: of, dtype } = sample(op, from, shape, options, ['scale'], 'float64');
    distributions.checkFloat(op, dtype);
    return new Lazy<D>(distributions.exponential(op, node, of, dtype, operandOf(op, options?.scale ?? 1)));
  });
}

/**
 * Whole numbers in [low, high), or with `{ endpoint: true }` in [low, high]: int64 unless a dtype is given. Bounds are
 * numbers, or integer arrays that broadcast to the shape; those are not looked at. A RangeArgumentError where there
 * is no number between them.
 *
 * @example
 * await random.integers(random.key(7), [5], 0, 6).compute()
 * //=> [4 0 4 5 0]
 */
function integers<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  low: ArrayLike,
  high: ArrayLike,
  options?: IntegersOptions<D>,
): Lazy<D> {
  return called(integers, () => {
    const op = 'random.integers';
    const { key: node, shape: of, dtype } = sample(op, from, shape, options, ['endpoint'], 'int64');
    const [least, most] = [operandOf(op, low), operandOf(op, high)];
    return new Lazy<D>(distributions.integers(op, node, of, dtype, least, most, options?.endpoint ?? false));
  });
}

/**
 * Booleans that are true with a probability, 1/2 by default: a number, or an array that broadcasts to the shape.
 *
 * @example
 * await random.bernoulli(random.key(7), [4]).compute()
 * //=> [False False  True  True]
 */
function bernoulli(from: KeyArgument, shape: ShapeArgument, probability: ArrayLike = 0.5): Lazy<'bool'> {
  return called(bernoulli, () => {
    const { key: node, shape: of } = sample('random.bernoulli', from, shape, undefined, [], 'bool');
    const p = operandOf('random.bernoulli', probability);
    return new Lazy<'bool'>(distributions.bernoulli('random.bernoulli', node, of, p));
  });
}

/**
 * The numbers 0 … n - 1 (int64) in random order, or an array with an axis (the first by default) in random order.
 *
 * @example
 * await random.permutation(random.key(7), 5).compute()
 * //=> [4 1 0 2 3]
 */
function permutation(from: KeyArgument, x: ArrayLike, axis = 0): Lazy {
  return called(permutation, () => {
    const node = bitsOf('random.permutation', from);
    const given = operandOf('random.permutation', x);
    if (isScalar(given))
      return new Lazy(distributions.randomOrder(node, sizeOf('random.permutation', given)));
    const at = normalizeAxis('random.permutation', axis, given.shape.length);
    const order = distributions.randomOrder(node, given.shape[at]!);
    return new Lazy(distributions.takenAt(given, order, at));
  });
}

/**
 * An array with the elements of each row along an axis in a random order of its own, as NumPy's `permuted`; of all elements
 * without an axis. `permutation` moves whole rows.
 *
 * @example
 * await random.permuted(random.key(7), [[1, 2, 3], [1, 2, 3]], 1).compute()
 * //=> [[2. 1. 3.]
 * //=>  [2. 3. 1.]]
 */
function permuted(from: KeyArgument, x: ArrayLike, axis?: number | null): Lazy {
  return called(permuted, () => {
    const op = 'random.permuted';
    const [node, given] = [bitsOf(op, from), exprOf(op, x)];
    if (axis === undefined || axis === null) {
      const flat = reshape(given, [given.shape.reduce((product, size) => product * size, 1)]);
      return new Lazy(reshape(distributions.permutedAlong(node, flat, 0), given.shape));
    }
    const at = normalizeAxis(op, axis, given.shape.length);
    return new Lazy(distributions.permutedAlong(node, given, at));
  });
}

/**
 * A sample of an array along an axis, or of the numbers 0 … n - 1: `random.choice(key, 6, { shape: [100] })`. Without
 * replacement it has at most as many elements as the axis. Weights are not looked at: negative ones and NaN give
 * places that mean nothing.
 *
 * @example
 * await random.choice(random.key(7), [10, 20, 30], { shape: [4] }).compute()
 * //=> [30. 10. 30. 30.]
 */
function choice(from: KeyArgument, x: ArrayLike, options?: ChoiceOptions): Lazy {
  return called(choice, () => {
    const op = 'random.choice';
    checkOptions(op, options, ['shape', 'replace', 'p', 'axis']);
    const node = bitsOf(op, from);
    const given = operandOf(op, x);
    const of = checkShape(op, options?.shape ?? []);
    const at = isScalar(given) ? 0 : normalizeAxis(op, options?.axis ?? 0, given.shape.length);
    const n = isScalar(given) ? sizeOf(op, given) : given.shape[at]!;
    const p = options?.p === undefined ? undefined : weightsOf(op, options.p, n);
    const count = of.reduce((product, size) => product * size, 1);
    const replace = options?.replace ?? true;
    if (replace ? n === 0 && count > 0 : count > n) {
      const wanted = replace ? 'something to draw from' : `at most the ${n} elements that there are`;
      throw new RangeArgumentError(expected(op, wanted, `${count}`));
    }
    const places = replace
      ? distributions.drawn(op, node, n, of, p)
      : reshape(distributions.drawnOnce(node, n, count, p), of);
    return new Lazy(isScalar(given) ? places : distributions.takenAt(given, places, at));
  });
}

/** Random numbers of keys: `random.uniform(random.key(7), [2, 3])`. */
export const random = {
  key,
  split,
  foldIn,
  bits,
  uniform,
  normal,
  exponential,
  integers,
  bernoulli,
  permutation,
  permuted,
  choice,
  gamma,
  beta,
  chisquare,
  f,
  noncentralChisquare,
  noncentralF,
  standardT,
  poisson,
  binomial,
  negativeBinomial,
  hypergeometric,
  multivariateHypergeometric,
  geometric,
  logseries,
  multinomial,
  multivariateNormal,
  dirichlet,
  laplace,
  logistic,
  gumbel,
  lognormal,
  pareto,
  power,
  vonmises,
  wald,
  weibull,
  zipf,
  rayleigh,
  triangular,
  cauchy,
} as const;
