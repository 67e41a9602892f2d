/**
 * Columns of Apache Arrow tables: `fromArrow`. Numbers are used where they lie, one piece for each record
 * batch; what is a column is known by its form, so that apache-arrow itself is not needed.
 */
import { chunked } from '../api/chunked.js';
import { lazy } from '../api/creation.js';
import type { Lazy } from '../api/lazy.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { type DType, isDType } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { called } from '../host/site.js';

/** The used part of apache-arrow's Data: values from its own first element on. */
interface ArrowData {
  readonly length: number;
  readonly nullCount: number;
  /** Booleans before the first in `values`; numbers begin where `values` does. */
  readonly offset?: number;
  readonly values: unknown;
  getValid(index: number): boolean;
}

/** An apache-arrow Vector, as far as it is needed. */
export interface ArrowColumn {
  readonly type: { toString(): string };
  readonly length: number;
  readonly nullCount: number;
  readonly data: readonly ArrowData[];
  get(index: number): unknown;
}

/** Treatment of missing values. */
export interface NullOptions {
  /** The value that replaces a missing one; without it, a column with missing values is refused. */
  readonly nulls?: number | bigint | undefined;
}

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
 * A column of an Arrow table (`table.getChild('x')`) as an array of one axis. Numbers are not copied, unless
 * some of them are missing and `nulls` stands for those; timestamps and durations are int64. Throws a
 * DTypeError for other types, an ArgumentError for missing values.
 *
 * @example
 * const { vectorFromArray, Float32 } = await import('apache-arrow')
 * await fromArrow(vectorFromArray([1, 2, 3], new Float32())).sum().compute()
 * //=> 6.0
 */
export function fromArrow(column: ArrowColumn, options?: NullOptions): Lazy;
export function fromArrow(column: ArrowColumn, options?: NullOptions, ...more: readonly unknown[]): Lazy {
  return called(fromArrow, () => {
    refuseMore('fromArrow', 2, [column, options, ...more]);
    checkOptions('fromArrow', options, ['nulls']);
    if (!isColumn(column))
      throw new ArgumentError(expected('fromArrow', 'an Arrow column', formatValue(column)));
    const dtype = dtypeOfColumn(column);
    const fill = options?.nulls;
    if (column.nullCount > 0 && fill === undefined) {
      const hint = '{ nulls: 0 } puts a value in their place';
      throw new ArgumentError(expected('fromArrow', 'no missing values', `${column.nullCount}`, hint));
    }
    const rows = column.data.reduce((sum, { length }) => sum + length, 0);
    if (rows !== column.length)
      throw new ArgumentError(expected('fromArrow', `${column.length} rows in its batches`, `${rows}`));
    // Arrow packs booleans into bits.
    if (dtype === 'bool') {
      for (const data of column.data) checkBits(data);
      return lazy(Uint8Array.from({ length: column.length }, (_, i) => Number(column.get(i) ?? fill))).astype(
        'bool',
      );
    }
    const pieces = column.data.map((data) => numbersOf(data, fill));
    return pieces.length === 0 ? lazy([], { dtype }) : chunked(pieces, undefined, dtype);
  });
}

function checkBits({ values, length, offset = 0 }: ArrowData): void {
  const bits = isTypedArray(values) ? values.byteLength * 8 - offset : 0;
  if (!Number.isSafeInteger(length) || length < 0 || length > bits)
    throw new ArgumentError(expected('fromArrow', `${length} booleans in memory`, `${bits}`));
}

/** The numbers of a record batch; missing ones are replaced in a copy. */
function numbersOf(data: ArrowData, fill: number | bigint | undefined): TypedArray {
  const { values, length, nullCount } = data;
  if (!isTypedArray(values))
    throw new ArgumentError(expected('fromArrow', 'values in memory', formatValue(values)));
  const held = values.subarray(0, length) as TypedArray;
  if (held.length !== length)
    throw new ArgumentError(expected('fromArrow', `${length} values in memory`, `${held.length}`));
  if (nullCount === 0 || fill === undefined) return held;
  const filled = held.slice() as TypedArray & Record<number, number | bigint>;
  const value = typeof filled[0] === 'bigint' ? BigInt(fill) : Number(fill);
  for (let i = 0; i < length; i++) if (!data.getValid(i)) filled[i] = value;
  return filled;
}
