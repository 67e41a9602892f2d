/** A test program, and arrays for it: each has values of its own, the same in every run. */
import type { DType } from '../../src/graph/dtype.js';
import type { Lazy } from '../../src/index.js';
import { toLazy } from './api.js';
import { randomIntegers, randomValues } from './random.js';

export interface Program {
  readonly name: string;
  /** The largest error relative to the largest value of an output; without it the result must be exact. */
  readonly tolerance?: number;
  readonly build: () => readonly Lazy[];
}

/** Of sums and functions of float32. */
export const F32 = 2e-6;

/** Counts the arrays of a program. */
let seed = 0;
/** Before a program is built. */
export function startFrom(first: number): void {
  seed = first;
}
/** Values in [-2, 2). */
export const values = (dtype: DType, ...shape: number[]): Lazy => toLazy(randomValues(dtype, shape, ++seed));
export const integers = (dtype: DType, ...shape: number[]): Lazy =>
  toLazy(randomIntegers(dtype, shape, ++seed));
export const between = (dtype: DType, low: number, high: number, ...shape: number[]): Lazy =>
  toLazy(randomValues(dtype, shape, ++seed, low, high));
