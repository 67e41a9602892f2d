/**
 * Seeded random arrays. The same seed gives the same numbers everywhere; tests print it.
 */
import { type DType, isComplex, isFloat, type Scalar } from '../../src/graph/dtype.js';
import type { Shape } from '../../src/graph/expr.js';
import { fromScalars, type HostArray, sizeOf } from './host.js';

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

/**
 * Integers in [low, high] as values of any dtype: sums and products of a few are exact in every float dtype.
 */
export function randomIntegers(dtype: DType, shape: Shape, seed: number, low = -8, high = 8): HostArray {
  const next = generator(seed);
  const least = dtype === 'bool' || dtype.startsWith('u') ? Math.max(0, low) : low;
  const draw = () => least + Math.floor(next() * (high - least + 1));
  return fill(dtype, shape, () => (isComplex(dtype) ? { re: draw(), im: draw() } : BigInt(draw())), next);
}

/** Values spread evenly over [low, high). */
export function randomValues(dtype: DType, shape: Shape, seed: number, low = -2, high = 2): HostArray {
  const next = generator(seed);
  const draw = () => low + next() * (high - low);
  return fill(
    dtype,
    shape,
    () =>
      isComplex(dtype) ? { re: draw(), im: draw() } : isFloat(dtype) ? draw() : BigInt(Math.floor(draw())),
    next,
  );
}

function fill(dtype: DType, shape: Shape, draw: () => Scalar, next: () => number): HostArray {
  const one = dtype === 'bool' ? () => next() < 0.5 : draw;
  return fromScalars(dtype, shape, Array.from({ length: sizeOf(shape) }, one));
}
