/**
 * Arrays whose elements come from a function when a graph runs: `fromReader`. The base of `zarr.ts` and
 * `parquet.ts`.
 *
 * A reader is called for a line of elements, in C order: for all that a graph needs, or where that does not
 * fit into the memory that the graph may use, for part after part of it.
 */

import { Lazy } from '../api/lazy.js';
import { typedArrayOver } from '../exec/native/host-memory.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { type DType, isComplex } from '../graph/dtype.js';
import type { Expr, Shape, TypedArray } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { checkDType } from '../graph/infer.js';
import { checkShape, type ShapeArgument } from '../graph/shape.js';
import { isTypedArray, memoryOf, nativeDType } from '../host/elements.js';
import { ArgumentError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import { layoutExpr } from './layout.js';

/**
 * Gives `count` elements from `start` on, counted in C order. A large job asks for parts, several at a time
 * and in about ascending order, and for some of them again.
 */
export type ReadElements = (
  start: number,
  count: number,
  signal?: AbortSignal,
) => TypedArray | Promise<TypedArray>;

/** The result of a function that reads. */
export interface FromReaderOptions {
  readonly dtype: DType;
  readonly shape: ShapeArgument;
}

/** A class of arrays for each dtype's memory. */
const memoryType = (dtype: DType): DType | undefined =>
  nativeDType(typedArrayOver(new ArrayBuffer(0), dtype));

/** Refuses what a reader gave that is not what it was asked for. */
function checkRead(label: string, dtype: DType, count: number, given: unknown): TypedArray {
  const values = count * (isComplex(dtype) ? 2 : 1);
  if (!isTypedArray(given)) {
    throw new ArgumentError(expected('compute', `a typed array from ${label}`, formatValue(given)));
  }
  const memory = memoryOf(given);
  if (nativeDType(memory) !== memoryType(dtype) || memory.length !== values) {
    const received = `${given.constructor.name} of ${given.length}`;
    throw new ArgumentError(expected('compute', `${values} values of ${dtype} from ${label}`, received));
  }
  return memory;
}

/** A node of elements that `read` gives. `label` is for errors. */
export function readerExpr(label: string, dtype: DType, shape: Shape, read: ReadElements): Expr {
  const reader = {
    label,
    read: async (start: number, count: number, signal?: AbortSignal) =>
      checkRead(label, dtype, count, await read(start, count, signal)),
  };
  const layout = { dtype, shape, order: 'C', byteOrder: 'little', byteOffset: 0 } as const;
  return layoutExpr(layout, (strided) => ({ type: 'reader', reader, ...strided }));
}

/**
 * An array whose elements `read(start, count, signal)` gives, when a graph runs, as a typed array of the
 * dtype's memory. An error that it throws rejects the compute.
 *
 * For an array that does not fit into the memory of a job, `read` is called for parts while the job holds its
 * device. It must not compute on that device then: the two would wait for each other.
 *
 * @example
 * const read = (start: number, count: number) => Float64Array.from({ length: count }, (_, k) => (start + k) ** 2)
 * await fromReader(read, { dtype: 'float64', shape: [5] }).sum().compute()
 * //=> 30.0
 */
export function fromReader(read: ReadElements, options: FromReaderOptions): Lazy;
export function fromReader(
  read: ReadElements,
  options: FromReaderOptions,
  ...more: readonly unknown[]
): Lazy {
  return called(fromReader, () => {
    refuseMore('fromReader', 2, [read, options, ...more]);
    checkOptions('fromReader', options, ['dtype', 'shape']);
    if (typeof read !== 'function')
      throw new ArgumentError(expected('fromReader', 'a function', formatValue(read)));
    const dtype = checkDType('fromReader', options?.dtype);
    const shape = checkShape('fromReader', options.shape);
    return new Lazy(readerExpr('the reader', dtype, shape, read));
  });
}
