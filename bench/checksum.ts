/**
 * Checksums of results, as the peers' benchmarks compute them, by plain loops on the host.
 */
import { fromFloat16Bits } from '../src/graph/half.js';
import type { NDArray } from '../src/index.js';

/** Elements as numbers: bfloat16 is the upper half of a float32, of complex numbers the real parts. */
export function numbersOf({ data, dtype }: NDArray): ArrayLike<number> {
  if (dtype === 'bfloat16')
    return new Float32Array(Uint32Array.from(data as Uint16Array, (bits) => bits << 16).buffer);
  if (dtype === 'float16') return Float64Array.from(data as Uint16Array, fromFloat16Bits);
  if (dtype === 'complex64' || dtype === 'complex128')
    return (data as Float64Array).filter((_, k) => k % 2 === 0);
  return data instanceof BigInt64Array || data instanceof BigUint64Array
    ? Float64Array.from(data as BigInt64Array, Number)
    : (data as Float64Array);
}

/** The sum of all finite elements: the GPU benchmark's. */
export function finiteSum(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Number.isFinite(value)) sum += value;
  }
  return sum;
}

/** One element itself, else Σ |r_i| · (1 + (i mod 101) / 101): the CPU benchmark's. */
export function weightedSum(values: ArrayLike<number>): number {
  if (values.length === 1) return values[0]!;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += Math.abs(values[i]!) * (1 + (i % 101) / 101);
  return sum;
}
