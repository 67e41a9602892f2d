/**
 * Loops that stay on the device: `iterate` and `whileLoop`. Their functions are called once, with arrays that
 * stand for the states, and give the graph of a step; `graph/loops.ts` makes nodes of it.
 */

import { checkOptions, refuseMore } from '../graph/arguments.js';
import { withLevels } from '../graph/depth.js';
import type { Expr } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { besideArray, constant, map, type Operand } from '../graph/infer.js';
import { argumentLike, checkStates, loop } from '../graph/loops.js';
import { isScalar } from '../graph/scalar.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { isShaped } from '../host/host-array.js';
import { ignoreRejections, isPromise } from '../host/refused-promises.js';
import { called, outsideCall } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** Named states, of an interface too. An object with a shape is one array. */
export type NamedStates<States> = { readonly [K in keyof States]: ArrayLike } & { readonly shape?: never };

/** An array in the place of each state. */
export type StateArrays<States> = { -readonly [K in keyof States]: Lazy<DTypeOf<States[K]>> };

/** The new states that a step gives: arrays, or values that become arrays. */
export type NextStates<States> = { readonly [K in keyof States]: ArrayLike };

/** Options of `iterate`. */
export interface IterateOptions {
  /** Keeps the states after every so many steps, along a new first axis, instead of the last ones. */
  readonly every?: number | undefined;
}

/** Options of `whileLoop`. */
export interface WhileOptions {
  /** The most steps to run. */
  readonly max?: number | undefined;
}

/** The states after `n` steps, in a list; see the form with one state. */
export function iterate<const States extends readonly ArrayLike[]>(
  n: number,
  states: States,
  fn: (states: StateArrays<States>, step: Lazy) => NextStates<States>,
  options?: IterateOptions,
): StateArrays<States>;
/**
 * The state after `n` steps of `fn`, on the device from the first step to the last: `iterate(1000, x, (x) =>
 * x.mul(0.5).add(1))`.
 *
 * `state` is an array, a list or an object of arrays. `fn` is called once, with arrays that stand for the
 * states and the number of the step, from 0, and gives the next states in the same form, of the same shapes
 * and dtypes. The number of the step meets arrays as a JavaScript number does: `x.mul(step)` is of x's dtype,
 * in which a small integer dtype wraps around; by itself it is int64. Arrays that the function captures are
 * constants of the loop; what no step changes is computed once.
 *
 * With `every: k` the results are the states after k, 2k, 3k … steps along a new first axis, of size ⌊n / k⌋;
 * the first state is not among them.
 *
 * Indices that a step computes are looked at in each step, unless they cannot be out of range or have a `mode`: the first one
 * out of range is a RangeArgumentError of the compute, which gives no result.
 *
 * Throws a RangeArgumentError for counts that are no whole numbers, a ShapeError or DTypeError for states
 * that change theirs.
 *
 * @example
 * await iterate(3, lazy([16]), (x) => x.div(2)).compute()
 * //=> [2.]
 */
export function iterate<State extends ArrayLike>(
  n: number,
  state: State,
  fn: (state: Lazy<DTypeOf<State>>, step: Lazy) => ArrayLike,
  options?: IterateOptions,
): Lazy<DTypeOf<State>>;
/** The states after `n` steps, by name; see the form with one state. */
export function iterate<States extends NamedStates<States>>(
  n: number,
  states: States,
  fn: (states: StateArrays<States>, step: Lazy) => NextStates<States>,
  options?: IterateOptions,
): StateArrays<States>;
export function iterate(
  n: number,
  state: unknown,
  fn: unknown,
  options?: IterateOptions,
  ...more: readonly unknown[]
): unknown {
  return called(iterate, () => {
    refuseMore('iterate', 4, [n, state, fn, options, ...more]);
    checkOptions('iterate', options, ['every']);
    const steps = count('iterate', 'n', n, 0);
    const every = options?.every === undefined ? undefined : count('iterate', 'every', options.every, 1);
    const states = new States('iterate', state);
    const parameters = states.exprs.map((x) => argumentLike(x));
    const number = stepNumber();
    const next = states.next(functionOf('iterate', fn)(states.arranged(parameters), new Lazy(number)));
    if (steps === 0 && every === undefined) return states.arranged(states.exprs);
    const frames = every === undefined ? undefined : Math.floor(steps / every);
    const results = loop(
      [...states.exprs, constant(0n, 'int64')],
      [...parameters, number],
      [...next, map('add', [number, 1n])],
      { steps: frames === undefined ? steps : frames * every!, condition: undefined, every },
      next.length,
    );
    return states.arranged(results.slice(0, next.length));
  });
}

/** Repeats `fn` on a list of states while `cond` holds; see the form with one state. */
export function whileLoop<const States extends readonly ArrayLike[]>(
  cond: (states: StateArrays<States>) => ArrayLike,
  fn: (states: StateArrays<States>, step: Lazy) => NextStates<States>,
  states: States,
  options?: WhileOptions,
): StateArrays<States>;
/**
 * Repeats `fn` while `cond` of the state holds: `whileLoop((x) => x.max().greater(1), (x) => x.mul(0.5), x)`.
 * States and functions are as for `iterate`; `cond` gives one bool. With `max`, ends after so many steps even
 * if the condition still holds.
 *
 * Throws as `iterate` does, and a ShapeError or DTypeError for conditions that are not one bool.
 *
 * @example
 * await whileLoop((x) => x.max().greater(1), (x) => x.mul(0.5), lazy([5, 3])).compute()
 * //=> [0.625 0.375]
 */
export function whileLoop<State extends ArrayLike>(
  cond: (state: Lazy<DTypeOf<State>>) => ArrayLike,
  fn: (state: Lazy<DTypeOf<State>>, step: Lazy) => ArrayLike,
  state: State,
  options?: WhileOptions,
): Lazy<DTypeOf<State>>;
/** Repeats `fn` on states by name while `cond` holds; see the form with one state. */
export function whileLoop<States extends NamedStates<States>>(
  cond: (states: StateArrays<States>) => ArrayLike,
  fn: (states: StateArrays<States>, step: Lazy) => NextStates<States>,
  states: States,
  options?: WhileOptions,
): StateArrays<States>;
export function whileLoop(
  cond: unknown,
  fn: unknown,
  state: unknown,
  options?: WhileOptions,
  ...more: readonly unknown[]
): unknown {
  return called(whileLoop, () => {
    refuseMore('whileLoop', 4, [cond, fn, state, options, ...more]);
    checkOptions('whileLoop', options, ['max']);
    const max = options?.max;
    const steps = max === undefined ? Number.MAX_SAFE_INTEGER : count('whileLoop', 'max', max, 0);
    const states = new States('whileLoop', state);
    const holds = (exprs: readonly Expr[]): Expr =>
      conditionOf(functionOf('whileLoop', cond)(states.arranged(exprs)));
    const parameters = states.exprs.map((x) => argumentLike(x));
    const number = stepNumber();
    const next = states.next(functionOf('whileLoop', fn)(states.arranged(parameters), new Lazy(number)));
    const [first, last] = [holds(states.exprs), holds(next)];
    if (steps === 0) return states.arranged(states.exprs);
    const results = loop(
      [...states.exprs, constant(0n, 'int64'), first],
      [...parameters, number, argumentLike(first)],
      [...next, map('add', [number, 1n]), last],
      { steps, condition: next.length + 1, every: undefined },
      next.length,
    );
    return states.arranged(results.slice(0, next.length));
  });
}

/** Stands for the number of the step, which is weak: `state.mul(step)` stays of the state's dtype. */
const stepNumber = (): Expr => argumentLike(constant(0n, 'int64'), 0, true);

/**
 * A function of the user's; what it builds is a body as a whole, however deep it is, made at lines of its
 * own.
 */
function functionOf(op: string, fn: unknown): (...args: unknown[]) => unknown {
  if (typeof fn === 'function') {
    return (...args) => outsideCall(() => withLevels(Number.POSITIVE_INFINITY, () => fn(...args)));
  }
  throw new ArgumentError(expected(op, 'a function', formatValue(fn)));
}

function count(op: string, name: string, value: unknown, least: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeArgumentError(
    expected(op, `${name} to be a whole number from ${least} on`, formatValue(value)),
  );
}

/** The result of `cond`: one bool. */
function conditionOf(value: unknown): Expr {
  refusePromise('whileLoop', value);
  const expr = exprOf('whileLoop', value);
  if (expr.shape.length > 0)
    throw new ShapeError(
      expected('whileLoop', 'a condition of shape ()', formatShape(expr.shape), 'use all() or any()'),
    );
  if (expr.dtype !== 'bool')
    throw new DTypeError(expected('whileLoop', 'a condition of dtype bool', expr.dtype));
  return expr;
}

function refusePromise(op: string, value: unknown): void {
  if (!isPromise(value)) return;
  ignoreRejections(value);
  const hint = 'the function of a loop builds a graph and awaits nothing';
  throw new ArgumentError(expected(op, 'an array', 'a Promise', hint));
}

/** The states of a loop, and the form in which the user has them. */
class States {
  readonly #op: string;
  /** Names or positions; undefined: one array. */
  readonly #keys: readonly string[] | undefined;
  readonly #isList: boolean;
  readonly exprs: readonly Expr[];

  constructor(op: string, state: unknown) {
    this.#op = op;
    this.#isList = Array.isArray(state);
    this.#keys = isOne(state) ? undefined : Object.keys(state as object);
    this.exprs = this.#exprsOf(state);
    if (this.exprs.length === 0) throw new ArgumentError(expected(op, 'at least one state', 'none'));
  }

  /** The arrays in a value of the states' form; `weak` makes those of scalars and of weak arrays. */
  #exprsOf(value: unknown, weak?: (given: Operand, k: number) => Expr): Expr[] {
    const op = this.#op;
    const exprOfState = (given: unknown, k: number): Expr => {
      if (weak !== undefined && isScalar(given)) return weak(given, k);
      const expr = exprOf(op, given);
      return weak !== undefined && expr.weak ? weak(expr, k) : expr;
    };
    if (this.#keys === undefined) return [exprOfState(value, 0)];
    return this.#keys.map((key, k) => exprOfState(Reflect.get(value as object, key), k));
  }

  #name(k: number): string {
    if (this.#keys === undefined) return 'the state';
    return `state ${this.#keys[k]}`;
  }

  /** The new states, in the form of the old ones. */
  next(value: unknown): Expr[] {
    try {
      return this.#nextOf(value);
    } catch (error) {
      ignoreRejections(value);
      throw error;
    }
  }

  #nextOf(value: unknown): Expr[] {
    refusePromise(this.#op, value);
    const keys = isOne(value) ? undefined : Object.keys(value as object);
    const wanted = this.#keys;
    if (wanted === undefined ? keys !== undefined && !Array.isArray(value) : !sameKeys(keys, wanted)) {
      throw new ArgumentError(expected(this.#op, `a step to give ${listed(wanted)}`, listed(keys)));
    }
    const next = this.#exprsOf(value, (given, k) => besideArray(this.#op, given, this.exprs[k]!.dtype));
    checkStates(this.#op, this.exprs, next, (k) => this.#name(k));
    return next;
  }

  /** An array for each state, in the form of the states. */
  arranged(exprs: readonly Expr[]): unknown {
    const arrays = exprs.map((x) => new Lazy(x));
    if (this.#keys === undefined) return arrays[0];
    return this.#isList ? arrays : Object.fromEntries(this.#keys.map((key, k) => [key, arrays[k]]));
  }
}

/** Whether a value is one array; lists and other objects hold several. */
const isOne = (value: unknown): boolean =>
  value instanceof Lazy ||
  typeof value !== 'object' ||
  value === null ||
  isTypedArray(value) ||
  isShaped(value) ||
  isScalar(value);

const sameKeys = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && a.length === b.length && b.every((key) => a.includes(key));

const listed = (keys: readonly string[] | undefined): string =>
  keys === undefined ? 'one array' : keys.length === 0 ? 'nothing' : `states ${keys.join(', ')}`;
