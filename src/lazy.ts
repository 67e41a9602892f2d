/**
 * Lazy: the user's handle on an expression. Methods make nodes and run nothing; `compute()` runs.
 *
 * Its methods come from tables (`fluent.ts`); what is written here is what a handle is, and how it is run. Creation is
 * in `creation.ts`.
 */
import { isTypedArray } from './elements.js';
import { ArgumentError, expected } from './errors.js';
import type { ComputeOptions } from './exec/compute-options.js';
import { evaluate, evaluateStored, type StoredResult } from './exec/evaluate.js';
import { type ArrayLike, installMethods, makeFunctions, type Wrapping } from './fluent.js';
import { fold } from './fusion/fold.js';
import { checkOptions } from './graph/arguments.js';
import { onDeepGraph } from './graph/depth.js';
import type { DType } from './graph/dtype.js';
import type { Expr, Shape } from './graph/expr.js';
import { formatShape, formatValue } from './graph/format.js';
import { sizeOfShape } from './graph/graph.js';
import { broadcast, constant, deviceArray, type Operand } from './graph/infer.js';
import { isScalar } from './graph/scalar.js';
import { matrixTranspose, transpose } from './graph/views.js';
import { arrayExpr, isShaped } from './host-array.js';
import { type Explanation, explainExprs } from './inspect/explain.js';
import { type PlanSummary, summarizePlan } from './inspect/summary.js';
import { evaluateTo, type Sinks } from './io/store.js';
import type { Methods } from './methods.js';
import { type NDArray, ndarrayOf } from './ndarray.js';
import { called } from './site.js';

/** The methods, installed below from the tables. */
export interface Lazy extends Methods {}

/**
 * An array that is not computed yet. Shape and dtype are known and checked when it is made; the elements exist after
 * `await x.compute()`. Made by `lazy()` and the creation functions; every method gives a new Lazy.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the interface's methods are installed below
export class Lazy {
  /** The graph behind the handle. */
  readonly expr: Expr;

  constructor(expr: Expr) {
    this.expr = expr;
  }

  /** Size along each axis. Nodes share it: it cannot be written to. */
  get shape(): Shape {
    return Object.freeze(this.expr.shape);
  }

  get dtype(): DType {
    return this.expr.dtype;
  }

  /** Number of axes. */
  get ndim(): number {
    return this.expr.shape.length;
  }

  /** Number of elements. */
  get size(): number {
    return sizeOfShape(this.expr.shape);
  }

  /** The axes in reverse order. */
  get T(): Lazy {
    return called(() => new Lazy(transpose(this.expr)));
  }

  /** The last two axes exchanged. Throws a ShapeError below two axes. */
  get mT(): Lazy {
    return called(() => new Lazy(matrixTranspose(this.expr)));
  }

  /** The device that holds the elements, after `persist()`; undefined for anything still to be computed. */
  get device(): string | undefined {
    const { expr } = this;
    return expr.kind === 'source' && expr.source.type === 'device' ? expr.source.buffer.device : undefined;
  }

  /** Computes into a file, and gives the array of that file: `x.compute({ to: npy('x.npy') })`. Rejects as without `to`. */
  compute(options: ComputeToOptions): Promise<Lazy>;
  /**
   * Computes the elements. Rejects with a DeviceError for a device that cannot be used, a MemoryError where the job cannot
   * fit, a FileError for a file that cannot be read or written, the signal's reason when aborted. Typed arrays behind the
   * graph must not be written to or transferred until it settles.
   */
  compute(options?: ComputeOptions): Promise<NDArray>;
  async compute(options?: ComputeOptions | ComputeToOptions): Promise<NDArray | Lazy> {
    const [result] = await compute([this], options as ComputeOptions);
    return result;
  }

  /**
   * Computes the elements and leaves them on the device, as a Lazy to compute further with. Its memory is freed when it
   * is collected, or at once by `using` or `dispose()`.
   */
  async persist(options?: ComputeOptions): Promise<Lazy> {
    const [result] = await persist([this], options);
    return result;
  }

  /**
   * What `compute` with these options would do: kernels, the nodes they hold, bytes moved, peak memory, why what was not
   * fused was not, and the generated source. Prints as text; `toJSON()` gives it as stable data.
   */
  explain(options?: ComputeOptions): Explanation {
    return explain([this], options);
  }

  /**
   * The plan of a `compute` with these options, made without running anything: `peakBytes`, the most memory of the device that
   * it holds, the sweeps over tiles of a job that does not fit as a whole. Prints as text. Throws a MemoryError where
   * nothing fits into `memory`.
   */
  plan(options?: ComputeOptions | ComputeToOptions): PlanSummary {
    return plan([this], options);
  }

  /**
   * Frees the device memory of an array made by `persist()`; elsewhere nothing is held, and nothing happens. What computes
   * with the array, or with a view of it, has to be awaited before; later it is refused with an ArgumentError.
   */
  dispose(): void {
    const { expr } = this;
    if (expr.kind === 'source' && expr.source.type === 'device') expr.source.buffer.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return `Lazy ${this.dtype} ${formatShape(this.shape)}`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** Throws an ArgumentError: there are no elements yet, and those of a result go through `toArray()`. */
  toJSON(): never {
    throw new ArgumentError(
      expected('toJSON', 'numbers or lists for JSON', `a ${this}`, 'compute() it, then toArray()'),
    );
  }

  /** JavaScript's operators cannot build graphs: they are refused, but for text. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString();
    throw new ArgumentError(expected('Lazy', 'methods for arithmetic', 'an operator', 'x.add(y), not x + y'));
  }
}

/** A compute whose results go to files. */
export interface ComputeToOptions extends ComputeOptions {
  /** The file for all results, or a list with one for each. They appear when all of them are complete. */
  readonly to: Sinks;
}

/** Every option, so that a new one breaks the build here. */
const OPTIONS: Readonly<Record<keyof ComputeOptions, true>> = {
  deadline: true,
  device: true,
  devices: true,
  exact: true,
  hostMemory: true,
  memory: true,
  onDeviceLost: true,
  onProgress: true,
  signal: true,
};
const COMPUTE_OPTIONS = Object.keys(OPTIONS);
const COMPUTE_TO_OPTIONS = [...COMPUTE_OPTIONS, 'to'];

type Each<Arrays extends readonly unknown[], Result> = { -readonly [K in keyof Arrays]: Result };

/** Computes several arrays into files, or one archive, and gives the arrays of those. */
export function compute<const Arrays extends readonly ArrayLike[]>(
  arrays: Arrays,
  options: ComputeToOptions,
): Promise<Each<Arrays, Lazy>>;
/**
 * Computes several arrays together, shared work once: `const [low, high] = await compute([x.min(), x.max()])`. Equal results
 * are one result: they share memory. Rejects as `Lazy.compute` does.
 */
export function compute<const Arrays extends readonly ArrayLike[]>(
  arrays: Arrays,
  options?: ComputeOptions,
): Promise<Each<Arrays, NDArray>>;
export async function compute(
  arrays: readonly ArrayLike[],
  options?: ComputeOptions | ComputeToOptions,
): Promise<readonly (NDArray | Lazy)[]> {
  const exprs = exprsOf('compute', arrays);
  checkOptions('compute', options, COMPUTE_TO_OPTIONS);
  if (options !== undefined && 'to' in options && options.to !== undefined) {
    const { to, ...running } = options;
    return (await evaluateTo(exprs, to, running)).map((expr) => new Lazy(expr));
  }
  return (await evaluate(exprs, options)).map(ndarrayOf);
}

/** Computes several arrays together and leaves them on the device, as `Lazy.persist` does. */
export async function persist<const Arrays extends readonly ArrayLike[]>(
  arrays: Arrays,
  options?: ComputeOptions,
): Promise<Each<Arrays, Lazy>> {
  const exprs = exprsOf('persist', arrays);
  checkOptions('persist', options, COMPUTE_OPTIONS);
  const results = await evaluateStored(exprs, options);
  return results.map(storedLazy) as Each<Arrays, Lazy>;
}

/** What `compute` of several arrays would do; see `Lazy.explain`. */
export function explain(arrays: readonly ArrayLike[], options?: ComputeOptions): Explanation {
  const exprs = exprsOf('explain', arrays);
  checkOptions('explain', options, COMPUTE_OPTIONS);
  return explainExprs(exprs, options);
}

/** The plan of a `compute` of several arrays; see `Lazy.plan`. */
export function plan(arrays: readonly ArrayLike[], options?: ComputeOptions | ComputeToOptions): PlanSummary {
  const exprs = exprsOf('plan', arrays);
  checkOptions('plan', options, COMPUTE_TO_OPTIONS);
  const toFiles = options !== undefined && 'to' in options && options.to !== undefined;
  return summarizePlan(exprs, options, toFiles ? 'file' : 'host');
}

function exprsOf(op: string, arrays: unknown): Expr[] {
  if (!Array.isArray(arrays)) {
    throw new ArgumentError(expected(op, 'a list of arrays', formatValue(arrays)));
  }
  return Array.from(arrays, (array) => exprOf(op, array)); // holes of a list are not skipped
}

/** The handle of a result that stayed on its device. An array without elements has no buffer. */
export const storedLazy = ({ buffer, dtype, shape }: StoredResult): Lazy =>
  new Lazy(buffer === undefined ? broadcast(constant(0, dtype), shape) : deviceArray(buffer, dtype, shape));

/** The node of a Lazy, or of anything `lazy()` takes. */
export const exprOf = (op: string, value: unknown): Expr =>
  value instanceof Lazy ? value.expr : arrayExpr(op, value);

const WRAPPING: Wrapping = {
  wrap: (expr) => new Lazy(expr),
  operand: (op, value): Operand =>
    value instanceof Lazy ? value.expr : isScalar(value) ? value : arrayExpr(op, value),
  array: exprOf,
  argument: (value) =>
    value instanceof Lazy
      ? value.expr
      : isTypedArray(value) || isShaped(value)
        ? arrayExpr('lazy', value)
        : value,
};

installMethods(Lazy.prototype, WRAPPING);
onDeepGraph(fold);

/** The free functions by name; `functions.ts` exports them one by one. */
export const free = makeFunctions(WRAPPING);
