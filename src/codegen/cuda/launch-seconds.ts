/**
 * A model of the time that generated kernels take on a GPU: bytes by the sectors that they touch, instructions by their
 * dtypes, and the latencies of a block's life, of which few blocks hide nothing.
 *
 *     launch + latencies of a block + (memory ⊕ instructions ⊕ latencies of further rounds of blocks)
 *
 * ⊕ is a soft maximum: the three overlap, but not as a whole. The numbers were fitted to 506 kernels on an H100, 126 of them
 * by all of their schedules, whose measured times hold the model (`test/codegen/launch-seconds.test.ts`); `bench/cost-model.ts` measures and compares them.
 */
import type { Instructions, LaunchWork, LeastWork } from './launch-work.js';

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
  /** A launch in a graph of launches, and a block's begin. */
  launchSeconds: 1.03e-6,
  /** A load, from the second-level cache for the most part. */
  waitSeconds: 0.141e-6,
  /** A block of those that a multiprocessor does not hold at once: they begin one after the other. */
  blockSeconds: 93e-9,
  /** The part of the memory's rate that kernels reach. */
  memoryShare: 0.898,
  /** Bytes a second of a multiprocessor from the second-level cache; and where it has the cache to itself. */
  cacheRate: 55.1e9,
  /** The part of that at which gathers read with half of a multiprocessor's threads: of tables of 2^16 to 2^18 on an H200. */
  halfFullPart: 0.75,
  aloneRate: 286e9,
  /** Touched bytes that are all in the cache when they are read again, and of which none are, by its size. */
  cachedShare: 0.607,
  missedShare: 0.841,
  /** Cycles a second: the boost of an H100 under load, 1755 MHz. */
  clock: 1.755e9,
  /** Instructions a cycle: Hopper Tuning Guide, 4 × 32 lanes; and threads of a multiprocessor that keep them busy. */
  lanes: 128,
  busyThreads: 256,
  /** Of these, by the kind of an instruction. */
  weights: { narrow: 1.35, wide: 3.41, casts: 0.91, accesses: 0.25, places: 2 } satisfies Instructions,
  /** Cycles of a thread's instruction that waits for the one before; and of one that combines with another thread's. */
  instructionCycles: 0.98,
  combiningCycles: 2.19,
  /** Blocks and threads that a multiprocessor holds: CUDA C++ Programming Guide, compute capability 9.0. */
  residentBlocks: 32,
  residentThreads: 2048,
  /** The exponent of the soft maximum. */
  overlap: 3.56,
} as const;

/** Seconds of a part of a kernel's launches, from 0 to 1, that is alone on a device. */
export const secondsOfLaunches = (works: readonly LaunchWork[], part: number, rates: DeviceRates): number =>
  works.reduce((sum, work) => sum + secondsOfLaunch(work, part, rates), 0);

/** The least that a launch takes which does so much, whatever else it does: on all of a device, with one wait. */
export function leastSeconds({ bytes, arithmetic, gathered }: LeastWork, rates: DeviceRates): number {
  const { multiprocessors } = rates;
  const weighted = weightOf({ ...arithmetic, accesses: 0, places: 0 });
  const together = overlapped(
    memorySeconds({ bytes, again: 0 }, 1, multiprocessors, rates) +
      gathered / (MODEL.cacheRate * multiprocessors),
    weighted / (MODEL.lanes * MODEL.clock * multiprocessors),
    0,
  );
  return MODEL.launchSeconds + MODEL.waitSeconds + together;
}

/** The soft maximum of what memory, instructions and waiting take. */
export const overlapped = (memory: number, instructions: number, waiting: number): number =>
  (memory ** MODEL.overlap + instructions ** MODEL.overlap + waiting ** MODEL.overlap) ** (1 / MODEL.overlap);

function secondsOfLaunch(work: LaunchWork, part: number, rates: DeviceRates): number {
  const { threads, waits, combining, threadPart } = work;
  const { multiprocessors } = rates;
  const blocks = Math.max(1, Math.ceil(work.blocks * part));
  const busy = Math.min(multiprocessors, blocks);
  const resident = Math.min(MODEL.residentBlocks, Math.floor(MODEL.residentThreads / threads));
  const weighted = weightOf(work.instructions);
  const { narrow, wide } = MODEL.weights;
  const combiningCycles = MODEL.combiningCycles * (combining.narrow + (wide / narrow) * combining.wide);
  const ownCycles = MODEL.instructionCycles * weighted * threadPart;
  const path = waits * MODEL.waitSeconds + (ownCycles + combiningCycles) / MODEL.clock;
  const held = Math.min(blocks / busy, resident) * threads;
  const filled = Math.min(1, held / MODEL.busyThreads);
  const free = 2 * (1 - MODEL.halfFullPart) * Math.max(0, 1 - held / MODEL.residentThreads);
  const gatherSeconds = (work.gathered * part) / (busy * MODEL.cacheRate * (1 - free));
  const further = Math.max(0, blocks - multiprocessors * resident) / multiprocessors;
  const together = overlapped(
    memorySeconds(work, part, busy, rates) + gatherSeconds,
    (weighted * part) / (MODEL.lanes * MODEL.clock * busy * filled),
    further * (path / resident + MODEL.blockSeconds),
  );
  return MODEL.launchSeconds + path + together;
}

function weightOf({ narrow, wide, casts, accesses, places }: Instructions): number {
  const { weights } = MODEL;
  return (
    weights.narrow * narrow +
    weights.wide * wide +
    weights.casts * casts +
    weights.accesses * accesses +
    weights.places * places
  );
}

/** Touched bytes are in the second-level cache from the kernel before, as far as there is room. */
function memorySeconds(
  { bytes, again }: Pick<LaunchWork, 'bytes' | 'again'>,
  part: number,
  busy: number,
  rates: DeviceRates,
): number {
  const { memoryRate, l2Bytes, multiprocessors } = rates;
  const [cached, missed] = [MODEL.cachedShare * l2Bytes, MODEL.missedShare * l2Bytes];
  const missing = Math.min(1, Math.max(0, (bytes * part - cached) / (missed - cached)));
  const all = (bytes + again) * part;
  const seconds =
    all * (missing / (MODEL.memoryShare * memoryRate) + (1 - missing) / (MODEL.cacheRate * multiprocessors));
  return Math.max(seconds, all / (busy * MODEL.aloneRate));
}
