/**
 * Columns and tables of Apache Arrow in and out: `fromArrow`, `toArrow`. Numbers are used where they lie, one piece for
 * each record batch; columns are known by their form, so that apache-arrow itself is not needed.
 */

import { compute } from '../api/compute.js';
import type { ArrayLike } from '../api/fluent-types.js';
import { exprOf, Lazy } from '../api/lazy.js';
import { NDArray } from '../api/ndarray.js';
import { isRecord } from '../api/structure.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { type DType, isDType } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { called, calledAsync } from '../host/site.js';
import type { LazyRecord } from '../io/load.js';
import { type Bits, bitmapOf } from './bitmaps.js';
import { type ColumnOptions, checkNulls, columnOf, type MaskedColumn, type Piece } from './columns.js';
import { hasMembers, resultOf, typeOf } from './results.js';

/** The used part of apache-arrow's Data: values from its own first element on. */
interface ArrowData {
  readonly length: number;
  readonly nullCount: number;
  /** Booleans and validity before the first in their bitmaps; numbers begin where `values` does. */
  readonly offset?: number;
  readonly values: unknown;
  readonly nullBitmap?: unknown;
}

/** An apache-arrow Vector, as far as it is needed. */
export interface ArrowColumn {
  readonly type: { toString(): string };
  readonly length: number;
  readonly nullCount: number;
  readonly data: readonly ArrowData[];
  get(index: number): unknown;
}

/** An apache-arrow Table, as far as it is needed. */
export interface ArrowTable {
  readonly schema: { readonly fields: readonly { readonly name: string }[] };
  getChild(name: string): ArrowColumn | null;
}

const isTable = (value: unknown): value is ArrowTable => hasMembers(value, 'schema', 'getChild');
const isColumn = (value: unknown): value is ArrowColumn =>
  typeof value === 'object' &&
  value !== null &&
  'data' in value &&
  Array.isArray(value.data) &&
  'nullCount' in value &&
  'get' in value;

/** The dtype of a column: instants and durations are their numbers. */
function dtypeOfColumn({ type }: ArrowColumn): DType {
  const name = String(type);
  const dtype = name.toLowerCase();
  if (isDType(dtype)) return dtype;
  if (/^(Timestamp|Duration)</.test(name)) return 'int64';
  throw new DTypeError(expected('fromArrow', 'a column of numbers or booleans', name));
}

/**
 * A column of an Arrow table (`table.getChild('x')`) as an array of one axis, or all columns of a table by name. Numbers
 * are not copied, nor are bits: kernels read booleans and the validity of rows where they lie (bitmaps of batches that do
 * not end with a byte are joined first). Timestamps and durations are int64.
 *
 * Throws a DTypeError for other types, an ArgumentError for missing values, unless `nulls` says what they are.
 *
 * @example
 * const { vectorFromArray, Float32 } = await import('apache-arrow')
 * await fromArrow(vectorFromArray([1, 2, 3], new Float32())).sum().compute()
 * //=> 6.0
 * const { values, valid } = fromArrow(vectorFromArray([1, null, 3], new Float32()), { nulls: 'mask' })
 * await where(valid, values, 0).compute()
 * //=> [1. 0. 3.]
 */
export function fromArrow(
  column: ArrowColumn,
  options: ColumnOptions & { readonly nulls: 'mask' },
): MaskedColumn;
/** A column in which missing values, if any, are replaced. */
export function fromArrow(
  column: ArrowColumn,
  options?: ColumnOptions & { readonly nulls?: number | bigint | undefined },
): Lazy;
/** The columns of a table, with masks. */
export function fromArrow(
  table: ArrowTable,
  options: ColumnOptions & { readonly nulls: 'mask' },
): Readonly<Record<string, MaskedColumn>>;
/** The columns of a table. */
export function fromArrow(
  table: ArrowTable,
  options?: ColumnOptions & { readonly nulls?: number | bigint | undefined },
): LazyRecord;
export function fromArrow(
  column: ArrowColumn | ArrowTable,
  options?: ColumnOptions,
  ...more: readonly unknown[]
): unknown {
  return called(fromArrow, () => {
    refuseMore('fromArrow', 2, [column, options, ...more]);
    checkOptions('fromArrow', options, ['nulls']);
    checkNulls('fromArrow', options?.nulls);
    if (!isTable(column)) return columnFrom(column, undefined, options);
    const columns: Record<string, Lazy | MaskedColumn> = Object.create(null);
    for (const { name } of column.schema.fields)
      columns[name] = columnFrom(column.getChild(name), name, options);
    return columns;
  });
}

function columnFrom(column: unknown, name: string | undefined, options?: ColumnOptions): Lazy | MaskedColumn {
  const op = 'fromArrow';
  if (!isColumn(column))
    throw new ArgumentError(expected(op, 'an Arrow column or table', formatValue(column)));
  const dtype = dtypeOfColumn(column);
  const rows = column.data.reduce((sum, { length }) => sum + length, 0);
  if (rows !== column.length)
    throw new ArgumentError(expected(op, `${column.length} rows in its batches`, `${rows}`));
  const pieces = column.data.map((data) => pieceOf(data, dtype));
  return columnOf(op, name, dtype, pieces, column.nullCount, options?.nulls);
}

/** A record batch's part of a column. */
function pieceOf(data: ArrowData, dtype: DType): Piece {
  const { values, length, nullCount, nullBitmap } = data;
  const valid = nullCount === 0 ? undefined : bitsIn(data, nullBitmap);
  if (dtype === 'bool') return { values: bitsIn(data, values), length, valid };
  if (!isTypedArray(values))
    throw new ArgumentError(expected('fromArrow', 'values in memory', formatValue(values)));
  const held = values.subarray(0, length) as TypedArray;
  if (held.length !== length)
    throw new ArgumentError(expected('fromArrow', `${length} values in memory`, `${held.length}`));
  return { values: held, length, valid };
}

/** Arrow packs booleans, and which rows have a value, into bits. */
function bitsIn({ length, offset = 0 }: ArrowData, bitmap: unknown): Bits {
  const bytes = isTypedArray(bitmap)
    ? new Uint8Array(bitmap.buffer, bitmap.byteOffset, bitmap.byteLength)
    : new Uint8Array(0);
  const bits = bytes.byteLength * 8 - offset;
  if (!Number.isSafeInteger(length) || length < 0 || length > bits)
    throw new ArgumentError(expected('fromArrow', `${length} booleans in memory`, `${Math.max(bits, 0)}`));
  return { bytes, offset, length };
}

/** The module `apache-arrow`, as far as it is needed: its makers and its types by their names. */
export interface ArrowModule<Column = unknown, Table = unknown> {
  makeData(properties: never): unknown;
  readonly Vector: new (data: never) => Column;
  readonly Table: new (columns: never) => Table;
}

/** Options of `toArrow`. */
export interface ToArrowOptions {
  /** An array of bool of the same size that says which rows have a value. */
  readonly valid?: ArrayLike | undefined;
}

/** Arrow's types by dtype. */
const TYPES = {
  bool: 'Bool',
  int8: 'Int8',
  int16: 'Int16',
  int32: 'Int32',
  int64: 'Int64',
  uint8: 'Uint8',
  uint16: 'Uint16',
  uint32: 'Uint32',
  uint64: 'Uint64',
  float16: 'Float16',
  float32: 'Float32',
  float64: 'Float64',
} as const;

/**
 * An array of one axis as a column of Arrow, or an object of such arrays as a table, made by the module `apache-arrow`
 * that is given. Results go out without a copy, other arrays are computed first; booleans and `valid` are packed into
 * bits by kernels.
 *
 * Rejects with a ShapeError for arrays of other axes, with a DTypeError for bfloat16 and complex numbers.
 *
 * @example
 * const arrow = await import('apache-arrow')
 * const column = await toArrow(lazy([1, 2, 3]).mul(2), arrow)
 * column.toArray()
 * //=> Float64Array(3) [ 2, 4, 6 ]
 * const table = await toArrow({ x: [1, 2], isLarge: [false, true] }, arrow)
 * table.numRows
 * //=> 2
 */
export function toArrow<Column>(
  x: ArrayLike,
  arrow: ArrowModule<Column>,
  options?: ToArrowOptions,
): Promise<Column>;
/** A table of columns. */
export function toArrow<Table>(
  columns: Readonly<Record<string, ArrayLike>>,
  arrow: ArrowModule<unknown, Table>,
): Promise<Table>;
export async function toArrow(
  x: ArrayLike | Readonly<Record<string, ArrayLike>>,
  arrow: ArrowModule,
  options?: ToArrowOptions,
  ...more: readonly unknown[]
): Promise<unknown> {
  return await calledAsync(toArrow, async () => {
    refuseMore('toArrow', 3, [x, arrow, options, ...more]);
    checkOptions('toArrow', options, ['valid']);
    if (!hasMembers(arrow, 'makeData', 'Vector', 'Table'))
      throw new ArgumentError(expected('toArrow', 'the module apache-arrow', formatValue(arrow)));
    if (!isRecord(x) || x instanceof Lazy) return await columnFor(x as ArrayLike, arrow, options?.valid);
    if (options?.valid !== undefined)
      throw new ArgumentError(expected('toArrow', '`valid` for a column', 'it for a table'));
    const columns = Object.entries(x).map(
      async ([name, each]) => [name, await columnFor(each, arrow, undefined)] as const,
    );
    return new arrow.Table(Object.fromEntries(await Promise.all(columns)) as never);
  });
}

async function columnFor(x: ArrayLike, arrow: ArrowModule, valid: ArrayLike | undefined): Promise<unknown> {
  const { dtype, shape } = x instanceof NDArray ? x : exprOf('toArrow', x);
  const type = Reflect.get(arrow, typeOf('toArrow', 'Arrow', TYPES, dtype)) as new () => unknown;
  if (shape.length !== 1)
    throw new ShapeError(expected('toArrow', 'an array of one axis', formatShape(shape)));
  const values = dtype === 'bool' ? new Lazy(bitmapOf(exprOf('toArrow', x))) : x;
  const [{ data }, nulls] = await Promise.all([resultOf('toArrow', values), validityOf(valid, shape)]);
  const parts = { type: new type(), offset: 0, length: shape[0], ...nulls, data };
  return new arrow.Vector([arrow.makeData(parts as never)] as never);
}

/** The bitmap of rows that have a value, and how many have none. */
async function validityOf(valid: ArrayLike | undefined, shape: readonly number[]): Promise<object> {
  if (valid === undefined) return { nullCount: 0 };
  const mask = exprOf('toArrow', valid);
  if (mask.dtype !== 'bool')
    throw new DTypeError(expected('toArrow', 'booleans that say which rows have a value', mask.dtype));
  if (formatShape(mask.shape) !== formatShape(shape))
    throw new ShapeError(
      expected('toArrow', `\`valid\` of shape ${formatShape(shape)}`, formatShape(mask.shape)),
    );
  const [bitmap, count] = await compute([new Lazy(bitmapOf(mask)), new Lazy(mask).sum()]);
  return { nullBitmap: bitmap.data, nullCount: shape[0]! - Number(count.item()) };
}
