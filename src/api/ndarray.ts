/**
 * NDArray: a result in host memory. Data, shape and dtype, single elements, nested lists, and printing like
 * NumPy. It does not compute: `lazy(array)` makes a graph of it without a copy.
 */

import type { HostResult } from '../exec/run/evaluate.js';
import { refuseMore } from '../graph/arguments.js';
import { DTYPE_INFO, type DType, isComplex, type Scalar } from '../graph/dtype.js';
import type { Element, Elements } from '../graph/dtype-types.js';
import type { Shape, TypedArray, TypedArrays } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { denseStrides, sizeOfShape } from '../graph/graph.js';
import { checkInteger, checkShape } from '../graph/shape.js';
import { allocate, memoryOf, nativeDType, readElement } from '../host/elements.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { printArray } from '../host/print-array.js';
import { refuseIndices } from '../host/result-hints.js';
import { bounded } from '../host/stack-traces.js';

/** Elements in nested lists, one level for each axis; a scalar for a shape of []. */
export type NestedResult<T extends Scalar = Scalar> = T | NestedResult<T>[];

/** A result in host memory: elements in C order, with a shape and a dtype, which is D. */
export class NDArray<out D extends DType = DType> {
  /**
   * The elements in C order, `size` of them (twice as many values for complex dtypes, real and imaginary in
   * turn). int64 and uint64 are bigint arrays, bool bytes of 0 and 1, float16 and bfloat16 their bits in a
   * Uint16Array. Of a large result it is made, without a copy, when it is first read.
   *
   * @example
   * (await lazy([1, 2, 3], { dtype: 'int16' }).compute()).data
   * //=> Int16Array(3) [ 1, 2, 3 ]
   */
  readonly data: TypedArrays[D];
  readonly shape: Shape;
  readonly dtype: D;
  /**
   * Elements between neighbours along each axis: C order.
   *
   * @example
   * (await lazy([[1, 2, 3], [4, 5, 6]]).compute()).strides
   * //=> [ 3, 1 ]
   */
  readonly strides: readonly number[];
  /** Where the first element is: always 0. */
  readonly offset = 0;

  /**
   * An array over data in C order, which is not copied. Throws a ShapeError for data of another length, a
   * TypeError for a typed array that does not hold the dtype.
   */
  constructor(data: TypedArray, shape: Shape, dtype: D) {
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
    this.data = memory as TypedArrays[D];
    this.shape = Object.freeze(sizes);
    this.dtype = dtype;
    this.strides = denseStrides(sizes);
  }

  /**
   * Number of elements.
   *
   * @example
   * (await lazy([[1, 2], [3, 4]]).compute()).size
   * //=> 4
   */
  get size(): number {
    return sizeOfShape(this.shape);
  }

  /**
   * Number of axes.
   *
   * @example
   * (await lazy([[1, 2], [3, 4]]).compute()).ndim
   * //=> 2
   */
  get ndim(): number {
    return this.shape.length;
  }

  /**
   * Size of the first axis. Throws a ShapeError for an array without axes.
   *
   * @example
   * (await lazy([[1, 2], [3, 4], [5, 6]]).compute()).length
   * //=> 3
   */
  get length(): number {
    return bounded(lengthOf, () => {
      if (this.shape.length > 0) return this.shape[0]!;
      throw new ShapeError(expected('length', 'an array with axes', formatValue(this), 'use r.item()'));
    });
  }

  /**
   * Along the first axis: of an array of one axis its elements, as `at()` gives them; else arrays without
   * that axis, over the same memory. An array without axes is not iterable.
   */
  get [Symbol.iterator](): () => Generator<Element<D> | NDArray<D>, void, void> {
    return this.shape.length === 0 ? NOT_ITERABLE : partsOf;
  }

  /**
   * Bytes of all elements.
   *
   * @example
   * (await lazy([1, 2, 3]).compute()).byteLength
   * //=> 24
   */
  get byteLength(): number {
    return this.size * DTYPE_INFO[this.dtype].byteLength;
  }

  /**
   * The only element of an array of size 1: a number (of 64-bit integers too, but for those beyond 2^53,
   * which are bigints), a boolean, or `{ re, im }`. Throws a ShapeError for another size.
   *
   * @example
   * (await lazy([1, 2, 3]).sum().compute()).item()
   * //=> 6
   */
  item(): Element<D>;
  item(...more: readonly unknown[]): Element<D> {
    return bounded(this.item, () => {
      refuseMore('item', 0, more, 'r.at(…) takes indices');
      if (this.size !== 1)
        throw new ShapeError(expected('item', 'an array of one element', formatShape(this.shape)));
      return single(this.data, this.dtype, 0);
    });
  }

  /**
   * One element, as `item()` gives it. One index for each axis; negative ones count from the end. Throws a
   * ShapeError for an index out of range.
   *
   * @example
   * (await lazy([[1, 2], [3, 4]]).compute()).at(1, -1)
   * //=> 4
   */
  at(...indices: readonly number[]): Element<D> {
    const place = bounded(this.at, () => placeOf(this, indices));
    return single(this.data, this.dtype, place);
  }

  /**
   * All elements in nested lists, one level for each axis. 64-bit integers are bigints, all of them: no list
   * mixes both.
   *
   * @example
   * (await lazy([[1, 2], [3, 4]]).compute()).toArray()
   * //=> [ [ 1, 2 ], [ 3, 4 ] ]
   */
  toArray(): NestedResult<Elements[D]> {
    const build = (axis: number, place: number): NestedResult<Elements[D]> => {
      if (axis === this.ndim) return readElement(this.data, this.dtype, place) as Elements[D];
      return Array.from({ length: this.shape[axis]! }, (_, k) =>
        build(axis + 1, place + k * this.strides[axis]!),
      );
    };
    return build(0, 0);
  }

  /**
   * The elements as NumPy prints them: aligned, and only the ends of axes above 1000 elements.
   *
   * @example
   * String(await lazy([[1, 2], [3, 4]]).compute())
   * //=> [[1. 2.]
   * //=>  [3. 4.]]
   */
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
   * Throws an ArgumentError: JSON has no dtypes, NaN or 64-bit integers, and its text of a large array would
   * hold up the event loop. `JSON.stringify(x.toArray())` where that is meant.
   *
   * @example
   * JSON.stringify(await lazy([1, 2]).compute())
   * //=> throws ArgumentError: [toJSON] expected numbers or lists for JSON: an array of float64 (2,) (x.item() or x.toArray())
   */
  toJSON(): never {
    return bounded(this.toJSON, () => {
      const hint = 'x.item() or x.toArray()';
      throw new ArgumentError(expected('toJSON', 'numbers or lists for JSON', formatValue(this), hint));
    });
  }

  /** The text that `console.log` shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** Where in its data the element of an array is. */
function placeOf(array: NDArray, indices: readonly number[]): number {
  if (indices.length !== array.ndim) {
    throw new ShapeError(
      expected('at', `${array.ndim} indices for ${formatShape(array.shape)}`, `${indices.length}`),
    );
  }
  let place = 0;
  array.shape.forEach((size, k) => {
    const index = checkInteger('at', 'an index', indices[k]);
    if (index < -size || index >= size) {
      throw new ShapeError(
        expected('at', `an index into axis ${k} of ${formatShape(array.shape)}`, `${index}`),
      );
    }
    place += (index < 0 ? index + size : index) * array.strides[k]!;
  });
  return place;
}

refuseIndices(NDArray.prototype);

/** The function behind the property, at which the traces of its errors are cut. */
const lengthOf = Object.getOwnPropertyDescriptor(NDArray.prototype, 'length')!.get!;

/**
 * No error of Weft's, which comparisons of results by test frameworks would meet: those look whether there is
 * an iterator.
 */
const NOT_ITERABLE = undefined as never;

function* partsOf<D extends DType>(this: NDArray<D>): Generator<Element<D> | NDArray<D>, void, void> {
  const { data, dtype } = this;
  const [count, ...shape] = this.shape as [number, ...number[]];
  const size = sizeOfShape(shape) * (isComplex(dtype) ? 2 : 1);
  for (let k = 0; k < count; k++) {
    yield shape.length === 0
      ? single(data, dtype, k)
      : new NDArray(data.subarray(k * size, (k + 1) * size), shape, dtype);
  }
}

/** One element as `item()` gives it. */
const single = <D extends DType>(data: TypedArray, dtype: D, index: number): Element<D> =>
  inNumber(readElement(data, dtype, index)) as Element<D>;

/**
 * A bigint as a number, where that holds it exactly: single elements are to be computed with beside numbers.
 */
const inNumber = (value: Scalar): Scalar =>
  typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;

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
  const rest = { shape: Object.freeze(shape), dtype, strides: denseStrides(shape), offset: 0 };
  Object.defineProperties(array, Object.getOwnPropertyDescriptors(rest));
  return array as NDArray;
}
