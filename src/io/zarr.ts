/**
 * Zarr arrays, versions 2 and 3: `loadZarr`. Codecs are zarrita's, an optional package; chunks are read and
 * decoded when a graph that needs them runs (`decoder.ts`, `decoding/zarr.js`), and only those that it needs
 * along the first axis.
 */

import { join } from 'node:path';
import type { DataType, Readable, Array as ZarrArray } from 'zarrita';
import { Lazy } from '../api/lazy.js';
import { typedArrayOver } from '../exec/native/host-memory.js';
import { refuseMore } from '../graph/arguments.js';
import { byteLengthOf, type DType, isDType } from '../graph/dtype.js';
import type { Shape, Site, TypedArray } from '../graph/expr.js';
import { denseStrides, sizeOfShape } from '../graph/graph.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, DTypeError, expected, FileError } from '../host/errors.js';
import { calledAsync, calledAt } from '../host/site.js';
import { type BandOf, inBands } from './bands.js';
import { eachPath, type FilePath, pathOf, refuser, withFile } from './data-file.js';
import { type DecoderBytes, type DecoderJob, type DecoderRange, decoder } from './decoder.js';
import type { ZarrLayout } from './decoding/zarr.js';
import { checkFileShape } from './layout.js';
import { type ReadElements, readerExpr } from './reader.js';

/** An array that zarrita has opened, as far as it is looked at here. */
export interface ZarrSource {
  readonly path: string;
  readonly shape: Shape;
  readonly dtype: string;
  readonly chunks: readonly number[];
  getChunk(coordinates: number[]): Promise<unknown>;
}

async function zarrita(): Promise<typeof import('zarrita')> {
  try {
    return await import('zarrita');
  } catch (cause) {
    const message = expected('loadZarr', 'the package zarrita', 'none', 'npm install zarrita');
    throw new ArgumentError(message, { cause });
  }
}

const isArray = (value: unknown): value is ZarrSource =>
  typeof value === 'object' && value !== null && 'getChunk' in value && 'chunks' in value;

/**
 * A Zarr array: the folder of one, or an array that zarrita has opened, wherever it is. It must not be
 * written to while a compute runs. Chunks of a folder are decoded in a thread beside, their lengths and
 * checksums checked; those of an array that was opened are decoded where it was. Rejects with a FileError for
 * a folder that holds none, a DTypeError for text, dates and other types.
 *
 * @example
 * await saveZarr('x.zarr', arange(6).reshape([2, 3]))
 * const x = await loadZarr('x.zarr')
 * await x.slice(1).compute()
 * //=> [3. 4. 5.]
 */
export function loadZarr(source: FilePath | ZarrSource): Promise<Lazy>;
export async function loadZarr(source: FilePath | ZarrSource, ...more: readonly unknown[]): Promise<Lazy> {
  return await calledAsync(loadZarr, (site) => {
    refuseMore('loadZarr', 1, [source, ...more], eachPath('loadZarr'));
    return zarrArray(site, source);
  });
}

async function zarrArray(site: Site, source: FilePath | ZarrSource): Promise<Lazy> {
  if (!isArray(source)) return loadFolder(site, pathOf('loadZarr', source));
  const zarr = await zarrita();
  const array = checkedArray(source);
  const dtype = dtypeOf(array.dtype);
  const read = (start: number, count: number): Promise<TypedArray> =>
    readRows(zarr, array, dtype, start, count);
  return lazyOf(site, source.path, { dtype, shape: array.shape, chunks: array.chunks }, read);
}

async function loadFolder(site: Site, path: string): Promise<Lazy> {
  const job = (op: string, kind: string, task: unknown): DecoderJob => {
    const read = (range: DecoderRange): Promise<DecoderBytes | undefined> => readMember(op, path, range);
    return { kind, task, op, what: 'the Zarr array', path, read };
  };
  const layout = (await decoder.decode(job('loadZarr', 'open zarr', undefined))) as ZarrLayout;
  const dtype = dtypeOf(layout.dtype);
  const shape = checkFileShape(refuser('loadZarr', path), layout.shape, dtype);
  const row = sizeOfShape(shape.slice(1));
  const id = `${folders++}`;
  const read = async (start: number, count: number, signal?: AbortSignal): Promise<TypedArray> => {
    const first = Math.floor(start / row);
    const end = Math.ceil((start + count) / row);
    const rows = job('compute', 'read zarr rows', { id, layout, first, end });
    const elements = typedArrayOver((await decoder.decode(rows, signal)) as ArrayBuffer, dtype);
    const from = start - first * row;
    return elements.subarray(from, from + count) as TypedArray;
  };
  return lazyOf(site, path, { dtype, shape, chunks: layout.chunks }, read);
}

/** Folders that were loaded: the decoding thread keeps indices of shards by their number. */
let folders = 0;

/** Bytes of a file in an array's folder; undefined where there is none. */
async function readMember(
  op: string,
  folder: string,
  { name = '', ...range }: DecoderRange,
): Promise<DecoderBytes | undefined> {
  try {
    return await withFile(op, join(folder, name), async (file) => ({
      bytes: await file.readRange(range),
      byteLength: file.byteLength,
    }));
  } catch (error) {
    if (error instanceof FileError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw error;
  }
}

interface ZarrShape {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly chunks: readonly number[];
}

function lazyOf(site: Site, path: string, { dtype, shape, chunks }: ZarrShape, read: ReadElements): Lazy {
  const [rows = 1, ...inner] = shape;
  // Of rows that end with those of a line of chunks.
  const height = Math.max(1, chunks[0] ?? 1) * sizeOfShape(inner);
  const count = rows * sizeOfShape(inner);
  const bandOf: BandOf = (element) => {
    const start = Math.floor(element / height) * height;
    return { start, end: Math.min(count, start + height) };
  };
  const banded = inBands(read, dtype, count, bandOf);
  return calledAt(site, () => new Lazy(readerExpr(`the Zarr array ${path}`, dtype, shape, banded)));
}

/**
 * The same array, of which chunks with other lengths than their shape's are refused: zarrita takes what they
 * have not for 0.
 */
function checkedArray(array: ZarrSource): ZarrSource {
  const getChunk = async (coordinates: number[], ...options: unknown[]): Promise<unknown> => {
    const chunk = await (array.getChunk as (...given: unknown[]) => Promise<unknown>)(
      coordinates,
      ...options,
    );
    const { data, shape } = chunk as { data: { length: number }; shape: Shape };
    const wanted = sizeOfShape(shape);
    if (data.length !== wanted)
      refuser('compute', array.path)(`${wanted} elements of chunk ${coordinates}`, `${data.length}`);
    return chunk;
  };
  const bound = getChunk.bind(array);
  return new Proxy(array, {
    get: (target, key) => (key === 'getChunk' ? bound : Reflect.get(target, key, target)),
  });
}

function dtypeOf(dtype: string): DType {
  // Without a Float16Array, zarrita has nothing to decode halves into.
  if (isDType(dtype) && (dtype !== 'float16' || 'Float16Array' in globalThis)) return dtype;
  throw new DTypeError(expected('loadZarr', 'an array of numbers or booleans', dtype));
}

/** The rows that hold the elements are fetched whole, and cut. */
async function readRows(
  zarr: typeof import('zarrita'),
  array: ZarrSource,
  dtype: DType,
  start: number,
  count: number,
): Promise<TypedArray> {
  const [, ...inner] = array.shape;
  const row = sizeOfShape(inner);
  const first = Math.floor(start / row);
  const end = Math.ceil((start + count) / row);
  const rows = array.shape.length === 0 ? [] : [zarr.slice(first, end), ...inner.map(() => null)];
  const fetched: unknown = await zarr.get(array as ZarrArray<DataType, Readable>, rows);
  const elements = inCOrder(fetched, dtype);
  const from = array.shape.length === 0 ? 0 : start - first * row;
  return elements.subarray(from, from + count);
}

/** A result of zarrita, a chunk or one value, as elements in C order. */
function inCOrder(fetched: unknown, dtype: DType): TypedArray {
  if (typeof fetched !== 'object' || fetched === null || !('data' in fetched))
    return scalarOf(fetched, dtype);
  const { data, shape, stride } = fetched as { data: unknown; shape: Shape; stride: readonly number[] };
  const memory = memoryOf(data);
  const dense = denseStrides(shape);
  if (shape.every((size, k) => size < 2 || stride[k] === dense[k])) return memory;
  const ordered = memory.slice() as TypedArray & Record<number, number | bigint>;
  for (let i = 0; i < ordered.length; i++) {
    let at = 0;
    for (let k = 0; k < shape.length; k++) at += (Math.floor(i / dense[k]!) % shape[k]!) * stride[k]!;
    ordered[i] = memory[at]!;
  }
  return ordered;
}

/** zarrita's own array of booleans is a byte for each. */
function memoryOf(data: unknown): TypedArray {
  if (isTypedArray(data)) return data;
  const { buffer, byteOffset, byteLength } = data as ArrayBufferView;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function scalarOf(value: unknown, dtype: DType): TypedArray {
  const one = typedArrayOver(new ArrayBuffer(byteLengthOf(dtype)), dtype) as TypedArray &
    Record<number, unknown>;
  one[0] = typeof value === 'bigint' ? value : Number(value);
  return one;
}
