/**
 * Typed arrays over host memory: which array class holds which dtype, and how large the engine makes them.
 */
import { constants } from 'node:buffer';
import type { DType } from '../../graph/dtype.js';
import { DTYPE_INFO } from '../../graph/dtype.js';
import type { Shape, TypedArray } from '../../graph/expr.js';
import { formatShape } from '../../graph/format.js';
import { sizeOfShape } from '../../graph/graph.js';
import { expected, MemoryError } from '../../host/errors.js';

/** A class of typed arrays. */
export interface ArrayClass {
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): TypedArray;
  new (elements: TypedArray): TypedArray;
}

/** Booleans are bytes of 0 and 1, halves are their bits, complex elements are two values. */
const ARRAY_CLASS: Readonly<Record<DType, ArrayClass>> = {
  bool: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  complex64: Float32Array,
  complex128: Float64Array,
};

/** The most values of a typed array: 2 ** 32 on Node 20, and more than any memory holds from Node 22 on. */
const MOST_VALUES = constants.MAX_LENGTH;
/**
 * The most bytes of an ArrayBuffer over memory that the engine did not allocate: Node makes it as a Buffer. A
 * larger result is an ArrayBuffer of the engine's, which runs write to. In Electron all are: its V8 keeps
 * ArrayBuffers in a sandbox (https://www.electronjs.org/blog/v8-memory-cage).
 */
export const MOST_EXTERNAL_BYTES = process.versions.electron === undefined ? constants.MAX_LENGTH : 0;

/** The most bytes of a result that is an ArrayBuffer of the engine's: to make one over other memory takes longer. */
export const MOST_COPIED_BYTES = 4096;

/**
 * The most bytes of a result of a small run (`small-calls.ts`), an ArrayBuffer that JavaScript makes: V8 clears 64 KiB in some
 * 2 µs, where a buffer of the pool with its handle and finalizer takes 4.
 */
const MOST_SMALL_BYTES = 2 ** 16;
/** The same of all results of such a run, which the calling thread clears: 16 of the most bytes take it 0.15 ms. */
export const MOST_SMALL_BYTES_OF_ALL = 2 ** 17;

export const areSmall = (byteLengths: readonly number[]): boolean => {
  let sum = 0;
  for (const byteLength of byteLengths) {
    if (byteLength > MOST_SMALL_BYTES) return false;
    sum += byteLength;
  }
  return sum <= MOST_SMALL_BYTES_OF_ALL;
};

/**
 * The most bytes of a typed array in the engine's heap, which has an ArrayBuffer only when that is asked for: such a one takes
 * a quarter of the time (`--typed-array-max-size-in-heap`).
 */
const MOST_HEAP_BYTES = 64;
export const isInHeap = (byteLength: number): boolean => byteLength <= MOST_HEAP_BYTES;

/** Throws a MemoryError for elements that no typed array of this engine can hold. */
export function checkHostArray(op: string, dtype: DType, shape: Shape, hint: string): void {
  const { byteLength, component } = DTYPE_INFO[dtype];
  const values = sizeOfShape(shape) * (byteLength / DTYPE_INFO[component].byteLength);
  if (values <= MOST_VALUES) return;
  const most = `at most ${MOST_VALUES} values, as many as a typed array of this Node.js holds`;
  throw new MemoryError(expected(op, most, `${values} of ${dtype} ${formatShape(shape)}`, hint));
}

/** The bytes of a part of a buffer: a Uint8Array holds no more than 4 GiB of them on Node 20. */
export const bytesOver = (buffer: ArrayBufferLike, byteOffset = 0, byteLength?: number): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** The array of a dtype over a buffer, or over `length` values of it. */
export const typedArrayOver = (
  buffer: ArrayBufferLike,
  dtype: DType,
  byteOffset?: number,
  length?: number,
): TypedArray => new (arrayClassOf(dtype))(buffer, byteOffset, length);

/** The class of the arrays of a dtype. Given elements it copies few in two thirds of the time of their `slice()`. */
export const arrayClassOf = (dtype: DType): ArrayClass => ARRAY_CLASS[DTYPE_INFO[dtype].component];
