/**
 * Columns of Parquet files: `loadParquet`. Reading is hyparquet's, an optional package, as are its compressors; a column is
 * decoded when a graph that needs it runs.
 */
import type { AsyncBuffer, Compressors, DecodedArray, FileMetaData, SchemaElement } from 'hyparquet';
import { ArgumentError, DTypeError, expected } from '../errors.js';
import { typedArrayOver } from '../exec/native/host-memory.js';
import { checkOptions } from '../graph/arguments.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import type { Expr, TypedArray } from '../graph/expr.js';
import { Lazy } from '../lazy.js';
import { calledAt, callSite } from '../site.js';
import type { NullOptions } from './arrow.js';
import { inBands } from './bands.js';
import { type DataFile, type FilePath, pathOf, withFile } from './data-file.js';
import type { LazyRecord } from './load.js';
import { readerExpr } from './reader.js';

/** Options of `loadParquet`. */
export interface ParquetOptions extends NullOptions {
  /** The columns to load; all of them where nothing is given. */
  readonly columns?: readonly string[] | undefined;
}

const PHYSICAL: Readonly<Record<string, DType>> = {
  BOOLEAN: 'bool',
  INT32: 'int32',
  INT64: 'int64',
  FLOAT: 'float32',
  DOUBLE: 'float64',
};
const CONVERTED: Readonly<Record<string, DType>> = {
  INT_8: 'int8',
  INT_16: 'int16',
  UINT_8: 'uint8',
  UINT_16: 'uint16',
  UINT_32: 'uint32',
  UINT_64: 'uint64',
};

/** hyparquet, with the decompressors where they are installed. */
async function hyparquet(): Promise<{
  readonly reader: typeof import('hyparquet');
  readonly compressors: Compressors | undefined;
}> {
  try {
    const reader = await import('hyparquet');
    const packed = await import('hyparquet-compressors').catch(() => undefined);
    return { reader, compressors: packed?.compressors };
  } catch (cause) {
    const message = expected('loadParquet', 'the package hyparquet', 'none', 'npm install hyparquet');
    throw new ArgumentError(message, { cause });
  }
}

const bufferOf = (file: DataFile): AsyncBuffer => ({
  byteLength: file.byteLength,
  slice: async (start, end = file.byteLength) => {
    const from = start < 0 ? file.byteLength + start : start;
    const bytes = new Uint8Array(end - from);
    await file.readInto(bytes, from);
    return bytes.buffer;
  },
});

/**
 * The columns of a Parquet file by name, each as an array of one axis. Numbers and booleans are read as what they are,
 * timestamps as int64. Rejects with a DTypeError for columns of other types, of lists or of structures: name the others in
 * `columns`. A column with missing values rejects the compute, unless `nulls` stands for them.
 */
export async function loadParquet(path: FilePath, options?: ParquetOptions): Promise<LazyRecord> {
  const site = callSite();
  checkOptions('loadParquet', options, ['columns', 'nulls']);
  const { reader, compressors } = await hyparquet();
  return withFile('loadParquet', pathOf('loadParquet', path), async (file) => {
    const metadata = await reader.parquetMetadataAsync(bufferOf(file)).catch((error: unknown) => {
      return file.refuse('a Parquet file', error instanceof Error ? error.message : String(error));
    });
    const columns = new Map(metadata.schema.slice(1).map((element) => [element.name, element]));
    const loaded: Record<string, Lazy> = Object.create(null);
    for (const name of options?.columns ?? columns.keys()) {
      const element = columns.get(name) ?? file.refuse('a column of that name', name);
      const source = { file, metadata, compressors, name, dtype: dtypeOf(element), nulls: options?.nulls };
      loaded[name] = calledAt(site, () => new Lazy(columnExpr(source)));
    }
    return loaded;
  });
}

function dtypeOf({ name, type, converted_type, num_children, repetition_type }: SchemaElement): DType {
  const plain = num_children === undefined && repetition_type !== 'REPEATED';
  const dtype =
    CONVERTED[converted_type ?? ''] ?? (converted_type === 'DECIMAL' ? undefined : PHYSICAL[type ?? '']);
  if (plain && dtype !== undefined) return dtype;
  const what = plain ? `${type} ${converted_type ?? ''}` : 'a list or structure';
  throw new DTypeError(expected('loadParquet', `numbers or booleans in column ${name}`, what));
}

interface Column {
  readonly file: DataFile;
  readonly metadata: FileMetaData;
  readonly compressors: Compressors | undefined;
  readonly name: string;
  readonly dtype: DType;
  readonly nulls: number | bigint | undefined;
}

function columnExpr(column: Column): Expr {
  const { path, stamp } = column.file;
  const read = (start: number, count: number): Promise<TypedArray> =>
    withFile('compute', path, async (file) => {
      await file.checkStamp(stamp);
      return readColumn({ ...column, file }, start, count);
    });
  const label = `column ${column.name} of ${path}`;
  const banded = inBands(read, column.dtype, bandsOf(column.metadata));
  return readerExpr(label, column.dtype, [Number(column.metadata.num_rows)], banded);
}

/** Rows at which groups of rows end. */
function bandsOf({ row_groups }: FileMetaData): number[] {
  let end = 0;
  return row_groups.map(({ num_rows }) => {
    end += Number(num_rows);
    return end;
  });
}

async function readColumn(column: Column, start: number, count: number): Promise<TypedArray> {
  const { file, metadata, compressors, name, dtype, nulls } = column;
  const { reader } = await hyparquet();
  const target = typedArrayOver(new ArrayBuffer(count * byteLengthOf(dtype)), dtype);
  const asItIs = (value: unknown): unknown => value;
  let missing: number | undefined;
  try {
    await reader.parquetRead({
      file: bufferOf(file),
      metadata,
      columns: [name],
      rowStart: start,
      rowEnd: start + count,
      ...(compressors === undefined ? {} : { compressors }),
      parsers: {
        timestampFromMilliseconds: asItIs,
        timestampFromMicroseconds: asItIs,
        timestampFromNanoseconds: asItIs,
        dateFromDays: asItIs,
      },
      onChunk: ({ columnData, rowStart }) => {
        // An error that is thrown here would be nobody's.
        missing ??= copyRows(columnData, rowStart - start, target, nulls);
      },
    });
  } catch (error) {
    return file.refuse(`column ${name}`, error instanceof Error ? error.message : String(error));
  }
  if (missing !== undefined) {
    const hint = `{ nulls: 0 } puts a value in their place; ${file.path}`;
    const row = `row ${start + missing}`;
    throw new ArgumentError(expected('loadParquet', `no missing values in ${name}`, row, hint));
  }
  return target;
}

/**
 * Copies what of a decoded part lies in the target. `place`: where the part's first row is in it. Gives the place of a missing
 * value that nothing stands for.
 */
function copyRows(
  rows: DecodedArray,
  place: number,
  target: TypedArray,
  nulls: number | bigint | undefined,
): number | undefined {
  const wide = target instanceof BigInt64Array || target instanceof BigUint64Array;
  const array = target as { [index: number]: number | bigint };
  const from = Math.max(0, -place);
  const to = Math.min(rows.length, target.length - place);
  for (let i = from; i < to; i++) {
    const value = (rows[i] ?? nulls) as number | bigint | boolean | undefined;
    if (value === undefined) return place + i;
    array[place + i] = wide ? BigInt(value) : Number(value);
  }
  return undefined;
}
