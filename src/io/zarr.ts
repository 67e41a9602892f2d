/**
 * Zarr arrays, versions 2 and 3: `loadZarr`. Reading is zarrita's, an optional package; chunks are fetched and decoded when a
 * graph that needs them runs, and only those that it needs along the first axis.
 */
import type { DataType, Readable, Array as ZarrArray } from 'zarrita';
import { isTypedArray } from '../elements.js';
import { ArgumentError, DTypeError, expected, FileError } from '../errors.js';
import { typedArrayOver } from '../exec/native/host-memory.js';
import { byteLengthOf, type DType, isDType } from '../graph/dtype.js';
import type { Shape, TypedArray } from '../graph/expr.js';
import { denseStrides, sizeOfShape } from '../graph/graph.js';
import { checkShape } from '../graph/shape.js';
import { Lazy } from '../lazy.js';
import { calledAt, callSite } from '../site.js';
import { inBands } from './bands.js';
import { type FilePath, pathOf } from './data-file.js';
import { readerExpr } from './reader.js';

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
    const message = expected(
      'loadZarr',
      'the package zarrita',
      'none',
      'npm install zarrita @zarrita/storage',
    );
    throw new ArgumentError(message, { cause });
  }
}

const isArray = (value: unknown): value is ZarrSource =>
  typeof value === 'object' && value !== null && 'getChunk' in value && 'chunks' in value;

/**
 * A Zarr array: the folder of one, or an array that zarrita has opened, wherever it is. It must not be written to while a
 * compute runs. Rejects with a FileError for a folder that holds none, a DTypeError for text, dates and other types.
 */
export async function loadZarr(source: FilePath | ZarrSource): Promise<Lazy> {
  const site = callSite();
  const zarr = await zarrita();
  const path = isArray(source) ? source.path : pathOf('loadZarr', source);
  const array = isArray(source) ? source : await openFolder(zarr, path);
  const dtype = dtypeOf(array);
  const shape = checkShape('loadZarr', [...array.shape]);
  return calledAt(site, () => {
    const read = (start: number, count: number): Promise<TypedArray> =>
      readRows(zarr, array, dtype, start, count);
    const banded = inBands(read, dtype, bandsOf(array));
    return new Lazy(readerExpr(`the Zarr array ${path}`, dtype, shape, banded));
  });
}

async function openFolder(zarr: typeof import('zarrita'), path: string): Promise<ZarrSource> {
  const { default: FileSystemStore } = await import('@zarrita/storage/fs');
  try {
    return await zarr.open(new FileSystemStore(path), { kind: 'array' });
  } catch (error) {
    const received = error instanceof Error ? error.message : String(error);
    throw new FileError(expected('loadZarr', 'a folder of a Zarr array', received, path), path);
  }
}

function dtypeOf(array: ZarrSource): DType {
  const dtype: string = array.dtype;
  // Without a Float16Array, zarrita has nothing to decode halves into.
  if (isDType(dtype) && (dtype !== 'float16' || 'Float16Array' in globalThis)) return dtype;
  throw new DTypeError(expected('loadZarr', 'an array of numbers or booleans', dtype));
}

/** Elements at which the rows of one line of chunks end. */
function bandsOf({ shape, chunks }: ZarrSource): number[] {
  const [rows = 1, ...inner] = shape;
  const row = sizeOfShape(inner);
  const height = Math.max(1, chunks[0] ?? 1);
  return Array.from({ length: Math.ceil(rows / height) }, (_, k) => Math.min(rows, (k + 1) * height) * row);
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

/** What zarrita gave, a chunk or one value, as elements in C order. */
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
