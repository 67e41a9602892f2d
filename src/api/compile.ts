/**
 * compile: a function of arrays that is traced once for each signature of its arguments, and from then on
 * costs a call little more than handing over the elements. Its types are here; `compile-signatures.ts`
 * matches signatures, `exec/run/compiled-graph.ts` runs what was traced.
 */

import { type ComputeOptions, checkComputeOptions } from '../exec/run/compute-options.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { DataOf } from '../graph/dtype-types.js';
import type { TypedArray } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { ArgumentError, expected } from '../host/errors.js';
import type { ShapedData } from '../host/host-array.js';
import type { Nested } from '../host/nested.js';
import { called } from '../host/site.js';
import { type Explanation, explainExprs } from '../inspect/explain.js';
import { type PlanSummary, summarizePlan } from '../inspect/summary.js';
import { Tracer } from './compile-signatures.js';
import type { OfDType } from './compute.js';
import type { Lazy } from './lazy.js';
import type { NDArray } from './ndarray.js';

/**
 * An array argument of a compiled function; where the parameter has a dtype, arrays and data of that dtype.
 */
export type ArrayArgument<D extends DType = DType> = DType extends D
  ? Lazy | TypedArray | ShapedData | Nested
  : Lazy<D> | DataOf<D> | (ShapedData & { readonly dtype: D });

/** Arguments that are handed to the function as they are, and are part of its signature. */
export type FixedArgument = number | bigint | boolean | string | null | undefined;

/** The results of a function to be compiled: an array, or nested lists and objects of arrays. */
export type Traced<Output> = Output extends Lazy
  ? Output
  : Output extends object
    ? { readonly [K in keyof Output]: Traced<Output[K]> }
    : never;

/** A result in the place of each array that the function gives. */
export type ResultsOf<Output, Each> =
  Output extends Lazy<infer D>
    ? OfDType<Each, D>
    : { -readonly [K in keyof Output]: ResultsOf<Output[K], Each> };

/** The argument of the compiled function for each parameter of the traced one. */
export type ArgumentsOf<Parameters extends readonly unknown[]> = {
  [K in keyof Parameters]: Parameters[K] extends FixedArgument ? Parameters[K] : ArgumentOf<Parameters[K]>;
};

type ArgumentOf<Parameter> = Parameter extends Lazy<infer D> ? ArrayArgument<D> : never;

/** Options of `compile`, as `compute` has them. */
export type CompileOptions = Pick<
  ComputeOptions,
  'device' | 'devices' | 'onDeviceLost' | 'deadline' | 'exact' | 'memory' | 'tune'
>;

/**
 * A compiled function: called, it computes; its methods do with the same arguments what those of a Lazy do.
 */
export interface Compiled<Parameters extends readonly unknown[], Output> {
  /**
   * Computes the results. Rejects as `Lazy.compute` does, and with what the function throws when it is
   * traced.
   */
  (...args: ArgumentsOf<Parameters>): Promise<ResultsOf<Output, NDArray>>;
  /**
   * Computes the results and leaves them on the device, as arrays to go on with. Small work on a GPU is only
   * queued when this settles: what uses the results comes after it, `synchronize()` waits for it, and
   * failures of the device show there or in the next call.
   */
  persist(...args: ArgumentsOf<Parameters>): Promise<ResultsOf<Output, Lazy>>;
  /** The work that a call with such arguments would do; see `Lazy.explain`. */
  explain(...args: ArgumentsOf<Parameters>): Explanation;
  /** The plan of a call with such arguments; see `Lazy.plan`. */
  plan(...args: ArgumentsOf<Parameters>): PlanSummary;
}

/** Every option, so that a new one breaks the build here. */
const OPTIONS: Readonly<Record<keyof CompileOptions, true>> = {
  deadline: true,
  device: true,
  devices: true,
  exact: true,
  memory: true,
  onDeviceLost: true,
  tune: true,
};

/**
 * Makes of a function that builds a graph one that computes it: `const step = compile((x: Lazy, y: Lazy) =>
 * x.mul(y).sum())`, then `await step(a, b)`. The function is called once for each signature, with arrays that
 * have no elements; later calls neither build nor plan. Many calls may be under way at once.
 *
 * A signature is, for each array, its dtype, shape and strides and the device it is on or how it lies on
 * several, and the value of every other argument: numbers, text and booleans reach the function as they are.
 * A number that changes with every call is better an array of one element, of the dtype it is used in. Arrays
 * that the function captures are read at each call. An argument that is still to be computed is computed with
 * the function, without a trace.
 *
 * Throws an `ArgumentError` for what is no function. A call rejects with one where the function gives
 * anything but arrays, or computes.
 *
 * @example
 * const step = compile((x: Lazy, y: Lazy) => x.mul(y).sum())
 * await step([1, 2], [3, 4])
 * //=> 11.0
 */
export function compile<Parameters extends readonly Lazy[], Output>(
  fn: (...args: Parameters) => Output & Traced<Output>,
  options?: CompileOptions,
): Compiled<Parameters, Output>;
/**
 * The same for a function of arrays, numbers, text and booleans. A parameter with a default value has its
 * type written beside it: `(x: Lazy, axis: number = 0) => x.sum(axis)`.
 */
export function compile<Parameters extends readonly (Lazy | FixedArgument)[], Output>(
  fn: (...args: Parameters) => Output & Traced<Output>,
  options?: CompileOptions,
): Compiled<Parameters, Output>;
export function compile(
  fn: (...args: never[]) => unknown,
  options: CompileOptions = {},
  ...more: readonly unknown[]
): object {
  const tracer = called(compile, () => {
    refuseMore('compile', 2, [fn, options, ...more]);
    if (typeof fn !== 'function') throw new ArgumentError(expected('compile', 'a function', formatValue(fn)));
    checkOptions('compile', options, Object.keys(OPTIONS));
    checkComputeOptions('compile', options);
    return new Tracer(fn, options);
  });
  const explain = (...args: unknown[]): Explanation =>
    called(explain, () => explainExprs(tracer.exprsOf(args), options));
  const plan = (...args: unknown[]): PlanSummary =>
    called(plan, () => summarizePlan(tracer.exprsOf(args), options));
  // Bound, not wrapped: traces of errors are cut at the methods.
  return Object.assign(tracer.compute.bind(tracer), { persist: tracer.persist.bind(tracer), explain, plan });
}
