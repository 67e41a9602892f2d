/**
 * Rates: the times by which those of tapes are predicted (`tape-seconds.ts`), in nanoseconds of one thread. Those of a
 * machine follow from a few measurements (`exec/targets/cpu-probes.ts`); until then they are of an AMD EPYC 9004
 * (Zen 4, AVX-512), fitted to 400 kernels.
 */

/** Nanoseconds of work that is alike in all kernels. Vectors are 64 bytes. */
export const TAPE_RATES = {
  /** Once a run: a task, and scratch memory. */
  run: 600,
  tile: 14,
  block: 12,
  /** A call of a function, and of a chain, on a block. */
  call: 17,
  chain: 26,
  /** For each vector: a light function that reads and writes blocks, one more that it does, a step of a chain. */
  pass: 0.4,
  step: 0.055,
  /** A vector that a step of a chain reads or writes besides, and one of which it asks memory for the next block. */
  operand: 0.26,
  prefetch: 0.26,
  /** A vector that begins within a line of the caches. */
  unaligned: 0.4,
  /** A vector that is brought to its place, and one of equal lanes. */
  copy: 1.5,
  splat: 0.4,
  /** For each lane: by a table of places, by a stride within lines and beyond, where a value chooses. */
  table: 0.55,
  strided: 0.4,
  apart: 0.8,
  gather: 0.8,
  /** For each lane of a square of lines, which are a page and more apart or less. */
  square: 0.2,
  squareOfPages: 0.25,
  /** A row that a reduction has for itself: of one value for each lane, of several, and of logarithms. */
  row: 12,
  wideRow: 88,
  exponentialRow: 1300,
  /** A vector that a step of a chain hands to a reduction other than a sum. */
  extreme: 2.5,
  /** A step of a loop of elements, for each addition that it is worth. */
  loopStep: 0.3,
} as const;
export type TapeRate = keyof typeof TAPE_RATES;

/** Lanes that are apart take so many times as long where their lines are in no cache near by. */
export const FAR_LANES: Readonly<Partial<Record<TapeRate, number>>> = {
  square: 4.6,
  squareOfPages: 6.5,
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
export const ADDITION = 0.2;

/** Without measurements, threads share memory as if they were at most so many. */
const MOST_SHARING = 4;

export function unmeasuredRates(threads: number): TapeRates {
  const sharing = Math.min(threads, MOST_SHARING);
  const memory = [
    { bytes: 2 ** 15, read: 0.0067, write: 0.005 },
    { bytes: 2 ** 18, read: 0.0067, write: 0.0087 },
    { bytes: 2 ** 20, read: 0.0092, write: 0.013 },
    { bytes: 2 ** 22, read: 0.0093, write: 0.013 },
    { bytes: 2 ** 23, read: 0.0095, write: 0.02 },
    { bytes: 2 ** 24, read: 0.013, write: 0.08 },
    { bytes: 2 ** 26, read: 0.04, write: 0.05 },
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
