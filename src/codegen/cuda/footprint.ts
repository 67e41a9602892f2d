/**
 * The footprint of a kernel on a GPU: its schedule there, and the launches and scratch memory that come of it; or the
 * kernels that it is split into. Found when a plan first asks, once for all kernels of a structure.
 */

import { type Load, loadsOf } from '../../fusion/kernel/algebra.js';
import { kernelFingerprint } from '../../fusion/kernel/fingerprint.js';
import { type Kernel, oncePerKernel } from '../../fusion/kernel/kernel.js';
import { expected, ShapeError } from '../../host/errors.js';
import { once } from '../../host/once.js';
import { MAX_GRID_X } from '../../shared/layout.js';
import { LruCache } from '../../shared/lru-cache.js';
import { normalize } from '../cuts/domain.js';
import { type SplitKernels, splitPhases } from '../cuts/split-phases.js';
import { type DeviceRates, secondsOfLaunches } from './launch-seconds.js';
import { workOf } from './launch-work.js';
import type { Launches } from './launches.js';
import { chooseSchedule, chooseWhole, type ScheduleChoice } from './schedule-choice.js';
import { type Schedule, scheduleOfNormal } from './schedules/schedule.js';
import { DEFAULT_LIMITS, type DeviceLimits } from './schedules/schedule-rows.js';

/** A kernel's launches by its schedule on some device. */
export interface Footprint extends ScheduleChoice {
  /** The kernel in the normal form, for which the schedule is. */
  readonly normal: Kernel;
}

/** Keeps what is found for a kernel on devices, by the shared memory of a block. */
function oncePerLimits<R>(find: (kernel: Kernel, limits: DeviceLimits) => R) {
  const known = new WeakMap<Kernel, Map<number, R>>();
  return (kernel: Kernel, limits: DeviceLimits = DEFAULT_LIMITS): R => {
    const byLimit = known.get(kernel) ?? new Map<number, R>();
    let found = byLimit.get(limits.sharedByteLength);
    if (found === undefined) {
      found = find(kernel, limits);
      known.set(kernel, byLimit.set(limits.sharedByteLength, found));
    }
    return found;
  };
}

/** The schedule of all kernels of one structure. */
interface Rule {
  /** By which a kernel is split or not. */
  readonly schedule: Schedule;
  readonly choice: () => ScheduleChoice;
  /** Of kernels that run as a whole, by multiprocessors, and whether those run clusters. */
  readonly wholes: Map<string, ScheduleChoice>;
}

/**
 * Rules by the structure of kernels: to find that takes some 3 µs, a schedule 20 to 60. Constants do not matter but for
 * symmetric pairs, whose formulas are compared as text.
 */
const rules = new LruCache<Rule>(1024, 1 << 16);

const normalOf = oncePerKernel(normalize);

const ruleOf = oncePerLimits((kernel, limits): Rule => {
  const structure = `${limits.sharedByteLength} ${kernelFingerprint(kernel)}`;
  const known = rules.get(structure);
  if (known !== undefined) return known;
  const normal = normalOf(kernel);
  const schedule = scheduleOfNormal(normal, limits);
  const rule = { schedule, choice: once(() => chooseSchedule(normal, schedule)), wholes: new Map() };
  if (schedule.kind !== 'outer-product') rules.set(structure, rule, kernel.tape.length);
  return rule;
});

/**
 * The same object for kernels of one structure, for which the same code is printed but for names and the values of
 * arguments.
 */
export const structureKey = (kernel: Kernel, limits: DeviceLimits): object => ruleOf(kernel, limits);

const withNormal = (kernel: Kernel, choice: ScheduleChoice): Footprint => ({
  ...choice,
  get normal() {
    return normalOf(kernel);
  },
});

/** The footprint of a kernel on devices with these limits; found once. */
export const footprintOf = oncePerLimits((kernel, limits): Footprint => {
  const choice = ruleOf(kernel, limits).choice();
  checkGrids(kernel, choice);
  return withNormal(kernel, choice);
});

/**
 * Kernels that compute, one after the other, what a GPU does not run as one kernel: they give the same bits
 * as `cudaKernel` of the whole. `added`: the buffers that they hand results on in. A kernel that runs as one
 * stands alone.
 */
export function expandForDevice(kernel: Kernel, limits?: DeviceLimits): SplitKernels {
  const { schedule } = ruleOf(kernel, limits);
  return schedule.kind === 'split' ? splitPhases(normalOf(kernel)) : { kernels: [kernel], added: [] };
}

/** The footprint of a kernel that runs as a whole on a device; the same scratch memory and bits as in parts. */
export function wholeFootprintOf(
  kernel: Kernel,
  limits: DeviceLimits,
  { multiprocessors }: Pick<DeviceRates, 'multiprocessors'>,
): Footprint {
  const inParts = footprintOf(kernel, limits);
  const isGather = ({ access }: Load): boolean => access.index !== undefined;
  if (inParts.schedule.kind !== 'map' || !loadsOf(kernel).some(isGather)) return inParts;
  const { choice, wholes } = ruleOf(kernel, limits);
  const key = `${multiprocessors}${limits.hasClusters === true ? ' in clusters' : ''}`;
  let whole = wholes.get(key);
  if (whole === undefined) {
    whole = chooseWhole(inParts.normal, choice(), limits, multiprocessors);
    wholes.set(key, whole);
  }
  return whole === choice() ? inParts : withNormal(kernel, whole);
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
  const footprint = part === 1 ? wholeFootprintOf(kernel, limits, rates) : footprintOf(kernel, limits);
  return secondsOfLaunches(workOf(footprint.normal, footprint.schedule, footprint), part, rates);
}
