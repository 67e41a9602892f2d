/**
 * Columns of Parquet files: `loadParquet`. The footer is read when a file is loaded; a column is decoded when
 * a graph that needs it runs, in a thread of its own (`decoder.ts`, `decoding/parquet.js`).
 */

import { Lazy } from '../api/lazy.js';
import type { NullOptions } from '../exchange/columns.js';
import { typedArrayOver } from '../exec/native/host-memory.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import type { Expr, Site, TypedArray } from '../graph/expr.js';
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { calledAsync, calledAt } from '../host/site.js';
import { bandsUpTo, inBands } from './bands.js';
import { type DataFile, type FilePath, pathOf, withFile } from './data-file.js';
import { type DecoderJob, type DecoderRange, decoder } from './decoder.js';
import type { Chunk, Column, Footer } from './decoding/parquet-footer.js';
import type { LazyRecord } from './load.js';
import { readerExpr } from './reader.js';

/** Options of `loadParquet`. */
export interface ParquetOptions extends NullOptions {
  /** The columns to load; all of them where nothing is given. */
  readonly columns?: readonly string[] | undefined;
}

/** Dtypes by the types of the values in a file. */
const PHYSICAL: Readonly<Record<string, DType>> = {
  BOOLEAN: 'bool',
  INT32: 'int32',
  INT64: 'int64',
  FLOAT: 'float32',
  DOUBLE: 'float64',
};
/** Dtypes by what integers mean. */
const LOGICAL: Readonly<Record<string, { readonly type: string; readonly dtype: DType }>> = {
  INT_8: { type: 'INT32', dtype: 'int8' },
  INT_16: { type: 'INT32', dtype: 'int16' },
  UINT_8: { type: 'INT32', dtype: 'uint8' },
  UINT_16: { type: 'INT32', dtype: 'uint16' },
  UINT_32: { type: 'INT32', dtype: 'uint32' },
  UINT_64: { type: 'INT64', dtype: 'uint64' },
};

/**
 * The columns of a Parquet file by name, each as an array of one axis. Numbers and booleans are read as what
 * they are, timestamps as int64. Rejects with a DTypeError for columns of other types, of lists or of
 * structures: name the others in `columns`. A column with missing values rejects the compute, unless `nulls`
 * stands for them. Pages are decoded in a thread beside; bytes that are not what the format says, and a
 * decoder that makes no progress, reject the compute with a FileError.
 *
 * @example
 * const { parquetWriteFile } = await import('hyparquet-writer')
 * parquetWriteFile({ filename: 'flights.parquet', columnData: [{ name: 'delay', data: [4, -1, 9], type: 'INT32' }] })
 * const { delay } = await loadParquet('flights.parquet')
 * await delay!.mean().compute()
 * //=> 4.0
 */
export function loadParquet(path: FilePath, options?: ParquetOptions): Promise<LazyRecord>;
export async function loadParquet(
  path: FilePath,
  options?: ParquetOptions,
  ...more: readonly unknown[]
): Promise<LazyRecord> {
  return await calledAsync(loadParquet, (site) => {
    refuseMore('loadParquet', 2, [path, options, ...more]);
    return parquetArrays(site, path, options);
  });
}

async function parquetArrays(site: Site, path: FilePath, options?: ParquetOptions): Promise<LazyRecord> {
  const op = 'loadParquet';
  checkOptions(op, options, ['columns', 'nulls']);
  return withFile(op, pathOf(op, path), async (file) => {
    const task = { columns: options?.columns };
    const job = jobOf(file, 'open parquet', 'the footer', task);
    const footer = (await decoder.decode(job)) as Footer;
    const places = new Map(footer.columns.map(({ name }, k) => [name, k]));
    const loaded: Record<string, Lazy> = Object.create(null);
    for (const name of options?.columns ?? places.keys()) {
      const place = places.get(name) ?? file.refuse('a column of that name', name);
      const column = footer.columns[place]!;
      const dtype = dtypeOf(column);
      const nulls = nullsOf(dtype, options?.nulls);
      const source = { file, column, dtype, nulls, chunks: footer.chunks[place]! };
      loaded[name] = calledAt(site, () => new Lazy(columnExpr(source)));
    }
    return loaded;
  });
}

const jobOf = (file: DataFile, kind: string, what: string, task: unknown): DecoderJob => ({
  kind,
  task,
  op: file.op,
  what,
  path: file.path,
  read: async (range: DecoderRange) => ({ bytes: await file.readRange(range), byteLength: file.byteLength }),
});

function dtypeOf({ name, type, logical }: Column): DType {
  const meant = LOGICAL[logical ?? ''];
  const isOther = logical === 'DECIMAL' || (meant !== undefined && meant.type !== type);
  const dtype = isOther ? undefined : (meant?.dtype ?? PHYSICAL[type ?? '']);
  if (dtype !== undefined) return dtype;
  const what = type === undefined ? 'a list or structure' : `${type} ${logical ?? ''}`;
  throw new DTypeError(expected('loadParquet', `numbers or booleans in column ${name}`, what));
}

/** The value for missing ones, as the memory of the dtype takes it. */
function nullsOf(dtype: DType, nulls: number | bigint | undefined): number | bigint | undefined {
  if (nulls === undefined) return undefined;
  if (dtype !== 'int64' && dtype !== 'uint64') return Number(nulls);
  if (typeof nulls === 'number' && !Number.isInteger(nulls))
    throw new ArgumentError(expected('loadParquet', `nulls of ${dtype}`, `${nulls}`));
  return BigInt(nulls);
}

interface ColumnSource {
  readonly file: DataFile;
  readonly column: Column;
  readonly dtype: DType;
  readonly nulls: number | bigint | undefined;
  /** By group of rows. */
  readonly chunks: readonly Chunk[];
}

function columnExpr(source: ColumnSource): Expr {
  const { file, column, dtype, chunks } = source;
  const ends = endsOf(chunks);
  const read = (start: number, count: number, signal?: AbortSignal): Promise<TypedArray> =>
    withFile('compute', file.path, async (opened) => {
      await opened.checkStamp(file.stamp);
      const elements = await readGroups({ ...source, file: opened }, ends, start, count, signal);
      await opened.checkStamp(file.stamp);
      return elements;
    });
  const rows = ends.at(-1) ?? 0;
  const banded = inBands(read, dtype, rows, bandsUpTo(ends));
  return readerExpr(`column ${column.name} of ${file.path}`, dtype, [rows], banded);
}

/** Rows at which groups of rows end. */
function endsOf(chunks: readonly Chunk[]): number[] {
  let end = 0;
  return chunks.map(({ rows }) => {
    end += rows;
    return end;
  });
}

/** Rows of whole groups. */
async function readGroups(
  { file, column, dtype, nulls, chunks }: ColumnSource,
  ends: readonly number[],
  start: number,
  count: number,
  signal: AbortSignal | undefined,
): Promise<TypedArray> {
  const group = ends.findIndex((end) => end > start);
  const last = ends.findIndex((end) => end >= start + count);
  const byteLength = count * byteLengthOf(dtype);
  const task = { column, chunks: chunks.slice(group, last + 1), group, dtype, byteLength, nulls };
  const job = jobOf(file, 'read parquet column', `column ${column.name}`, task);
  const read = (await decoder.decode(job, signal)) as { buffer: ArrayBuffer } | { missing: number };
  if ('buffer' in read) return typedArrayOver(read.buffer, dtype);
  const hint = `{ nulls: 0 } puts a value in their place; ${file.path}`;
  const row = `row ${start + read.missing}`;
  throw new ArgumentError(expected('loadParquet', `no missing values in ${column.name}`, row, hint));
}
