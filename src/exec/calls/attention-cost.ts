/** How long attention without scores in memory takes on a GPU, roughly: by this it is chosen, and put on streams. */
import { isForWarpgroups } from '../../codegen/cuda/routines/attention-warpgroup-tile.js';
import type { AttentionSizes } from '../../fusion/passes/attention-traits.js';
import { isHalf } from '../../graph/dtype.js';
import type { StepCost } from './call.js';

/** Multiplications and additions a second of the kernels, as measured on an H100, and the part of it with a map. */
const HALVES_RATE = 300e12;
/** In heads of which there are kernels for warpgroups. */
const WARPGROUPS_RATE = 450e12;
const FLOATS_RATE = 46e12;
const MAPPED = 0.5;
const UNIT_ROWS = 128;
const LAUNCH_SECONDS = 5e-6;
const QUEUE_SECONDS = 2.5e-6;

export function attentionCost(sizes: AttentionSizes, multiprocessors: number): StepCost {
  const { dtype, batch, m, n, inner, width, isCausal, isMapped } = sizes;
  const units = batch * Math.ceil(m / UNIT_ROWS);
  const share = Math.min(1, units / multiprocessors);
  const halves = isForWarpgroups({ inner, width }) ? WARPGROUPS_RATE : HALVES_RATE;
  const rate = (isHalf(dtype) ? halves : FLOATS_RATE) * (isMapped ? MAPPED : 1) * share;
  const operations = 2 * units * UNIT_ROWS * n * (inner + width) * (isCausal ? 0.5 : 1);
  const seconds = LAUNCH_SECONDS + (operations === 0 ? 0 : operations / rate);
  return { seconds, share, queueSeconds: QUEUE_SECONDS };
}
