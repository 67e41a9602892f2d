/**
 * Tracer: the traces of a compiled function, by signature. Makes sources of a call's arguments, finds the
 * trace for them or calls the function with placeholders, and puts results in the places of what the function
 * gave. Called by `compile.ts`.
 */

import { turnToHandOver, turnToPlan } from '../exec/native/turns.js';
import { sizesOf } from '../exec/run/budgets.js';
import { TracedGraph } from '../exec/run/compiled-graph.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import {
  broughtToHost,
  cutHostResults,
  cutStoredResults,
  evaluate,
  evaluateStored,
  storedResults,
} from '../exec/run/evaluate.js';
import { type ArgumentExpr, placeholderFor } from '../exec/run/placeholder.js';
import { type BoundedJob, boundedJob } from '../exec/run/true-sizes.js';
import { refuseMore } from '../graph/arguments.js';
import { withLevels } from '../graph/depth.js';
import { type Expr, layoutOf } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { ArgumentError, expected } from '../host/errors.js';
import { ignoreRejections, isPromise } from '../host/refused-promises.js';
import { outsideCall } from '../host/site.js';
import { atCaller } from '../host/stack-traces.js';
import { storedLazy } from './compute.js';
import { mostArguments } from './function-parameters.js';
import { exprOf, Lazy } from './lazy.js';
import { NDArray, ndarrayOf } from './ndarray.js';
import { arranged, type Form, flattened, isRecord } from './structure.js';

type AnyFunction = (...args: unknown[]) => unknown;

interface Entry {
  /** For each argument its placeholder, or its value where it is no array. */
  readonly signature: readonly unknown[];
  readonly form: Form;
  readonly traced: TracedGraph;
  /** Where sizes of results depend on data. */
  readonly bounded: BoundedJob | undefined;
}

/** Signatures that a function keeps the graphs of: those used last. */
const SIGNATURES = 16;

export class Tracer {
  readonly #fn: AnyFunction;
  readonly #leastArguments: number;
  readonly #mostArguments: number;
  readonly #options: ComputeOptions;
  /** Used last first. */
  readonly #entries: Entry[] = [];

  constructor(fn: (...args: never[]) => unknown, options: ComputeOptions) {
    this.#fn = fn as unknown as AnyFunction;
    this.#leastArguments = fn.length;
    this.#mostArguments = mostArguments(fn) ?? Number.POSITIVE_INFINITY;
    this.#options = { ...options };
    sizesOf(options); // refused here, not in a call
  }

  async compute(...values: readonly unknown[]): Promise<unknown> {
    try {
      const args = this.#arguments(values);
      const known = this.#known(args);
      if (known === undefined && args.some(isPending)) {
        const [exprs, form] = this.#call(args);
        return arranged(form, (await evaluate(exprs, this.#options)).map(ndarrayOf));
      }
      const { traced, form, bounded } = known ?? (await this.#entryFor(args));
      const there = bounded && (await traced.runToCut(sourcesOf(args)));
      if (there !== undefined) {
        const parts = await cutStoredResults(there, bounded!);
        return arranged(form, (await broughtToHost(parts, this.#options)).map(ndarrayOf));
      }
      const running = traced.resultsNow(args);
      const turn = running instanceof Promise ? undefined : turnToHandOver();
      const results = running instanceof Promise ? await running : running;
      if (turn !== undefined) await turn;
      const cut = bounded === undefined ? results : await cutHostResults(results, bounded);
      return form === undefined ? ndarrayOf(cut[0]!) : arranged(form, cut.map(ndarrayOf));
    } catch (error) {
      throw atCaller(error, this.compute);
    }
  }

  async persist(...values: readonly unknown[]): Promise<unknown> {
    try {
      const args = this.#arguments(values);
      const known = this.#known(args);
      if (known === undefined && args.some(isPending)) {
        const [exprs, form] = this.#call(args);
        return arranged(form, (await evaluateStored(exprs, this.#options)).map(storedLazy));
      }
      const { traced, form, bounded } = known ?? (await this.#entryFor(args));
      const running = traced.runNow(args, 'device');
      const turn = running instanceof Promise ? undefined : turnToHandOver();
      const executed = running instanceof Promise ? await running : running;
      if (turn !== undefined) await turn;
      const results =
        bounded === undefined
          ? storedResults(traced.exprs, executed)
          : await cutStoredResults(executed, bounded);
      return arranged(form, results.map(storedLazy));
    } catch (error) {
      throw atCaller(error, this.persist);
    }
  }

  /** The function's result for such arguments. */
  exprsOf(values: readonly unknown[]): readonly Expr[] {
    const args = this.#arguments(values);
    return args.some(isPending) ? this.#call(args)[0] : (this.#known(args) ?? this.#trace(args)).traced.exprs;
  }

  /** Arrays as nodes; other arguments as they are. */
  #arguments(values: readonly unknown[]): readonly unknown[] {
    if (values.length < this.#leastArguments) {
      throw new ArgumentError(expected('compile', `${this.#leastArguments} arguments`, `${values.length}`));
    }
    if (values.length > this.#mostArguments) refuseMore('compile', this.#mostArguments, values);
    const args = new Array<unknown>(values.length);
    for (let k = 0; k < args.length; k++) args[k] = argumentOf(values[k]);
    return args;
  }

  /** The graph for such arguments, traced in a turn of the event loop that has time for it. */
  async #entryFor(args: readonly unknown[]): Promise<Entry> {
    const turn = turnToPlan();
    if (turn === undefined) return this.#trace(args);
    await turn;
    return this.#known(args) ?? this.#trace(args); // another call may have traced it meanwhile
  }

  #known(args: readonly unknown[]): Entry | undefined {
    const entries = this.#entries;
    const last = entries[0];
    if (last !== undefined && matches(last.signature, args)) return last;
    const at = entries.findIndex(({ signature }) => matches(signature, args));
    if (at > 0) entries.unshift(...entries.splice(at, 1));
    return at < 0 ? undefined : entries[0];
  }

  #trace(args: readonly unknown[]): Entry {
    const signature = args.map((arg) => (isArray(arg) ? placeholderFor(arg) : arg));
    const [exprs, form] = this.#call(signature);
    const bounded = boundedJob(exprs);
    const lengths = bounded === undefined ? 0 : bounded.computed.length - bounded.cuts.length;
    const traced = new TracedGraph(bounded?.computed ?? exprs, sourcesOf(signature), this.#options, lengths);
    const entry = { signature, form, traced, bounded };
    this.#entries.unshift(entry);
    this.#entries.length = Math.min(this.#entries.length, SIGNATURES);
    return entry;
  }

  /** Calls the function; nodes reach it as handles. */
  #call(args: readonly unknown[]): [exprs: Expr[], form: Form] {
    const handles = args.map((arg) => (isNode(arg) ? new Lazy(arg) : arg));
    // All of the graph is traced, however deep it is: its arguments change from call to call.
    const result = withLevels(Number.POSITIVE_INFINITY, () => outsideCall(() => this.#fn(...handles)));
    try {
      return resultOf(result);
    } catch (error) {
      ignoreRejections(result);
      throw error;
    }
  }
}

/** An argument that is no array: its value is part of the signature. */
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
    const wanted = signature[k];
    const arg = args[k];
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
const resultOf = (result: unknown): [exprs: Expr[], form: Form] =>
  flattened('compile', result, (value, path) => {
    if (value instanceof Lazy) return value.expr;
    if (Array.isArray(value) || isRecord(value)) return undefined;
    throw notLazy(value, path === '' ? 'what the function gives' : `result ${path}`);
  });

function notLazy(value: unknown, what: string): ArgumentError {
  const isPending = isPromise(value);
  const received = isPending
    ? 'a Promise'
    : value instanceof NDArray
      ? `an NDArray ${formatShape(value.shape)}`
      : formatValue(value);
  const hint = isPending ? 'functions to be compiled build graphs and await nothing' : undefined;
  return new ArgumentError(expected('compile', `a Lazy as ${what}`, received, hint));
}
