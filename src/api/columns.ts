/**
 * Columns and rows for libraries that draw: a typed array for each column, of a type that they take as numbers, or an
 * object for each row. Called by `NDArray`.
 */
import { arrayOf } from '../exec/native/held-elements.js';
import { evaluate } from '../exec/run/evaluate.js';
import { slice } from '../graph/basic-slicing.js';
import { type DType, isComplex, isHalf } from '../graph/dtype.js';
import type { Expr, Shape, TypedArray } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { cast } from '../graph/infer.js';
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';

/** The dtype in which a column's elements are JavaScript numbers. */
function numberDType(dtype: DType): DType {
  if (isHalf(dtype)) return 'float32';
  if (dtype === 'int64' || dtype === 'uint64') return 'float64';
  return dtype === 'bool' ? 'uint8' : dtype;
}

/** Checks names for the columns of an array of one axis, or of two; complex elements are none. */
export function checkColumns(op: string, dtype: DType, shape: Shape, names: unknown): readonly string[] {
  if (isComplex(dtype))
    throw new DTypeError(expected(op, 'real numbers or booleans', dtype, 'compute x.real() and x.imag()'));
  if (shape.length !== 1 && shape.length !== 2)
    throw new ShapeError(expected(op, 'an array of one or two axes', formatShape(shape)));
  const count = shape.length === 1 ? 1 : shape[1]!;
  const isName = (name: unknown): boolean => typeof name === 'string';
  if (!Array.isArray(names) || !names.every(isName) || new Set(names).size !== names.length)
    throw new ArgumentError(expected(op, 'a list of different names', formatValue(names)));
  if (names.length !== count)
    throw new ArgumentError(expected(op, `${count} names for ${formatShape(shape)}`, `${names.length}`));
  return names as readonly string[];
}

/** The columns as typed arrays of numbers. A single one that is that already is not copied. */
export async function columnsOf(x: Expr, data: TypedArray): Promise<TypedArray[]> {
  const dtype = numberDType(x.dtype);
  if (x.shape.length === 1 && x.dtype === dtype) return [data];
  const columns =
    x.shape.length === 1 ? [x] : Array.from({ length: x.shape[1]! }, (_, k) => slice(x, null, k));
  const results = await evaluate(
    columns.map((column) => cast(column, dtype)),
    { device: 'cpu' },
  );
  return results.map(({ data }) => arrayOf(data));
}
