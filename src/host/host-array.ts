/**
 * Arrays of the user as source nodes: typed arrays, nested arrays, and anything with `data` and `shape`.
 * Typed data is never copied: any strides and offset will do. Checks that the data reaches as far as the
 * shape says.
 *
 * Called by `lazy.ts`; what a detached buffer does at compute is `exec/run/evaluate.ts`'s.
 */

import { type DType, isComplex, type Scalar } from '../graph/dtype.js';
import type { Expr, Shape, TypedArray } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { denseStrides, sizeOfShape } from '../graph/graph.js';
import { cast, checkDType, constant, hostArray } from '../graph/infer.js';
import { isScalar } from '../graph/scalar.js';
import { checkInteger, checkShape, type ShapeArgument } from '../graph/shape.js';
import { isTypedArray, memoryOf, nativeDType } from './elements.js';
import { ArgumentError, expected, ShapeError } from './errors.js';
import { fromNested, heldScalar, type Nested, scalarDType } from './nested.js';

/**
 * Data with a layout: `data[offset + Σ index[k]·strides[k]]`, in elements. NDArray, and arrays of other
 * libraries.
 */
export interface ShapedData {
  readonly data: TypedArray | readonly Scalar[];
  readonly shape: Shape;
  /** Elements between neighbours along each axis; C order where neither name is given. */
  readonly strides?: readonly number[] | undefined;
  readonly stride?: readonly number[] | undefined;
  /** Where the first element is. */
  readonly offset?: number | undefined;
  readonly dtype?: string | undefined;
}

/**
 * Data that becomes an array: a scalar, a typed array, nested lists of scalars or of typed arrays, or data
 * with a layout.
 */
export type ArrayData = Scalar | TypedArray | Nested | ShapedData;

/** Options of `lazy`. */
export interface ArrayOptions {
  /**
   * The dtype of the result. A typed array whose type can hold it is read as that dtype, else it is
   * converted.
   */
  readonly dtype?: DType | undefined;
  /** The shape, in C order, where the data is a line of elements. */
  readonly shape?: ShapeArgument | undefined;
}

/** Dtype names of other libraries that differ from ours; undefined: the data decides. */
const FOREIGN: Readonly<Record<string, DType | undefined>> = {
  uint8_clamped: 'uint8',
  uint8c: 'uint8',
  bigint64: 'int64',
  biguint64: 'uint64',
  generic: undefined,
  array: undefined,
};

export const isShaped = (value: unknown): value is ShapedData =>
  typeof value === 'object' && value !== null && 'data' in value && 'shape' in value;

/**
 * An array or scalar as a node. Throws a ShapeError for data that is ragged or too short, a TypeError for
 * other values.
 */
export function arrayExpr(op: string, input: unknown, options: ArrayOptions = {}): Expr {
  const dtype = options.dtype === undefined ? undefined : checkDType(op, options.dtype);
  if (isTypedArray(input)) return typed(op, input, dtype, options.shape);
  if (Array.isArray(input)) return listed(op, input, dtype, options.shape);
  if (isShaped(input)) {
    if (options.shape !== undefined) {
      throw new ArgumentError(expected(op, 'the shape once', 'an array that has one and the option'));
    }
    return shaped(op, input, dtype);
  }
  if (isScalar(input)) return scalar(op, input, dtype, options.shape);
  const wanted = 'a typed array, nested lists, a scalar, { data, shape } or a Lazy';
  throw new ArgumentError(expected(op, wanted, formatValue(input)));
}

function scalar(op: string, value: Scalar, dtype: DType | undefined, shape: ShapeArgument | undefined): Expr {
  if (shape !== undefined)
    throw new ArgumentError(expected(op, 'no shape for a scalar', 'one', 'full(shape, value)'));
  const held = dtype ?? scalarDType(op, value);
  return constant(heldScalar(op, value, held), held);
}

/** A typed array as a line of elements, or in a shape. */
function typed(
  op: string,
  data: TypedArray,
  dtype: DType | undefined,
  shape: ShapeArgument | undefined,
): Expr {
  const held = heldDType(op, data, dtype);
  const values = isComplex(held) ? 2 : 1;
  checkAlive(op, data);
  if (data.length % values !== 0) {
    throw new ShapeError(expected(op, `pairs of values for ${held}`, `${data.length} values`));
  }
  const sizes = shape === undefined ? [data.length / values] : checkShape(op, shape);
  if (shape !== undefined && sizeOfShape(sizes) !== data.length / values) {
    throw new ShapeError(
      expected(
        op,
        `${sizeOfShape(sizes)} elements for shape ${formatShape(sizes)}`,
        `${data.length / values}`,
      ),
    );
  }
  const strides = denseStrides(sizes);
  const x = hostArray({ type: 'host', data: memoryIn(data, held), offset: 0, strides }, held, sizes);
  return dtype === undefined ? x : cast(x, dtype);
}

/** The memory of an array that is read in a dtype. */
const memoryIn = (data: TypedArray, held: DType): TypedArray => (held === 'float16' ? memoryOf(data) : data);

function listed(
  op: string,
  list: readonly unknown[],
  dtype: DType | undefined,
  shape: ShapeArgument | undefined,
): Expr {
  const nested = fromNested(op, list, dtype);
  const sizes = shape === undefined ? nested.shape : checkShape(op, shape);
  if (sizeOfShape(sizes) !== sizeOfShape(nested.shape)) {
    throw new ShapeError(
      expected(
        op,
        `${sizeOfShape(sizes)} elements for shape ${formatShape(sizes)}`,
        `${sizeOfShape(nested.shape)}`,
      ),
    );
  }
  return hostArray(
    { type: 'host', data: nested.data, offset: 0, strides: denseStrides(sizes) },
    nested.dtype,
    sizes,
  );
}

function shaped(op: string, input: ShapedData, wanted: DType | undefined): Expr {
  const shape = checkShape(op, listOf(op, 'a shape', input.shape));
  const strides = input.strides ?? input.stride;
  const given = input.dtype === undefined ? undefined : foreignDType(op, input.dtype);
  const steps =
    strides === undefined
      ? denseStrides(shape)
      : listOf(op, 'strides', strides).map((step) => checkInteger(op, 'a stride', step));
  if (steps.length !== shape.length) {
    throw new ShapeError(
      expected(op, `${shape.length} strides for shape ${formatShape(shape)}`, `${steps.length}`),
    );
  }
  const offset = checkInteger(op, 'the offset', input.offset ?? 0);
  if (isTypedArray(input.data)) {
    const held = heldDType(op, input.data, given ?? wanted);
    const x = sourceOf(op, input.data, held, shape, steps, offset, given);
    return wanted === undefined ? x : cast(x, wanted);
  }
  if (!Array.isArray(input.data)) {
    throw new ArgumentError(expected(op, 'data in a typed array or a list', formatValue(input.data)));
  }
  const nested = fromNested(op, input.data, given ?? wanted);
  const x = sourceOf(op, nested.data, nested.dtype, shape, steps, offset, given);
  return wanted === undefined ? x : cast(x, wanted);
}

/** The shape or strides of an array of another library: a list, or a typed array of integers. */
function listOf(op: string, name: string, value: unknown): unknown[] {
  if (Array.isArray(value) || (isTypedArray(value) && typeof value[0] !== 'bigint')) return [...value];
  throw new ArgumentError(expected(op, `${name} in a list of numbers`, formatValue(value)));
}

function foreignDType(op: string, dtype: string): DType | undefined {
  return Object.hasOwn(FOREIGN, dtype) ? FOREIGN[dtype] : checkDType(op, dtype);
}

/**
 * The dtype in which the memory of a typed array is read, when `wanted` is asked for: that dtype if it fits
 * the memory.
 */
export function heldDType(op: string, data: TypedArray, wanted: DType | undefined): DType {
  const native = nativeDType(data);
  if (native === undefined)
    throw new ArgumentError(expected(op, 'a typed array of numbers', data.constructor.name));
  if (wanted === undefined) return native;
  const reads =
    (native === 'uint16' && (wanted === 'float16' || wanted === 'bfloat16')) ||
    (native === 'float32' && wanted === 'complex64') ||
    (native === 'float64' && wanted === 'complex128');
  return reads ? wanted : native;
}

/**
 * The source node, and the conversion where the memory does not hold `dtype` as it is (bytes read as bool are
 * `!= 0`).
 */
function sourceOf(
  op: string,
  data: TypedArray,
  held: DType,
  shape: Shape,
  strides: readonly number[],
  offset: number,
  dtype: DType | undefined,
): Expr {
  checkAlive(op, data);
  checkReach(op, data, held, shape, strides, offset);
  const x = hostArray({ type: 'host', data: memoryIn(data, held), offset, strides }, held, shape);
  return dtype === undefined ? x : cast(x, dtype);
}

/** Refuses arrays whose ArrayBuffer is detached, or was resized below them: methods of those throw. */
export function checkAlive(op: string, data: TypedArray): void {
  if (data.length > 0) return;
  try {
    data.at(0);
  } catch {
    throw new ArgumentError(expected(op, 'an array with memory', 'a detached or resized ArrayBuffer'));
  }
}

/** Refuses layouts that leave the data. */
function checkReach(
  op: string,
  data: TypedArray,
  dtype: DType,
  shape: Shape,
  strides: readonly number[],
  offset: number,
): void {
  if (shape.includes(0)) return;
  let first = offset;
  let last = offset;
  shape.forEach((size, k) => {
    const reach = (size - 1) * strides[k]!;
    if (reach < 0) first += reach;
    else last += reach;
  });
  const length = data.length / (isComplex(dtype) ? 2 : 1);
  if (first < 0 || last >= length || !Number.isSafeInteger(last)) {
    const layout = `shape ${formatShape(shape)}, strides [${strides.join(', ')}], offset ${offset}`;
    throw new ShapeError(
      expected(op, `data from element ${first} to ${last} for ${layout}`, `${length} elements`),
    );
  }
}
