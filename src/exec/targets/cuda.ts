/** The target of GPUs: kernels as CUDA C, products by cuBLAS, cuBLASLt and cuTENSOR, memory of their own. */
import type { ProductCosts } from '../../fusion/passes/kernel-contractions.js';
import type { ProductTraits } from '../../fusion/passes/lower-contractions.js';
import { COMPACT_VALUES, FUSE_EPILOGUES, passesWith } from '../../fusion/passes/pipeline.js';
import type { CallTraits } from '../../fusion/passes/product-costs.js';
import type { TensorTraits } from '../../fusion/passes/tensor-products.js';
import { type DType, isHalf } from '../../graph/dtype.js';
import type { Precision } from '../../graph/expr.js';
import { productCost } from '../calls/matmul-cost.js';
import { cudaInfo } from '../native/native.js';
import { gpuBytesOf, gpuKindOf, gpuProblem, limitsOf, probed } from './cuda-device.js';
import { cudaModel } from './cuda-model.js';

import { explainTuning } from './product-tuning.js';
import { cudaOf, cudaProgram, graphSizes } from './program-cuda.js';
import type { Target } from './target.js';

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
  copiedBytes: 8,
};

/** Bytes of copies a second, each of which is read and written, and then read once more; and beside that. */
const COPY_RATE = 1e12;
const COPY_SECONDS = 4e-6;

/**
 * Seconds that cuTENSOR 2.8 takes longer than cuBLAS for a multiplication and an addition, on an H100 over layouts of
 * seven contractions (`test/devices/contractions.ts`). Complex numbers are taken for their parts, and TF32 for halves:
 * not measured. Of bfloat16 it refuses a third of random contractions, so it is used for what asks for it alone.
 */
const LOST_SECONDS: Partial<Readonly<Record<DType | Precision, number>>> = {
  float16: 4e-14,
  float32: 7e-14,
  float64: 6e-14,
  complex64: 7e-14,
  complex128: 6e-14,
  tf32: 4e-14,
  tf32x3: 7e-14,
};

const TENSORS: TensorTraits = {
  isFound: () => cudaInfo().cutensor !== null,
  lostSeconds: (dtype, precision) => LOST_SECONDS[precision ?? dtype] ?? Number.POSITIVE_INFINITY,
};

/** Elements of results whose sums cuBLAS computes as a whole: their tiles fill an H100. */
const LEAST_UNSPLIT = 2 ** 22;

/** Terms of sums in which factors of bfloat16 are as good as TF32's in the small products of `tf32x3`. */
const LEAST_NARROW_TERMS = 4096;

/** Multiprocessors of an H100 and an H200, for which choices are made: they do not depend on the device. */
const MULTIPROCESSORS = 132;

/**
 * On an H200, eight calls of 16 products (1024, 64) · (64, 1024) of float32, whose rows are 4 KiB apart, take 0.70 ms,
 * PyTorch's copies and one call 0.63; of halves 0.126 and 0.189. Types that were not measured are taken for float32,
 * TF32 for halves.
 */
const LOST_IN_CALLS = 1.5e-14;

const CALLS: CallTraits = {
  copyRate: COPY_RATE,
  copySeconds: COPY_SECONDS,
  seconds: (size, dtype, precision) => productCost({ ...size, dtype, precision }, MULTIPROCESSORS).seconds,
  lostSeconds: (dtype, precision) => (isHalf(dtype) || precision !== undefined ? 0 : LOST_IN_CALLS),
};

const PRODUCTS: ProductTraits = {
  costs: PRODUCT_COSTS,
  calls: CALLS,
  tf32: { leastResults: LEAST_UNSPLIT, leastNarrowTerms: LEAST_NARROW_TERMS },
  tensors: TENSORS,
};

export const CUDA_TARGET: Target = {
  passes: passesWith(PRODUCTS),
  products: PRODUCTS,
  kernelCode: ['cuda'],
  productLibraries: () => [
    ...(cudaInfo().cutensor === null ? [] : (['cutensor'] as const)),
    ...(cudaInfo().cublas === null ? [] : (['cublas'] as const)),
    'weft',
  ],
  wholePasses: [FUSE_EPILOGUES, COMPACT_VALUES],
  probe: probed,
  problemOf: gpuProblem,
  totalBytesOf: gpuBytesOf,
  alikeKeyOf: gpuKindOf,
  modelOf: cudaModel,
  emit: cudaProgram,
  explainTuning: (step, plan, device) =>
    step.call === 'matmul' ? explainTuning(step, plan, device) : undefined,
  graphSizes,
  sourceOf: (kernel, device) => cudaOf(kernel, limitsOf(device)).source,
};
