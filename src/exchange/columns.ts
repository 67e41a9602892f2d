/** Columns of tables in pieces, with bitmaps of the rows that have a value: Arrow's and DuckDB's. */
import { chunked } from '../api/chunked.js';
import { lazy } from '../api/creation.js';
import { Lazy } from '../api/lazy.js';
import type { DType, Scalar } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { constant, map } from '../graph/infer.js';
import { ArgumentError, expected } from '../host/errors.js';
import { heldScalar } from '../host/nested.js';
import { type Bits, booleansOf, setBits } from './bitmaps.js';

/** Treatment of missing values. */
export interface NullOptions {
  /** The value that replaces a missing one; without it, a column with missing values is refused. */
  readonly nulls?: number | bigint | undefined;
}

/** Treatment of missing values of columns in memory. */
export interface ColumnOptions {
  /**
   * The value that replaces a missing one, or `'mask'`: each column is `{ values, valid }`. Without it, a column with
   * missing values is refused.
   */
  readonly nulls?: number | bigint | 'mask' | undefined;
}

/** A column with missing values, where `values` holds whatever the table has there, and which rows have a value. */
export interface MaskedColumn {
  readonly values: Lazy;
  readonly valid: Lazy<'bool'>;
}

/** A piece of a column: elements, or bits of booleans, and where rows have a value, if some have none. */
export interface Piece {
  readonly values: TypedArray | Bits;
  readonly length: number;
  readonly valid: Bits | undefined;
}

const isBits = (values: TypedArray | Bits): values is Bits => 'bytes' in values;

function valuesOf(pieces: readonly Piece[], dtype: DType): Lazy {
  const lines = pieces.map(({ values }) => values);
  if (lines.length === 0) return lazy([], { dtype });
  if (lines.every(isBits)) return booleansOf(lines);
  return chunked(lines as readonly TypedArray[], undefined, dtype);
}

/** The column of some pieces. `name` is that of the column in errors. */
export function columnOf(
  op: string,
  name: string | undefined,
  dtype: DType,
  pieces: readonly Piece[],
  nullCount: number,
  nulls: ColumnOptions['nulls'],
): Lazy | MaskedColumn {
  if (nullCount > 0 && nulls === undefined) {
    const hint = "{ nulls: 0 } puts a value in their place, { nulls: 'mask' } tells where they are";
    const where = name === undefined ? '' : ` in ${name}`;
    throw new ArgumentError(expected(op, `no missing values${where}`, `${nullCount}`, hint));
  }
  const values = valuesOf(pieces, dtype);
  if (nulls === undefined || (nullCount === 0 && nulls !== 'mask')) return values;
  const valid = booleansOf(pieces.map((piece) => piece.valid ?? setBits(piece.length)));
  if (nulls === 'mask') return { values, valid };
  const filling: Scalar = dtype === 'bool' ? Boolean(nulls) : nulls;
  const fill = constant(heldScalar(op, filling, dtype), dtype);
  return new Lazy(map('where', [valid.expr, values.expr, fill]));
}

/** Refuses another treatment of missing values. */
export function checkNulls(op: string, nulls: unknown): void {
  if (nulls === undefined || nulls === 'mask' || typeof nulls === 'number' || typeof nulls === 'bigint')
    return;
  throw new ArgumentError(expected(op, "nulls as a number or 'mask'", String(nulls)));
}
