/**
 * The footprint of a kernel on a GPU: its schedule there, and the launches and scratch memory that come of it. Found once,
 * when a plan first asks.
 */

import type { Kernel } from '../../fusion/kernel/kernel.js';
import { expected, ShapeError } from '../../host/errors.js';
import { MAX_GRID_X } from '../../shared/layout.js';
import { normalize } from '../cuts/domain.js';
import { type DeviceRates, secondsOfLaunches } from './launch-seconds.js';
import { workOf } from './launch-work.js';
import type { Launches } from './launches.js';
import { chooseSchedule, type ScheduleChoice } from './schedule-choice.js';
import { DEFAULT_LIMITS, type DeviceLimits } from './schedules/schedule-rows.js';

/** A kernel's launches by its schedule on some device. */
export interface Footprint extends ScheduleChoice {
  /** The kernel in the normal form, for which the schedule is. */
  readonly normal: Kernel;
}

/** By kernel and by the shared memory of a block. */
const known = new WeakMap<Kernel, Map<number, Footprint>>();

/** The footprint of a kernel on devices with these limits; found once. */
export function footprintOf(kernel: Kernel, limits: DeviceLimits = DEFAULT_LIMITS): Footprint {
  const byLimit = known.get(kernel) ?? new Map<number, Footprint>();
  let footprint = byLimit.get(limits.sharedByteLength);
  if (footprint === undefined) {
    const normal = normalize(kernel);
    footprint = { normal, ...chooseSchedule(normal, limits) };
    checkGrids(kernel, footprint);
    known.set(kernel, byLimit.set(limits.sharedByteLength, footprint));
  }
  return footprint;
}

/**
 * Refuses what no launch can do, also if it is cut into tiles, which are ranges of the blocks of the whole.
 */
function checkGrids(kernel: Kernel, { launches }: Launches): void {
  const blocks = Math.max(...launches.map(({ grid }) => grid[0]));
  if (blocks <= MAX_GRID_X) return;
  const received = `${kernel.name} has ${blocks}`;
  throw new ShapeError(
    expected(
      'compute',
      'kernels of at most 2^31 - 1 blocks on a GPU',
      received,
      'compute the array in parts',
    ),
  );
}

/** Seconds of a part of a kernel, from 0 to 1, that is alone on a device. */
export function secondsOfKernel(
  kernel: Kernel,
  part: number,
  rates: DeviceRates,
  limits: DeviceLimits = DEFAULT_LIMITS,
): number {
  const footprint = footprintOf(kernel, limits);
  return secondsOfLaunches(workOf(footprint.normal, footprint.schedule, footprint), part, rates);
}
