/**
 * A model of the time that generated kernels take on a GPU: bytes by the sectors that they touch, instructions by their
 * dtypes, and the latencies of a block's life, of which few blocks hide nothing.
 *
 *     launch + latencies of a block + (memory ⊕ instructions ⊕ latencies of further rounds of blocks)
 *
 * ⊕ is a soft maximum: the three overlap, but not as a whole. The numbers were fitted to 406 kernels on an H100, whose
 * measured times hold the model (`test/exec/cuda-times.test.ts`); `bench/cost-model.ts` measures and compares them.
 */
import { type Instructions, type LaunchWork, workOf } from '../../codegen/cuda/launch-work.js';
import type { DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';

/** The properties of a GPU that times scale with. */
export interface DeviceRates {
  readonly multiprocessors: number;
  /** Bytes a second of its memory, by clock and bus. */
  readonly memoryRate: number;
  readonly l2Bytes: number;
}

/** Those of an H100 SXM, as its driver tells them: 2619 MHz on both edges of 5120 bits. */
export const USUAL_RATES: DeviceRates = {
  multiprocessors: 132,
  memoryRate: 3.352e12,
  l2Bytes: 50 * 2 ** 20,
};

/** Of architecture 9.0; source: the fit to measured kernels, where no other is named. */
const MODEL = {
  /** A launch in a graph of launches. */
  launchSeconds: 1.07e-6,
  /** A block from its begin to its end, beside its work. */
  blockSeconds: 1.07e-6,
  /** A load, from the second-level cache for the most part. */
  waitSeconds: 0.107e-6,
  /** The part of the memory's rate that kernels reach. */
  memoryShare: 0.9,
  /** Bytes a second of a multiprocessor from the second-level cache; and where it has the cache to itself. */
  cacheRate: 55.5e9,
  aloneRate: 100e9,
  /** Touched bytes that are all in the cache when they are read again, and of which none are, by its size. */
  cachedShare: 0.59,
  missedShare: 0.88,
  /** Cycles a second: the boost of an H100 under load, 1755 MHz. */
  clock: 1.755e9,
  /** Instructions a cycle: Hopper Tuning Guide, 4 × 32 lanes. */
  lanes: 128,
  /** Of these, by the kind of an instruction. */
  weights: { narrow: 1.59, wide: 3.31, casts: 0.48, accesses: 1.02 } satisfies Instructions,
  /** Cycles of a thread's instruction that waits for the one before; and of one that combines with another thread's. */
  instructionCycles: 1.6,
  combiningCycles: 10.5,
  /** Blocks and threads that a multiprocessor holds: CUDA C++ Programming Guide, compute capability 9.0. */
  residentBlocks: 32,
  residentThreads: 2048,
  /** The exponent of the soft maximum. */
  overlap: 2.5,
} as const;

/** Seconds of a part of a kernel, from 0 to 1, that is alone on a device. */
export function secondsOfKernel(
  kernel: Kernel,
  part: number,
  rates: DeviceRates,
  limits: DeviceLimits,
): number {
  return workOf(kernel, limits).reduce((sum, work) => sum + secondsOfLaunch(work, part, rates), 0);
}

function secondsOfLaunch(work: LaunchWork, part: number, rates: DeviceRates): number {
  const { threads, waits, combining } = work;
  const blocks = Math.max(1, Math.ceil(work.blocks * part));
  const busy = Math.min(rates.multiprocessors, blocks);
  const resident = Math.min(MODEL.residentBlocks, Math.floor(MODEL.residentThreads / threads));
  const weighted = weightOf(work.instructions) * part;
  const { narrow, wide } = MODEL.weights;
  const combiningCycles = MODEL.combiningCycles * (combining.narrow + (wide / narrow) * combining.wide);
  const ownCycles = (MODEL.instructionCycles * weighted) / (blocks * threads);
  const path = waits * MODEL.waitSeconds + (ownCycles + combiningCycles) / MODEL.clock;
  const rounds = Math.max(1, blocks / (rates.multiprocessors * resident));
  const terms = [
    memorySeconds(work, part, busy, rates),
    weighted / (MODEL.lanes * MODEL.clock * busy),
    (rounds - 1) * (path + MODEL.blockSeconds),
  ];
  const together = terms.reduce((sum, term) => sum + term ** MODEL.overlap, 0) ** (1 / MODEL.overlap);
  return MODEL.launchSeconds + path + together;
}

function weightOf({ narrow, wide, casts, accesses }: Instructions): number {
  const { weights } = MODEL;
  return weights.narrow * narrow + weights.wide * wide + weights.casts * casts + weights.accesses * accesses;
}

/** Touched bytes are in the second-level cache from the kernel before, as far as there is room. */
function memorySeconds({ bytes, again }: LaunchWork, part: number, busy: number, rates: DeviceRates): number {
  const { memoryRate, l2Bytes, multiprocessors } = rates;
  const [cached, missed] = [MODEL.cachedShare * l2Bytes, MODEL.missedShare * l2Bytes];
  const missing = Math.min(1, Math.max(0, (bytes * part - cached) / (missed - cached)));
  const all = (bytes + again) * part;
  const seconds =
    all * (missing / (MODEL.memoryShare * memoryRate) + (1 - missing) / (MODEL.cacheRate * multiprocessors));
  return Math.max(seconds, all / (busy * MODEL.aloneRate));
}
