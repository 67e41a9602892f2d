/**
 * Ranges: arange, linspace, logspace, geomspace, as arithmetic on an index. No element is stored; values are those NumPy
 * computes.
 */

import { checkOptions, finiteNumber, refuseMore } from '../graph/arguments.js';
import { type DType, isInteger } from '../graph/dtype.js';
import { spacedFrom } from '../graph/even-spacing.js';
import type { Expr } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { cast, checkDType, constant, iota, map } from '../graph/infer.js';
import { checkShape } from '../graph/shape.js';
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import { heldScalar } from '../host/nested.js';
import { called } from '../host/site.js';
import { type Asked, type DTypeArgument, type DTypeOption, dtypeOf } from './creation.js';
import { Lazy } from './lazy.js';

/**
 * Numbers from `start` (0) up to and without `stop`, `step` (1) apart: `arange(stop)`, `arange(start, stop,
 * step)`. float64 for numbers and int64 for bigints, unless a dtype is given; integer dtypes take whole
 * numbers. Throws a RangeArgumentError for a step of 0 and for what is not finite.
 *
 * @example
 * await arange(5).compute()
 * //=> [0. 1. 2. 3. 4.]
 * await arange(10, 0, -3, 'int32').compute()
 * //=> [10  7  4  1]
 */
export function arange<D extends DType>(
  start: number | bigint,
  stop: number | bigint | null | undefined,
  step: number | bigint | null | undefined,
  dtype: D | { readonly dtype: D },
): Lazy<D>;
/** Numbers `step` 1 apart, in a dtype; see the form with a step. */
export function arange<D extends DType>(
  start: number | bigint,
  stop: number | bigint | null | undefined,
  dtype: D | { readonly dtype: D },
): Lazy<D>;
/** Numbers from 0, in a dtype; see the form with a step. */
export function arange<D extends DType>(start: number | bigint, dtype: D | { readonly dtype: D }): Lazy<D>;
/** Numbers in float64; see the form with a dtype. */
export function arange(start: number, stop?: number | null, step?: number | null): Lazy<'float64'>;
/** Numbers or bigints; see the form with a dtype. */
export function arange(
  start: number | bigint,
  stop?: number | bigint | null | DTypeArgument,
  step?: number | bigint | null | DTypeArgument,
  options?: DTypeArgument,
): Lazy;
export function arange(
  start: number | bigint,
  stop?: number | bigint | null | DTypeArgument,
  step?: number | bigint | null | DTypeArgument,
  options?: DTypeArgument,
  ...more: readonly unknown[]
): Lazy {
  return called(arange, () => {
    refuseMore('arange', 4, [start, stop, step, options, ...more]);
    const dtype = dtypeOf('arange', [stop, step, options].find(isDTypeArgument));
    const end = isDTypeArgument(stop) ? undefined : stop;
    const by = isDTypeArgument(step) ? 1 : (step ?? 1);
    const [first, last] = end === undefined || end === null ? [0, start] : [start, end];
    return new Lazy(rangeOf(first, last, by, dtype));
  });
}

const isDTypeArgument = (value: unknown): value is DTypeArgument =>
  typeof value === 'string' || (typeof value === 'object' && value !== null);

function rangeOf(
  start: number | bigint,
  stop: number | bigint,
  step: number | bigint,
  dtype: DType | undefined,
): Expr {
  const given = [start, stop, step];
  for (const value of given) {
    if (typeof value !== 'bigint' && typeof value !== 'number') {
      throw new ArgumentError(expected('arange', 'numbers or bigints', formatValue(value)));
    }
    if (typeof value === 'number' && !Number.isFinite(value)) {
      throw new RangeArgumentError(expected('arange', 'finite numbers', `${value}`));
    }
  }
  if (Number(step) === 0) throw new RangeArgumentError(expected('arange', 'a step other than 0', '0'));
  const result = dtype ?? (given.some((value) => typeof value === 'bigint') ? 'int64' : 'float64');
  if (result === 'bool') throw new ArgumentError(expected('arange', 'a dtype of numbers', 'bool'));
  if (isInteger(result)) {
    if (given.some((value) => typeof value === 'number' && !Number.isInteger(value))) {
      throw new RangeArgumentError(
        expected('arange', `whole numbers for ${result}`, given.map(formatValue).join(', ')),
      );
    }
    const [from, to, by] = given.map(BigInt) as [bigint, bigint, bigint];
    const span = by > 0n ? to - from + by - 1n : to - from + by + 1n;
    const count = checkShape('arange', [Number(span / by > 0n ? span / by : 0n)])[0]!;
    if (count > 0) for (const end of [from, from + BigInt(count - 1) * by]) heldScalar('arange', end, result);
    return cast(map('add', [map('multiply', [iota(count), by]), from]), result);
  }
  const [from, to, by] = given.map(Number) as [number, number, number];
  const [count] = checkShape('arange', [Math.max(0, Math.ceil((to - from) / by))]);
  // As NumPy: the step is the difference of the first two values in the dtype that computes (float32 for
  // halves).
  const computed = result === 'float64' || result === 'complex128' ? 'float64' : 'float32';
  const round = computed === 'float64' ? (value: number) => value : Math.fround;
  const delta = round(round(from + by) - round(from));
  const index = cast(iota(count!), computed);
  return cast(spacedFrom(round(from), map('multiply', [index, delta])), result);
}

/** Options of `linspace`. */
export interface LinspaceOptions extends DTypeOption {
  /** Whether `stop` is the last value (the default) or the first left out. */
  readonly endpoint?: boolean | undefined;
}

/**
 * `count` (50) numbers at equal distances from `start` to `stop`. float64 unless a dtype is given; integer
 * dtypes take the largest integers below.
 *
 * @example
 * await linspace(0, 1, 5).compute()
 * //=> [0.   0.25 0.5  0.75 1.  ]
 */
export function linspace<A extends LinspaceOptions | undefined = undefined>(
  start: number,
  stop: number,
  count?: number,
  options?: A,
): Lazy<Asked<A, 'float64'>>;
export function linspace(
  start: number,
  stop: number,
  count = 50,
  options?: LinspaceOptions,
  ...more: readonly unknown[]
): Lazy {
  return called(linspace, () => {
    const { dtype, endpoint } = spacingOptions('linspace', [start, stop, count, options, ...more]);
    const values = evenValues('linspace', start, stop, count, endpoint);
    return new Lazy(cast(isInteger(dtype) ? map('floor', [values]) : values, dtype));
  });
}

/** The options of a function of `start`, `stop`, `count` and options. */
function spacingOptions(
  op: string,
  given: readonly unknown[],
  names: readonly string[] = ['endpoint', 'dtype'],
): { readonly dtype: DType; readonly endpoint: boolean } {
  refuseMore(op, 4, given);
  const options = given[3] as LinspaceOptions | undefined;
  checkOptions(op, options, names);
  return { dtype: checkDType(op, options?.dtype ?? 'float64'), endpoint: options?.endpoint ?? true };
}

/** `count` numbers at equal distances, in float64. */
function evenValues(op: string, start: number, stop: number, count: number, endpoint: boolean): Expr {
  const [n] = checkShape(op, [count]) as [number];
  for (const value of [start, stop]) {
    if (typeof value !== 'number') throw new ArgumentError(expected(op, 'numbers', formatValue(value)));
  }
  const intervals = endpoint ? n - 1 : n;
  const index = cast(iota(n), 'float64');
  const step = (stop - start) / intervals;
  const scaled =
    intervals > 0 && step !== 0
      ? map('multiply', [index, step])
      : map('multiply', [intervals > 0 ? map('divide', [index, intervals]) : index, stop - start]);
  const values = Number.isFinite(stop - start) ? spacedFrom(start, scaled) : map('add', [scaled, start]);
  return endpoint && n > 1 ? map('where', [map('equal', [iota(n), n - 1]), stop, values]) : values;
}

/** Options of `logspace`. */
export interface LogspaceOptions extends LinspaceOptions {
  /** The base of the powers: 10 by default. */
  readonly base?: number | undefined;
}

/**
 * `count` (50) numbers from `base` ** `start` to `base` ** `stop`, whose exponents are at equal distances, as NumPy's
 * `logspace`. float64 unless a dtype is given.
 *
 * @example
 * await logspace(0, 2, 3).compute()
 * //=> [  1.  10. 100.]
 */
export function logspace<A extends LogspaceOptions | undefined = undefined>(
  start: number,
  stop: number,
  count?: number,
  options?: A,
): Lazy<Asked<A, 'float64'>>;
export function logspace(
  start: number,
  stop: number,
  count = 50,
  options?: LogspaceOptions,
  ...more: readonly unknown[]
): Lazy {
  return called(logspace, () => {
    const given = [start, stop, count, options, ...more];
    const { dtype, endpoint } = spacingOptions('logspace', given, ['base', 'endpoint', 'dtype']);
    const base = finiteNumber('logspace', 'base', options?.base ?? 10);
    const exponents = evenValues('logspace', start, stop, count, endpoint);
    return new Lazy(cast(map('pow', [constant(base, 'float64'), exponents]), dtype));
  });
}

/**
 * `count` (50) numbers from `start` to `stop`, each the same multiple of the one before, as NumPy's `geomspace`:
 * both are not 0 and have one sign. float64 unless a dtype is given. Throws a RangeArgumentError for other ends.
 *
 * @example
 * await geomspace(1, 1000, 4).compute()
 * //=> [   1.   10.  100. 1000.]
 */
export function geomspace<A extends LinspaceOptions | undefined = undefined>(
  start: number,
  stop: number,
  count?: number,
  options?: A,
): Lazy<Asked<A, 'float64'>>;
export function geomspace(
  start: number,
  stop: number,
  count = 50,
  options?: LinspaceOptions,
  ...more: readonly unknown[]
): Lazy {
  return called(geomspace, () => {
    const { dtype, endpoint } = spacingOptions('geomspace', [start, stop, count, options, ...more]);
    for (const value of [start, stop]) finiteNumber('geomspace', 'an end', value);
    if (!(start * stop > 0)) {
      const ends = `${formatValue(start)} and ${formatValue(stop)}`;
      throw new RangeArgumentError(expected('geomspace', 'ends of one sign that are not 0', ends));
    }
    const [from, to] = [Math.log10(Math.abs(start)), Math.log10(Math.abs(stop))];
    const exponents = evenValues('geomspace', from, to, count, endpoint);
    const values = map('multiply', [map('pow', [constant(10, 'float64'), exponents]), Math.sign(start)]);
    // The ends are exact.
    const [index, last] = [iota(exponents.shape[0]!), exponents.shape[0]! - 1];
    const begun = map('where', [map('equal', [index, 0]), start, values]);
    const isEnded = endpoint && last > 0;
    const ended = isEnded ? map('where', [map('equal', [index, last]), stop, begun]) : begun;
    return new Lazy(cast(ended, dtype));
  });
}
