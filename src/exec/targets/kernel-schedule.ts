/**
 * The schedules of a plan's kernels without measuring, by how their steps run on a device. Called for programs, and by all
 * that `explain` tells of a kernel.
 */
import { type Footprint, footprintOf, wholeFootprintOf } from '../../codegen/cuda/footprint.js';
import type { Schedule } from '../../codegen/cuda/schedules/schedule.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { type DevicePlan, wholeKernels } from '../plan/plan.js';
import { limitsOf, ratesOf } from './cuda-device.js';
import type { Device } from './device.js';
import type { StepRun } from './target.js';

/** The launches of a kernel by the schedule that it has untuned. */
export const untunedOf = (kernel: Kernel, device: Device, run: StepRun): Footprint =>
  run === 'parts'
    ? footprintOf(kernel, limitsOf(device))
    : wholeFootprintOf(kernel, limitsOf(device), ratesOf(device));

/** The schedules of kernels of a plan that run as a whole, where they are others than in parts. */
export function wholeSchedules(plan: DevicePlan, device: Device): Map<Kernel, Schedule> {
  const found = new Map<Kernel, Schedule>();
  for (const { kernel } of plan.steps.flatMap(wholeKernels)) {
    const { schedule } = untunedOf(kernel, device, 'whole');
    if (schedule !== untunedOf(kernel, device, 'parts').schedule) found.set(kernel, schedule);
  }
  return found;
}
