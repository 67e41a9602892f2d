/**
 * Lazy: the user's handle on an expression. Methods make nodes and run nothing; `compute()` runs.
 *
 * Most of its methods come from tables (`fluent.ts`). Creation is in `creation.ts`, computes of several arrays in
 * `compute.ts`.
 */

import type { ComputeOptions } from '../exec/run/compute-options.js';
import { segment } from '../fusion/passes/segment.js';
import { refuseMore } from '../graph/arguments.js';
import { onDeepGraph } from '../graph/depth.js';
import type { DType, Scalar } from '../graph/dtype.js';
import type { Expr, Shape } from '../graph/expr.js';
import { formatBounded, formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import type { Operand } from '../graph/infer.js';
import { isScalar } from '../graph/scalar.js';
import type { SegmentOptions } from '../graph/segment-reductions.js';
import type { Selector } from '../graph/selectors.js';
import { matrixTranspose, transpose } from '../graph/views.js';
import type { UpdateOptions } from '../graph/writing.js';
import { DISPLAY, INSPECT, type InspectOptions, isTooDeep, type MimeBundle, named } from '../host/display.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, expected } from '../host/errors.js';
import { arrayExpr, isShaped } from '../host/host-array.js';
import { refuseMethods } from '../host/result-hints.js';
import { called } from '../host/site.js';
import { atCaller, bounded } from '../host/stack-traces.js';
import type { Explanation } from '../inspect/explain.js';
import { expressionAsHtml } from '../inspect/explanation-html.js';
import type { PlanSummary } from '../inspect/summary.js';
import { admitted } from './admission.js';
import {
  type ComputeToOptions,
  computeNodes,
  explainNodes,
  type Measured,
  persistNodes,
  planNodes,
} from './computing.js';
import { installMethods, makeFunctions, type Wrapping } from './fluent.js';
import type { ArrayLike, Given, GroupsOf } from './fluent-types.js';
import { Groups } from './groups.js';
import type { Methods } from './methods.js';
import { NDArray } from './ndarray.js';
import { isRecord } from './structure.js';
import { Updates } from './updates.js';

/** The methods, installed below from the tables. */
export interface Lazy<out D extends DType = DType> extends Methods<D> {}

/**
 * An array that is not computed yet. Shape and dtype are known and checked when it is made; the elements
 * exist after `await x.compute()`. Made by `lazy()` and the creation functions; every method gives a new
 * Lazy.
 *
 * `Lazy<'float32'>` has that dtype for certain, and so do its results; a `Lazy` may have any.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the interface's methods are installed below
export class Lazy<out D extends DType = DType> {
  /**
   * The graph behind the handle.
   *
   * @example
   * lazy([1, 2]).exp().expr.kind
   * //=> map
   */
  readonly expr: Expr;

  /** Arrays are made by `lazy()`: throws an ArgumentError for what is no node of a graph. */
  constructor(expr: Expr) {
    // Of all that could be given only a node has inputs; `isExpr` would be slow here.
    if ((expr as Expr | null | undefined)?.inputs === undefined) throw notMade(expr);
    this.expr = expr;
  }

  /**
   * Size along each axis; of one whose size depends on data the most that it can be, as `sizes` says. Nodes share it:
   * it cannot be written to.
   *
   * @example
   * lazy([[1, 2, 3], [4, 5, 6]]).shape
   * //=> [ 2, 3 ]
   */
  get shape(): Shape {
    return Object.freeze(this.expr.shape);
  }

  /**
   * Size along each axis: a number, or an int64 array of shape () where it depends on data.
   *
   * @example
   * const x = lazy([3, -1, 2])
   * const [count] = x.slice(x.greater(0)).sizes
   * await lazy(count!).compute()
   * //=> 2
   */
  get sizes(): readonly (number | Lazy<'int64'>)[] {
    const { shape, extent } = this.expr;
    return shape.map((size, k) => (k === extent?.axis ? new Lazy<'int64'>(extent.length) : size));
  }

  get dtype(): D {
    return this.expr.dtype as D;
  }

  /**
   * Number of axes.
   *
   * @example
   * zeros([2, 3]).ndim
   * //=> 2
   */
  get ndim(): number {
    return this.expr.shape.length;
  }

  /**
   * Number of elements, as `shape` has them.
   *
   * @example
   * zeros([2, 3]).size
   * //=> 6
   */
  get size(): number {
    return sizeOfShape(this.expr.shape);
  }

  /**
   * The axes in reverse order.
   *
   * @example
   * await lazy([[1, 2], [3, 4]]).T.compute()
   * //=> [[1. 3.]
   * //=>  [2. 4.]]
   */
  get T(): Lazy<D> {
    return called(GETTERS.T.get!, () => new Lazy(transpose(this.expr)));
  }

  /**
   * The last two axes exchanged. Throws a ShapeError below two axes.
   *
   * @example
   * zeros([5, 2, 3]).mT.shape
   * //=> [ 5, 3, 2 ]
   */
  get mT(): Lazy<D> {
    return called(GETTERS.mT.get!, () => new Lazy(matrixTranspose(this.expr)));
  }

  /**
   * The device that holds the elements, after `persist()`; undefined for anything still to be computed.
   *
   * @example
   * const x = await lazy([1, 2]).persist({ device: 'cpu' })
   * x.device
   * //=> cpu
   */
  get device(): string | undefined {
    const { expr } = this;
    return expr.kind === 'source' && expr.source.type === 'device' ? expr.source.buffer.device : undefined;
  }

  /**
   * Computes into a file, and gives the array of that file: `x.compute({ to: npy('x.npy') })`. Rejects as
   * without `to`.
   */
  compute(options: ComputeToOptions): Promise<Lazy<D>>;
  /**
   * Computes the elements. Rejects with a DeviceError for a device that cannot be used, a MemoryError where
   * the job cannot fit, a FileError for a file that cannot be read or written, the signal's reason when
   * aborted. Typed arrays behind the graph must not be written to or transferred until it settles.
   *
   * @example
   * const { data, shape, dtype } = await lazy([1, 2, 3]).mul(2).compute()
   * data
   * //=> Float64Array(3) [ 2, 4, 6 ]
   */
  compute(options?: ComputeOptions): Promise<NDArray<D>>;
  async compute(
    options?: ComputeOptions | ComputeToOptions,
    ...more: readonly unknown[]
  ): Promise<NDArray<D> | Lazy<D>> {
    try {
      if (more.length > 0) refuseMore('compute', 1, [options, ...more]);
      const computing = computeNodes([admitted('compute', this.expr)], options, lazyOf);
      const [result] = computing instanceof Promise ? await computing : computing;
      return result as NDArray<D> | Lazy<D>;
    } catch (error) {
      throw atCaller(error, Lazy.prototype.compute);
    }
  }

  /**
   * Computes the elements and leaves them on the device, as a Lazy to compute further with. Its memory is
   * freed when it is collected, or at once by `using` or `dispose()`. An array that is stored already is
   * copied to the `device` (or in shards to the `devices`) that is named, directly from GPU to GPU where they
   * reach each other; what computes with it is refused there.
   *
   * @example
   * using x = await lazy([1, 2, 3]).mul(2).persist()
   * await x.sum().compute()
   * //=> 12.0
   */
  persist(options?: ComputeOptions): Promise<Lazy<D>>;
  async persist(options?: ComputeOptions, ...more: readonly unknown[]): Promise<Lazy<D>> {
    try {
      refuseMore('persist', 1, [options, ...more]);
      const [result] = await persistNodes([admitted('persist', this.expr)], options);
      return lazyOf(result!) as Lazy<D>;
    } catch (error) {
      throw atCaller(error, Lazy.prototype.persist);
    }
  }

  /**
   * The work that `compute` with these options would do: kernels, the nodes they hold, bytes moved, peak
   * memory, a reason for every edge that was not fused, and the generated source. Prints as text; `toJSON()`
   * gives it as stable data.
   *
   * With `measure: true` it is a promise, and kernels on a GPU are compiled: it tells their registers, bytes of local memory
   * (spilled registers) and of shared memory, and how many blocks a multiprocessor runs at a time. Rejects with a
   * CompileError for a kernel of your own that does not compile. Steps that run as a whole say how long the cost model
   * takes them for (`predictedMs`), and how long they take on memory of their own, which holds none of your data
   * (`measuredMs`, the least of 20 ms of runs on the CPU, with one thread, of its processor; on a GPU without queueing them),
   * unless that memory is more than a quarter of the device's or a kernel has a loop whose end its data decide. Calls of
   * libraries and routines compute random operands, and say of which kind where that matters (`measuredOn`). Steps that
   * cannot be timed say why (`whyNotTimed`).
   * The job itself is not run.
   *
   * @example
   * lazy(new Float32Array(1000)).exp().mul(2).explain({ device: 'cpu' }).steps.map(({ name }) => name)
   * //=> [ 'map_exp_multiply' ]
   */
  explain(options: (ComputeOptions | ComputeToOptions) & Measured): Promise<Explanation>;
  explain(options?: ComputeOptions | ComputeToOptions): Explanation;
  explain(
    options?: (ComputeOptions | ComputeToOptions) & Partial<Measured>,
    ...more: readonly unknown[]
  ): Explanation | Promise<Explanation> {
    return called(this.explain, () => {
      refuseMore('explain', 1, [options, ...more]);
      return explainNodes([admitted('explain', this.expr)], options);
    });
  }

  /**
   * The plan of a `compute` with these options, made without running anything: `peakBytes`, the most memory
   * of the device that it holds, the sweeps over tiles of a job that does not fit as a whole. Prints as text.
   * Throws a MemoryError where nothing fits into `memory`.
   *
   * @example
   * const x = placeholder([1_000_000, 64], 'float32')
   * x.sum(0).plan({ device: 'cpu', memory: '8MiB' }).peakBytes <= 2 ** 23
   * //=> true
   */
  plan(options?: ComputeOptions | ComputeToOptions): PlanSummary;
  plan(options?: ComputeOptions | ComputeToOptions, ...more: readonly unknown[]): PlanSummary {
    return called(this.plan, () => {
      refuseMore('plan', 1, [options, ...more]);
      return planNodes([admitted('plan', this.expr)], options);
    });
  }

  /**
   * Frees the device memory of an array made by `persist()`; for other arrays it does nothing. Computes
   * that use the array or a view of it have to be awaited before; later ones reject with an ArgumentError.
   *
   * @example
   * const x = await lazy([1, 2]).persist({ device: 'cpu' })
   * x.dispose()
   * await x.sum().compute().catch((error) => error.name)
   * //=> ArgumentError
   */
  dispose(): void {
    const { expr } = this;
    if (expr.kind === 'source' && expr.source.type === 'device') expr.source.buffer.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /**
   * The elements at some selectors, as `slice` takes them, to be updated: `x.at(ids).add(values)`, `x.at([2, 5],
   * -1).set(0)`. A boolean array of the same shape selects where it is true; its values broadcast to the array,
   * where NumPy takes one for each, unless they were selected by the same mask: `x.at(mask).add(y.slice(mask))`.
   * Throws what `slice` throws, and when it is computed a RangeArgumentError for indices out of range, before
   * anything is written, unless `{ mode: 'wrap' }` or `{ mode: 'clip' }` says what they are, or `{ mode: 'drop' }`
   * leaves their values out.
   *
   * @example
   * await lazy([1, 2, 3]).at([[0, 2]]).set(9).compute()
   * //=> [9. 2. 9.]
   */
  at(...selectors: readonly (Given<Selector> | UpdateOptions)[]): Updates<Lazy<D>, ArrayLike | Scalar> {
    return called(this.at, () => {
      const given = selectors.map(WRAPPING.argument) as (Selector | UpdateOptions)[];
      return new Updates<Lazy<D>, ArrayLike | Scalar>(this.expr, given, {
        operand: WRAPPING.operand,
        wrap: (expr) => new Lazy(expr) as Lazy<D>,
      });
    });
  }

  /**
   * The rows (along the first axis) in groups by their keys, the integers 0 … groups - 1: `x.groupBy(keys,
   * 12).mean()`. Keys, options and errors are those of `segmentSum`.
   *
   * @example
   * await lazy([10, 20, 30]).groupBy(new Int32Array([1, 0, 1]), 2).mean().compute()
   * //=> [20. 20.]
   */
  groupBy(keys: ArrayLike, groups: number, options?: SegmentOptions): Groups<GroupsOf<D>>;
  groupBy(
    keys: ArrayLike,
    groups: number,
    options?: SegmentOptions,
    ...more: readonly unknown[]
  ): Groups<GroupsOf<D>> {
    return called(this.groupBy, () => {
      refuseMore('groupBy', 3, [keys, groups, options, ...more]);
      return new Groups<GroupsOf<D>>(this.expr, exprOf('groupBy', keys), groups, options, lazyOf);
    });
  }

  toString(): string {
    const { shape, extent } = this.expr;
    return `Lazy ${this.dtype} ${formatBounded(shape, extent?.axis)}`;
  }

  [INSPECT](depth?: number | null, options: InspectOptions = {}): string {
    return isTooDeep(depth) ? named(this.toString(), options) : this.toString();
  }

  /** In notebooks: dtype, shape and bytes, with the graph as a picture where it is small. */
  [DISPLAY](): MimeBundle {
    return { 'text/plain': this.toString(), 'text/html': expressionAsHtml(this.expr, this.device) };
  }

  /**
   * Throws an ArgumentError: there are no elements yet, and those of a result go through `toArray()`.
   *
   * @example
   * JSON.stringify(lazy([1, 2]))
   * //=> throws ArgumentError: [toJSON] expected numbers or lists for JSON: a Lazy float64 (2,) (compute() it, then toArray())
   */
  toJSON(): never {
    return bounded(this.toJSON, () => {
      const hint = 'compute() it, then toArray()';
      throw new ArgumentError(expected('toJSON', 'numbers or lists for JSON', `a ${this}`, hint));
    });
  }

  /** JavaScript's operators cannot build graphs: they are refused, but for text. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString();
    return bounded(this[Symbol.toPrimitive], () => {
      const hint = 'x.add(y), not x + y';
      throw new ArgumentError(expected('Lazy', 'methods for arithmetic', 'an operator', hint));
    });
  }
}

const lazyOf = (expr: Expr): Lazy => new Lazy(expr);

const notMade = (value: unknown): unknown =>
  atCaller(
    new ArgumentError(
      expected('Lazy', 'lazy() to make an array', formatValue(value), 'lazy(x), not new Lazy(x)'),
    ),
    Lazy,
  );

/** The node of a Lazy, or of anything `lazy()` takes. */
export const exprOf = (op: string, value: unknown): Expr =>
  value instanceof Lazy ? admitted(op, value.expr) : arrayExpr(op, value);

const WRAPPING: Wrapping = {
  wrap: lazyOf,
  operand: (op, value): Operand =>
    value instanceof Lazy ? value.expr : isScalar(value) ? value : arrayExpr(op, value),
  array: exprOf,
  argument: (value) => {
    if (isArray(value)) return exprOf('lazy', value);
    if (Array.isArray(value) || !isRecord(value) || !Object.values(value).some(isArray)) return value;
    // Options among which are arrays.
    const fields = Object.entries(value).map(([name, each]) => [
      name,
      isArray(each) ? exprOf('lazy', each) : each,
    ]);
    return Object.fromEntries(fields);
  },
};

/** Whether a value is an array, and can be no other argument. */
const isArray = (value: unknown): boolean => value instanceof Lazy || isTypedArray(value) || isShaped(value);

/** The functions behind the properties: traces of errors are cut at them. */
const GETTERS = Object.getOwnPropertyDescriptors(Lazy.prototype);

installMethods(Lazy.prototype, WRAPPING);
refuseMethods(NDArray.prototype, Lazy.prototype);
onDeepGraph(segment);

/** The free functions by name; `functions.ts` exports them one by one. */
export const free = makeFunctions(WRAPPING);
