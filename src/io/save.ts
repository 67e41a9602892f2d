/**
 * Arrays into files: `saveNpy` and `saveNpz`, as NumPy's functions are called, `saveSafetensors`, `saveZarr`,
 * `saveRaw`, `savePng`. Each but the last is `compute` with a file as the place for the results.
 */

import { compute } from '../api/compute.js';
import { COMPUTE_OPTIONS } from '../api/computing.js';
import type { ArrayLike } from '../api/fluent-types.js';
import { exprOf, Lazy } from '../api/lazy.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { needSizes } from '../graph/extent.js';
import { formatValue } from '../graph/format.js';
import { ArgumentError, expected } from '../host/errors.js';
import { calledAsync } from '../host/site.js';
import { type FilePath, pathOf } from './data-file.js';
import type { LazyRecord } from './load.js';
import { PNG_OPTIONS, type PngOptions, writePng } from './png.js';
import {
  NPY_OPTIONS,
  type NpyOptions,
  npy,
  npz,
  raw,
  type SafetensorsOptions,
  type Sink,
  safetensors,
  zarr,
} from './sinks.js';

/** Options of functions that save: those of `compute`, and how the file is laid out. */
export type SaveOptions = ComputeOptions & NpyOptions;

/** The options of a file, and those of `compute`, which checks that it knows them. */
function split<Own extends object>(
  options: (ComputeOptions & Own) | undefined,
  own: readonly string[],
): [Own, ComputeOptions] {
  const entries = Object.entries(options ?? {});
  return [
    Object.fromEntries(entries.filter(([key]) => own.includes(key))) as Own,
    Object.fromEntries(entries.filter(([key]) => !own.includes(key))) as ComputeOptions,
  ];
}

async function saveOne(array: ArrayLike, to: Sink, options: ComputeOptions): Promise<Lazy> {
  const [saved] = await compute([array], { ...options, to });
  return saved;
}

/**
 * Computes an array into a `.npy` file, and gives the array of that file. The file appears when it is
 * complete: a failed or aborted compute leaves none, and keeps one that was there. Rejects with a FileError
 * for a file that cannot be written.
 *
 * @example
 * await saveNpy('x.npy', lazy([1, 2, 3]))
 * //=> Lazy float64 (3,)
 */
export function saveNpy(path: FilePath, array: ArrayLike, options?: SaveOptions): Promise<Lazy>;
export async function saveNpy(
  path: FilePath,
  array: ArrayLike,
  options?: SaveOptions,
  ...more: readonly unknown[]
): Promise<Lazy> {
  return await calledAsync(saveNpy, async () => {
    refuseMore('saveNpy', 3, [path, array, options, ...more]);
    const [own, running] = split<NpyOptions>(options, NPY_OPTIONS);
    return saveOne(array, npy(path, own), running);
  });
}

/**
 * Computes an array into a file of its elements alone, as `saveNpy` does. `fromFile` reads it.
 *
 * @example
 * const x = await saveRaw('x.raw', lazy([1, 2, 3]))
 * await x.sum().compute()
 * //=> 6.0
 */
export function saveRaw(path: FilePath, array: ArrayLike, options?: SaveOptions): Promise<Lazy>;
export async function saveRaw(
  path: FilePath,
  array: ArrayLike,
  options?: SaveOptions,
  ...more: readonly unknown[]
): Promise<Lazy> {
  return await calledAsync(saveRaw, async () => {
    refuseMore('saveRaw', 3, [path, array, options, ...more]);
    const [own, running] = split<NpyOptions>(options, NPY_OPTIONS);
    return saveOne(array, raw(path, own), running);
  });
}

/**
 * Computes an array into the folder of a Zarr array, as `saveNpy` does.
 *
 * @example
 * const x = await saveZarr('x.zarr', arange(6).reshape([2, 3]))
 * await x.sum().compute()
 * //=> 15.0
 */
export function saveZarr(path: FilePath, array: ArrayLike, options?: ComputeOptions): Promise<Lazy>;
export async function saveZarr(
  path: FilePath,
  array: ArrayLike,
  options?: ComputeOptions,
  ...more: readonly unknown[]
): Promise<Lazy> {
  return await calledAsync(saveZarr, async () => {
    refuseMore('saveZarr', 3, [path, array, options, ...more]);
    return saveOne(array, zarr(path), options ?? {});
  });
}

/**
 * Computes an array of pixels into a `.png` file, with the options of `toPNG` and of `compute`. The image may be larger
 * than memory and than `memory` and `hostMemory`: its rows, one byte a channel, go to a temporary file beside it, and
 * zlib's threads compress them from there. The file appears when it is complete: a failed or aborted compute leaves
 * none, and keeps one that was there. There is no sink for `to`, whose tiles are written where they belong: in a
 * compressed file that is known from the first row to the last alone.
 *
 * Rejects with a FileError for a file that cannot be written, and as `toPNG` for shapes, dtypes and options.
 *
 * @example
 * await savePng('ramp.png', linspace(0, 1, 256).reshape([1, 256]).mul(ones([64, 1])), { colors: 'heat' })
 */
export function savePng(
  path: FilePath,
  image: ArrayLike,
  options?: ComputeOptions & PngOptions,
): Promise<void>;
export async function savePng(
  path: FilePath,
  image: ArrayLike,
  options?: ComputeOptions & PngOptions,
  ...more: readonly unknown[]
): Promise<void> {
  return await calledAsync(savePng, async () => {
    refuseMore('savePng', 3, [path, image, options, ...more]);
    checkOptions('savePng', options, [...PNG_OPTIONS, ...COMPUTE_OPTIONS]);
    const [own, running] = split<PngOptions>(options, PNG_OPTIONS);
    const expr = exprOf('savePng', image);
    needSizes('savePng', expr);
    await writePng('savePng', pathOf('savePng', path), expr, own, running);
  });
}

/**
 * Computes several arrays together into an uncompressed `.npz` archive, and gives the arrays of that file.
 *
 * @example
 * const saved = await saveNpz('both.npz', { x: lazy([1, 2]), y: lazy([3]) })
 * saved.y
 * //=> Lazy float64 (1,)
 */
export function saveNpz(
  path: FilePath,
  arrays: Readonly<Record<string, ArrayLike>>,
  options?: SaveOptions,
): Promise<LazyRecord>;
export async function saveNpz(
  path: FilePath,
  arrays: Readonly<Record<string, ArrayLike>>,
  options?: SaveOptions,
  ...more: readonly unknown[]
): Promise<LazyRecord> {
  return await calledAsync(saveNpz, async () => {
    refuseMore('saveNpz', 3, [path, arrays, options, ...more]);
    const names = namesOf('saveNpz', arrays);
    const [own, running] = split<NpyOptions>(options, NPY_OPTIONS);
    return saveAll(arrays, names, npz(path, names, own), running);
  });
}

/**
 * Computes several arrays together into a safetensors file, and gives the arrays of that file.
 *
 * @example
 * const saved = await saveSafetensors('model.safetensors', { weight: ones([2, 2]) })
 * saved.weight
 * //=> Lazy float64 (2, 2)
 */
export function saveSafetensors(
  path: FilePath,
  arrays: Readonly<Record<string, ArrayLike>>,
  options?: ComputeOptions & SafetensorsOptions,
): Promise<LazyRecord>;
export async function saveSafetensors(
  path: FilePath,
  arrays: Readonly<Record<string, ArrayLike>>,
  options?: ComputeOptions & SafetensorsOptions,
  ...more: readonly unknown[]
): Promise<LazyRecord> {
  return await calledAsync(saveSafetensors, async () => {
    refuseMore('saveSafetensors', 3, [path, arrays, options, ...more]);
    const names = namesOf('saveSafetensors', arrays);
    const [own, running] = split<SafetensorsOptions>(options, ['metadata']);
    return saveAll(arrays, names, safetensors(path, names, own), running);
  });
}

function namesOf(op: string, arrays: unknown): string[] {
  if (typeof arrays !== 'object' || arrays === null || Array.isArray(arrays) || arrays instanceof Lazy) {
    throw new ArgumentError(expected(op, 'an object of arrays by name', formatValue(arrays)));
  }
  return Object.keys(arrays);
}

async function saveAll(
  arrays: Readonly<Record<string, ArrayLike>>,
  names: readonly string[],
  to: Sink,
  options: ComputeOptions,
): Promise<LazyRecord> {
  const values = names.map((name) => arrays[name]!);
  const saved = await compute(values, { ...options, to });
  const record: Record<string, Lazy> = Object.create(null);
  names.forEach((name, k) => {
    record[name] = saved[k]!;
  });
  return record;
}
