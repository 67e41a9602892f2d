/**
 * Seeded random arrays. The same seed gives the same numbers everywhere; tests print it.
 */
import { type DType, isComplex, isFloat } from '../../src/graph/dtype.js';
import type { Shape } from '../../src/graph/expr.js';
import { allocate, type HostArray, sizeOf } from './host.js';
import { halfBits, roundFloat } from './scalar.js';

/** Numbers in [0, 1) from a 32-bit seed: Mulberry32, by Tommy Ettinger (public domain). */
export function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws of a seed. */
export class Draw {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = generator(seed);
  }

  /** An integer from 0 to below a number. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

/**
 * Integers in [low, high] as values of any dtype: sums and products of a few are exact in every float dtype.
 */
export function randomIntegers(dtype: DType, shape: Shape, seed: number, low = -8, high = 8): HostArray {
  const next = generator(seed);
  const least = dtype === 'bool' || dtype.startsWith('u') ? Math.max(0, low) : low;
  return fill(dtype, shape, () => least + Math.floor(next() * (high - least + 1)), next);
}

/** Values spread evenly over [low, high). */
export function randomValues(dtype: DType, shape: Shape, seed: number, low = -2, high = 2): HostArray {
  const next = generator(seed);
  const draw = () => low + next() * (high - low);
  const isFraction = isFloat(dtype) || isComplex(dtype);
  return fill(dtype, shape, isFraction ? draw : () => Math.floor(draw()), next);
}

/** Typed arrays round and wrap numbers as dtypes do, but for halves and integers of 64 bits. */
function fill(dtype: DType, shape: Shape, draw: () => number, next: () => number): HostArray {
  const data = allocate(dtype, sizeOf(shape));
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    for (let i = 0; i < data.length; i++) data[i] = BigInt(draw());
  } else if (dtype === 'float16' || dtype === 'bfloat16') {
    for (let i = 0; i < data.length; i++) data[i] = halfBits(dtype, roundFloat(dtype, draw()));
  } else {
    const one = dtype === 'bool' ? () => (next() < 0.5 ? 1 : 0) : draw;
    for (let i = 0; i < data.length; i++) data[i] = one();
  }
  return { dtype, shape, data };
}
