/** The target of GPUs: kernels as CUDA C, products by cuBLAS, cuBLASLt and cuTENSOR, memory of their own. */
import { orderOfSum } from '../../codegen/cuda/schedules/sum-order.js';
import {
  AT_ONCE,
  COMPACT_VALUES,
  FOLD_ROLLS,
  fuseEpiloguesOf,
  MAP_WINDOWS,
  MULTIPLY_ADD,
  PLACE_ATTENTION,
  passesWith,
  WITHOUT_CPU_ROUTINES,
  writeRowsOf,
} from '../../fusion/passes/pipeline.js';
import type { GraphLoop } from '../../graph/graph.js';
import { CALLS, CUDA_PRODUCTS } from '../calls/products/cuda-products.js';
import { callRow } from '../calls/table.js';
import { cudaInfo } from '../native/native.js';
import { gpuBytesOf, gpuKindOf, gpuProblem, limitsOf, probed } from './cuda-device.js';
import { cudaModel } from './cuda-model.js';
import { resourcesOf } from './kernel-resources.js';
import { untunedOf } from './kernel-schedule.js';
import { cudaOf } from './kernel-source.js';
import { timeOfKernel } from './kernel-times.js';
import { explainTuning } from './product-tuning.js';
import { cudaProgram, graphSizes } from './program-cuda.js';
import { explainSchedule } from './schedule-tuning.js';
import type { Target } from './target.js';

/** Bytes of a state that take as long to write as a launch does. */
const LEAST_STATE = 2 ** 22;

/** Whether the host knows, or decides, how often a loop goes on: a device that decides writes states by turns. */
const isHostDecided = ({ condition, body }: GraphLoop): boolean =>
  condition === undefined ||
  body.nodes.some((node) => node?.kind === 'call' || node?.kind === 'contract' || node?.kind === 'loop');

/** Whole plans have it, and tiles. */
const FUSE_EPILOGUES = fuseEpiloguesOf(CALLS);

export const CUDA_TARGET: Target = {
  passes: [
    WITHOUT_CPU_ROUTINES,
    AT_ONCE,
    ...passesWith(CUDA_PRODUCTS, orderOfSum, true),
    MULTIPLY_ADD,
    MAP_WINDOWS,
  ],
  products: CUDA_PRODUCTS,
  kernelCode: ['text', 'program', 'elements'],
  productLibraries: () => [
    ...(cudaInfo().cutensor === null ? [] : (['cutensor'] as const)),
    ...(cudaInfo().cublas === null ? [] : (['cublas'] as const)),
    'weft',
  ],
  wholePasses: [
    FOLD_ROLLS,
    FUSE_EPILOGUES,
    COMPACT_VALUES,
    PLACE_ATTENTION,
    writeRowsOf(LEAST_STATE, isHostDecided),
  ],
  cutPasses: [FUSE_EPILOGUES],
  probe: probed,
  problemOf: gpuProblem,
  totalBytesOf: gpuBytesOf,
  alikeKeyOf: gpuKindOf,
  modelOf: cudaModel,
  emit: cudaProgram,
  explainTuning,
  explainSchedule: (step, device, run) =>
    step.kind === 'call'
      ? callRow(step).kernels?.(step, limitsOf(device))?.schedule
      : explainSchedule(step.kernel, device, run),
  graphSizes,
  resourcesOf,
  timeOf: timeOfKernel,
  sourceOf: (kernel, device, run) =>
    cudaOf(kernel, limitsOf(device), untunedOf(kernel, device, run).schedule).source,
};
