/**
 * Calls of random programs: a method or a function with its arguments, as a value and as code. The rows of actions
 * by index, order and sets (`random-places.ts`, `random-orders.ts` …) are made of them.
 */
import { byteLengthOf, type DType, isComplex, isFloat, kindOf } from '../../src/graph/dtype.js';
import type { Shape } from '../../src/graph/expr.js';
import { arange, type Lazy } from '../../src/index.js';
import { callMethod, freeFunction } from './api.js';
import { sizeOf } from './host.js';
import type { Draw } from './random.js';
import { integerLimit, type Made, type State, type Value } from './random-values.js';

/** What is known of a value: see `Value`. */
export type Known = Pick<Value, 'exact' | 'bound'>;

/** An array, and code that gives it. */
export interface Operand extends Known {
  readonly lazy: Lazy;
  readonly code: string;
}

export type Argument =
  | Operand
  | number
  | string
  | boolean
  | null
  | undefined
  | readonly Argument[]
  | { readonly [name: string]: Argument };

/** An action on a value; undefined where the value does not fit. */
export type Row = (x: Operand, draw: Draw, state: State) => Operand | undefined;

const isOperand = (argument: object): argument is Operand => 'lazy' in argument;

function resolved(argument: Argument): unknown {
  if (typeof argument !== 'object' || argument === null) return argument;
  if (isOperand(argument)) return argument.lazy;
  if (Array.isArray(argument)) return argument.map(resolved);
  return Object.fromEntries(Object.entries(argument).map(([name, each]) => [name, resolved(each)]));
}

function textOf(argument: Argument): string {
  if (typeof argument === 'string') return `'${argument}'`;
  if (typeof argument !== 'object' || argument === null) return String(argument);
  if (isOperand(argument)) return argument.code;
  if (Array.isArray(argument)) return `[${argument.map(textOf).join(', ')}]`;
  return `{ ${Object.entries(argument)
    .map(([name, each]) => `${name}: ${textOf(each)}`)
    .join(', ')} }`;
}

const textsOf = (args: readonly Argument[]): string => args.map(textOf).join(', ');

/** What a method gives; as much is known of it as of the array, or what is given. */
export const callOf = (x: Operand, method: string, args: readonly Argument[], known: Known = x): Operand => ({
  lazy: callMethod(x.lazy, method, args.map(resolved)),
  code: `${x.code}.${method}(${textsOf(args)})`,
  exact: known.exact,
  bound: known.bound,
});

/** A result of a function, or of those of an object or list that one of them gives. */
export function resultOf(
  name: string,
  args: readonly Argument[],
  known: Known,
  result?: string | number,
): Operand {
  const given: unknown = freeFunction(name)(...args.map(resolved));
  const code = `${name}(${textsOf(args)})`;
  const { exact, bound } = known;
  if (result === undefined) return { lazy: given as Lazy, code, exact, bound };
  const part = typeof result === 'number' ? `[${result}]` : `.${result}`;
  return { lazy: (given as Record<string | number, Lazy>)[result]!, code: code + part, exact, bound };
}

/** Integers of at most this size, exactly. */
export const integersTo = (bound: number): Known => ({ exact: true, bound });

/** A value of random bits within a tolerance. */
export const ROUNDED: Known = { exact: false, bound: undefined };

export const madeOf = (x: Operand | undefined): Made =>
  x === undefined
    ? undefined
    : { value: { lazy: x.lazy, exact: x.exact, bound: x.bound }, code: x.code, zeros: 'any' };

export const isReal = ({ lazy }: Operand): boolean => !isComplex(lazy.dtype);

/** Sums of so many elements: exact where each order of them is. */
export function sumOf(x: Operand, count: number): Known {
  const bound = x.bound === undefined ? undefined : x.bound * Math.max(count, 1);
  const rounds = isFloat(x.lazy.dtype) || isComplex(x.lazy.dtype);
  const fits = !rounds || (bound !== undefined && bound <= integerLimit(x.lazy.dtype));
  return { exact: x.exact && fits, bound };
}

/** Integers from `low` to `high` in an order of their own, as an array of a shape. */
export function numbersOf(draw: Draw, shape: Shape, low: number, high: number, dtype: DType): Operand {
  const count = sizeOf(shape);
  const [step, start, range] = [1 + draw.below(12), draw.below(40), high - low + 1];
  const lazy = arange(count, 'int64').mul(step).add(start).remainder(range).add(low).astype(dtype);
  return {
    lazy: lazy.reshape([...shape]),
    code: `arange(${count}, 'int64').mul(${step}).add(${start}).remainder(${range}).add(${low}).astype('${dtype}').reshape([${shape}])`,
    ...integersTo(Math.max(-low, high)),
  };
}

/** A mask of a shape. */
export function maskOf(draw: Draw, shape: Shape): Operand {
  const { lazy, code } = numbersOf(draw, shape, 0, 3, 'int32');
  const least = draw.below(3);
  return { lazy: lazy.greater(least), code: `${code}.greater(${least})`, ...integersTo(1) };
}

const INDEX_DTYPES = ['int64', 'int32', 'int8', 'uint8', 'uint64', 'int16', 'uint16', 'uint32'] as const;
export type Mode = 'raise' | 'wrap' | 'clip' | 'drop';

/** Indices of an axis of some elements: from either end, or of another mode than `raise` beyond both, too. */
export function indicesOf(draw: Draw, shape: Shape, size: number, mode: Mode = 'raise'): Operand {
  const isRaising = mode === 'raise';
  const largest = (dtype: DType): number =>
    2 ** (8 * byteLengthOf(dtype) - (kindOf(dtype) === 'int' ? 1 : 0)) - 1;
  const dtype = draw.of(INDEX_DTYPES.filter((each) => !isRaising || largest(each) >= size));
  const [least, most] = isRaising ? [-size, size - 1] : [-2 * size, 3 * size];
  const low = kindOf(dtype) === 'uint' ? 0 : Math.max(least, -100);
  return numbersOf(draw, shape, low, Math.max(low, Math.min(most, 120)), dtype);
}

/** Values for an array of a shape: numbers of its dtype. */
export const valuesFor = (draw: Draw, x: Operand, shape: Shape): Operand =>
  numbersOf(draw, shape, kindOf(x.lazy.dtype) === 'uint' ? 0 : -2, 3, x.lazy.dtype);

/** Another value of the same shape as x, or x: `fits` says which. */
export function partnerOf(x: Operand, draw: Draw, state: State, fits: (x: Operand) => boolean): Operand {
  const others = state.values
    .map((value, i): Operand => ({ ...value, code: `v${i}` }))
    .filter((other) => `${other.lazy.shape}` === `${x.lazy.shape}` && fits(other));
  return others.length === 0 ? x : draw.of(others);
}
