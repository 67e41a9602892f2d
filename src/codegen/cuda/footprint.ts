/**
 * The footprint of a kernel on a GPU: the launches that its schedule makes of it and the scratch memory that
 * they share, without a line of source. Planning reckons with it; `cuda.ts` prints the same launches, of the
 * same functions (`mapLaunch` …), once a program is built.
 */

import type { Kernel } from '../../fusion/kernel/kernel.js';
import { expected, ShapeError } from '../../host/errors.js';
import { MAX_GRID_X } from '../../shared/layout.js';
import { normalize } from '../cuts/domain.js';
import { splitPhases } from '../cuts/split-phases.js';
import { Body } from './body.js';
import type { LaunchShape, Scratch } from './launch.js';
import { mapLaunch } from './printers/map-kernel.js';
import { outerProductLaunch, outerProductScratch } from './printers/outer-product-kernel.js';
import { combineLaunch } from './printers/reduce-combine.js';
import { reduceLaunch, reduceScratch } from './printers/reduce-kernel.js';
import { repeatLaunch } from './printers/repeat-kernel.js';
import { rowLaunch } from './printers/row-kernel.js';
import { stencilLaunch } from './printers/stencil-kernel.js';
import { transposeLaunch } from './printers/transpose-kernel.js';
import { type Schedule, scheduleOfNormal } from './schedules/schedule.js';
import { DEFAULT_LIMITS, type DeviceLimits } from './schedules/schedule-rows.js';

/** A kernel's launches by its schedule on some device. */
export interface Footprint extends Launches {
  readonly schedule: Schedule;
}

interface Launches {
  /** In order; empty where there is nothing to compute. */
  readonly launches: readonly LaunchShape[];
  readonly scratch: readonly Scratch[];
}

/** By kernel and by the shared memory of a block. */
const known = new WeakMap<Kernel, Map<number, Footprint>>();

/** The footprint of a kernel on devices with these limits; found once. */
export function footprintOf(kernel: Kernel, limits: DeviceLimits = DEFAULT_LIMITS): Footprint {
  const byLimit = known.get(kernel) ?? new Map<number, Footprint>();
  let footprint = byLimit.get(limits.sharedByteLength);
  if (footprint === undefined) {
    const normal = normalize(kernel);
    const schedule = scheduleOfNormal(normal, limits);
    footprint = { schedule, ...launchesOf(normal, schedule) };
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

const oneLaunch = (launch: LaunchShape): Launches => ({ launches: [launch], scratch: [] });

function launchesOf(kernel: Kernel, schedule: Schedule): Launches {
  switch (schedule.kind) {
    case 'empty':
      return { launches: [], scratch: [] };
    case 'map':
      return oneLaunch(mapLaunch(kernel, schedule));
    case 'transpose':
      return oneLaunch(transposeLaunch(kernel, schedule));
    case 'rows':
      return oneLaunch(rowLaunch(kernel, schedule));
    case 'repeat':
      return oneLaunch(repeatLaunch(kernel, schedule));
    case 'stencil':
      return oneLaunch(stencilLaunch(kernel, schedule));
    case 'reduce': {
      const scratch = schedule.slots === 1 ? [] : reduceScratch(new Body(kernel), schedule);
      return inSlots(kernel, schedule.slots, reduceLaunch(kernel, schedule), scratch);
    }
    case 'outer-product':
      return inSlots(
        kernel,
        schedule.slots,
        outerProductLaunch(kernel, schedule),
        outerProductScratch(kernel, schedule),
      );
    case 'split':
      return splitLaunches(kernel);
  }
}

/** Slots leave partial results in scratch, which a launch of its own combines. */
function inSlots(kernel: Kernel, slots: number, walk: LaunchShape, scratch: readonly Scratch[]): Launches {
  if (slots === 1) return oneLaunch(walk);
  return { launches: [walk, combineLaunch(kernel, slots)], scratch };
}

/** One kernel per phase; the buffers between them are scratch. */
function splitLaunches(kernel: Kernel): Launches {
  const { kernels, added } = splitPhases(kernel);
  const handedOn = added.map(({ byteLength }): Scratch => ({ byteLength, zeroed: false }));
  const parts = kernels.map((part) => {
    const normal = normalize(part);
    return launchesOf(normal, scheduleOfNormal(normal));
  });
  return {
    launches: parts.flatMap(({ launches }) => launches),
    scratch: [...handedOn, ...parts.flatMap(({ scratch }) => scratch)],
  };
}
