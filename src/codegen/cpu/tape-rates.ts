/**
 * Rates: the times by which those of tapes are predicted (`tape-seconds.ts`), in nanoseconds of one thread. Those of a
 * machine follow from a few measurements (`exec/targets/cpu-probes.ts`); until then they are of an AMD EPYC 9004
 * (Zen 4, AVX-512), fitted to 700 kernels.
 */

import type { Traffic } from '../../fusion/kernel/traffic.js';
import type { ReductionName } from '../../graph/reductions.js';

/** Nanoseconds of work that is alike in all kernels. Vectors are 64 bytes. */
export const TAPE_RATES = {
  /** Once a run: a task, and scratch memory. */
  run: 640,
  tile: 38,
  block: 13,
  /** A call of a function, and of a chain, on a block. */
  call: 14,
  chain: 200,
  /** For each vector: a light function that reads and writes blocks, one more that it does, a step of a chain. */
  pass: 0.58,
  step: 0.06,
  /** A vector that a step of a chain reads or writes besides, and one of which it asks memory for the next block. */
  operand: 0.08,
  prefetch: 0.2,
  /** A vector that begins within a line of the caches. */
  unaligned: 0.7,
  /** A vector that is brought to its place, and one of equal lanes. */
  copy: 1.5,
  splat: 0.35,
  /** For each lane: by a table of places, by a stride within lines and beyond, where a value chooses. */
  table: 0.5,
  strided: 0.26,
  apart: 0.8,
  gather: 0.8,
  /** For each lane of a square of lines, which are a page and more apart or less. */
  square: 0.19,
  squareOfPages: 0.2,
  /** A row that a reduction has for itself: of one value for each lane, of several, and of logarithms. */
  row: 12,
  wideRow: 80,
  exponentialRow: 1200,
  /** A lane that is joined with those of other steps of its block, of one value and of several. */
  fold: 0.5,
  wideFold: 3,
  /** A vector that a step of a chain hands to a reduction other than a sum. */
  extreme: 0.4,
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
  square: 4.7,
  squareOfPages: 6.8,
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
