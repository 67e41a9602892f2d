/**
 * Elements of typed arrays as JavaScript data: 64-bit integers are bigints, booleans bytes of 0 and 1, halves
 * their bits, complex elements two values. Called where the user's data comes in and where results are read
 * or printed.
 */
import { typedArrayOver } from '../exec/native/host-memory.js';
import { type Complex, DTYPE_INFO, type DType, type Scalar } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { fromBfloat16Bits, fromFloat16Bits, toBfloat16Bits, toFloat16Bits } from '../graph/half.js';

export const isTypedArray = (value: unknown): value is TypedArray =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

const NATIVE: Readonly<Record<string, DType>> = {
  Int8Array: 'int8',
  Int16Array: 'int16',
  Int32Array: 'int32',
  BigInt64Array: 'int64',
  Uint8Array: 'uint8',
  Uint8ClampedArray: 'uint8',
  Uint16Array: 'uint16',
  Uint32Array: 'uint32',
  BigUint64Array: 'uint64',
  Float16Array: 'float16',
  Float32Array: 'float32',
  Float64Array: 'float64',
};

/** By prototype, which is found sooner than its name is looked up. */
const OF_PROTOTYPE: ReadonlyMap<object | null, DType> = new Map(
  [
    Int8Array,
    Int16Array,
    Int32Array,
    BigInt64Array,
    Uint8Array,
    Uint16Array,
    Uint32Array,
    BigUint64Array,
    Float32Array,
    Float64Array,
  ].map(({ name, prototype }) => [prototype, NATIVE[name]!]),
);

/** The dtype of a typed array's elements; subclasses (Buffer) count as what they extend. */
export const nativeDType = (data: TypedArray): DType | undefined =>
  OF_PROTOTYPE.get(Object.getPrototypeOf(data) as object | null) ??
  NATIVE[Reflect.get(data, Symbol.toStringTag) as string];

/** The array whose memory is read: a Float16Array is seen as its bits. */
export const memoryOf = (data: TypedArray): TypedArray =>
  nativeDType(data) === 'float16' ? new Uint16Array(data.buffer, data.byteOffset, data.length) : data;

/** Zeros for `count` elements. */
export const allocate = (dtype: DType, count: number): TypedArray =>
  typedArrayOver(new ArrayBuffer(count * DTYPE_INFO[dtype].byteLength), dtype);

/** The element at an index, counted in elements. */
export function readElement(data: TypedArray, dtype: DType, index: number): Scalar {
  switch (dtype) {
    case 'bool':
      return data[index]! !== 0;
    case 'float16':
      return fromFloat16Bits(data[index] as number);
    case 'bfloat16':
      return fromBfloat16Bits(data[index] as number);
    case 'complex64':
    case 'complex128':
      return { re: data[2 * index] as number, im: data[2 * index + 1] as number };
    default:
      return data[index]!;
  }
}

/** Sets an element to a value that the dtype holds (`scalar.ts`). */
export function writeElement(data: TypedArray, dtype: DType, index: number, value: Scalar): void {
  const array = data as { [index: number]: number | bigint };
  switch (dtype) {
    case 'bool':
      array[index] = value ? 1 : 0;
      break;
    case 'float16':
      array[index] = toFloat16Bits(value as number);
      break;
    case 'bfloat16':
      array[index] = toBfloat16Bits(value as number);
      break;
    case 'complex64':
    case 'complex128':
      array[2 * index] = (value as Complex).re;
      array[2 * index + 1] = (value as Complex).im;
      break;
    default:
      array[index] = value as number | bigint;
  }
}
