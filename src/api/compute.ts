/** Computes of several arrays together, in a list or an object, or in lists and objects in each other. */
import type { ComputeOptions } from '../exec/run/compute-options.js';
import type { StoredResult } from '../exec/run/evaluate.js';
import { refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { ArgumentError, expected } from '../host/errors.js';
import { ignoreRejections } from '../host/refused-promises.js';
import { called } from '../host/site.js';
import { atCaller } from '../host/stack-traces.js';
import type { Explanation } from '../inspect/explain.js';
import type { PlanSummary } from '../inspect/summary.js';
import {
  type ComputeToOptions,
  computeNodes,
  explainNodes,
  type Measured,
  persistNodes,
  planNodes,
  storedExpr,
} from './computing.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import type { NDArray } from './ndarray.js';
import { arranged, type Form, flattened, holdsArrays, isRecord } from './structure.js';

/**
 * Arrays to compute together: a list or an object of what `lazy()` takes, and in them lists that hold arrays,
 * and objects. A list of numbers in them is one array.
 */
export type Arrays<T> = T extends Lazy ? never : { readonly [K in keyof T]: ArrayOrMore<T[K]> };
type ArrayOrMore<T> = T extends ArrayLike ? T : T extends object ? Arrays<T> : never;

const LISTED = 'arrays are one list or object: [x, y]';

export type ListOfArrays = readonly ArrayLike[];
type Each<List extends ListOfArrays, Result> = {
  -readonly [K in keyof List]: OfDType<Result, DTypeOf<List[K]>>;
};

/** A kind of result, Lazy or NDArray, with a dtype. */
export type OfDType<Result, D extends DType> = Result extends NDArray ? NDArray<D> : Lazy<D>;

/** A result in the place of each array. */
export type Results<T, Each> = {
  -readonly [K in keyof T]: T[K] extends ArrayLike ? OfDType<Each, DTypeOf<T[K]>> : Results<T[K], Each>;
};

/** Computes several arrays into files, or one archive, and gives the arrays of those. */
export function compute<const T extends ListOfArrays>(
  arrays: T,
  options: ComputeToOptions,
): Promise<Each<T, Lazy>>;
/**
 * Computes arrays in an object, or in lists and objects in each other, into files; results have the same
 * form.
 */
export function compute<const T extends object>(
  arrays: T & Arrays<T>,
  options: ComputeToOptions,
): Promise<Results<T, Lazy>>;
/**
 * Computes several arrays together, shared work once: `const [low, high] = await compute([x.min(),
 * x.max()])`, or by name: `const { low, high } = await compute({ low: x.min(), high: x.max() })`. Equal
 * results are one result: they share memory. Rejects as `Lazy.compute` does.
 *
 * @example
 * const x = lazy([3, 1, 2])
 * const { low, high } = await compute({ low: x.min(), high: x.max() })
 * [low.item(), high.item()]
 * //=> [ 1, 3 ]
 */
export function compute<const T extends ListOfArrays>(
  arrays: T,
  options?: ComputeOptions,
): Promise<Each<T, NDArray>>;
/** Computes arrays in an object, or in lists and objects in each other; results have the same form. */
export function compute<const T extends object>(
  arrays: T & Arrays<T>,
  options?: ComputeOptions,
): Promise<Results<T, NDArray>>;
export async function compute(
  arrays: unknown,
  options?: ComputeOptions | ComputeToOptions,
  ...more: readonly unknown[]
): Promise<unknown> {
  try {
    refuseMore('compute', 2, [arrays, options, ...more], LISTED);
    const [exprs, form] = exprsOf('compute', arrays);
    const computing = computeNodes(exprs, options, (expr) => new Lazy(expr));
    return arranged(form, computing instanceof Promise ? await computing : computing);
  } catch (error) {
    throw atCaller(error, compute);
  }
}

/**
 * Computes several arrays together and leaves them on the device, as `Lazy.persist` does.
 *
 * @example
 * const x = lazy(new Float32Array([1, 2, 3]))
 * const [doubled, total] = await persist([x.mul(2), x.sum()])
 * await doubled.div(total).compute()
 * //=> [0.33333334 0.6666667  1.        ]
 */
export function persist<const T extends ListOfArrays>(
  arrays: T,
  options?: ComputeOptions,
): Promise<Each<T, Lazy>>;
/** The same of arrays in an object, or in lists and objects in each other. */
export function persist<const T extends object>(
  arrays: T & Arrays<T>,
  options?: ComputeOptions,
): Promise<Results<T, Lazy>>;
export async function persist(
  arrays: unknown,
  options?: ComputeOptions,
  ...more: readonly unknown[]
): Promise<unknown> {
  try {
    refuseMore('persist', 2, [arrays, options, ...more], LISTED);
    const [exprs, form] = exprsOf('persist', arrays);
    const stored = await persistNodes(exprs, options);
    return arranged(
      form,
      stored.map((expr) => new Lazy(expr)),
    );
  } catch (error) {
    throw atCaller(error, persist);
  }
}

/**
 * The work that `compute` of several arrays would do; see `Lazy.explain`.
 *
 * @example
 * const x = lazy(new Float32Array(1000))
 * explain([x.exp().sum(), x.max()], { device: 'cpu' }).steps.map(({ name }) => name)
 * //=> [ 'reduce_exp_sum_max' ]
 */
export function explain(
  arrays: ListOfArrays,
  options: (ComputeOptions | ComputeToOptions) & Measured,
): Promise<Explanation>;
export function explain(arrays: ListOfArrays, options?: ComputeOptions | ComputeToOptions): Explanation;
/** The same of arrays in an object, or in lists and objects in each other. */
export function explain<const T extends object>(
  arrays: T & Arrays<T>,
  options?: ComputeOptions | ComputeToOptions,
): Explanation;
export function explain(
  arrays: unknown,
  options?: (ComputeOptions | ComputeToOptions) & Partial<Measured>,
  ...more: readonly unknown[]
): Explanation | Promise<Explanation> {
  return called(explain, () => {
    refuseMore('explain', 2, [arrays, options, ...more], LISTED);
    const [exprs] = exprsOf('explain', arrays);
    return explainNodes(exprs, options);
  });
}

/**
 * The plan of a `compute` of several arrays; see `Lazy.plan`.
 *
 * @example
 * const x = placeholder([1_000_000, 64], 'float32')
 * plan([x.sum(0), x.max(0)], { device: 'cpu', memory: '8MiB' }).peakBytes <= 2 ** 23
 * //=> true
 */
export function plan(arrays: ListOfArrays, options?: ComputeOptions | ComputeToOptions): PlanSummary;
/** The same of arrays in an object, or in lists and objects in each other. */
export function plan<const T extends object>(
  arrays: T & Arrays<T>,
  options?: ComputeOptions | ComputeToOptions,
): PlanSummary;
export function plan(
  arrays: unknown,
  options?: ComputeOptions | ComputeToOptions,
  ...more: readonly unknown[]
): PlanSummary {
  return called(plan, () => {
    refuseMore('plan', 2, [arrays, options, ...more], LISTED);
    const [exprs] = exprsOf('plan', arrays);
    return planNodes(exprs, options);
  });
}

/** The handle of a result that stayed on its device. */
export const storedLazy = (result: StoredResult): Lazy => new Lazy(storedExpr(result));

/** The nodes of several arrays, and their form. */
export function exprsOf(op: string, arrays: unknown): [exprs: Expr[], form: Form] {
  const isSeveral = (value: unknown): boolean => !(value instanceof Lazy) && isRecord(value);
  try {
    if (!Array.isArray(arrays) && !isSeveral(arrays)) {
      const hint = arrays instanceof Lazy ? `x.${op}() for one` : undefined;
      throw new ArgumentError(expected(op, 'a list or an object of arrays', formatValue(arrays), hint));
    }
    return flattened(op, arrays, (value, path) => {
      const holds = isSeveral(value) || (Array.isArray(value) && (path === '' || holdsArrays(value)));
      return holds ? undefined : exprOf(op, value);
    });
  } catch (error) {
    ignoreRejections(arrays);
    throw error;
  }
}
