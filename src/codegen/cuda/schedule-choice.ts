/**
 * The schedule of a kernel without measuring: of those that give the same bits (`candidates.ts`) the one that the model of
 * times predicts to take least, where it is clearly ahead of the rule's own. Times are those of one device, so that a
 * kernel has the same schedule on all. Called by `footprint.ts`.
 */
import { type Kernel, product } from '../../fusion/kernel/kernel.js';
import { elementLoadsOf } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { leastSeconds, secondsOfLaunches, USUAL_RATES } from './launch-seconds.js';
import { leastWorkOf, workOf } from './launch-work.js';
import { type Launches, launchesOf } from './launches.js';
import { candidatesOf, sharesArithmetic } from './schedules/candidates.js';
import type { Schedule } from './schedules/schedule.js';
import type { DeviceLimits } from './schedules/schedule-rows.js';
import { chooseTable } from './schedules/schedule-table.js';

/** A schedule with its launches, and how it was chosen. */
export interface ScheduleChoice extends Launches {
  readonly schedule: Schedule;
  /** Of one that is not the rule's own: how many there were, and the predicted seconds of both. */
  readonly predicted?: {
    readonly count: number;
    readonly seconds: number;
    readonly ownSeconds: number;
  };
}

/**
 * The part of its time that another schedule saves at least. The model is off by 6 % at the median, but alike for schedules
 * of one kernel: of 101 kernels on an H100 it takes another one for 9, which gain 20 %; the worst loses 0.8 %.
 */
const LEAST_GAIN = 0.05;

/**
 * The part that whole rows save at least where threads share rows by less than 8 bytes each, in several phases: the model takes
 * such rows for faster than they are. Softmax of rows of 97 float32 is predicted to take 187 µs and 182, and takes an H200 162
 * and 132; sums, of one phase, 65 and 70.
 */
const LEAST_OF_WHOLE_ROWS = 0.01;

/**
 * Elements of all steps up to which a kernel has the rule's own schedule. 25 measured kernels of so few take 1.0 to 2.8 µs
 * on an H100, most of it the launch, of which another schedule saves at most 0.5 µs; comparing takes 14 to 35 µs of the
 * processor in each plan.
 */
const FEW_ELEMENTS = 2 ** 14;

export function isSmall({ parallel, reduced }: Kernel, schedule: Schedule): boolean {
  const steps = 'steps' in schedule ? schedule.steps : 1;
  return steps * product(parallel) * product(reduced) <= FEW_ELEMENTS;
}

/** Of a kernel in the normal form, with the schedule of the rule. */
export function chooseSchedule(kernel: Kernel, schedule: Schedule): ScheduleChoice {
  const own = { schedule, ...launchesOf(kernel, schedule) };
  if (schedule.kind === 'empty' || schedule.kind === 'split' || isSmall(kernel, schedule)) return own;
  const ownSeconds = secondsOf(kernel, own);
  const most = ownSeconds * (1 - LEAST_GAIN);
  const isNarrow = sharesNarrowRows(kernel, schedule);
  const mostOfWholeRows = isNarrow ? ownSeconds * (1 - LEAST_OF_WHOLE_ROWS) : most;
  if (leastSeconds(leastWorkOf(kernel), USUAL_RATES) > mostOfWholeRows) return own;
  const candidates = candidatesOf(kernel, schedule);
  let [best, seconds] = [own, most];
  for (const each of candidates.slice(1)) {
    const other = { schedule: each, ...launchesOf(kernel, each, own.scratch) };
    const predicted = secondsOf(kernel, other);
    const isFirstWhole = best === own && 'lanes' in each && predicted < mostOfWholeRows;
    if (predicted < seconds || isFirstWhole) [best, seconds] = [other, predicted];
  }
  return best === own ? own : { ...best, predicted: { count: candidates.length, seconds, ownSeconds } };
}

/** Whether threads that share a row of several phases load less than 8 bytes of it at once. */
function sharesNarrowRows(kernel: Kernel, schedule: Schedule): boolean {
  if (schedule.kind !== 'rows' || schedule.mapping !== 'rows') return false;
  return elementLoadsOf(kernel).every(({ dtype }) => byteLengthOf(dtype) * schedule.width < 8);
}

const secondsOf = (kernel: Kernel, chosen: ScheduleChoice): number =>
  secondsOfLaunches(workOf(kernel, chosen.schedule, chosen), 1, USUAL_RATES);

/**
 * Of a kernel in the normal form that runs as a whole on a device of so many multiprocessors, whose schedule in parts is
 * given: the one that holds tables in shared memory, where it is clearly ahead. Its blocks are as many as the device runs at
 * once, so that no range of them is a tile; whether it is taken follows from the kernel alone, as in parts.
 */
export function chooseWhole(
  kernel: Kernel,
  inParts: ScheduleChoice,
  limits: DeviceLimits,
  multiprocessors: number,
): ScheduleChoice {
  const { schedule } = inParts;
  if (schedule.kind !== 'map' || isSmall(kernel, schedule)) return inParts;
  // Threads compute one chunk after the other.
  if (schedule.unroll > 1 && sharesArithmetic(kernel)) return inParts;
  const onUsual = chooseTable(kernel, schedule, limits, USUAL_RATES.multiprocessors);
  if (onUsual === undefined) return inParts;
  const seconds = secondsOf(kernel, { schedule: onUsual, ...launchesOf(kernel, onUsual) });
  const ownSeconds = secondsOf(kernel, inParts);
  if (seconds > ownSeconds * (1 - LEAST_GAIN)) return inParts;
  const table = chooseTable(kernel, schedule, limits, multiprocessors)!;
  const count = 1 + (inParts.predicted?.count ?? 1);
  return { schedule: table, ...launchesOf(kernel, table), predicted: { count, seconds, ownSeconds } };
}
