/**
 * Checks of arguments that several functions share: option objects and reduction arguments. Those of shapes and axes
 * are in `shape.ts`.
 */
import { ArgumentError, expected, RangeArgumentError } from '../errors.js';
import type { DType } from './dtype.js';
import { formatValue } from './format.js';
import type { Axes } from './shape.js';

/** Refuses keys that a function does not know, and objects that hold none (a Map): no option must pass unseen. */
export function checkOptions(op: string, options: unknown, known: readonly string[]): void {
  if (options === undefined) return;
  if (Object.prototype.toString.call(options) !== '[object Object]') {
    throw new ArgumentError(expected(op, `options { ${known.join(', ')} }`, formatValue(options)));
  }
  for (const key of Object.keys(options as object)) {
    if (!known.includes(key)) {
      throw new ArgumentError(expected(op, `options ${known.join(', ')}`, `option ${key}`));
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

/** Joins the two ways to give the axis: `sum(0, { keepdims: true })` and `sum({ axis: 0, keepdims: true })`. */
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
