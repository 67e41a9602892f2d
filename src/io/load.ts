/**
 * Arrays in files: `loadNpy`, `loadNpz`, `loadSafetensors`, `fromFile`. Only headers are read here; elements
 * are read when a graph that needs them runs, and only those that it needs.
 *
 * The formats are in files of their own. A file must stay as it is while arrays of it are used: one that was
 * changed or replaced since is refused.
 */

import { Lazy } from '../api/lazy.js';
import { checkOptions, oneOf, refuseMore } from '../graph/arguments.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import type { Expr, Site } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { checkDType } from '../graph/infer.js';
import { checkInteger, checkShape, type ShapeArgument } from '../graph/shape.js';
import { ArgumentError, expected } from '../host/errors.js';
import { calledAsync, calledAt } from '../host/site.js';
import { type DataFile, eachPath, type FilePath, pathOf, withFile } from './data-file.js';
import {
  type ArrayLayout,
  type ByteOrder,
  checkFileShape,
  checkLength,
  fileExpr,
  HOST_BYTE_ORDER,
  type Order,
} from './layout.js';
import { readNpyHeader } from './npy.js';
import { npzExprs } from './npz.js';
import { readSafetensors } from './safetensors.js';

/** Arrays by name; without a prototype, so that every name is one. */
export type LazyRecord = Readonly<Record<string, Lazy>>;

/** Options of `loadNpz` and `loadSafetensors`. */
export interface LoadOptions {
  /** The arrays to load; all of them where nothing is given. */
  readonly names?: readonly string[] | undefined;
}

/**
 * The array of a `.npy` file, of any version, dtype, order and byte order that Weft has. Rejects with a
 * FileError for a file that is none, that ends too soon, or that holds objects, structures, text or dates.
 *
 * @example
 * await saveNpy('x.npy', arange(6).reshape([2, 3]))
 * const x = await loadNpy('x.npy')
 * await x.slice(1).compute()
 * //=> [3. 4. 5.]
 */
export function loadNpy(path: FilePath): Promise<Lazy>;
export async function loadNpy(path: FilePath, ...more: readonly unknown[]): Promise<Lazy> {
  return await calledAsync(loadNpy, (site) => {
    refuseMore('loadNpy', 1, [path, ...more], eachPath('loadNpy'));
    return npyArray(site, path);
  });
}

async function npyArray(site: Site, path: FilePath): Promise<Lazy> {
  return withFile('loadNpy', pathOf('loadNpy', path), async (file) => {
    const layout = await readNpyHeader(
      (offset, length) => file.read(offset, length),
      file.byteLength,
      file.refuse,
    );
    return fromLayout(site, file, layout);
  });
}

/**
 * The arrays of a `.npz` archive by name. Stored members are read in place; compressed ones are inflated when
 * a graph that reads them runs. Rejects with a FileError for a file that is no such archive.
 *
 * @example
 * await saveNpz('both.npz', { x: lazy([1, 2]), y: lazy([3]) })
 * const { x, y } = await loadNpz('both.npz')
 * await x!.add(y!).compute()
 * //=> [4. 5.]
 */
export function loadNpz(path: FilePath, options?: LoadOptions): Promise<LazyRecord>;
export async function loadNpz(
  path: FilePath,
  options?: LoadOptions,
  ...more: readonly unknown[]
): Promise<LazyRecord> {
  return await calledAsync(loadNpz, (site) => {
    refuseMore('loadNpz', 2, [path, options, ...more]);
    return npzArrays(site, path, options);
  });
}

async function npzArrays(site: Site, path: FilePath, options?: LoadOptions): Promise<LazyRecord> {
  const names = namesOf('loadNpz', options);
  return withFile('loadNpz', pathOf('loadNpz', path), async (file) =>
    record(site, await npzExprs(file, names)),
  );
}

/**
 * The arrays of a safetensors file by name. Rejects with a FileError for a malformed file, and for dtypes
 * such as F8.
 *
 * @example
 * await saveSafetensors('model.safetensors', { weight: ones([2, 2], 'float32') })
 * const { weight } = await loadSafetensors('model.safetensors')
 * await weight!.sum().compute()
 * //=> 4.0
 */
export function loadSafetensors(path: FilePath, options?: LoadOptions): Promise<LazyRecord>;
export async function loadSafetensors(
  path: FilePath,
  options?: LoadOptions,
  ...more: readonly unknown[]
): Promise<LazyRecord> {
  return await calledAsync(loadSafetensors, (site) => {
    refuseMore('loadSafetensors', 2, [path, options, ...more]);
    return safetensorsArrays(site, path, options);
  });
}

async function safetensorsArrays(site: Site, path: FilePath, options?: LoadOptions): Promise<LazyRecord> {
  const names = namesOf('loadSafetensors', options);
  return withFile('loadSafetensors', pathOf('loadSafetensors', path), async (file) => {
    const { arrays } = await readSafetensors(file);
    const exprs = new Map<string, () => Expr>();
    for (const name of names ?? arrays.keys()) {
      const layout = arrays.get(name)?.() ?? file.refuse('an array of that name', name);
      exprs.set(name, () => fileExpr(file, layout));
    }
    return record(site, exprs);
  });
}

/**
 * The texts that a safetensors file carries beside its arrays.
 *
 * @example
 * const sink = safetensors('model.safetensors', ['weight'], { metadata: { epoch: '3' } })
 * await compute([ones([2])], { to: sink })
 * await loadSafetensorsMetadata('model.safetensors')
 * //=> [Object: null prototype] { epoch: '3' }
 */
export function loadSafetensorsMetadata(path: FilePath): Promise<Readonly<Record<string, string>>>;
export async function loadSafetensorsMetadata(
  path: FilePath,
  ...more: readonly unknown[]
): Promise<Readonly<Record<string, string>>> {
  const op = 'loadSafetensorsMetadata';
  return await calledAsync(loadSafetensorsMetadata, async () => {
    refuseMore(op, 1, [path, ...more], eachPath(op));
    return withFile(op, pathOf(op, path), async (file) => (await readSafetensors(file)).metadata);
  });
}

/** How elements lie in a file without a header. */
export interface FromFileOptions {
  /** The dtype of the elements in the file. */
  readonly dtype: DType;
  /** One axis to the end of the file where no shape is given. */
  readonly shape?: ShapeArgument | undefined;
  /** Where the first element is, in bytes. */
  readonly offset?: number | undefined;
  /** `'C'` (the default): the last axis is contiguous; `'F'`: the first is. */
  readonly order?: Order | undefined;
  /** The host's where none is given. */
  readonly byteOrder?: ByteOrder | undefined;
}

/**
 * Elements in a file without a header. Rejects with a FileError for a file that ends before they do.
 *
 * @example
 * await saveRaw('x.raw', lazy(new Float32Array([1, 2, 3, 4])))
 * const x = await fromFile('x.raw', { dtype: 'float32', shape: [2, 2] })
 * await x.sum(0).compute()
 * //=> [4. 6.]
 */
export function fromFile(path: FilePath, options: FromFileOptions): Promise<Lazy>;
export async function fromFile(
  path: FilePath,
  options: FromFileOptions,
  ...more: readonly unknown[]
): Promise<Lazy> {
  return await calledAsync(fromFile, (site) => {
    refuseMore('fromFile', 2, [path, options, ...more]);
    return fileArray(site, path, options);
  });
}

async function fileArray(site: Site, path: FilePath, options: FromFileOptions): Promise<Lazy> {
  const op = 'fromFile';
  checkOptions(op, options, ['dtype', 'shape', 'offset', 'order', 'byteOrder']);
  const dtype = checkDType(op, options?.dtype);
  const shape = options.shape === undefined ? undefined : checkShape(op, options.shape);
  const byteOffset = checkInteger(op, 'the offset', options.offset ?? 0);
  if (byteOffset < 0) throw new ArgumentError(expected(op, 'an offset of 0 or more', `${byteOffset}`));
  const order = oneOf(op, 'an order', ['C', 'F'], options.order ?? 'C');
  const byteOrder = oneOf(op, 'a byte order', ['little', 'big'], options.byteOrder ?? HOST_BYTE_ORDER);
  return withFile(op, pathOf(op, path), async (file) => {
    const found = shape ?? [lengthOf(file, byteOffset, dtype)];
    const layout = { dtype, shape: checkFileShape(file.refuse, found, dtype), order, byteOrder, byteOffset };
    return fromLayout(site, file, layout);
  });
}

function lengthOf(file: DataFile, byteOffset: number, dtype: DType): number {
  const bytes = file.byteLength - byteOffset;
  if (bytes < 0 || bytes % byteLengthOf(dtype) !== 0) {
    file.refuse(`whole elements of ${dtype} from byte ${byteOffset} on`, `${file.byteLength} bytes`);
  }
  return bytes / byteLengthOf(dtype);
}

function namesOf(op: string, options: LoadOptions | undefined): readonly string[] | undefined {
  checkOptions(op, options, ['names']);
  const names: unknown = options?.names;
  if (names === undefined) return undefined;
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  throw new ArgumentError(expected(op, 'names as a list of texts', formatValue(names)));
}

function fromLayout(site: Site, file: DataFile, layout: ArrayLayout): Lazy {
  checkLength(file.refuse, layout, file.byteLength);
  return calledAt(site, () => new Lazy(fileExpr(file, layout)));
}

function record(site: Site, exprs: ReadonlyMap<string, () => Expr>): LazyRecord {
  const arrays: Record<string, Lazy> = Object.create(null);
  for (const [name, make] of exprs) arrays[name] = calledAt(site, () => new Lazy(make()));
  return arrays;
}
