/**
 * Kernels of the corpus with the times that the planner predicts, beside measured ones: for the bench that prints them and
 * the test that holds the model to a file of them.
 */
import { readFileSync } from 'node:fs';
import { unmeasuredRates } from '../src/codegen/cpu/tape-rates.js';
import { printSchedule } from '../src/codegen/cuda/cuda.js';
import { footprintOf } from '../src/codegen/cuda/footprint.js';
import { secondsOfLaunches } from '../src/codegen/cuda/launch-seconds.js';
import { workOf } from '../src/codegen/cuda/launch-work.js';
import { candidatesOf } from '../src/codegen/cuda/schedules/candidates.js';
import { scheduleOfNormal } from '../src/codegen/cuda/schedules/schedule.js';
import { normalize } from '../src/codegen/cuts/domain.js';
import type { CallStep } from '../src/exec/calls/call.js';
import { callRow } from '../src/exec/calls/table.js';
import type { DevicePlan, KernelStep, Step } from '../src/exec/plan/plan.js';
import { numbersFor, type RunNumbers } from '../src/exec/run/run-numbers.js';
import { secondsOfCall } from '../src/exec/targets/cpu-call-seconds.js';
import { launchedWith, secondsOfCudaCall } from '../src/exec/targets/cuda-call-seconds.js';
import { limitsOf, ratesOf } from '../src/exec/targets/cuda-device.js';
import type { Device } from '../src/exec/targets/device.js';
import { targetOf } from '../src/exec/targets/table.js';
import { canonicalize } from '../src/fusion/passes/canonicalize.js';
import { type DType, type Lazy, placeholder } from '../src/index.js';
import { planOnDevice } from '../test/support/device-plan.js';
import { type CallCase, callCase } from './call-corpus.js';
import type { CostCase } from './cost-corpus.js';

/** In microseconds. */
export interface Measured {
  readonly kernel: string;
  readonly family: string;
  readonly predicted: number;
  readonly measured: number;
  /** On a GPU; undefined in files of kernels that had the schedule of the rule (`scheduleOf`). */
  readonly schedule?: string;
}

export const labelOf = ({ family, dtype, shape }: CostCase): string =>
  `${family} of ${dtype} ${shape.join('×')}`;

/** The kernel that an expression is on a device; undefined: it is not one kernel. */
export function stepOf({ build, shape, dtype }: CostCase, device: Device): KernelStep | undefined {
  const given = (): Lazy => placeholder(shape, dtype, device.isHost ? {} : { device: 'cuda:0' });
  const canonical = canonicalize([build(given(), given()).expr]);
  const { plan } = planOnDevice(canonical, device, { destination: 'device' });
  const [step] = plan.steps;
  return plan.steps.length === 1 && step?.kind === 'kernel' ? step : undefined;
}

/** A call that an expression has, in its plan; `label` names it among all. */
export interface PlannedCall {
  readonly label: string;
  readonly step: CallStep;
  readonly plan: DevicePlan;
  readonly numbers: RunNumbers;
}

/** The calls of an expression on a device that can be timed by themselves. */
export function callsOf(one: CallCase, device: Device): PlannedCall[] {
  const canonical = canonicalize(one.build().map(({ expr }) => expr));
  const { plan } = planOnDevice(canonical, device, { destination: 'device' });
  const numbers = numbersFor(canonical);
  return plan.steps.flatMap((step, k) =>
    step.kind === 'call' && !callRow(step).isEmpty(step) && typeof callRow(step).samples(step) !== 'string'
      ? [{ label: `${one.family} of ${one.dtype} ${one.size}: ${step.call} ${k}`, step, plan, numbers }]
      : [],
  );
}

export const measuredCallOf = ({ label, step }: PlannedCall, device: Device, measured: number): Measured => ({
  kernel: label,
  family: step.call,
  predicted: predictedOf(step, device),
  measured,
});

/** Seconds of calls on the CPU with one of its threads, or on a GPU whose memory has a rate. */
function secondsOn(device: Device, memoryRate: number | undefined): (step: CallStep) => number {
  if (device.isHost) return (step) => secondsOfCall(step, unmeasuredRates(1));
  const usual = ratesOf(device);
  const rates = { ...usual, memoryRate: memoryRate ?? usual.memoryRate };
  const launchedAs = launchedWith(limitsOf(device));
  return (step) =>
    secondsOfCudaCall(step, 1, launchedAs, rates) ??
    callRow(step).costOf(step, rates.multiprocessors).seconds;
}

/** Of a file of calls, those that are wanted, by family and number; and the rate of the GPU's memory. */
interface CallsAnew {
  readonly isWanted?: (family: string, k: number) => boolean;
  readonly memoryRate?: number | undefined;
}

/** Calls of a file, whose cases are those of the lines' labels, with the predictions of this version. */
export function callsAnew(
  file: string,
  device: Device,
  { isWanted = () => true, memoryRate }: CallsAnew = {},
): Measured[] {
  const secondsOf = secondsOn(device, memoryRate);
  const times = new Map(savedIn(file).map(({ kernel, measured }) => [kernel, measured]));
  const labels = new Set([...times.keys()].map((label) => label.slice(0, label.lastIndexOf(': '))));
  return [...labels].flatMap((label, k) => {
    const [, family, dtype, size] = /^(.+) of (\S+) (\S+)$/.exec(label)!;
    const one = isWanted(family!, k) ? callCase(family!, dtype as DType, size!) : undefined;
    return (one === undefined ? [] : callsOf(one, device)).flatMap(({ label: kernel, step }): Measured[] => {
      const measured = times.get(kernel);
      return measured === undefined
        ? []
        : [{ kernel, family: step.call, predicted: 1e6 * secondsOf(step), measured }];
    });
  });
}

const savedIn = (file: string): Measured[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Measured);

function predictedOf(step: Step, device: Device): number {
  const { costs } = targetOf(device).modelOf(device, 'device');
  if (costs === undefined) throw new Error(`no model of the times of kernels on ${device.name}`);
  return costs.secondsOf(step, 1) * 1e6;
}

/** By one of its schedules on a GPU. */
function predictedBySchedule(
  { kernel }: KernelStep,
  device: Device,
  schedule: string | undefined,
): number | undefined {
  const normal = normalize(kernel);
  const own = scheduleOfNormal(normal, limitsOf(device));
  const measured =
    schedule === undefined ? own : candidatesOf(normal, own).find((each) => printSchedule(each) === schedule);
  return measured && secondsOfLaunches(workOf(normal, measured), 1, ratesOf(device)) * 1e6;
}

export const measuredOf = (one: CostCase, step: KernelStep, device: Device, measured: number): Measured => ({
  kernel: `${labelOf(one)}: ${step.kernel.name}`,
  family: one.family,
  predicted: predictedOf(step, device),
  measured,
  ...(device.isHost ? {} : { schedule: printSchedule(footprintOf(step.kernel, limitsOf(device)).schedule) }),
});

/** Kernels of a file with the predictions of this version. */
export function predictedAnew(cases: readonly CostCase[], device: Device, file: string): Measured[] {
  const byLabel = new Map(
    savedIn(file).map((line) => [line.kernel.slice(0, line.kernel.indexOf(':')), line]),
  );
  return cases.flatMap((one) => {
    const label = labelOf(one);
    const line = byLabel.get(label);
    if (line === undefined) return [];
    const step = stepOf(one, device);
    if (step === undefined) throw new Error(`${label} was one kernel where it was measured`);
    const anew = measuredOf(one, step, device, line.measured);
    if (device.isHost) return [anew];
    const predicted = predictedBySchedule(step, device, line.schedule);
    if (predicted === undefined) throw new Error(`${label} had another schedule where it was measured`);
    return [{ ...anew, predicted }];
  });
}

/** How far apart the two are, at least 1. */
export const apart = ({ predicted, measured }: Measured): number =>
  Math.max(predicted / measured, measured / predicted);
