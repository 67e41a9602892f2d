/**
 * Rows of the table of ops for sums with a product that is not rounded before, of float32 and float64: what a GPU does in the
 * time of a sum. `fusion/passes/multiply-add.ts` alone writes them, for GPUs. A part of `ops.ts`.
 */
import { call, infix, opposite } from './cuda-expressions.js';
import { toFullFloat } from './dtype-rules.js';
import type { MapRow, Sample } from './op-row.js';

const SAMPLE: Sample = { domain: [-100, 100], ulp: 0 };

// biome-ignore format: a table, one row a line
export const PRODUCT_SUMS = {
  /** a·b + c, rounded once. */
  multiplyAdd: { arity: 3, dtype: toFullFloat, cuda: call('fma'), sample: SAMPLE, numpy: null, cost: 1, isInternal: true },
  /** a·b - c, rounded once. */
  multiplySubtract: { arity: 3, dtype: toFullFloat, cuda: ([a, b, c], d) => call('fma')([a!, b!, opposite(c!)], d), sample: SAMPLE, numpy: null, cost: 1, isInternal: true },
  /** c - a·b, rounded once. */
  subtractProduct: { arity: 3, dtype: toFullFloat, cuda: ([a, b, c], d) => call('fma')([opposite(a!), b!, c!], d), sample: SAMPLE, numpy: null, cost: 1, isInternal: true },
  /** a·b as a term that a sum takes up without a rounding before. */
  termProduct: { arity: 2, dtype: toFullFloat, cuda: infix('*'), sample: SAMPLE, numpy: null, cost: 1, isInternal: true },
} as const satisfies Record<string, MapRow>;
