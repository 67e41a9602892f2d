/** The target of GPUs: kernels as CUDA C, products by cuBLAS and cuBLASLt, memory of their own. */
import type { ProductCosts } from '../../fusion/passes/kernel-contractions.js';
import { FUSE_EPILOGUES, passesWith } from '../../fusion/passes/pipeline.js';
import { gpuBytesOf, gpuKindOf, gpuProblem, limitsOf, probed } from './cuda-device.js';
import { cudaModel } from './cuda-model.js';
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

export const CUDA_TARGET: Target = {
  passes: passesWith({ costs: PRODUCT_COSTS, hasTf32: true }),
  wholePasses: [FUSE_EPILOGUES],
  probe: probed,
  problemOf: gpuProblem,
  totalBytesOf: gpuBytesOf,
  alikeKeyOf: gpuKindOf,
  modelOf: cudaModel,
  emit: cudaProgram,
  graphSizes,
  sourceOf: (kernel, device) => cudaOf(kernel, limitsOf(device)).source,
};
