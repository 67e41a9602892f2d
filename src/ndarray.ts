/**
 * NDArray: a result in host memory. Data, shape and dtype, single elements, nested lists, and printing like NumPy.
 * It does not compute: `lazy(array)` makes a graph of it without a copy.
 */
import { allocate, memoryOf, nativeDType, readElement } from './elements.js';
import { ArgumentError, expected, ShapeError } from './errors.js';
import type { HostResult } from './exec/evaluate.js';
import { DTYPE_INFO, type DType, isComplex, type Scalar } from './graph/dtype.js';
import type { Shape, TypedArray } from './graph/expr.js';
import { formatShape, formatValue } from './graph/format.js';
import { denseStrides, sizeOfShape } from './graph/graph.js';
import { checkInteger, checkShape } from './graph/shape.js';
import { printArray } from './print-array.js';

/** Elements in nested lists, one level for each axis; a scalar for a shape of []. */
export type NestedResult = Scalar | NestedResult[];

export class NDArray {
  /**
   * The elements in C order, `size` of them (twice as many values for complex dtypes, real and imaginary in turn). int64
   * and uint64 are bigint arrays, bool bytes of 0 and 1, float16 and bfloat16 their bits in a Uint16Array. Of a large result
   * it is made, without a copy, when it is first read.
   */
  readonly data: TypedArray;
  readonly shape: Shape;
  readonly dtype: DType;
  /** Elements between neighbours along each axis: C order. */
  readonly strides: readonly number[];
  /** Where the first element is: always 0. */
  readonly offset = 0;

  /**
   * An array over data in C order, which is not copied. Throws a ShapeError for data of another length, a TypeError for
   * a typed array that does not hold the dtype.
   */
  constructor(data: TypedArray, shape: Shape, dtype: DType) {
    const sizes = checkShape('NDArray', [...shape]);
    const memory = memoryOf(data);
    const values = sizeOfShape(sizes) * (isComplex(dtype) ? 2 : 1);
    if (nativeDType(memory) !== nativeDType(allocate(dtype, 0))) {
      throw new ArgumentError(expected('NDArray', `memory of ${dtype}`, data.constructor.name));
    }
    if (memory.length !== values) {
      throw new ShapeError(
        expected('NDArray', `${values} values for ${dtype} ${formatShape(sizes)}`, `${memory.length}`),
      );
    }
    this.data = memory;
    this.shape = Object.freeze(sizes);
    this.dtype = dtype;
    this.strides = denseStrides(sizes);
  }

  /** Number of elements. */
  get size(): number {
    return sizeOfShape(this.shape);
  }

  /** Number of axes. */
  get ndim(): number {
    return this.shape.length;
  }

  /** Bytes of all elements. */
  get byteLength(): number {
    return this.size * DTYPE_INFO[this.dtype].byteLength;
  }

  /** The only element of an array of size 1. Throws a ShapeError for another size. */
  item(): Scalar {
    if (this.size !== 1)
      throw new ShapeError(expected('item', 'an array of one element', formatShape(this.shape)));
    return readElement(this.data, this.dtype, 0);
  }

  /**
   * One element: a number, a bigint for 64-bit integers, a boolean, or `{ re, im }`. One index for each axis; negative
   * ones count from the end. Throws a ShapeError for an index out of range.
   */
  at(...indices: readonly number[]): Scalar {
    if (indices.length !== this.ndim) {
      throw new ShapeError(
        expected('at', `${this.ndim} indices for ${formatShape(this.shape)}`, `${indices.length}`),
      );
    }
    let place = 0;
    this.shape.forEach((size, k) => {
      const index = checkInteger('at', 'an index', indices[k]);
      if (index < -size || index >= size) {
        throw new ShapeError(
          expected('at', `an index into axis ${k} of ${formatShape(this.shape)}`, `${index}`),
        );
      }
      place += (index < 0 ? index + size : index) * this.strides[k]!;
    });
    return readElement(this.data, this.dtype, place);
  }

  /** All elements in nested lists, one level for each axis. */
  toArray(): NestedResult {
    const build = (axis: number, place: number): NestedResult => {
      if (axis === this.ndim) return readElement(this.data, this.dtype, place);
      return Array.from({ length: this.shape[axis]! }, (_, k) =>
        build(axis + 1, place + k * this.strides[axis]!),
      );
    };
    return build(0, 0);
  }

  /** The elements as NumPy prints them: aligned, and only the ends of axes above 1000 elements. */
  toString(): string {
    const read = (index: readonly number[]): Scalar =>
      readElement(
        this.data,
        this.dtype,
        index.reduce((place, k, axis) => place + k * this.strides[axis]!, 0),
      );
    return printArray({ dtype: this.dtype, shape: this.shape, read });
  }

  /**
   * Throws an ArgumentError: JSON has no dtypes, NaN or 64-bit integers, and its text of a large array would hold up the
   * event loop. `JSON.stringify(x.toArray())` where that is meant.
   */
  toJSON(): never {
    throw new ArgumentError(
      expected('toJSON', 'numbers or lists for JSON', formatValue(this), 'x.item() or x.toArray()'),
    );
  }

  /** What `console.log` shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** A result. Its typed array, if it is still to be made, is when `data` is first read. */
export function ndarrayOf({ data, shape, dtype }: HostResult): NDArray {
  if (typeof data !== 'function') return new NDArray(data, shape, dtype);
  const array: object = Object.create(NDArray.prototype);
  const get = (): TypedArray => {
    const value = data();
    Object.defineProperty(array, 'data', { value, enumerable: true });
    return value;
  };
  Object.defineProperty(array, 'data', { get, enumerable: true, configurable: true });
  Object.assign(array, { shape: Object.freeze(shape), dtype, strides: denseStrides(shape), offset: 0 });
  return array as NDArray;
}
