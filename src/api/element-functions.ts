/**
 * Functions of scalars that users write, as functions of arrays: `elementwise`. The language they are written
 * in, and how they become nodes, is `language/`.
 */
import { checkOptions, refuseMore } from '../graph/arguments.js';
import * as composites from '../graph/composites.js';
import * as elements from '../graph/elementwise.js';
import type { Expr } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { map, toExpr } from '../graph/infer.js';
import { OP_NAMES, opRow } from '../graph/ops.js';
import { isScalar } from '../graph/scalar.js';
import * as special from '../graph/special.js';
import { ArgumentError, expected } from '../host/errors.js';
import { once } from '../host/once.js';
import { called, currentSite } from '../host/site.js';
import type { CallableOf, Captures } from '../language/names.js';
import { ScalarFunction } from '../language/scalar-function.js';
import type { Callable, Operand } from '../language/value.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, free, Lazy } from './lazy.js';
import { isRecord } from './structure.js';

/** The result of a function of scalars: a number, a condition, or a list of these. */
export type ScalarResult = number | bigint | boolean | readonly (number | bigint | boolean)[];

/** Options of `elementwise`. */
export interface ElementwiseOptions {
  /**
   * Names from outside of the function that it reads, with their values: numbers, lists of numbers, records of
   * these, other such functions, plain functions, and ops of Weft's. It is read once.
   */
  readonly captures?: Captures | undefined;
  /** The name in error messages; without it, the function's own. */
  readonly name?: string | undefined;
}

type ArraysFor<Scalars extends readonly unknown[]> = { [K in keyof Scalars]: ArrayLike };

/** A function of arrays, which broadcast: an array for each parameter, and for each number returned. */
export type ElementFunction<F extends (...args: never[]) => ScalarResult> = (
  ...args: ArraysFor<Parameters<F>>
) => ReturnType<F> extends infer List extends readonly unknown[]
  ? { -readonly [K in keyof List]: Lazy }
  : Lazy;

/**
 * A function of arrays from a function of scalars, in JavaScript's own syntax.
 *
 * The function is not called: its source is read once, and becomes nodes that are fused, tiled and run on
 * every device as others are. It may have `let`, `const`, `if`, `switch`, `? :`, `&&`, `||`, `for`, `while`, `do`,
 * `break`, `continue`, `return`, arrays of fixed length, functions inside, `Math`, `Number`, and what `captures`
 * gives it. Loops end for each element by itself.
 *
 * Dtypes follow Weft's promotion, in which literals are weak: float32 stays float32, and an integer divided
 * gives float64. In float64 values are those of JavaScript; the integers of an integer dtype wrap around.
 *
 * Throws an ArgumentError for all that is not in the language, with line and column: names that are not given,
 * recursion, objects, strings, `await`; for functions without a source, native and bound ones.
 *
 * @example
 * const gap = elementwise((x: number, y: number) => (x > y ? Math.sqrt(x - y) : 0));
 * console.log(await gap(lazy([5, 2]), 1).compute());
 * //=> [2. 1.]
 */
export function elementwise<F extends (...args: never[]) => ScalarResult>(
  fn: F,
  options?: ElementwiseOptions,
): ElementFunction<F>;
export function elementwise(
  fn: CallableFunction,
  options?: ElementwiseOptions,
  ...more: readonly unknown[]
): unknown {
  return called(elementwise, () => {
    refuseMore('elementwise', 2, [fn, options, ...more]);
    checkOptions('elementwise', options, ['captures', 'name']);
    const captures = capturesOf('elementwise', options?.captures);
    const traced = tracedFunction('elementwise', options?.name, fn, captures);
    traced.check();
    const apply = (...args: readonly unknown[]): Lazy | Lazy[] =>
      called(apply, () => {
        const { name } = traced.callable;
        const results = traced.apply(args.map((arg) => operandOf(name, arg)));
        return Array.isArray(results) ? results.map((expr) => new Lazy(expr)) : new Lazy(results);
      });
    callables.set(apply, traced.callable);
    return apply;
  });
}

/** A scalar, or the node of an array; axes may have sizes that depend on data. */
export function operandOf(name: string, value: unknown): Operand {
  if (isScalar(value)) return value;
  return value instanceof Lazy ? value.expr : exprOf(name, value);
}

/** Captures as they are now. */
export function capturesOf(op: string, captures: unknown): Captures {
  if (captures === undefined) return {};
  if (isRecord(captures)) return { ...(captures as Captures) };
  throw new ArgumentError(expected(op, 'captures by their names: { limit }', formatValue(captures)));
}

/** A function of the user's, ready to be traced. */
export function tracedFunction(
  op: string,
  name: string | undefined,
  fn: CallableFunction,
  captures: Captures,
): ScalarFunction {
  const callableOf = callableLookup(op, captures);
  return new ScalarFunction(op, name ?? (fn?.name || op), fn, captures, callableOf, currentSite());
}

/** Finds the traced forms of functions that were given as captures. */
export function callableLookup(op: string, captures: Captures): CallableOf {
  const plain = new Map<CallableFunction, Callable>();
  const site = currentSite();
  const callableOf = (other: CallableFunction): Callable => {
    const known = callables.get(other) ?? opsByFunction().get(other) ?? plain.get(other);
    if (known !== undefined) return known;
    const inner = new ScalarFunction(op, other.name || 'a function', other, captures, callableOf, site);
    plain.set(other, inner.callable);
    return inner.callable;
  };
  return callableOf;
}

/** The traced forms of what `elementwise` gave, and functions in CUDA C. */
const callables = new WeakMap<CallableFunction, Callable>();

/** Lets functions of scalars call a function of so many elements. */
export function registerCallable(
  fn: CallableFunction,
  name: string,
  count: number,
  apply: (args: readonly Operand[]) => Expr,
): void {
  callables.set(fn, { name, least: count, most: count, apply: (args) => apply(args as readonly Operand[]) });
}

type Build = (x: Expr, ...more: readonly Operand[]) => Expr;

/** Composites that compute element by element: the fewest and the most arguments that are arrays. */
const COMPOSITES: Readonly<Record<string, readonly [build: unknown, least: number, most: number]>> = {
  angle: [elements.angle, 1, 1],
  beta: [special.beta, 2, 2],
  betaln: [special.betaln, 2, 2],
  bitCount: [elements.bitCount, 1, 1],
  clip: [composites.clip, 1, 3],
  degrees: [elements.degrees, 1, 1],
  expit: [special.expit, 1, 1],
  fmax: [elements.fmax, 2, 2],
  fmin: [elements.fmin, 2, 2],
  gelu: [composites.gelu, 1, 1],
  heaviside: [elements.heaviside, 2, 2],
  nanToNum: [elements.nanToNum, 1, 1],
  ndtr: [special.ndtr, 1, 1],
  radians: [elements.radians, 1, 1],
  relu: [composites.relu, 1, 1],
  sigmoid: [composites.sigmoid, 1, 1],
  silu: [composites.silu, 1, 1],
  sinc: [elements.sinc, 1, 1],
  softplus: [composites.softplus, 1, 1],
  xlog1py: [special.xlog1py, 2, 2],
  xlogy: [special.xlogy, 2, 2],
};

/** Weft's own functions of arrays that a function of scalars may call. */
const opsByFunction = once((): ReadonlyMap<CallableFunction, Callable> => {
  const functions = free as unknown as Readonly<Record<string, CallableFunction>>;
  const ops = OP_NAMES.map((op): [CallableFunction, Callable] => {
    const { arity } = opRow(op);
    const apply: Callable['apply'] = (args) => map(op, args as readonly Operand[]);
    return [functions[op]!, { name: op, least: arity, most: arity, apply }];
  });
  const built = Object.entries(COMPOSITES).map(
    ([name, [build, least, most]]): [CallableFunction, Callable] => {
      const apply: Callable['apply'] = ([x, ...more]) =>
        (build as Build)(toExpr(name, x as Operand), ...(more as readonly Operand[]));
      return [functions[name]!, { name, least, most, apply }];
    },
  );
  return new Map([...ops, ...built]);
});
