/**
 * Batch: many jobs on many devices. Each job is computed on one device; while some are computed, the next
 * ones are loaded, a bounded number ahead; one that fails does not stop the others. Results stream out in
 * order or as they are completed.
 */
import { setMaxListeners } from 'node:events';
import { type ComputeOptions, checkComputeOptions } from '../exec/run/compute-options.js';
import { type BatchProgress, type BatchWatch, watcher } from '../exec/run/watch.js';
import { type DevicesOption, devicesFrom, probeForAll } from '../exec/targets/devices.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { formatValue } from '../graph/format.js';
import { ArgumentError, DeviceLostError, expected, RangeArgumentError } from '../host/errors.js';
import { ignoreRejections } from '../host/refused-promises.js';
import { called, currentSite } from '../host/site.js';
import { atCaller } from '../host/stack-traces.js';
import type { Sinks } from '../io/store.js';
import { JobPool } from './batch-pool.js';
import { ResultQueue } from './batch-results.js';
import { compute } from './compute.js';
import type { ComputeToOptions } from './computing.js';
import type { ArrayLike } from './fluent-types.js';
import { Lazy } from './lazy.js';
import { NDArray } from './ndarray.js';

/** Arrays to compute, and where they go: without `to`, to host memory. */
export interface JobGraph {
  readonly compute: ArrayLike | readonly ArrayLike[];
  readonly to?: Sinks | undefined;
  /** For results and messages. */
  readonly name?: string | undefined;
}

/** The argument of a function that makes a job. */
export interface JobContext {
  /** The job's place among all, from 0. */
  readonly index: number;
  /** Aborted when the batch is stopped. */
  readonly signal: AbortSignal;
}

type Made = Lazy | readonly Lazy[] | JobGraph;

/**
 * A lazy array or several, with where they go if that is not host memory; or a function that loads and makes
 * them.
 */
export type Job = Made | ((context: JobContext) => Made | Promise<Made>);

/** Options of `batch`; those of `compute` hold for every job. */
export interface BatchOptions extends Omit<ComputeOptions, 'device' | 'onProgress' | 'devices'> {
  /** The devices that jobs run on: all usable GPUs, or the CPU if there is none, without it. */
  readonly devices?: DevicesOption | undefined;
  /** Jobs that are computed on a device at a time, 2 without it: while one is copied, another is computed. */
  readonly concurrency?: number | undefined;
  /**
   * Jobs that are loaded, or have results that nobody has taken, besides those being computed; as many
   * without it.
   */
  readonly lookAhead?: number | undefined;
  /** `'input'`: results come in the order of the jobs; `'completed'`: as they are there. */
  readonly order?: 'input' | 'completed' | undefined;
  /** Called for every job that begins or ends. An error that it throws stops the batch. */
  readonly onProgress?: ((progress: BatchProgress) => void) | undefined;
}

interface JobOutcome {
  readonly index: number;
  readonly name: string | undefined;
  /** The device it was computed on, if it came that far. */
  readonly device: string | undefined;
  /** Milliseconds on the device, its queue included. */
  readonly milliseconds: number;
}

/** `value`: an array for a job of one, a list for a job of a list; arrays of the files for one with `to`. */
export type BatchResult =
  | (JobOutcome & { readonly ok: true; readonly value: NDArray | Lazy | readonly (NDArray | Lazy)[] })
  | (JobOutcome & { readonly ok: false; readonly error: unknown });

/** Totals of a batch whose iteration has ended. */
export interface BatchSummary {
  readonly done: number;
  readonly failed: number;
  readonly seconds: number;
  readonly devices: readonly { readonly device: string; readonly jobs: number }[];
}

const OPTIONS: Readonly<Record<keyof BatchOptions, true>> = {
  concurrency: true,
  deadline: true,
  devices: true,
  exact: true,
  hostMemory: true,
  lookAhead: true,
  memory: true,
  onDeviceLost: true,
  onProgress: true,
  order: true,
  signal: true,
  tune: true,
};
const CONCURRENCY = 2;

/**
 * Computes jobs. Iterate over the batch for its results: `for await (const result of batch(jobs))`; nothing
 * runs before. Leaving the loop stops the batch. A job whose device is lost is done anew on another one,
 * unless `onDeviceLost` is `'fail'`. The iteration throws what `jobs` throws, once the jobs under way have
 * ended, and the signal's reason when aborted.
 *
 * @example
 * const jobs = [1, 2].map((n) => lazy([n, n]).sum())
 * for await (const { index, ok } of batch(jobs, { devices: ['cpu'] })) console.log(index, ok)
 * //=> 0 true
 * //=> 1 true
 */
export function batch(jobs: Iterable<Job> | AsyncIterable<Job>, options?: BatchOptions): Batch;
export function batch(
  jobs: Iterable<Job> | AsyncIterable<Job>,
  options: BatchOptions = {},
  ...more: readonly unknown[]
): Batch {
  return called(batch, () => {
    refuseMore('batch', 2, [jobs, options, ...more]);
    checkOptions('batch', options, Object.keys(OPTIONS));
    checkComputeOptions('batch', options);
    const isIterable =
      typeof jobs === 'object' && jobs !== null && (Symbol.iterator in jobs || Symbol.asyncIterator in jobs);
    if (!isIterable || jobs instanceof Lazy || jobs instanceof NDArray)
      throw new ArgumentError(expected('batch', 'an iterable of jobs', formatValue(jobs)));
    for (const [name, least] of [
      ['concurrency', 1],
      ['lookAhead', 0],
    ] as const) {
      const value = options[name];
      if (value !== undefined && !(Number.isInteger(value) && value >= least))
        throw new RangeArgumentError(expected('batch', `${name} of at least ${least}`, formatValue(value)));
    }
    const { order } = options;
    if (order !== undefined && order !== 'input' && order !== 'completed')
      throw new ArgumentError(expected('batch', "order as 'input' or 'completed'", formatValue(order)));
    return new Batch(jobs, options);
  });
}

/** The results of a batch, and how far it is. Made by `batch()`; its results can be read once. */
export class Batch implements AsyncIterable<BatchResult> {
  readonly #jobs: Iterable<Job> | AsyncIterable<Job>;
  readonly #options: BatchOptions;
  readonly #stop = new AbortController();
  readonly #site = currentSite();
  #watch: BatchWatch | undefined;
  #pool: JobPool | undefined;
  #start: number | undefined;
  #end: number | undefined;
  #done = 0;
  #failed = 0;
  #running = 0;
  #loading = 0;

  constructor(jobs: Iterable<Job> | AsyncIterable<Job>, options: BatchOptions) {
    this.#jobs = jobs;
    this.#options = options;
  }

  /**
   * Totals so far; final after the last result.
   *
   * @example
   * const run = batch([lazy([1, 2]).sum()], { devices: ['cpu'] })
   * await run.all()
   * run.summary.done
   * //=> 1
   */
  get summary(): BatchSummary {
    return {
      done: this.#done,
      failed: this.#failed,
      seconds: this.#seconds(),
      devices: this.#pool?.counts() ?? [],
    };
  }

  /**
   * Runs all jobs; gives their results in the order of the jobs.
   *
   * @example
   * const results = await batch([lazy([1, 2]).sum()], { devices: ['cpu'] }).all()
   * results.length
   * //=> 1
   */
  async all(): Promise<BatchResult[]> {
    const results: BatchResult[] = [];
    for await (const result of this) results.push(result);
    return results.sort((a, b) => a.index - b.index);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<BatchResult, void, void> {
    if (this.#start !== undefined)
      throw new ArgumentError(expected('batch', 'to be iterated over once', 'a batch that was'));
    this.#start = performance.now();
    this.#watch = this.#begunWatch();
    // Each job that waits or runs listens.
    setMaxListeners(0, this.#stop.signal);
    const { signal, devices = 'all', concurrency = CONCURRENCY, lookAhead, order = 'input' } = this.#options;
    const abort = (): void => this.#stop.abort(signal!.reason);
    let failure: { readonly error: unknown } | undefined;
    try {
      signal?.throwIfAborted();
      signal?.addEventListener('abort', abort, { once: true });
      await probeForAll(devices);
      const names = devicesFrom(devices).map(({ name }) => name);
      this.#pool = new JobPool(names, concurrency);
      const slots = this.#pool.slots;
      const results = new ResultQueue<BatchResult>(order, slots + (lookAhead ?? slots));
      const { signal: stopped } = this.#stop;
      stopped.addEventListener('abort', () => results.close({ error: stopped.reason }), { once: true });
      const feeding = this.#feed(results);
      try {
        yield* results;
      } finally {
        this.#stop.abort(new Error('[batch] the batch was stopped'));
        results.stop();
        await feeding;
      }
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      this.#end = performance.now();
      signal?.removeEventListener('abort', abort);
      this.#watch?.ended(failure);
    }
  }

  #begunWatch(): BatchWatch | undefined {
    const jobs = this.#jobs;
    const total = Array.isArray(jobs) ? jobs.length : jobs instanceof Set ? jobs.size : undefined;
    const counts = (): BatchProgress => this.#progress();
    const devices = (): BatchSummary['devices'] => this.#pool?.counts() ?? [];
    return watcher()?.batch({ site: this.#site, total, counts, devices }, this.#options.signal);
  }

  /** Takes jobs as there is room for them. Ends when all have. */
  async #feed(results: ResultQueue<BatchResult>): Promise<void> {
    const { signal } = this.#stop;
    const open = new Set<Promise<void>>();
    let failure: { readonly error: unknown } | undefined;
    const stopped = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const jobs = iteratorOf(this.#jobs);
    try {
      for (let index = 0; ; index++) {
        await results.room(signal);
        // A source that never gives another job does not keep the batch from stopping.
        const next = signal.aborted ? undefined : await Promise.race([jobs.next(), stopped]);
        if (next === undefined || next.done === true) break;
        const running = this.#run(next.value, index).then((result) => results.put(index, result));
        open.add(running);
        running.finally(() => open.delete(running));
      }
    } catch (error) {
      failure = { error };
    }
    await Promise.all(open);
    // Like a loop that is left; a source that does not answer is not waited for.
    if (signal.aborted) Promise.resolve(jobs.return?.()).catch(() => undefined);
    results.close(failure);
  }

  /** A job from its making to its result. */
  async #run(job: Job, index: number): Promise<BatchResult> {
    let at: Omit<JobOutcome, 'index'> = { name: undefined, device: undefined, milliseconds: 0 };
    this.#loading++;
    this.#tell();
    let result: BatchResult;
    let made: Made | undefined;
    try {
      made = await (typeof job === 'function' ? job(this.#context(index)) : job);
      const graph = graphOf(made);
      at = { ...at, name: graph.name };
      const { value, device, milliseconds } = await this.#compute(graph);
      result = { index, ok: true, name: graph.name, device, milliseconds, value };
      this.#done++;
    } catch (error) {
      ignoreRejections(made);
      const device = error instanceof JobError ? error.device : undefined;
      result = {
        index,
        ...at,
        device,
        ok: false,
        error: error instanceof JobError ? atCaller(error.cause, this.#run) : error,
      };
      this.#failed++;
      this.#watch?.jobFailed(result, result.error);
    }
    this.#loading--;
    this.#tell();
    return result;
  }

  #context(index: number): JobContext {
    return { index, signal: this.#stop.signal };
  }

  async #compute(graph: JobGraph): Promise<{
    value: NDArray | Lazy | readonly (NDArray | Lazy)[];
    device: string;
    milliseconds: number;
  }> {
    const { exact, tune, memory, hostMemory, onDeviceLost = 'continue' } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      const device = await this.#pool!.take(signal);
      const start = performance.now();
      this.#loading--;
      this.#running++;
      this.#tell();
      try {
        const isList = Array.isArray(graph.compute);
        const arrays = (isList ? graph.compute : [graph.compute]) as readonly ArrayLike[];
        const options: ComputeToOptions | ComputeOptions = {
          device,
          exact,
          tune,
          memory,
          hostMemory,
          signal,
          to: graph.to,
        };
        const values: readonly (NDArray | Lazy)[] = await compute(arrays, options);
        this.#pool!.count(device);
        return { value: isList ? values : values[0]!, device, milliseconds: performance.now() - start };
      } catch (error) {
        if (!(error instanceof DeviceLostError)) throw new JobError(device, error);
        const left = this.#pool!.without(device);
        if (onDeviceLost === 'fail' || left === 0) throw new JobError(device, error);
      } finally {
        this.#running--;
        this.#loading++;
        this.#pool!.give(device);
      }
    }
  }

  #seconds(): number {
    return this.#start === undefined ? 0 : ((this.#end ?? performance.now()) - this.#start) / 1000;
  }

  #progress(): BatchProgress {
    return {
      done: this.#done,
      failed: this.#failed,
      running: this.#running,
      loading: this.#loading,
      seconds: this.#seconds(),
    };
  }

  #tell(): void {
    const { onProgress } = this.#options;
    if (onProgress === undefined || this.#stop.signal.aborted) return;
    try {
      onProgress(this.#progress());
    } catch (error) {
      // An error of the listener stops the batch, and the iteration throws it.
      this.#stop.abort(error);
    }
  }
}

const iteratorOf = (jobs: Iterable<Job> | AsyncIterable<Job>): AsyncIterator<Job> | Iterator<Job> =>
  Symbol.asyncIterator in jobs ? jobs[Symbol.asyncIterator]() : jobs[Symbol.iterator]();

/** A failure on a device. */
class JobError extends Error {
  constructor(
    readonly device: string,
    override readonly cause: unknown,
  ) {
    super('a job failed');
  }
}

function graphOf(made: Made): JobGraph {
  const isGraph = (value: Made): value is JobGraph =>
    typeof value === 'object' &&
    value !== null &&
    'compute' in value &&
    !(value instanceof Lazy || value instanceof NDArray);
  if (made instanceof Lazy || Array.isArray(made)) return { compute: made as Lazy | readonly Lazy[] };
  if (isGraph(made)) return made;
  throw new ArgumentError(
    expected('batch', 'a lazy array, a list of them or { compute, to, name }', formatValue(made)),
  );
}
