/**
 * NDArray: a result in host memory. Data, shape and dtype, single elements, nested lists, printing like NumPy, pictures
 * and columns. For all else `lazy(array)` makes a graph of it without a copy.
 */

import { HeldElements } from '../exec/native/held-elements.js';
import type { HostResult } from '../exec/run/evaluate.js';
import { refuseMore } from '../graph/arguments.js';
import { DTYPE_INFO, type DType, isComplex, type Scalar } from '../graph/dtype.js';
import type { Element, Elements } from '../graph/dtype-types.js';
import type { Shape, TypedArray, TypedArrays } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { denseStrides, sizeOfShape } from '../graph/graph.js';
import { checkInteger, checkShape } from '../graph/shape.js';
import {
  DISPLAY,
  INSPECT,
  type InspectOptions,
  isTooDeep,
  levelOf,
  type MimeBundle,
  named,
} from '../host/display.js';
import { allocate, memoryOf, nativeDType, readElement } from '../host/elements.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { arrayExpr } from '../host/host-array.js';
import { type Printable, printArray, printLine } from '../host/print-array.js';
import { refuseIndices } from '../host/result-hints.js';
import { calledAsync } from '../host/site.js';
import { bounded } from '../host/stack-traces.js';
import { arrayAsHtml } from '../inspect/array-html.js';
import { encodePng, type PngOptions } from '../io/png.js';
import { checkColumns, columnsOf } from './columns.js';

/** Columns that `util.inspect` indents the members of an object by. */
const INDENT = 2;

/** Elements in nested lists, one level for each axis; a scalar for a shape of []. */
export type NestedResult<T extends Scalar = Scalar> = T | NestedResult<T>[];

/** Given for elements that Weft has made, which need no check, in a shape that is frozen. */
const OWN = Symbol('own elements');

/** A result in host memory: elements in C order, with a shape and a dtype, which is D. */
export class NDArray<out D extends DType = DType> {
  /**
   * The elements in C order, `size` of them (twice as many values for complex dtypes, real and imaginary in
   * turn). int64 and uint64 are bigint arrays, bool bytes of 0 and 1, float16 and bfloat16 their bits in a
   * Uint16Array. Of a large result it is made, without a copy, when it is first read. Where the size depends on data,
   * its `buffer` may be up to twice as long, and what is behind the elements undefined: to hand elements on by
   * their buffer, take that of `data.slice()`.
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
  constructor(data: TypedArray, shape: Shape, dtype: D);
  constructor(data: TypedArray, shape: Shape, dtype: D, own?: typeof OWN) {
    if (own === OWN) {
      this.data = data as TypedArrays[D];
      this.shape = shape;
      this.dtype = dtype;
      this.strides = denseStrides(shape);
      return;
    }
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
    return printArray(printableOf(this));
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

  /**
   * The array as a PNG file: of shape (h, w) in greys or in `colors`, (h, w, 3) in RGB, (h, w, 4) in RGBA, 8 bits a
   * channel. uint8 is taken as it is, false and true are 0 and 255, floats go from `range` (0 and 1) to 0 and 255,
   * rounded; other integers need a range. NaN is drawn as the low end. As `imsave` of matplotlib, but the range of floats
   * is that of the data only with `{ range: 'minmax' }`. Rejects with a ShapeError for other shapes and for images
   * without pixels, a DTypeError for complex numbers, an ArgumentError for options. Rows have the filters that the
   * specification's heuristic chooses; they are computed and compressed on threads of their own.
   *
   * @example
   * const x = await linspace(0, 1, 256).reshape([1, 256]).compute()
   * const file = await x.toPNG({ colors: 'heat' })
   * Buffer.from(file.subarray(1, 4)).toString()
   * //=> PNG
   */
  async toPNG(options?: PngOptions): Promise<Uint8Array>;
  async toPNG(options?: PngOptions, ...more: readonly unknown[]): Promise<Uint8Array> {
    return calledAsync(this.toPNG, async () => {
      refuseMore('toPNG', 1, [options, ...more]);
      return encodePng('toPNG', arrayExpr('toPNG', this), options);
    });
  }

  /**
   * The columns of an array of shape (n, k), or an array of n elements as one column, by their names: typed arrays, as
   * Observable Plot takes them for channels. 64-bit integers are float64, booleans uint8, halves float32; a single column
   * that needs no change is `data` itself. Rejects with an ArgumentError for names that are not as many as columns, a
   * ShapeError for other shapes, a DTypeError for complex numbers.
   *
   * @example
   * const x = await lazy([[1, 10], [2, 20], [3, 30]]).compute()
   * await x.toColumns(['time', 'height'])
   * //=> {
   * //=>   time: Float64Array(3) [ 1, 2, 3 ],
   * //=>   height: Float64Array(3) [ 10, 20, 30 ]
   * //=> }
   */
  async toColumns<const Name extends string>(names: readonly Name[]): Promise<Record<Name, TypedArray>>;
  async toColumns(
    names: readonly string[],
    ...more: readonly unknown[]
  ): Promise<Readonly<Record<string, TypedArray>>> {
    return calledAsync(this.toColumns, async () => {
      refuseMore('toColumns', 1, [names, ...more]);
      const checked = checkColumns('toColumns', this.dtype, this.shape, names);
      const columns = await columnsOf(arrayExpr('toColumns', this), this.data);
      return Object.fromEntries(checked.map((name, k) => [name, columns[k]!]));
    });
  }

  /**
   * The rows of an array of shape (n, k), or of an array of n elements, as objects with the names of its columns, as
   * Vega-Lite takes them: elements are as `at()` gives them. It makes n objects, for as many as a picture shows: of
   * large arrays take a part. Throws an ArgumentError for names that are not as many as columns, a ShapeError for
   * other shapes, a DTypeError for complex numbers.
   *
   * @example
   * (await lazy([[1, 10], [2, 20]]).compute()).toRows(['time', 'height'])
   * //=> [ { time: 1, height: 10 }, { time: 2, height: 20 } ]
   */
  toRows<const Name extends string>(names: readonly Name[]): Record<Name, Element<D>>[];
  toRows(names: readonly string[], ...more: readonly unknown[]): Record<string, Element<D>>[] {
    return bounded(this.toRows, () => {
      refuseMore('toRows', 1, [names, ...more]);
      const checked = checkColumns('toRows', this.dtype, this.shape, names);
      const { data, dtype } = this;
      return Array.from({ length: this.shape[0]! }, (_, row) =>
        Object.fromEntries(checked.map((name, k) => [name, single(data, dtype, row * checked.length + k)])),
      );
    });
  }

  /**
   * The text that `console.log` and `util.inspect` show: in lines of at most `breakLength`, 75 if that is more; in one
   * line for a `breakLength` of Infinity, and for `compact: true` where it fits; named only beyond the `depth`. Within
   * other objects an array of several lines begins on a line of its own.
   */
  [INSPECT](depth?: number | null, options: InspectOptions = {}): string {
    const name = `NDArray ${this.dtype} ${formatShape(this.shape)}`;
    if (isTooDeep(depth)) return named(name, options);
    const level = levelOf(depth, options);
    const room = (options.breakLength ?? Infinity) - INDENT * level;
    if (options.compact === true || options.breakLength === Infinity) {
      const line = printLine(printableOf(this));
      if (line.length <= room) return line;
    }
    const text = printArray(printableOf(this), room);
    return level > 0 && text.includes('\n') ? `${name}\n${text}` : text;
  }

  /** In notebooks: a table, and text. */
  [DISPLAY](): MimeBundle {
    return { 'text/plain': this.toString(), 'text/html': arrayAsHtml(printableOf(this)) };
  }
}

const printableOf = ({ data, dtype, shape, strides }: NDArray): Printable => ({
  dtype,
  shape,
  read: (index) => {
    const place = index.reduce((sum, k, axis) => sum + k * strides[axis]!, 0);
    return readElement(data, dtype, place);
  },
});

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

/** The place of elements that nobody has looked at, in an array that has them as `data`. */
const HELD = Symbol('held elements');

/**
 * `data` of every such array. A function for each array would be a part of its hidden class, which the engine keeps until
 * it collects the whole heap, and with it the memory of a result that nobody has any more.
 */
const HELD_DATA: PropertyDescriptor & ThisType<{ readonly [HELD]: HeldElements }> = {
  get() {
    return this[HELD].array;
  },
  enumerable: true,
};

/** The class, with what its constructor is given for results. */
const OwnArray = NDArray as new (data: TypedArray, shape: Shape, dtype: DType, own: typeof OWN) => NDArray;

/** A result. Its typed array, if it is still to be made, is when `data` is first read. */
export function ndarrayOf({ data, shape, dtype }: HostResult): NDArray {
  if (!(data instanceof HeldElements)) return new OwnArray(data, shape, dtype, OWN);
  const array: NDArray = Object.create(NDArray.prototype);
  Object.defineProperty(array, 'data', HELD_DATA);
  Object.defineProperty(array, HELD, { value: data });
  return Object.assign(array, {
    shape,
    dtype,
    strides: denseStrides(shape),
    offset: 0,
  } as const);
}
