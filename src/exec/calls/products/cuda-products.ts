/**
 * The costs of products on GPUs, by which a way to compute one is chosen. Those of copies, calls and cuTENSOR are fitted
 * to fifteen layouts in five dtypes on an H100, each in every way (`bench/product-ways.ts`, figures in
 * `bench/results/2026-11-26-h100-contractions`). Complex numbers are taken for their parts; the
 * chosen way of them is the best one within 12 % in 28 of 30 rows.
 */
import { canBeElement } from '../../../codegen/cuts/element-map.js';
import type { ProductCosts } from '../../../fusion/passes/kernel-contractions.js';
import type { ProductTraits } from '../../../fusion/passes/lower-contractions.js';
import type { CallTraits } from '../../../fusion/passes/product-costs.js';
import type { TensorLayout, TensorTraits } from '../../../fusion/passes/tensor-products.js';
import type { DType } from '../../../graph/dtype.js';
import type { Precision } from '../../../graph/expr.js';
import { cudaInfo } from '../../native/native.js';
import { cudaAttention } from '../attention-choice.js';
import { callSeconds } from './product-cost.js';

/** As measured on an H200. */
const PRODUCT_COSTS: ProductCosts = {
  leastRatio: 16,
  leastSide: 4,
  mostSide: 128,
  libraryRate: 6,
  librarySide: 64,
  kernelRate: 7,
  loadedBytes: 5,
  computedBytes: 22,
  sharedBytes: 8,
  mostShared: 64,
  sharedPart: 0.625,
  copiedBytes: 8,
  narrowLong: 4096,
  narrow: [
    { most: 16, terms: 256, inOrder: false },
    { most: 32, terms: 1024, inOrder: true },
  ],
};

/** Bytes of copies a second, each of which is read and written, and then read once more; and beside that. */
const COPY_RATE = 1.6e12;
const COPY_SECONDS = 2e-6;

/** Of each call after the first, beside its own arithmetic and its start. */
const CALL_SECONDS = 3e-6;

/** Seconds that several calls on operands as they lie take longer, for a multiplication and an addition. */
const LOST_IN_CALLS: Partial<Readonly<Record<DType | Precision, number>>> = {
  float32: 6e-15,
  complex64: 6e-15,
  float64: 1e-15,
  complex128: 1e-15,
  tf32: 1e-15,
};

/**
 * Seconds that cuTENSOR 2.8 takes longer than cuBLAS for a multiplication and an addition, by how its factors lie. Of
 * bfloat16 it refuses a third of random contractions, so it is used for what asks for it alone.
 */
type LostSeconds = Readonly<Record<TensorLayout, number>>;
const LOST_SINGLE: LostSeconds = { same: 4.5e-14, free: 4.5e-14, strided: 1.7e-14, different: 13e-14 };
const LOST_DOUBLE: LostSeconds = { same: 5e-14, free: 1.5e-14, strided: 2e-14, different: 12e-14 };
const LOST_SECONDS: Partial<Readonly<Record<DType | Precision, LostSeconds>>> = {
  float16: { same: 1.2e-14, free: 1e-14, strided: 4e-14, different: 8e-14 },
  float32: LOST_SINGLE,
  float64: LOST_DOUBLE,
  complex64: LOST_SINGLE,
  complex128: LOST_DOUBLE,
  tf32: { same: 3.5e-14, free: 0.7e-14, strided: 3e-14, different: 6e-14 },
  tf32x3: LOST_SINGLE,
};

const TENSORS: TensorTraits = {
  isFound: () => cudaInfo().cutensor !== null,
  callSeconds: 1e-6,
  lostSeconds: (dtype, precision, layout) =>
    LOST_SECONDS[precision ?? dtype]?.[layout] ?? Number.POSITIVE_INFINITY,
};

/** Elements of results whose sums cuBLAS computes as a whole: their tiles fill an H100. */
const LEAST_UNSPLIT = 2 ** 22;

/** Terms of sums in which factors of bfloat16 are as good as TF32's in the small products of `tf32x3`. */
const LEAST_NARROW_TERMS = 1024;

/** Multiprocessors of an H100 and an H200, for which choices are made: they do not depend on the device. */
const MULTIPROCESSORS = 132;

export const CALLS: CallTraits = {
  copyRate: COPY_RATE,
  copySeconds: COPY_SECONDS,
  callSeconds: CALL_SECONDS,
  seconds: (size, dtype, precision) => callSeconds({ ...size, dtype, precision }, MULTIPROCESSORS),
  lostSeconds: (dtype, precision) => LOST_IN_CALLS[precision ?? dtype] ?? 0,
};

export const CUDA_PRODUCTS: ProductTraits = {
  costs: PRODUCT_COSTS,
  calls: CALLS,
  tf32: { leastResults: LEAST_UNSPLIT, leastNarrowTerms: LEAST_NARROW_TERMS },
  tensors: TENSORS,
  attention: { canMap: canBeElement, choose: cudaAttention },
  // Another call of a library.
  isTurnedAlike: () => false,
};
