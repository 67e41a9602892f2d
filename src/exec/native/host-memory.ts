/** Typed arrays over host memory: which array class holds which dtype. */
import type { DType } from '../../graph/dtype.js';
import { DTYPE_INFO } from '../../graph/dtype.js';
import type { TypedArray } from '../../graph/expr.js';

type ArrayClass = new (buffer: ArrayBufferLike) => TypedArray;

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

export const typedArrayOver = (buffer: ArrayBufferLike, dtype: DType): TypedArray =>
  new ARRAY_CLASS[DTYPE_INFO[dtype].component](buffer);
