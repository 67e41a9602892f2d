/**
 * Checks of arguments that several functions share: option objects and reduction arguments. Those of shapes
 * and axes are in `shape.ts`.
 */
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import { ignoreRejections } from '../host/refused-promises.js';
import type { DType } from './dtype.js';
import { formatValue } from './format.js';
import type { Axes } from './shape.js';

/**
 * Refuses arguments after the last parameter, which would pass unseen; an undefined one is as one that is not
 * given.
 */
export function refuseMore(op: string, most: number, given: readonly unknown[], hint?: string): void {
  if (given.length <= most) return;
  const count = given.findLastIndex((value) => value !== undefined) + 1;
  if (count <= most) return;
  ignoreRejections(given);
  throw tooMany(op, most, `${count}`, hint);
}

/** The error for more arguments than parameters. */
export function tooMany(op: string, most: number, received: string, hint?: string): ArgumentError {
  const wanted = most === 0 ? 'no argument' : most === 1 ? 'one argument' : `at most ${most} arguments`;
  return new ArgumentError(expected(op, wanted, received, hint));
}

/** Our names for options that NumPy, PyTorch and others call differently. */
const SPELLINGS: Readonly<Record<string, string>> = {
  ddof: 'correction',
  unbiased: 'correction',
  keepdim: 'keepdims',
  dim: 'axis',
  axes: 'axis',
  eps: 'epsilon',
  equal_nan: 'equalNan',
  constant_values: 'value',
  constantValues: 'value',
};

/** The option that a key means that a function does not know, among those that it does. */
function meant(key: string, known: readonly string[]): string | undefined {
  const name = Object.hasOwn(SPELLINGS, key) ? SPELLINGS[key]! : key;
  return known.find((each) => each.toLowerCase() === name.toLowerCase());
}

/**
 * Refuses keys that a function does not know, and objects that hold none (a Map): no option must pass unseen.
 */
export function checkOptions(op: string, options: unknown, known: readonly string[]): void {
  if (options === undefined) return;
  if (Object.prototype.toString.call(options) !== '[object Object]') {
    throw new ArgumentError(expected(op, `options { ${known.join(', ')} }`, formatValue(options)));
  }
  for (const key of Object.keys(options as object)) {
    if (!known.includes(key)) {
      const name = meant(key, known);
      const hint = name === undefined ? undefined : `here it is ${name}`;
      throw new ArgumentError(expected(op, `options ${known.join(', ')}`, `option ${key}`, hint));
    }
  }
}

/** A number that is neither NaN nor an infinity. */
export function finiteNumber(op: string, name: string, value: unknown): number {
  if (typeof value !== 'number')
    throw new ArgumentError(expected(op, `${name} to be a number`, formatValue(value)));
  if (!Number.isFinite(value))
    throw new RangeArgumentError(expected(op, `${name} to be finite`, formatValue(value)));
  return value;
}

/** One of some words. */
export function oneOf<T extends string>(op: string, what: string, words: readonly T[], value: unknown): T {
  const word = words.find((candidate) => candidate === value);
  if (word !== undefined) return word;
  const list = words.map((candidate) => `'${candidate}'`).join(' or ');
  throw new ArgumentError(expected(op, `${what}: ${list}`, formatValue(value)));
}

/** Options of every reduction. */
export interface ReduceOptions {
  /** Axes to reduce; all of them where none is given. Negative axes count from the last. */
  readonly axis?: Axes | null | undefined;
  /** Keep reduced axes with size 1, so that the result broadcasts against the argument. */
  readonly keepdims?: boolean | undefined;
}

/** Options of `sum`, `prod` and `mean`. */
export interface SumOptions extends ReduceOptions {
  /** The dtype of the result, in which the elements are combined. */
  readonly dtype?: DType | undefined;
}

/** Options of `var` and `std`. */
export interface VarianceOptions extends ReduceOptions {
  /** Degrees of freedom taken off the divisor: 0 for a population, 1 for a sample. */
  readonly correction?: number | undefined;
}

/** The axis of a reduction, or its options with the axis among them. */
export type AxisOr<Options> = Axes | null | Options;

/**
 * Joins the two ways to give the axis: `sum(0, { keepdims: true })` and `sum({ axis: 0, keepdims: true })`.
 */
export function reduceArguments<Options extends ReduceOptions>(
  op: string,
  axis: AxisOr<Options> | undefined,
  options: Options | undefined,
  known: readonly string[],
): Options & { readonly axis: Axes | null | undefined } {
  const isObject = typeof axis === 'object' && axis !== null && !Array.isArray(axis);
  const inFirst = isObject && !('inputs' in axis); // an array is no axis
  if (inFirst && options !== undefined) {
    throw new ArgumentError(expected(op, 'options once', 'two option objects'));
  }
  const given = (inFirst ? axis : options) as Options | undefined;
  checkOptions(op, given, ['axis', 'keepdims', ...known]);
  const keepdims: unknown = given?.keepdims;
  if (keepdims !== undefined && typeof keepdims !== 'boolean')
    throw new ArgumentError(expected(op, 'keepdims to be true or false', formatValue(keepdims)));
  const positional = inFirst ? undefined : (axis as Axes | null | undefined);
  if (positional !== undefined && given?.axis !== undefined) {
    throw new ArgumentError(expected(op, 'the axis once', 'an axis and an option axis'));
  }
  return { ...(given as Options), axis: positional === undefined ? given?.axis : positional };
}
