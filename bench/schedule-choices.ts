/**
 * Measured times of all schedules of kernels, beside the one that is chosen without measuring: for the bench that prints them
 * and the test that holds the choice to a file of them.
 */
import { readFileSync } from 'node:fs';
import { printSchedule } from '../src/codegen/cuda/cuda.js';
import { footprintOf } from '../src/codegen/cuda/footprint.js';
import { isSmall } from '../src/codegen/cuda/schedule-choice.js';
import { limitsOf } from '../src/exec/targets/cuda-device.js';
import type { Device } from '../src/exec/targets/device.js';
import type { CostCase } from './cost-corpus.js';
import { labelOf, stepOf } from './cost-predictions.js';

/** In microseconds, the rule's own schedule first. */
export interface MeasuredSchedules {
  readonly kernel: string;
  readonly times: readonly { readonly schedule: string; readonly measured: number }[];
}

export const savedSchedules = (file: string): MeasuredSchedules[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as MeasuredSchedules);

/** Of the fastest schedule, the rule's own and the one that is chosen without measuring. */
export interface Compared {
  readonly kernel: string;
  readonly kind: string;
  readonly best: number;
  readonly own: number;
  readonly chosen: number;
  readonly fastest: string;
  /** Whether the kernel has so few elements that its rule's own is not compared with others. */
  readonly isSmall: boolean;
}

export function compared(
  { kernel, times }: MeasuredSchedules,
  corpus: readonly CostCase[],
  device: Device,
): Compared {
  const one = corpus.find((each) => labelOf(each) === kernel.slice(0, kernel.indexOf(':')));
  const step = one && stepOf(one, device);
  if (step === undefined) throw new Error(`${kernel} was one kernel where it was measured`);
  const { normal, schedule } = footprintOf(step.kernel, limitsOf(device));
  const chosen = times.find((each) => each.schedule === printSchedule(schedule));
  if (chosen === undefined) throw new Error(`${kernel} has other schedules than were measured`);
  const best = times.reduce((least, each) => (each.measured < least.measured ? each : least));
  return {
    kernel,
    kind: schedule.kind,
    best: best.measured,
    own: times[0]!.measured,
    chosen: chosen.measured,
    fastest: best.schedule,
    isSmall: isSmall(normal, schedule),
  };
}
