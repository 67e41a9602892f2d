/**
 * Distributions of whole numbers, with NumPy's names and parameters: numbers, which are checked, or arrays that broadcast
 * to the shape, which are not looked at: where they make no sense an element is -1.
 */

import * as distributions from '../graph/distributions.js';
import { type DType, isFloat, isInteger } from '../graph/dtype.js';
import { formatValue } from '../graph/format.js';
import { isScalar } from '../graph/scalar.js';
import type { ShapeArgument } from '../graph/shape.js';
import { DTypeError, expected, RangeArgumentError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { Lazy } from './lazy.js';
import {
  type Distribution,
  drawn,
  type KeyArgument,
  parameter,
  type SampleOptions,
  sample,
  withLastAxis,
} from './random-arguments.js';

const COUNTS = {
  poisson: { node: distributions.poisson, parameters: [['the mean', 'not negative']] },
  binomial: {
    node: distributions.binomial,
    parameters: [
      ['the number of trials', 'not negative'],
      ['the probability', 'from 0 to 1'],
    ],
  },
  negativeBinomial: {
    node: distributions.negativeBinomial,
    parameters: [
      ['the number of successes', 'positive'],
      ['the probability', 'above 0 and at most 1'],
    ],
  },
  hypergeometric: {
    node: distributions.hypergeometric,
    parameters: [
      ['the number of good elements', 'not negative'],
      ['the number of bad elements', 'not negative'],
      ['the number of drawn elements', 'not negative'],
    ],
  },
  zipf: { node: distributions.zipf, parameters: [['a', 'above 1']] },
  logseries: { node: distributions.logseries, parameters: [['the probability', 'from 0 to below 1']] },
  geometric: { node: distributions.geometric, parameters: [['the probability', 'above 0 and at most 1']] },
} as const satisfies Record<string, Distribution>;

/**
 * Poisson distributed numbers of a mean, as NumPy's `poisson`: int64 unless a dtype is given. Drawn by inversion, for
 * means of at least 10 by Hörmann's rejection PTRS (1993), each from a stream of its own. -1 where an element of an array
 * is no mean, or above 2^62. Throws a RangeArgumentError for a negative number.
 *
 * @example
 * await random.poisson(random.key(7), [3], 40).compute()
 * //=> [30 28 40]
 */
export function poisson<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  mean: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(poisson, () => counts('poisson', from, shape, options, mean));
}

/**
 * How many of n trials succeed, each with probability p, as NumPy's `binomial`: int64 unless a dtype is given. Drawn by
 * inversion, from n p = 10 on by Hörmann's rejection BTRS (1993), each from a stream of its own; n is at most 2^53. -1
 * where elements of arrays are no n and p. Throws a RangeArgumentError for such numbers.
 *
 * @example
 * await random.binomial(random.key(7), [3], 100, 0.4).compute()
 * //=> [32 31 40]
 */
export function binomial<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  n: ArrayLike,
  p: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(binomial, () => counts('binomial', from, shape, options, n, p));
}

/**
 * Failures before n successes, each with probability p, as NumPy's `negative_binomial`: int64 unless a dtype is given.
 * n is positive and need not be whole. -1 where elements of arrays are no n and p.
 *
 * @example
 * await random.negativeBinomial(random.key(7), [3], 3, 0.4).compute()
 * //=> [ 1  5 15]
 */
export function negativeBinomial<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  n: ArrayLike,
  p: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(negativeBinomial, () => counts('negativeBinomial', from, shape, options, n, p));
}

/**
 * Trials as far as the first success, from 1 on, each with probability p, as NumPy's `geometric`: int64 unless a dtype is
 * given. At most 2^62; -1 where an element of an array is no such probability.
 *
 * @example
 * await random.geometric(random.key(7), [3], 0.2).compute()
 * //=> [ 2 12  2]
 */
export function geometric<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  p: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(geometric, () => counts('geometric', from, shape, options, p));
}

/**
 * How many of `count` elements drawn without replacement are good, of so many good and bad ones, as NumPy's `hypergeometric`:
 * int64 unless a dtype is given. One by one where at most 10 are drawn or left, else by Stadlober's ratio of uniforms
 * (1989), each from a stream of its own; all are at most 2^53, of NumPy 10^9. -1 where elements of arrays are no such numbers.
 * Throws a RangeArgumentError for such numbers.
 *
 * @example
 * await random.hypergeometric(random.key(7), [3], 60, 40, 30).compute()
 * //=> [19 18 17]
 */
export function hypergeometric<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  good: ArrayLike,
  bad: ArrayLike,
  count: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(hypergeometric, () => {
    const given = [good, bad, count];
    if (given.every(isScalar) && Number(count) > Number(good) + Number(bad))
      throw new RangeArgumentError(
        expected('random.hypergeometric', 'at most as many drawn as there are', formatValue(count)),
      );
    return counts('hypergeometric', from, shape, options, ...given);
  });
}

/**
 * How many elements of each kind are among `count` that are drawn without replacement, as NumPy's
 * `multivariate_hypergeometric`: int64 unless a dtype is given, of the shape and the last axis of `kinds`, which has how many
 * there are of each. A hypergeometric number for each kind but the last. -1 where as many are not there. Throws a
 * ShapeError for kinds without axes, or that do not fit.
 *
 * @example
 * await random.multivariateHypergeometric(random.key(7), [2], [16, 8, 4], 6).compute()
 * //=> [[2 1 3]
 * //=>  [3 3 0]]
 */
export function multivariateHypergeometric<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  kinds: ArrayLike,
  count: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(multivariateHypergeometric, () => {
    const op = 'random.multivariateHypergeometric';
    const own = wholeSampling(op, from, shape, options);
    const drawn = parameter(op, 'the number of drawn elements', 'not negative', count);
    return new Lazy<D>(
      distributions.multivariateHypergeometric(own, withLastAxis(op, 'kinds', kinds), drawn),
    );
  });
}

/**
 * Numbers from 1 on, each with the probability k^-a / ζ(a), as NumPy's `zipf`: int64 unless a dtype is given. At most
 * 2^62. Drawn by Devroye's rejection (1986). -1 where an element of an array is not above 1. Throws a
 * RangeArgumentError for such a number.
 *
 * @example
 * await random.zipf(random.key(7), [3], 2).compute()
 * //=> [1 1 2]
 */
export function zipf<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  a: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(zipf, () => counts('zipf', from, shape, options, a));
}

/**
 * Numbers from 1 on, each with the probability p^k / (-k log(1 - p)), as NumPy's `logseries`: int64 unless a dtype is
 * given. By Kemp's algorithm (1981). -1 where an element of an array is no probability below 1. Throws a
 * RangeArgumentError for such a number.
 *
 * @example
 * await random.logseries(random.key(7), [3], 0.9).compute()
 * //=> [1 1 3]
 */
export function logseries<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  p: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(logseries, () => counts('logseries', from, shape, options, p));
}

/**
 * How many of n trials have each of the outcomes whose probabilities are the last axis of `p`, as NumPy's `multinomial`:
 * int64 unless a dtype is given, of the shape and that axis. The last outcome has the rest of 1. A binomial
 * number for each outcome but the last. Throws a ShapeError for a p without axes, or that does not fit.
 *
 * @example
 * await random.multinomial(random.key(7), [2], 60, [0.1, 0.3, 0.6]).compute()
 * //=> [[ 7 14 39]
 * //=>  [10 18 32]]
 */
export function multinomial<D extends DType = 'int64'>(
  from: KeyArgument,
  shape: ShapeArgument,
  n: ArrayLike,
  p: ArrayLike,
  options?: SampleOptions<D>,
): Lazy<D> {
  return called(multinomial, () => {
    const op = 'random.multinomial';
    const own = wholeSampling(op, from, shape, options);
    const trials = parameter(op, 'the number of trials', 'not negative', n);
    return new Lazy<D>(distributions.multinomial(own, trials, withLastAxis(op, 'p', p)));
  });
}

function counts<D extends DType>(
  name: keyof typeof COUNTS,
  from: KeyArgument,
  shape: ShapeArgument,
  options: SampleOptions<D> | undefined,
  ...parameters: readonly ArrayLike[]
): Lazy<D> {
  const own = wholeSampling(`random.${name}`, from, shape, options);
  return new Lazy<D>(drawn(COUNTS[name], own, parameters));
}

/** The arguments of a sample of whole numbers, which floats hold too, checked. */
function wholeSampling(
  op: string,
  from: KeyArgument,
  shape: ShapeArgument,
  options: SampleOptions | undefined,
): distributions.Sampling {
  const own = sample(op, from, shape, options, [], 'int64');
  if (!isFloat(own.dtype) && !isInteger(own.dtype))
    throw new DTypeError(expected(op, 'an integer or float dtype', own.dtype));
  return own;
}
