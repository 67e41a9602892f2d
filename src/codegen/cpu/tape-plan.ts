/** A kernel with the blocking, the loops and the schedule by which it runs. Called by `tape.ts`, `tape-phase-memory.ts`. */
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { Levels } from '../../fusion/kernel/levels.js';
import { type Blocking, type Loops, loopsOf, printBlocking } from './tape-blocking.js';
import { scheduleOf, type TapeSchedule } from './tape-schedule.js';
import { printTriangle, type Triangle } from './tape-triangle.js';

/** How a kernel will run, for `explain()` and tests. */
export interface TapePlan {
  readonly kernel: Kernel;
  readonly levels: Levels;
  readonly blocking: Blocking;
  readonly loops: Loops;
  readonly schedule: TapeSchedule;
  /** Runs of all of it compute half; undefined: they compute all. */
  readonly triangle?: Triangle | undefined;
}

/** How a kernel is walked. */
export type Walk = Pick<TapePlan, 'blocking' | 'triangle'>;

export const printWalk = ({ blocking, triangle }: Walk): string =>
  triangle === undefined ? printBlocking(blocking) : `${printBlocking(blocking)}, ${printTriangle(triangle)}`;

export function planBy(kernel: Kernel, levels: Levels, blocking: Blocking, triangle?: Triangle): TapePlan {
  const loops = loopsOf(kernel, blocking);
  return { kernel, levels, blocking, loops, schedule: scheduleOf(kernel, levels, blocking, loops), triangle };
}
