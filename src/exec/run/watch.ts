/**
 * Watching: each compute and each batch as it begins, runs and ends, for a dashboard (`inspect/dashboard`). Without a
 * watcher a compute pays for one look at a variable. Called by `evaluate.ts`, `compiled-graph.ts`, `run-program.ts`
 * and `api/batch.ts`.
 *
 * Nothing is reported while something runs: who watches asks for the tiles done, and for the jobs of a batch.
 */
import type { DType } from '../../graph/dtype.js';
import type { Expr, Shape, Site } from '../../graph/expr.js';
import type { ComputeTarget } from './compute-target.js';
import type { Program } from './program.js';

/** A graph that is computed, without what would keep its arrays alive. */
export interface Subject {
  /** The call that made the first result. */
  readonly site: Site | undefined;
  /** Of the first result. */
  readonly dtype: DType | undefined;
  readonly shape: Shape;
  /** How many results there are. */
  readonly results: number;
  /** Whether it is the graph of a compiled function, which is computed again and again. */
  readonly isCompiled: boolean;
}

/** Receives the events of one compute. */
export interface ComputeWatch {
  /** Its devices and budgets are known. */
  chosen(target: ComputeTarget): void;
  /**
   * A program runs for it now. Called again with `tilesDone`, tiles so far, once it has begun and is more than one
   * piece.
   */
  running(program: Program, tilesDone?: () => number): void;
  /** It is over. `failure`: what it rejects with. */
  ended(failure?: { readonly error: unknown }): void;
}

/** How far a batch is, in jobs. */
export interface BatchProgress {
  /** Jobs that succeeded, failed, are being computed, and are being loaded or wait for a device. */
  readonly done: number;
  readonly failed: number;
  readonly running: number;
  readonly loading: number;
  /** Since the batch began. */
  readonly seconds: number;
}

/** A batch, to be asked. */
export interface WatchedBatch {
  readonly site: Site | undefined;
  /** How many jobs there are; undefined: they come from a generator. */
  readonly total: number | undefined;
  counts(): BatchProgress;
  /** Jobs that succeeded, by device. */
  devices(): readonly { readonly device: string; readonly jobs: number }[];
}

/** Receives the events of one batch. */
export interface BatchWatch {
  jobFailed(
    job: { index: number; name: string | undefined; device: string | undefined },
    error: unknown,
  ): void;
  ended(failure?: { readonly error: unknown }): void;
}

/** Receives the begin of all that this thread computes. */
export interface Watcher {
  /** `signal`: an end after it was aborted is a cancellation. */
  compute(subject: Subject, signal: AbortSignal | undefined): ComputeWatch;
  batch(batch: WatchedBatch, signal: AbortSignal | undefined): BatchWatch;
}

let current: Watcher | undefined;
let first: (() => void) | undefined;

/** Reports all that begins from now on to a watcher; undefined: to nobody. */
export function watch(watcher: Watcher | undefined): void {
  current = watcher;
}

/** Has a function called before the first compute or batch: the settings are read then, not at the import. */
export function beforeFirst(begin: () => void): void {
  first = begin;
}

/** The watcher of this thread, if there is one. */
export function watcher(): Watcher | undefined {
  if (first !== undefined) {
    const begin = first;
    first = undefined;
    begin();
  }
  return current;
}

/** The subject of a compute of some expressions. */
export const subjectOf = (exprs: readonly Expr[], isCompiled: boolean): Subject => ({
  site: exprs[0]?.site,
  dtype: exprs[0]?.dtype,
  shape: exprs[0]?.shape ?? [],
  results: exprs.length,
  isCompiled,
});

/** Work whose end is reported to a watcher, before those who wait for it go on. */
export function watched<T>(watch: ComputeWatch, work: Promise<T>): Promise<T> {
  work.then(
    () => watch.ended(),
    (error) => watch.ended({ error }),
  );
  return work;
}
