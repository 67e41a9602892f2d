/**
 * HeldElements: the elements of a large result of the CPU, in a buffer that becomes an ArrayBuffer when they are asked
 * for. Made by `evaluate.ts`; NDArray and what reads results take the array.
 */
import { DTYPE_INFO, type DType } from '../../graph/dtype.js';
import type { DeviceBuffer, TypedArray } from '../../graph/expr.js';
import { hostBytesOf, sliceBuffer } from './device-buffers.js';
import { typedArrayOver } from './host-memory.js';

export class HeldElements {
  readonly buffer: DeviceBuffer;
  readonly #dtype: DType;
  /** Values of a typed array, of which complex elements have two; undefined: all that the buffer has. */
  readonly #length: number | undefined;
  #array: TypedArray | undefined;

  constructor(buffer: DeviceBuffer, dtype: DType, length?: number) {
    this.buffer = buffer;
    this.#dtype = dtype;
    this.#length = length;
  }

  /** The same array each time. */
  get array(): TypedArray {
    this.#array ??= typedArrayOver(hostBytesOf(this.buffer), this.#dtype, 0, this.#length);
    return this.#array;
  }

  /** A copy of the first values, of `MOST_COPIED_BYTES` at most. */
  copied(length: number): TypedArray {
    const bytes = sliceBuffer(
      this.buffer,
      0,
      length * DTYPE_INFO[DTYPE_INFO[this.#dtype].component].byteLength,
    );
    return typedArrayOver(hostBytesOf(bytes), this.#dtype);
  }

  /** The first values. */
  first(length: number): HeldElements {
    return new HeldElements(this.buffer, this.#dtype, length);
  }
}

/** The array of a result that may be held. */
export const arrayOf = (data: TypedArray | HeldElements): TypedArray =>
  data instanceof HeldElements ? data.array : data;
