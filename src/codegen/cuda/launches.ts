/**
 * The launches that a schedule makes of a kernel and the scratch memory that they share, without a line of source. Planning
 * reckons with them; `cuda.ts` prints the same launches, of the same functions (`mapLaunch` …), once a program is built.
 */
import type { Kernel } from '../../fusion/kernel/kernel.js';
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
import { tableLaunch } from './printers/table-kernel.js';
import { transposeLaunch } from './printers/transpose-kernel.js';
import { type Schedule, scheduleOfNormal } from './schedules/schedule.js';

export interface Launches {
  /** In order; empty where there is nothing to compute. */
  readonly launches: readonly LaunchShape[];
  readonly scratch: readonly Scratch[];
}

const oneLaunch = (launch: LaunchShape): Launches => ({ launches: [launch], scratch: [] });

/** Of a kernel in the normal form. `known`: the scratch memory, which schedules of the same bits share. */
export function launchesOf(kernel: Kernel, schedule: Schedule, known?: readonly Scratch[]): Launches {
  switch (schedule.kind) {
    case 'empty':
      return { launches: [], scratch: [] };
    case 'map':
      return oneLaunch(mapLaunch(kernel, schedule));
    case 'table':
      return oneLaunch(tableLaunch(schedule));
    case 'transpose':
      return oneLaunch(transposeLaunch(kernel, schedule));
    case 'rows':
      return oneLaunch(rowLaunch(kernel, schedule));
    case 'repeat':
      return oneLaunch(repeatLaunch(kernel, schedule));
    case 'stencil':
      return oneLaunch(stencilLaunch(kernel, schedule));
    case 'reduce': {
      const scratch = known ?? (schedule.slots === 1 ? [] : reduceScratch(new Body(kernel), schedule));
      return inSlots(kernel, schedule.slots, reduceLaunch(kernel, schedule), scratch);
    }
    case 'outer-product':
      return inSlots(
        kernel,
        schedule.slots,
        outerProductLaunch(kernel, schedule),
        known ?? outerProductScratch(kernel, schedule),
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
