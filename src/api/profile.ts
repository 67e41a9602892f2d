/**
 * `profile()`: records a timeline of a compute, or of all computes while a function runs. Contents and output
 * of a timeline are in `inspect/timeline.ts`.
 */

import { beginRecording, endRecording } from '../exec/native/recorder.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import { calledAsync } from '../host/site.js';
import { atCaller } from '../host/stack-traces.js';
import { type Timeline, timelineOf } from '../inspect/timeline.js';
import { type Arrays, compute, type Results } from './compute.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { Lazy } from './lazy.js';
import type { NDArray } from './ndarray.js';

/** A result, and when what happened. */
export interface Profiled<T> {
  readonly result: T;
  readonly timeline: Timeline;
}

/** Records all that is computed until the promise of a function settles; see the form with an array. */
export async function profile<T>(work: () => T | Promise<T>): Promise<Profiled<T>>;
/**
 * Computes an array, or several together, and records a timeline: `const { result, timeline } = await
 * profile(x)`. With a function, records all that is computed until its promise settles: `await profile(() =>
 * step(x, v))`.
 *
 * The timeline has what ran on every stream of every device (kernels, library calls, copies and their rates),
 * what threads of the host did (planning, code, NVRTC, copies to and from pinned memory, files), and the
 * memory that was held. Times on a GPU come from events around each piece of work, which cost a few
 * microseconds each while a profile is recorded and nothing otherwise; launches that are repeated as a CUDA
 * graph are one piece.
 *
 * One profile at a time in a process, of all that runs in it, other workers included: throws an ArgumentError
 * while another is under way. Rejects as the compute or the function does; there is no timeline then.
 *
 * @example
 * const { result, timeline } = await profile(lazy([1, 4]).sqrt().sum(), { device: 'cpu' })
 * result.item()
 * //=> 3
 */
export async function profile<D extends DType>(
  x: Lazy<D>,
  options?: ComputeOptions,
): Promise<Profiled<NDArray<D>>>;
/** Computes several arrays together, and records a timeline; see the form with one array. */
export async function profile<const T extends readonly ArrayLike[]>(
  arrays: T,
  options?: ComputeOptions,
): Promise<Profiled<{ -readonly [K in keyof T]: NDArray<DTypeOf<T[K]>> }>>;
/** Computes arrays in an object, or in lists and objects in each other, and records a timeline. */
export async function profile<const T extends object>(
  arrays: T & Arrays<T>,
  options?: ComputeOptions,
): Promise<Profiled<Results<T, NDArray>>>;
export async function profile(
  work: unknown,
  options?: ComputeOptions,
  ...more: readonly unknown[]
): Promise<Profiled<unknown>> {
  const recording = await calledAsync(profile, async () => {
    refuseMore('profile', typeof work === 'function' ? 1 : 2, [work, options, ...more]);
    return beginRecording();
  });
  let result: unknown;
  try {
    result = await resultOf(work, options);
  } catch (error) {
    await endRecording(recording);
    throw typeof work === 'function' ? error : atCaller(error, profile);
  }
  return { result, timeline: timelineOf((await endRecording(recording))!) };
}

function resultOf(work: unknown, options?: ComputeOptions): unknown {
  if (typeof work === 'function') return work();
  return work instanceof Lazy ? work.compute(options) : compute(work as readonly ArrayLike[], options);
}
