/**
 * The ways to walk a kernel on the CPU that a compute which tunes measures (`kernel-tuning.ts`): the blockings with its
 * bits. A choice holds for the kernel's structure, the processor and its threads. Called by `cpu.ts`.
 */
import { createHash } from 'node:crypto';
import { cpus } from 'node:os';
import { encodeTape, planTape, tapeBy, walksOf } from '../../codegen/cpu/tape.js';
import { printWalk, type Walk } from '../../codegen/cpu/tape-plan.js';
import { printTriangle } from '../../codegen/cpu/tape-triangle.js';
import { hasLoops } from '../../fusion/kernel/arithmetic.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { MemoryError } from '../../host/errors.js';
import { once } from '../../host/once.js';
import { cpuInfo, hostMemory, timeTape } from '../native/native.js';
import { fastest, type Untuned } from '../run/tuning-cache.js';
import type { Device } from './device.js';
import { explainTuned, type Schedules } from './kernel-tuning.js';
import type { StepRun } from './target.js';

/** Walks of a kernel at most. */
const MOST_WALKS = 10;
/**
 * Milliseconds of runs of one in a turn, and turns until the two least times of the fastest, and of the untuned one, agree to
 * this part; after the first turn others rest that are slower than the fastest by so much.
 */
const MILLISECONDS = 3;
const LEAST_TURNS = 3;
const MOST_TURNS = 8;
const NOISE = 0.05;
const SLOWER = 0.25;
/** A kernel is measured whose buffers are no more than this part of the memory. */
const MOST_OF_MEMORY = 0.25;

const bytesOf = ({ buffers }: Kernel): number =>
  buffers.reduce((sum, { dtype, elementCount }) => sum + elementCount * byteLengthOf(dtype), 0);

/** The system reads files of every core for it. */
const modelOfCpu = once(() => cpus()[0]?.model);

export const CPU_WALKS: Schedules<Walk> = {
  // Data decide when a loop ends; none of them are at hand.
  of: (kernel) => (hasLoops(kernel) ? walksOf(kernel).slice(0, 1) : walksOf(kernel).slice(0, MOST_WALKS)),
  print: printWalk,
  keyOf(kernel) {
    const { isa, threads } = cpuInfo();
    // Other processes read the key: a tape has the names of its operations, a kernel's fingerprint numbers of this process.
    const { words, ops } = encodeTape(kernel);
    const tape = createHash('sha256').update(words).digest('hex');
    return [modelOfCpu(), isa, threads, tape, ops];
  },
  bytesOf,
  async measure({ kernel }, walks) {
    if (bytesOf(kernel) > MOST_OF_MEMORY * hostMemory().totalBytes) return 'no room to measure';
    const tapes = walks.map(({ blocking, triangle }) => tapeBy(kernel, blocking, triangle));
    try {
      return await timesOf(tapes, (tape) => timeTape(tape, MILLISECONDS));
    } catch (error) {
      if (error instanceof MemoryError) return 'no room to measure';
      throw error;
    }
  },
};

/** The least seconds of each of several, in turns: other work on the machine slows one for a while, and not all alike. */
export async function timesOf<T>(
  all: readonly T[],
  time: (one: T) => Promise<number>,
): Promise<readonly number[] | Untuned> {
  const times = all.map((): number[] => []);
  const least = (): number[] => times.map(([first = Number.POSITIVE_INFINITY]) => first);
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const most = (1 + SLOWER) * Math.min(...least());
    for (const [k, one] of all.entries()) {
      if (turn > 0 && k > 0 && least()[k]! > most) continue;
      times[k]!.push(await time(one));
      times[k]!.sort((a, b) => a - b);
    }
    const deciding = [times[0]!, times[fastest(least()).place]!];
    const isCertain = deciding.every(([first, second]) => second! <= (1 + NOISE) * first!);
    if (turn + 1 >= LEAST_TURNS && isCertain) return least();
  }
  return 'no two times agree';
}

/** Of a kernel whose blocks are none in the order of its sums: their bits are not those that they have alone. */
const OTHER_ORDER = 'sums in another order than alone';

/** How a kernel is walked, and why, where `explain()` says so. */
export function explainWalk(kernel: Kernel, device: Device, run: StepRun): string | undefined {
  const { triangle, isInOrder } = planTape(kernel);
  const tuned = run === 'tuned' ? explainTuned(kernel, device, CPU_WALKS, 'predicted') : undefined;
  const walk = tuned ?? (triangle && run !== 'parts' ? printTriangle(triangle) : undefined);
  if (isInOrder) return walk;
  return walk === undefined ? OTHER_ORDER : `${walk}; ${OTHER_ORDER}`;
}
