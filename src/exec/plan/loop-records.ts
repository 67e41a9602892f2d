/**
 * Loops with a condition that a GPU decides on by itself, where the driver has conditional nodes: those whose
 * bodies are kernels alone. Each counts its steps in a temporary, the record, which a plan's loops share, for
 * none of them is in another.
 *
 * Called by `device-planner.ts`. Without a record the host reads the condition back in every step.
 */

import type { CudaInfo } from '../native/native.js';
import { isAtLeast } from '../native/version.js';
import type { LoopStep, Step } from './plan.js';
import { ownBuffer, type StepList } from './step-list.js';

/** The first NVRTC that knows how kernels set the values of conditional nodes. */
const SINCE = [12, 4] as const;

/** Whether kernels can decide how often a graph's body runs. */
export function hasConditionalNodes({ driver, nvrtc }: Pick<CudaInfo, 'driver' | 'nvrtc'>): boolean {
  if (driver?.conditionalNodes !== true || nvrtc === null) return false;
  return isAtLeast(nvrtc.version, SINCE);
}

/** Whether a loop's steps are launches, and it is known only while they run how many there are. */
const isDecidable = ({ condition, body }: LoopStep): boolean =>
  condition >= 0 && body.every(({ kind }) => kind === 'kernel');

/**
 * The step list with a record for the loops that a device decides on; itself, if there are none or the device
 * cannot.
 */
export function withLoopRecords(stepList: StepList, bytesOf: (() => number) | undefined): StepList {
  const hasUse = (step: Step): boolean =>
    step.kind === 'loop' && (isDecidable(step) || step.body.some(hasUse));
  if (bytesOf === undefined || !stepList.steps.some(hasUse)) return stepList;
  const byteLength = bytesOf();
  if (byteLength === 0) return stepList;
  const record = stepList.buffers.length;
  const recorded = (step: Step): Step => {
    if (step.kind !== 'loop') return step;
    return isDecidable(step) ? { ...step, record } : { ...step, body: step.body.map(recorded) };
  };
  const buffers = [...stepList.buffers, ownBuffer('loop record', byteLength)];
  return { ...stepList, steps: stepList.steps.map(recorded), buffers };
}

/** The records of a step and of loops in it. */
export function recordsOf(step: Step): number[] {
  if (step.kind !== 'loop') return [];
  return step.record === undefined ? step.body.flatMap(recordsOf) : [step.record];
}
