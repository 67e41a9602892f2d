/** Results of DuckDB (`@duckdb/node-api`) as columns, and columns as its chunks: `fromDuckDB`, `toDuckDB`. */
import type { ArrayLike } from '../api/fluent-types.js';
import type { Lazy } from '../api/lazy.js';
import type { NDArray } from '../api/ndarray.js';
import { isRecord } from '../api/structure.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { calledAsync, calledAt, outsideCall } from '../host/site.js';
import type { LazyRecord } from '../io/load.js';
import { unsetOf } from './bitmaps.js';
import { type ColumnOptions, checkNulls, columnOf, type MaskedColumn, type Piece } from './columns.js';
import { hasMembers, resultOf, typeOf } from './results.js';

/** The part of a column in a chunk: numbers, or bytes of booleans, and which rows have a value. */
interface DuckDBVector {
  readonly items?: unknown;
  readonly dataView?: DataView;
  readonly validity?: { readonly data: BigUint64Array | null; readonly offset: number };
  flush?(): void;
}

/** A chunk of DuckDB, as far as it is needed. */
export interface DuckDBChunk {
  readonly rowCount: number;
  getColumnVector(index: number): object;
}

/** A result of DuckDB, `await connection.run(sql)`, as far as it is needed. */
export interface DuckDBResult {
  columnNames(): readonly string[];
  columnTypes(): readonly { toString(): string }[];
  fetchAllChunks(): Promise<readonly DuckDBChunk[]>;
}

/** The module `@duckdb/node-api`, as far as it is needed. */
export interface DuckDBModule<Chunk extends DuckDBChunk = DuckDBChunk> {
  readonly DuckDBDataChunk: { create(types: never, rowCount?: number): Chunk };
}

/** DuckDB's types by dtype. */
const TYPES = {
  bool: 'BOOLEAN',
  int8: 'TINYINT',
  int16: 'SMALLINT',
  int32: 'INTEGER',
  int64: 'BIGINT',
  uint8: 'UTINYINT',
  uint16: 'USMALLINT',
  uint32: 'UINTEGER',
  uint64: 'UBIGINT',
  float32: 'FLOAT',
  float64: 'DOUBLE',
} as const;
const DTYPE_OF = new Map<string, DType>(Object.entries(TYPES).map(([dtype, name]) => [name, dtype as DType]));

/** The dtype of a column: instants are their numbers, of days, seconds or parts of them. */
function dtypeOf(name: string, type: string): DType {
  const dtype =
    DTYPE_OF.get(type) ?? (type === 'DATE' ? 'int32' : type.startsWith('TIMESTAMP') ? 'int64' : undefined);
  if (dtype !== undefined) return dtype;
  const hint = 'select x::DOUBLE converts';
  throw new DTypeError(expected('fromDuckDB', `a column of numbers or booleans in ${name}`, type, hint));
}

/**
 * The columns of a result of DuckDB by name, each as an array of one axis: `const { x, y } = await fromDuckDB(await
 * connection.run(sql))`. Elements are read where DuckDB has them, in chunks of 2,048 rows, without a copy. Dates are
 * int32 (days), timestamps int64.
 *
 * Rejects with a DTypeError for columns of other types, with an ArgumentError for missing values, unless `nulls` says
 * what they are.
 *
 * @example
 * const result = {
 *   columnNames: () => ['x'],
 *   columnTypes: () => ['DOUBLE'],
 *   fetchAllChunks: async () => [{ rowCount: 2, getColumnVector: () => ({ items: new Float64Array([1, 2]) }) }],
 * }
 * const { x } = await fromDuckDB(result) // of await connection.run('select …')
 * await x!.sum().compute()
 * //=> 3.0
 */
export function fromDuckDB(
  result: DuckDBResult,
  options: ColumnOptions & { readonly nulls: 'mask' },
): Promise<Readonly<Record<string, MaskedColumn>>>;
/** Columns in which missing values, if any, are replaced. */
export function fromDuckDB(
  result: DuckDBResult,
  options?: ColumnOptions & { readonly nulls?: number | bigint | undefined },
): Promise<LazyRecord>;
export async function fromDuckDB(
  result: DuckDBResult,
  options?: ColumnOptions,
  ...more: readonly unknown[]
): Promise<unknown> {
  return await calledAsync(fromDuckDB, async (site) => {
    refuseMore('fromDuckDB', 2, [result, options, ...more]);
    checkOptions('fromDuckDB', options, ['nulls']);
    checkNulls('fromDuckDB', options?.nulls);
    if (!hasMembers(result, 'columnNames', 'columnTypes', 'fetchAllChunks')) {
      const hint = 'await connection.run(sql) gives one';
      throw new ArgumentError(expected('fromDuckDB', 'a result of DuckDB', formatValue(result), hint));
    }
    const types = result.columnTypes().map(String);
    const names = result.columnNames();
    const dtypes = names.map((name, k) => dtypeOf(name, types[k]!));
    const chunks = (await outsideCall(() => result.fetchAllChunks())).filter(({ rowCount }) => rowCount > 0);
    return calledAt(site, () => {
      const columns: Record<string, Lazy | MaskedColumn> = Object.create(null);
      names.forEach((name, k) => {
        const pieces = chunks.map((chunk) => pieceOf(chunk, k, dtypes[k]!));
        const missing = pieces.reduce(
          (sum, { valid }) => sum + (valid === undefined ? 0 : unsetOf(valid)),
          0,
        );
        columns[name] = columnOf('fromDuckDB', name, dtypes[k]!, pieces, missing, options?.nulls);
      });
      return columns;
    });
  });
}

function pieceOf(chunk: DuckDBChunk, column: number, dtype: DType): Piece {
  const { items, dataView, validity } = chunk.getColumnVector(column) as DuckDBVector;
  const length = chunk.rowCount;
  const values = dtype === 'bool' && dataView !== undefined ? bytesOf(dataView) : items;
  if (!isTypedArray(values) || values.length < length)
    throw new ArgumentError(expected('fromDuckDB', `${length} values in memory`, formatValue(values)));
  const held = values.subarray(0, length) as TypedArray;
  const bitmap = validity?.data ?? undefined;
  if (bitmap === undefined) return { values: held, length, valid: undefined };
  return { values: held, length, valid: { bytes: bytesOf(bitmap), offset: validity!.offset, length } };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Rows of a chunk of DuckDB. */
const CHUNK_ROWS = 2048;

/**
 * Columns, arrays of one axis and one length, as chunks that an appender of DuckDB takes: `for (const chunk of await
 * toDuckDB({ x, y }, duckdb)) appender.appendDataChunk(chunk)`. `duckdb` is the module `@duckdb/node-api`. Arrays that
 * are no results are computed; each chunk of 2,048 rows is a copy, made when the loop comes to it, since DuckDB has
 * memory of its own.
 *
 * Rejects with a ShapeError for arrays of other axes or of several lengths, with a DTypeError for halves and complex
 * numbers.
 *
 * @example
 * const columns = [new Float64Array(3)]
 * const getColumnVector = (k: number) => ({ items: columns[k], flush() {} })
 * const duckdb = { DOUBLE: 'DOUBLE', DuckDBDataChunk: { create: () => ({ rowCount: 3, getColumnVector }) } }
 * for (const chunk of await toDuckDB({ x: lazy([1, 2, 3]).mul(2) }, duckdb)) console.log(chunk.rowCount, columns[0])
 * //=> 3 Float64Array(3) [ 2, 4, 6 ]
 */
export function toDuckDB<Chunk extends DuckDBChunk>(
  columns: Readonly<Record<string, ArrayLike>>,
  duckdb: DuckDBModule<Chunk>,
): Promise<Iterable<Chunk>>;
export async function toDuckDB(
  columns: Readonly<Record<string, ArrayLike>>,
  duckdb: DuckDBModule,
  ...more: readonly unknown[]
): Promise<Iterable<DuckDBChunk>> {
  return await calledAsync(toDuckDB, async () => {
    refuseMore('toDuckDB', 2, [columns, duckdb, ...more]);
    if (!isRecord(columns))
      throw new ArgumentError(expected('toDuckDB', 'an object of columns', formatValue(columns)));
    if (!hasMembers(duckdb, 'DuckDBDataChunk'))
      throw new ArgumentError(expected('toDuckDB', 'the module @duckdb/node-api', formatValue(duckdb)));
    const arrays = await Promise.all(Object.values(columns).map((x) => resultOf('toDuckDB', x)));
    const shapes = [...new Set(arrays.map(({ shape }) => formatShape(shape)))];
    if (shapes.length > 1 || arrays.some(({ ndim }) => ndim !== 1))
      throw new ShapeError(expected('toDuckDB', 'columns of one axis and one length', shapes.join(' and ')));
    const types = arrays.map(({ dtype }) => Reflect.get(duckdb, typeOf('toDuckDB', 'DuckDB', TYPES, dtype)));
    return chunksOf(arrays, types, duckdb);
  });
}

function* chunksOf(
  arrays: readonly NDArray[],
  types: readonly unknown[],
  duckdb: DuckDBModule,
): Generator<DuckDBChunk> {
  const rows = arrays[0]?.size ?? 0;
  for (let first = 0; first < rows; first += CHUNK_ROWS) {
    const count = Math.min(CHUNK_ROWS, rows - first);
    const chunk = duckdb.DuckDBDataChunk.create(types as never, count);
    arrays.forEach(({ data }, k) => {
      const vector = chunk.getColumnVector(k) as DuckDBVector;
      const target = vector.items ?? bytesOf(vector.dataView!);
      (target as Uint8Array).set(data.subarray(first, first + count) as Uint8Array);
      vector.flush?.();
    });
    yield chunk;
  }
}
