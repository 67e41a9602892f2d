/** The target of the CPU: kernels as tapes, in the memory of this process. */
import { isElementTape } from '../../codegen/cpu/element-tape.js';
import { planTape } from '../../codegen/cpu/tape.js';
import { readsOnce } from '../../codegen/cpu/tape-read.js';
import { skewOf } from '../../codegen/cpu/tape-skew.js';
import { orderOfSum } from '../../codegen/cpu/tape-sum-order.js';
import { tapeWorks } from '../../codegen/cpu/tape-work.js';
import { asStrided } from '../../fusion/partition/operands.js';
import type { ProductTraits } from '../../fusion/passes/lower-contractions.js';
import {
  COMPACT_VALUES,
  EXPAND_CUDA,
  FOLD_ROLLS,
  PLACE_ATTENTION,
  passesWith,
  WITH_CPU_ROUTINES,
  writeRowsOf,
} from '../../fusion/passes/pipeline.js';
import { isComplex } from '../../graph/dtype.js';
import { cpuAttention } from '../calls/attention-choice.js';
import { callRow } from '../calls/table.js';
import { hostMemory } from '../native/native.js';
import type { ProgramSpec } from '../native/program-types.js';
import { timedSlices } from '../native/recorder.js';
import { inTurns } from '../native/turns.js';
import { hostBlockBytes } from '../plan/block-bytes.js';
import type { DeviceModel, SweepRules } from '../plan/device-model.js';
import { CPU_COSTS } from './cpu-costs.js';
import { measureRates, timeOfStep } from './cpu-probes.js';
import { tuneKernels } from './kernel-tuning.js';
import { cpuPanels } from './panel-choice.js';
import { cpuProgramInSlices, type Walks } from './program-cpu.js';
import type { Target } from './target.js';
import { CPU_WALKS, explainWalk } from './walk-tuning.js';

const CPU_SWEEPS: SweepRules = {
  worksOf: tapeWorks,
  canWindow: () => true,
  canSpill: true,
  spillsLast: true,
  canReadBack: true,
  packsRows: true,
  slots: { in: 2, out: 1, local: 1 },
  tileBytes: Number.POSITIVE_INFINITY,
};

/**
 * Arrays in memory and results are used where they lie, files are read; tapes bring their own scratch memory.
 */
export const CPU_MODEL: DeviceModel = {
  scratchOf: () => [],
  workspaceOf: (step) => callRow(step).workspace.cpu(step),
  blockBytes: hostBlockBytes,
  hasOwnBlock: () => true,
  heldBytes: ({ role, byteLength, isRead, isFetched }) =>
    role === 'temporary' || isRead || isFetched === true ? byteLength : 0,
  leavesResults: true,
  readsOnce,
  skewOf,
  scansInOnePass: true,
  isElementMap: isElementTape,
  isByElement: ({ reduced }) => reduced.length === 0,
  overwrites: (step) => callRow(step).overwrites?.cpu === true,
  // A tile need hold no more rows than fill the second-level cache.
  unitElements: 2 ** 14,
  sweeps: CPU_SWEEPS,
  costs: CPU_COSTS,
};

/** Results that go to files are held until they are written: in windows where they do not fit. */
const FILE_MODEL: DeviceModel = {
  ...CPU_MODEL,
  leavesResults: false,
  sweeps: { ...CPU_SWEEPS, canReadBack: false },
  heldBytes: (buffer) => (buffer.role === 'output' ? buffer.byteLength : CPU_MODEL.heldBytes(buffer)),
};

let knownHostBytes: number | undefined;

/**
 * Memory that this process may use; read once, as by the pool of host memory: every compute asks for it, and
 * the system's files take 0.2 ms.
 */
function hostTotalBytes(): number {
  knownHostBytes ??= hostMemory().totalBytes;
  return knownHostBytes;
}

/** Rows or columns of a product that has another routine turned, at most. */
const FLAT = 8;

/** Operands are packed from where they lie, batches are tasks of threads: no copies, whatever the strides. */
const PRODUCTS: ProductTraits = {
  hasOwnProducts: true,
  isReadable: asStrided,
  channels: 9,
  attention: { canMap: isElementTape, choose: cpuAttention },
  // The imaginary part of a product rounds by which factor comes first, and sums of few columns combine in another order than
  // those of as few rows.
  isTurnedAlike: (dtype, extents) =>
    !isComplex(dtype) && !extents.some((extent) => extent > 1 && extent <= FLAT),
};

/** Bytes of a state that take as long to write as a step of its own does to begin. */
const LEAST_STATE = 2 ** 15;

export const CPU_TARGET: Target = {
  passes: [EXPAND_CUDA, WITH_CPU_ROUTINES, ...passesWith(PRODUCTS, orderOfSum)],
  products: PRODUCTS,
  keepsOrder: (kernel) => planTape(kernel).isInOrder,
  wholePasses: [FOLD_ROLLS, COMPACT_VALUES, PLACE_ATTENTION, writeRowsOf(LEAST_STATE, () => true)],
  cutPasses: [],
  productLibraries: () => ['weft'],
  kernelCode: ['program'],
  problemOf: () => undefined,
  totalBytesOf: hostTotalBytes,
  alikeKeyOf: ({ name }) => name,
  modelOf: (_, place) => ({ ...(place === 'file' ? FILE_MODEL : CPU_MODEL), panels: cpuPanels() }),
  emit: (plan, device, { tune, budget }) => {
    const emitted = (walks?: Walks): Promise<ProgramSpec> =>
      inTurns(timedSlices('codegen', 'tapes', cpuProgramInSlices(plan, walks)));
    return tune ? tuneKernels(plan, device, CPU_WALKS, budget).then(emitted) : emitted();
  },
  graphSizes: () => [],
  explainSchedule: (step, device, run) =>
    step.kind === 'call' ? undefined : explainWalk(step.kernel, device, run),
  calibrate: measureRates,
  timeOf: timeOfStep,
};
