/**
 * Rates: the times by which those of tapes are predicted (`tape-seconds.ts`), in nanoseconds of one thread. Those of a
 * machine follow from a few measurements (`exec/targets/cpu-probes.ts`); until then they are of an AMD EPYC 9004
 * (Zen 4, AVX-512), fitted to 1,000 measurements.
 */

import type { Traffic } from '../../fusion/kernel/traffic.js';
import type { ReductionName } from '../../graph/reductions.js';

/** Nanoseconds of work that is alike in all kernels. Vectors are 64 bytes. */
export const TAPE_RATES = {
  /** Once a run: a task, and scratch memory. */
  run: 650,
  tile: 17,
  block: 40,
  /** A call of a function, and of a chain, on a block. */
  call: 13,
  chain: 270,
  /** For each vector: a light function that reads and writes blocks, one more that it does, a step of a chain. */
  pass: 0.77,
  step: 0.023,
  /** A vector that a step of a chain reads or writes besides, and one of which it asks memory for the next block. */
  operand: 0.094,
  prefetch: 0.01,
  /** A vector that begins within a line of the caches. */
  unaligned: 0.5,
  /** A vector that is brought to its place, and one of equal lanes. */
  copy: 1.2,
  splat: 0.085,
  /** For each lane: by a table of places, and of elements of 8 bytes, by a stride within lines and beyond, where a value chooses. */
  table: 0.61,
  wideTable: 0.35,
  strided: 0.35,
  apart: 0.74,
  gather: 0.74,
  /** For each lane of a table whose line was displaced by another of its set of the first-level cache. */
  conflict: 0.53,
  /** For each lane of a square of lines. */
  square: 0.257,
  /**
   * A row that a reduction has for itself: of one value for each lane, and where rows are whole chunks, so that as many
   * are reduced at a time as a vector has lanes; of several values, and of logarithms.
   */
  row: 39,
  wholeRow: 3.4,
  wideRow: 108,
  exponentialRow: 1200,
  /** A lane that is joined with those of other steps of its block, of one value and of several. */
  fold: 0.45,
  wideFold: 2.8,
  /** A vector that a step of a chain hands to a reduction other than a sum. */
  extreme: 0.01,
  /** A step of a loop of elements, for each addition that it is worth. */
  loopStep: 0.28,
} as const;
export type TapeRate = keyof typeof TAPE_RATES;

/**
 * Nanoseconds more that a line of the caches takes, or a row, of kernels whose bytes a core's own caches do not hold:
 * where the cache that cores share does, and where it does not.
 */
const LINE_RATES = {
  /** A line that is read by itself: one of each column of a square, or of each lane. */
  alone: { shared: 1.5, far: 17 },
  /** A line of several that follow one another, but are not prefetched. */
  unasked: { shared: 0.1, far: 0.5 },
  /** A row of lanes that does not begin where the last one ends: hardware finds no stream, and waits for memory. */
  row: { shared: 10, far: 100 },
  /** A line that loads of neighbours have brought, but not into the nearest cache. */
  again: { shared: 0.7, far: 0.5 },
  /** A line of a large result that is written in parts, and read for that. */
  fetched: { shared: 0, far: 2 },
  /** A line that goes past the caches from a function of its own, which copies it; chains do not. */
  copied: { shared: 0, far: 0.6 },
  /** A vector that a reduction of several values reads. */
  reduced: { shared: 0, far: 0.2 },
} as const;
export type LineRate = keyof typeof LINE_RATES;

/** Bytes of kernels that a core's own caches hold, those from which on lines come from far, and all of them. */
const OWN_BYTES = 2 ** 20;
const SHARED_BYTES = 2 ** 24;
const BEYOND_BYTES = 2 ** 26;

/** Lines of large results, which are far whatever else a kernel holds. */
const OF_RESULTS: readonly LineRate[] = ['fetched', 'copied'];

export function lineRateOf(rate: LineRate, bytes: number): number {
  const { shared, far } = LINE_RATES[rate];
  if (OF_RESULTS.includes(rate)) return far;
  const between = (low: number, high: number): number =>
    Math.min(1, Math.max(0, Math.log(bytes / low) / Math.log(high / low)));
  return shared * between(OWN_BYTES, SHARED_BYTES) + far * between(SHARED_BYTES, BEYOND_BYTES);
}

/** Reductions of one value for each lane, of several, and those that join each pair of lanes by exponentials. */
export type ReductionClass = 'simple' | 'wide' | 'exponential';
const REDUCTION_CLASS: Readonly<Partial<Record<ReductionName, ReductionClass>>> = {
  sum: 'simple',
  prod: 'simple',
  min: 'simple',
  max: 'simple',
  any: 'simple',
  all: 'simple',
  logsumexp: 'exponential',
  sumexp: 'exponential',
};
export const classOf = (name: ReductionName): ReductionClass => REDUCTION_CLASS[name] ?? 'wide';

/** Bytes of a kernel from which on all others are far, for the choice of blockings. */
const FAR_BYTES = 2 ** 24;

/** The share of a kernel's bytes that is in no cache near by: 0 to 1. */
export function farShareOf({ bytesRead, bytesWritten }: Traffic): number {
  const far = Math.log((bytesRead + bytesWritten) / OWN_BYTES) / Math.log(FAR_BYTES / OWN_BYTES);
  return Math.min(1, Math.max(0, far));
}

/**
 * Nanoseconds more of one thread for each byte that kernels pass to kernels, of so many bytes that lie between: for each time that
 * these are twice what a core's own caches hold, up to three. Measured by turns on two cores of an EPYC, chains of two to four
 * stencils over 4 to 18 MiB: as a whole 0.02 to 0.1 more than in panels of 1 MiB, in panels of 4 MiB 0 to 0.02.
 */
export const passedRateOf = (bytes: number): number =>
  PASSED_RATE * Math.min(MOST_DOUBLINGS, Math.max(0, Math.log2(bytes / OWN_BYTES)));
const PASSED_RATE = 0.01;
const MOST_DOUBLINGS = 3;

/** The time of a byte that is read or written through caches by one thread, of kernels that hold so many bytes in them. */
export interface MemoryRate {
  readonly bytes: number;
  readonly read: number;
  readonly write: number;
}

export interface TapeRates {
  /** How long everything takes in proportion to `TAPE_RATES`: 1 on the machine that they are of. */
  readonly slowness: number;
  /** By rising bytes. */
  readonly memory: readonly MemoryRate[];
  /** The time of a byte that is written past the caches by one thread that does nothing else. */
  readonly streamed: number;
  /** How long lines of memory take that are not in one stream, in proportion to `LINE_RATES`. */
  readonly lines: number;
  /** Nanoseconds of having other threads take part, and of waiting for them. */
  readonly fork: number;
  /** Memory takes each of k threads 1 / k^spread of the time of one: all of it at 0, where they have one way to it. */
  readonly spread: number;
  /** A vector of functions that were measured. */
  readonly functions: ReadonlyMap<string, number>;
  readonly threads: number;
}

/** A vector of a function, for each addition that it is worth: of an op that was not measured. */
export const ADDITION = 0.25;

/**
 * Where nothing else is known, and of two threads: those of a virtual machine are behind one way to memory or two, as its
 * host has them run, and that changes within seconds. One way is as fast as a thread, so that this lies between both.
 */
export const UNKNOWN_SPREAD = 0.5;

/** The part of its time that memory beyond the caches takes for each of several threads. */
export const sharedAmong = (threads: number, { spread }: TapeRates): number => threads ** -spread;

export const unmeasuredRates = (threads: number): TapeRates => ({
  slowness: 1,
  memory: [
    { bytes: 2 ** 15, read: 0.0049, write: 0.0034 },
    { bytes: 2 ** 18, read: 0.004, write: 0.0081 },
    { bytes: 2 ** 20, read: 0.0064, write: 0.0095 },
    { bytes: 2 ** 22, read: 0.0067, write: 0.0112 },
    { bytes: 2 ** 23, read: 0.0067, write: 0.0133 },
    { bytes: 2 ** 24, read: 0.0067, write: 0.0133 },
    { bytes: 2 ** 26, read: 0.019, write: 0.0133 },
    { bytes: 2 ** 27, read: 0.024, write: 0.0133 },
  ],
  streamed: 0.036,
  lines: 1,
  fork: 5000,
  spread: UNKNOWN_SPREAD,
  functions: new Map(),
  threads,
});

/**
 * The time of a byte by how many bytes a kernel holds in caches, for each of its threads: a straight line between measured
 * sizes, all as logarithms, and beyond them what remains as caches hold a smaller part. Each thread has its own caches.
 */
export function memoryRateOf(rates: TapeRates, bytes: number, threads = 1): MemoryRate {
  const shared = (rate: MemoryRate): MemoryRate => {
    const share = rate.bytes >= BEYOND_BYTES ? sharedAmong(threads, rates) : 1 / threads;
    return { bytes: rate.bytes, read: share * rate.read, write: share * rate.write };
  };
  const above = rates.memory.findIndex((rate) => rate.bytes >= bytes);
  const high = shared(rates.memory.at(above)!);
  if (above === 0) return high;
  const low = shared(rates.memory.at(above - 1)!);
  const part = Math.log(bytes / low.bytes) / Math.log(high.bytes / low.bytes);
  const between = (a: number, b: number): number =>
    above < 0 ? b + (b - a) * (1 - high.bytes / bytes) : a * (b / a) ** part;
  return { bytes, read: between(low.read, high.read), write: between(low.write, high.write) };
}
