/**
 * Execution: a job to its results. Segments of a deep graph are computed first, a program for the target is found
 * or made, and it runs within the memory of its devices. The one path on which anything runs: a device by
 * itself is the case of one phase on one device. Called by `evaluate.ts` and `compiled-graph.ts`.
 *
 * A device that is lost ends the execution; with `onDeviceLost: 'continue'` the others do the job anew, if
 * they can read all that it reads.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { holdersOf } from '../../graph/expr.js';
import { config } from '../../host/config.js';
import { DeviceLostError } from '../../host/errors.js';
import { isSomeStalled } from '../native/stalls.js';
import type { Destination } from '../plan/plan-graph.js';
import type { Device } from '../targets/device.js';
import type { ComputeOptions } from './compute-options.js';
import type { ComputeTarget } from './compute-target.js';
import type { InputOf } from './inputs.js';
import { processLimitOf } from './process-limit.js';
import { knownProgram } from './program.js';
import { runInBudget } from './run-in-budget.js';
import { numbersFor, passingNumbers } from './run-numbers.js';
import {
  type Executed,
  type FilesOf,
  type RunSettings,
  runProgram,
  runProgramNow,
  runSmallNow,
} from './run-program.js';
import type { Segments } from './segments.js';
import { checked } from './simulated-checks.js';
import type { ComputeWatch } from './watch.js';

/** A graph with what it reads. */
export interface Job {
  readonly canonical: Canonical;
  readonly inputOf: InputOf;
  /** The segments below the graph, if there are any. */
  readonly segments: Segments | undefined;
}

export interface ExecutionSettings extends RunSettings {
  readonly onDeviceLost: 'fail' | 'continue';
}

/** The settings that options give, for results that are wanted in a place. */
export const settingsOf = (
  { signal, onProgress, onDeviceLost = 'fail', deadline = config().deadline }: ComputeOptions,
  destination: Destination,
  whenQueued: boolean,
  filesOf: FilesOf | undefined,
  watch: ComputeWatch | undefined,
): ExecutionSettings => ({
  destination,
  whenQueued,
  filesOf,
  deadline,
  signal,
  onProgress,
  watch,
  segments: undefined,
  onDeviceLost,
});

/** Computes a job for a target. */
export function execute(job: Job, target: ComputeTarget, settings: ExecutionSettings): Promise<Executed> {
  const { segments } = job;
  settings.watch?.chosen(target);
  const executed =
    segments === undefined
      ? onRemainingDevices(job, target, settings)
      : executeAfterParts(job, segments, target, settings);
  return config().simulatorFolder === undefined ? executed : checked(executed);
}

/**
 * As `execute`, for a job of the CPU that was planned before and needs nothing else: a result that is there at once is given
 * as it is. Undefined: the job goes the way of all others.
 */
export function executeNow(
  job: Job,
  target: ComputeTarget,
  settings: ExecutionSettings,
): Executed | Promise<Executed> | undefined {
  const { canonical, inputOf, segments } = job;
  const [device] = target.devices;
  const isPlain = segments === undefined && !target.isSharded;
  if (!isPlain || !device!.isHost || config().simulatorFolder !== undefined) return undefined;
  const program = knownProgram(canonical, target);
  if (program === undefined) return undefined;
  const small = runSmallNow(program, inputOf, passingNumbers(canonical), settings);
  // A small run looks for the limit itself: a call of the addon takes 0.16 µs.
  if (small !== undefined || isLimited(device!)) return small;
  settings.watch?.chosen(target);
  return runProgramNow(program, { inputOf, numbers: numbersFor(canonical) }, settings);
}

const isLimited = (device: Device): boolean => processLimitOf(device) !== undefined;

async function executeAfterParts(
  job: Job,
  segments: Segments,
  target: ComputeTarget,
  settings: ExecutionSettings,
): Promise<Executed> {
  try {
    await segments.compute(target, settings);
    return await onRemainingDevices(job, target, { ...settings, segments });
  } finally {
    segments.clear();
  }
}

/** Whether later executions of the job can run the same program, without looking for devices and memory. */
export const isRepeatable = (
  { segments }: Job,
  { devices, isSharded }: ComputeTarget,
  { onDeviceLost }: ExecutionSettings,
  { program }: Executed,
): boolean =>
  segments === undefined &&
  // Within a limit of the process, calls wait for each other where there is no room for both.
  !devices.some(isLimited) &&
  // Several devices may be others, or have more room, the next time.
  (!isSharded || (onDeviceLost === 'fail' && !program.isForFreeBytes && !isSomeStalled()));

/** Runs on the devices of a target; on those that are left, where one of them is lost and that helps. */
function onRemainingDevices(job: Job, target: ComputeTarget, settings: ExecutionSettings): Promise<Executed> {
  const { canonical, inputOf } = job;
  const given = { inputOf, numbers: numbersFor(canonical) };
  const executed = runInBudget(canonical, target, settings.signal, (program) =>
    runProgram(program, given, settings),
  );
  if (!target.isSharded || settings.onDeviceLost === 'fail') return executed;
  return executed.catch((error: unknown) => {
    const left = withoutLost(canonical, target, error);
    if (left === undefined) throw error;
    return onRemainingDevices(job, left, settings);
  });
}

/** The target without a lost device; `undefined`: that does not help. */
function withoutLost(canonical: Canonical, target: ComputeTarget, error: unknown): ComputeTarget | undefined {
  if (!(error instanceof DeviceLostError) || error.device === undefined) return undefined;
  const { device: lost } = error;
  const devices = target.devices.filter(({ name }) => name !== lost);
  if (devices.length === target.devices.length || devices.length === 0) return undefined;
  const isNeeded = canonical.sources.some(
    ({ source }) => source.type === 'device' && holdersOf(source.buffer).includes(lost),
  );
  return isNeeded ? undefined : { ...target, devices };
}
