/**
 * Host arrays of the tests: a dtype, a shape and a contiguous typed array. Reading elements as exact values
 * and back, and small multi-index helpers. Used by everything in `test/support` and by the conformance suite.
 */
import { type DType, isComplex, type Scalar } from '../../src/graph/dtype.js';
import type { Shape, TypedArray } from '../../src/graph/expr.js';
import { castScalar, halfBits, halfValue, isComplexValue } from './scalar.js';

export interface HostArray {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: TypedArray;
}

export const sizeOf = (shape: Shape): number => shape.reduce((a, b) => a * b, 1);

export function stridesOf(shape: Shape): number[] {
  const strides = shape.map(() => 1);
  for (let k = shape.length - 2; k >= 0; k--) strides[k] = strides[k + 1]! * shape[k + 1]!;
  return strides;
}

/** Every index of a box, in C order. The same array is handed out each time. */
export function* indices(shape: Shape): Generator<readonly number[]> {
  const index = shape.map(() => 0);
  const count = sizeOf(shape);
  for (let i = 0; i < count; i++) {
    yield index;
    for (let k = shape.length - 1; k >= 0; k--) {
      index[k]! += 1;
      if (index[k]! < shape[k]!) break;
      index[k] = 0;
    }
  }
}

/** Where every index of a box lies, in C order: the sums of its parts times the strides. */
export function offsetsOf(shape: Shape, strides: readonly number[], start = 0): number[] {
  let offsets = [start];
  for (const [k, size] of shape.entries()) {
    const stride = strides[k]!;
    const next: number[] = [];
    for (const offset of offsets) for (let i = 0; i < size; i++) next.push(offset + i * stride);
    offsets = next;
  }
  return offsets;
}

const CONSTRUCTORS = {
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
} as const satisfies Record<DType, unknown>;

/** A zeroed typed array for `count` elements of a dtype. */
export const allocate = (dtype: DType, count: number): TypedArray =>
  new CONSTRUCTORS[dtype](isComplex(dtype) ? 2 * count : count);

/** A typed array over bytes that stay where they are. */
export const over = (dtype: DType, buffer: ArrayBuffer, byteOffset: number, count: number): TypedArray =>
  new CONSTRUCTORS[dtype](buffer, byteOffset, isComplex(dtype) ? 2 * count : count);

/** Element `i` of a typed array that holds a dtype, as an exact value. */
export function elementAt(dtype: DType, data: TypedArray, i: number): Scalar {
  if (isComplex(dtype)) return { re: Number(data[2 * i]), im: Number(data[2 * i + 1]) };
  const raw = data[i]!;
  if (dtype === 'bool') return raw !== 0;
  if (dtype === 'float16' || dtype === 'bfloat16') return halfValue(dtype, Number(raw));
  return dtype === 'float32' || dtype === 'float64' ? Number(raw) : BigInt(raw);
}

export function setElement(dtype: DType, data: TypedArray, i: number, value: Scalar): void {
  const exact = castScalar(value, dtype);
  if (isComplexValue(exact)) {
    data[2 * i] = exact.re;
    data[2 * i + 1] = exact.im;
  } else if (dtype === 'float16' || dtype === 'bfloat16') {
    data[i] = halfBits(dtype, Number(exact));
  } else if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    data[i] = BigInt(exact);
  } else {
    data[i] = Number(exact);
  }
}

export function toScalars({ dtype, shape, data }: HostArray): Scalar[] {
  return Array.from({ length: sizeOf(shape) }, (_, i) => elementAt(dtype, data, i));
}

export function fromScalars(dtype: DType, shape: Shape, values: readonly Scalar[]): HostArray {
  if (values.length !== sizeOf(shape))
    throw new RangeError(`${values.length} values for the shape [${shape}]`);
  const data = allocate(dtype, values.length);
  values.forEach((value, i) => {
    setElement(dtype, data, i, value);
  });
  return { dtype, shape, data };
}
