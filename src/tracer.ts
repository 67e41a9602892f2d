/**
 * Tracer: the traces of a compiled function, by signature. Makes sources of a call's arguments, finds the trace for them or
 * calls the function with placeholders, and puts results in the places of what the function gave. Called by `compile.ts`.
 */
import { ArgumentError, expected } from './errors.js';
import type { ComputeOptions } from './exec/compute-options.js';
import { budgetsOf, evaluate, evaluateStored, hostResults, storedResults } from './exec/evaluate.js';
import { turnToPlan } from './exec/native/turns.js';
import { type ArgumentExpr, placeholderFor } from './exec/placeholder.js';
import type { Budgets } from './exec/programs/program.js';
import { Trace } from './exec/trace.js';
import { withLevels } from './graph/depth.js';
import { type Expr, layoutOf } from './graph/expr.js';
import { formatShape, formatValue } from './graph/format.js';
import { exprOf, Lazy, storedLazy } from './lazy.js';
import { NDArray, ndarrayOf } from './ndarray.js';

type AnyFunction = (...args: unknown[]) => unknown;

/** How a function gives its arrays: one, a list, or an object with these names. */
type Form = 'one' | 'list' | readonly string[];

interface Entry {
  /** For each argument its placeholder, or its value where it is no array. */
  readonly signature: readonly unknown[];
  readonly form: Form;
  readonly trace: Trace;
}

/** Signatures that a function keeps the traces of: those used last. */
const SIGNATURES = 16;

export class Tracer {
  readonly #fn: AnyFunction;
  readonly #options: ComputeOptions;
  readonly #budgets: Budgets;
  /** Used last first. */
  readonly #entries: Entry[] = [];

  constructor(fn: (...args: never[]) => unknown, options: ComputeOptions) {
    this.#fn = fn as unknown as AnyFunction;
    this.#options = { ...options };
    this.#budgets = budgetsOf(options);
  }

  async compute(values: readonly unknown[]): Promise<unknown> {
    const args = this.#arguments(values);
    if (args.some(isPending)) {
      const [exprs, form] = this.#call(args);
      return arranged(form, (await evaluate(exprs, this.#options)).map(ndarrayOf));
    }
    const { trace, form } = this.#known(args) ?? (await this.#entryFor(args));
    return arranged(form, hostResults(trace.exprs, await trace.run(sourcesOf(args), 'host')).map(ndarrayOf));
  }

  async persist(values: readonly unknown[]): Promise<unknown> {
    const args = this.#arguments(values);
    if (args.some(isPending)) {
      const [exprs, form] = this.#call(args);
      return arranged(form, (await evaluateStored(exprs, this.#options)).map(storedLazy));
    }
    const { trace, form } = this.#known(args) ?? (await this.#entryFor(args));
    return arranged(
      form,
      storedResults(trace.exprs, await trace.run(sourcesOf(args), 'device')).map(storedLazy),
    );
  }

  /** What the function gives for such arguments. */
  exprsOf(values: readonly unknown[]): readonly Expr[] {
    const args = this.#arguments(values);
    return args.some(isPending) ? this.#call(args)[0] : (this.#known(args) ?? this.#trace(args)).trace.exprs;
  }

  /** Arrays as nodes; other arguments as they are. */
  #arguments(values: readonly unknown[]): readonly unknown[] {
    if (values.length < this.#fn.length) {
      throw new ArgumentError(expected('compile', `${this.#fn.length} arguments`, `${values.length}`));
    }
    return values.map(argumentOf);
  }

  /** The trace of such arguments, traced in a turn of the event loop that has time for it. */
  async #entryFor(args: readonly unknown[]): Promise<Entry> {
    const turn = turnToPlan();
    if (turn === undefined) return this.#trace(args);
    await turn;
    return this.#known(args) ?? this.#trace(args); // another call may have traced it meanwhile
  }

  #known(args: readonly unknown[]): Entry | undefined {
    const entries = this.#entries;
    const at = entries.findIndex(({ signature }) => matches(signature, args));
    if (at > 0) entries.unshift(...entries.splice(at, 1));
    return at < 0 ? undefined : entries[0];
  }

  #trace(args: readonly unknown[]): Entry {
    const signature = args.map((arg) => (isArray(arg) ? placeholderFor(arg) : arg));
    const [exprs, form] = this.#call(signature);
    const trace = new Trace(exprs, sourcesOf(signature), this.#options, this.#budgets);
    const entry = { signature, form, trace };
    this.#entries.unshift(entry);
    this.#entries.length = Math.min(this.#entries.length, SIGNATURES);
    return entry;
  }

  /** Calls the function; nodes reach it as handles. */
  #call(args: readonly unknown[]): [exprs: Expr[], form: Form] {
    const handles = args.map((arg) => (isNode(arg) ? new Lazy(arg) : arg));
    // All of the graph is traced, however deep it is: its arguments change from call to call.
    return withLevels(Number.POSITIVE_INFINITY, () => resultOf(this.#fn(...handles)));
  }
}

/** What is no array, and part of the signature by its value. */
const isFixed = (value: unknown): boolean =>
  value === null || (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol');

/** The node of an array, or a value that is none. Among arguments, what is an object is a node. */
const argumentOf = (value: unknown): unknown => (isFixed(value) ? value : exprOf('compile', value));
const isNode = (arg: unknown): arg is Expr => typeof arg === 'object' && arg !== null;
const isArray = (arg: unknown): arg is ArgumentExpr =>
  isNode(arg) && arg.kind === 'source' && (arg.source.type === 'host' || arg.source.type === 'device');
/** An expression, or an array that is not in memory yet. */
const isPending = (arg: unknown): boolean => isNode(arg) && !isArray(arg);

const sourcesOf = (args: readonly unknown[]): (ArgumentExpr | undefined)[] =>
  args.map((arg) => (isArray(arg) ? arg : undefined));

function matches(signature: readonly unknown[], args: readonly unknown[]): boolean {
  if (signature.length !== args.length) return false;
  for (let k = 0; k < args.length; k++) {
    const [wanted, arg] = [signature[k], args[k]];
    if (isArray(wanted) ? !isArray(arg) || !isLike(wanted, arg) : !Object.is(wanted, arg)) return false;
  }
  return true;
}

/** Whether arrays differ in their elements alone. */
function isLike(x: ArgumentExpr, y: ArgumentExpr): boolean {
  if (x.dtype !== y.dtype || !isSame(x.shape, y.shape)) return false;
  if (x.source.type === 'host') return y.source.type === 'host' && isSame(x.source.strides, y.source.strides);
  if (y.source.type !== 'device') return false;
  const [one, other] = [x.source.buffer, y.source.buffer];
  return one.device === other.device && (one.shards === undefined || layoutOf(one) === layoutOf(other));
}

function isSame(x: readonly number[], y: readonly number[]): boolean {
  if (x === y) return true;
  if (x.length !== y.length) return false;
  for (let k = 0; k < x.length; k++) if (x[k] !== y[k]) return false;
  return true;
}

/** The arrays that a function gave, and how. */
function resultOf(result: unknown): [exprs: Expr[], form: Form] {
  if (result instanceof Lazy) return [[result.expr], 'one'];
  if (Array.isArray(result)) return [result.map((x, k) => resultExpr(x, `result ${k}`)), 'list'];
  if (
    typeof result !== 'object' ||
    result === null ||
    result instanceof Promise ||
    result instanceof NDArray
  ) {
    throw notLazy(result, 'what the function gives');
  }
  const names = Object.keys(result);
  return [names.map((name) => resultExpr(Reflect.get(result, name), `result ${name}`)), names];
}

function resultExpr(value: unknown, what: string): Expr {
  if (value instanceof Lazy) return value.expr;
  throw notLazy(value, what);
}

function notLazy(value: unknown, what: string): ArgumentError {
  const isPromise = value instanceof Promise;
  const received = isPromise
    ? 'a Promise'
    : value instanceof NDArray
      ? `an NDArray ${formatShape(value.shape)}`
      : formatValue(value);
  const hint = isPromise ? 'functions to be compiled build graphs and await nothing' : undefined;
  return new ArgumentError(expected('compile', `a Lazy as ${what}`, received, hint));
}

/** Results in the places of what the function gave. */
function arranged(form: Form, results: readonly unknown[]): unknown {
  if (form === 'one') return results[0];
  return form === 'list' ? results : Object.fromEntries(form.map((name, k) => [name, results[k]]));
}
