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
  run: 660,
  tile: 27,
  block: 7,
  /** A call of a function, and of a chain, on a block. */
  call: 14,
  chain: 320,
  /** For each vector: a light function that reads and writes blocks, one more that it does, a step of a chain. */
  pass: 0.78,
  step: 0.02,
  /** A vector that a step of a chain reads or writes besides, and one of which it asks memory for the next block. */
  operand: 0.21,
  prefetch: 0.1,
  /** A vector that begins within a line of the caches. */
  unaligned: 0.68,
  /** A vector that is brought to its place, and one of equal lanes. */
  copy: 1.2,
  splat: 0.42,
  /** For each lane: by a table of places, by a stride within lines and beyond, where a value chooses. */
  table: 0.4,
  strided: 0.49,
  apart: 0.8,
  gather: 0.8,
  /** For each lane of a square of lines, which are a page and more apart or less. */
  square: 0.24,
  squareOfPages: 0.16,
  /** A row that a reduction has for itself: of one value for each lane, of several, and of logarithms. */
  row: 12,
  wideRow: 100,
  exponentialRow: 1000,
  /** A lane that is joined with those of other steps of its block, of one value and of several. */
  fold: 0.42,
  wideFold: 3,
  /** A vector that a step of a chain hands to a reduction other than a sum. */
  extreme: 0.25,
  /** A step of a loop of elements, for each addition that it is worth. */
  loopStep: 0.3,
} as const;
export type TapeRate = keyof typeof TAPE_RATES;

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

/** Bytes of a kernel that a core's own caches hold, and those from which on all others are far. */
const NEAR_BYTES = 2 ** 20;
const FAR_BYTES = 2 ** 24;

/** The share of a kernel's bytes that is in no cache near by: 0 to 1. */
export function farShareOf({ bytesRead, bytesWritten }: Traffic): number {
  const far = Math.log((bytesRead + bytesWritten) / NEAR_BYTES) / Math.log(FAR_BYTES / NEAR_BYTES);
  return Math.min(1, Math.max(0, far));
}

/** Lanes that are apart take so many times as long where their lines are in no cache near by. */
export const FAR_LANES: Readonly<Partial<Record<TapeRate, number>>> = {
  square: 3,
  squareOfPages: 7.8,
  strided: 2,
  apart: 3,
  gather: 4,
};

/** The time of a byte that is read or written, of kernels that move so many bytes in all. */
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
  /** A vector of functions that were measured. */
  readonly functions: ReadonlyMap<string, number>;
  readonly threads: number;
}

/** A vector of a function, for each addition that it is worth: of an op that was not measured. */
export const ADDITION = 0.25;

/** Without measurements, threads share memory as if they were at most so many. */
const MOST_SHARING = 4;

export function unmeasuredRates(threads: number): TapeRates {
  const sharing = Math.min(threads, MOST_SHARING);
  const memory = [
    { bytes: 2 ** 15, read: 0.0073, write: 0.0045 },
    { bytes: 2 ** 18, read: 0.0073, write: 0.0094 },
    { bytes: 2 ** 20, read: 0.0082, write: 0.0123 },
    { bytes: 2 ** 22, read: 0.0082, write: 0.0125 },
    { bytes: 2 ** 23, read: 0.0095, write: 0.029 },
    { bytes: 2 ** 24, read: 0.0125, write: 0.079 },
    { bytes: 2 ** 26, read: 0.041, write: 0.047 },
  ].map(({ bytes, read, write }) => ({ bytes, read: read / sharing, write: write / sharing }));
  return { slowness: 1, memory, functions: new Map(), threads };
}

/** The time of a byte by how many bytes a kernel moves: a straight line between measured sizes, all as logarithms. */
export function memoryRateOf({ memory }: TapeRates, bytes: number): MemoryRate {
  const above = memory.findIndex((rate) => rate.bytes >= bytes);
  if (above === 0) return memory[0]!;
  const high = memory[above]!;
  if (above < 0) return memory.at(-1)!;
  const low = memory[above - 1]!;
  const share = Math.log(bytes / low.bytes) / Math.log(high.bytes / low.bytes);
  const between = (a: number, b: number): number => a * (b / a) ** share;
  return { bytes, read: between(low.read, high.read), write: between(low.write, high.write) };
}
