/**
 * Plan → native program for a GPU: every kernel becomes CUDA C, compiled (or found in the cache) for the
 * device's architecture. Called by `cuda.ts`.
 */

import type { DeviceLimits, Schedule } from '../../codegen/cuda/cuda.js';
import { footprintOf } from '../../codegen/cuda/footprint.js';
import { LOOP_BEGIN, LOOP_CHECK, LOOP_GO_ON } from '../../codegen/cuda/loop-check.js';
import { type CudaSource, kernelSource, routineSource, sourceKey } from '../../codegen/cuda/source.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { Dim3 } from '../../graph/user-kernel.js';
import { completed, type Slices } from '../../host/slices.js';
import { RANGE, RANGE_FIELDS } from '../../shared/layout.js';
import type { CallStep } from '../calls/call.js';
import type { CallLaunch } from '../calls/call-row.js';
import { callRow } from '../calls/table.js';
import type { ProgramSpec, StepSpec, SweepSpec } from '../native/native.js';
import { inTurns } from '../native/turns.js';
import { recordsOf } from '../plan/loop-records.js';
import {
  type DevicePlan,
  type KernelStep,
  kernelsOf,
  type PhaseStep,
  type Step,
  type SweepStep,
  wholeKernels,
} from '../plan/plan.js';
import { callsOf } from '../plan/workspace.js';
import { architectureOf, limitsOf, multiprocessorsOf } from './cuda-device.js';
import { callSource, callSources, loadImages, type ProgramImages, type Sources } from './cuda-images.js';
import type { Device } from './device.js';
import { launchArgument } from './kernel-arguments.js';
import { wholeSchedules } from './kernel-schedule.js';
import { cudaOf, sourceOfKernel } from './kernel-source.js';
import { tuneKernels } from './kernel-tuning.js';
import { type TunedProduct, tuneProducts, tuningKey } from './product-tuning.js';
import { graphsOf, streamsOfSpecs } from './program-graphs.js';
import { bufferSpecs, joinedRanges, loopSpec } from './program-spec.js';
import { CUDA_SCHEDULES } from './schedule-tuning.js';
import type { EmitOptions } from './target.js';

/** The kernels of a step, each with the schedule by which it runs there; undefined: that of its parts. */
function scheduledKernels(step: Step, schedules: Schedules): (readonly [Kernel, Schedule | undefined])[] {
  const whole = new Set(wholeKernels(step).map(({ kernel }) => kernel));
  return kernelsOf(step).map((kernel) => [kernel, whole.has(kernel) ? schedules.get(kernel) : undefined]);
}

/** The sources of all that a plan launches on a device, each once, step by step. */
export function* sourcesInSlices(
  plan: DevicePlan,
  device: Device,
  schedules: Schedules = wholeSchedules(plan, device),
): Slices<Sources> {
  const sources = new Map<string, CudaSource>();
  for (const step of plan.steps) {
    for (const source of sourcesOfStep(step, limitsOf(device), schedules))
      sources.set(sourceKey(source), source);
    yield;
  }
  return sources;
}

function sourcesOfStep(step: Step, limits: DeviceLimits, schedules: Schedules): CudaSource[] {
  return [
    ...scheduledKernels(step, schedules).map(([kernel, schedule]) =>
      sourceOfKernel(kernel, limits, schedule),
    ),
    ...callsOf(step).flatMap((call) => {
      const kernels = callRow(call).kernels?.(call, limits);
      return kernels === undefined ? [] : callSources(kernels);
    }),
    ...(recordsOf(step).length > 0 ? [routineSource(LOOP_CHECK)] : []),
  ];
}

/** The sources of all that a plan launches on a device, and of its kernels where they run in parts after all. */
export const everySource = (plan: DevicePlan, device: Device): Sources =>
  new Map(
    [NO_SCHEDULES, wholeSchedules(plan, device)].flatMap((schedules) => [
      ...completed(sourcesInSlices(plan, device, schedules)),
    ]),
  );

/** Results are page-locked within what the plan leaves of the host's budget. */
export async function cudaProgram(
  plan: DevicePlan,
  device: Device,
  { budget, hostBudget, tune }: EmitOptions,
): Promise<ProgramSpec> {
  const architecture = architectureOf(device);
  const limits = limitsOf(device);
  const schedules = wholeSchedules(plan, device);
  if (tune)
    for (const [kernel, schedule] of await tuneKernels(plan, device, CUDA_SCHEDULES, budget))
      schedules.set(kernel, schedule);
  const images = await loadImages(await inTurns(sourcesInSlices(plan, device, schedules)), architecture);
  const tuned = tune ? await tuneProducts(plan, device, budget) : NONE;
  const algorithmOf = (step: CallStep): TunedProduct | undefined =>
    tuned.size === 0 ? undefined : tuned.get(tuningKey(step, plan, device));
  const specs = await inTurns(specsOf(plan, { limits, images, algorithmOf, schedules }));
  const counts = specs.map(({ length }) => length);
  const streams = streamsOfSpecs(plan, counts);
  return {
    device: device.name,
    buffers: bufferSpecs(plan),
    arenaByteLength: plan.arenaByteLength,
    ...(plan.copyByteLength === undefined ? {} : { copyByteLength: plan.copyByteLength }),
    ...(hostBudget === undefined ? {} : { lockByteLength: Math.max(0, hostBudget - plan.hostPeakBytes) }),
    images: images.list.map(({ key, bytes }) => ({ key, bytes })),
    steps: specs.flat(),
    ...(streams === undefined ? {} : { streams }),
    graphs: graphsOf(plan, counts, streams, multiprocessorsOf(device)),
  };
}

/** For each graph of a plan's program, how many steps it has. */
export function graphSizes(plan: DevicePlan, device: Device): number[] {
  const limits = limitsOf(device);
  const counts = plan.steps.map((step): number => {
    if (step.kind === 'sweep' || step.kind === 'loop') return 1;
    if (step.kind === 'call') return callRow(step).kernels?.(step, limits)?.launches.length ?? 1;
    const { scratch, launches } = footprintOf(step.kernel, limits);
    const own = ownLaunches(step, launches).length;
    return step.kind === 'finish' ? own : own + scratch.filter((buffer) => buffer.zeroed).length;
  });
  const streams = streamsOfSpecs(plan, counts);
  return graphsOf(plan, counts, streams, multiprocessorsOf(device)).map(({ count }) => count);
}

interface Emitting {
  readonly limits: DeviceLimits;
  readonly images: ProgramImages;
  /** Of a library's step that runs as a whole, where it was measured. */
  readonly algorithmOf: (step: CallStep) => TunedProduct | undefined;
  readonly schedules: Schedules;
}

/** Of kernels that run as a whole, where they are others than in parts. */
type Schedules = ReadonlyMap<Kernel, Schedule>;

const NO_SCHEDULES: Schedules = new Map();
const NONE: ReadonlyMap<string, TunedProduct> = new Map();

/** Steps between pauses: each takes some 4 µs. */
const STEPS_OF_SLICE = 64;

function* specsOf({ steps }: DevicePlan, emitting: Emitting): Slices<StepSpec[][]> {
  const specs: StepSpec[][] = [];
  for (const step of steps) if (specs.push(stepSpecs(step, emitting)) % STEPS_OF_SLICE === 0) yield;
  return specs;
}

function stepSpecs(step: Step, emitting: Emitting): StepSpec[] {
  if (step.kind === 'sweep')
    return [sweepSpec(step, { ...emitting, algorithmOf: () => undefined, schedules: NO_SCHEDULES })];
  return launchSpecs(step, emitting);
}

/** The launches of a step; of a phase, those that leave partial results. */
function launchSpecs(step: Exclude<Step, SweepStep>, emitting: Emitting): Exclude<StepSpec, SweepSpec>[] {
  const { images, limits, schedules } = emitting;
  if (step.kind === 'call') return callSpecs(step, emitting);
  if (step.kind === 'loop') {
    const spec = loopSpec(step, (part) => stepSpecs(part, emitting));
    const { record } = step;
    if (record === undefined) return [spec];
    const image = images.positionOf(routineSource(LOOP_CHECK));
    return [{ ...spec, check: { image, begin: LOOP_BEGIN, goOn: LOOP_GO_ON, record } }];
  }
  const cuda = cudaOf(step.kernel, limits, step.kind === 'kernel' ? schedules.get(step.kernel) : undefined);
  const image = images.positionOf(kernelSource(cuda.source));
  const launches = cuda.launches.map((launch) => ({
    kind: 'launch' as const,
    image,
    function: launch.function,
    grid: launch.grid,
    block: launch.block,
    sharedByteLength: launch.sharedByteLength,
    args: launch.args.map((argument) => launchArgument(argument, step)),
  }));
  const own = ownLaunches(step, launches);
  if (step.kind === 'finish') return own;
  const zeroed = cuda.scratch.flatMap((scratch, k) =>
    scratch.zeroed ? [{ kind: 'zero' as const, buffer: step.scratch[k]! }] : [],
  );
  return [...zeroed, ...own];
}

/** A call as its kernels' launches, or as one step of a library. */
function callSpecs(step: CallStep, emitting: Emitting): Exclude<StepSpec, SweepSpec>[] {
  const { images, limits, algorithmOf } = emitting;
  const row = callRow(step);
  const kernels = row.kernels?.(step, limits);
  if (kernels === undefined) {
    const tuned = row.tuning && algorithmOf(step);
    return [tuned === undefined ? row.spec(step) : row.tuning!.spec(step, tuned.algorithm)];
  }
  return kernels.launches.map((launch) => {
    const { function: name, blocks, threads, sharedByteLength = 0, args } = launch;
    const source = callSource(kernels, launch);
    return {
      kind: 'launch',
      image: images.positionOf(source),
      function: images.nameOf(source, name),
      grid: dim3(blocks),
      block: dim3(threads),
      sharedByteLength,
      args,
    };
  });
}

const dim3 = (size: number | Dim3): Dim3 => (typeof size === 'number' ? [size, 1, 1] : size);

/** The blocks of a call's launch that tiles run, from the units that they run: see `CallLaunch`. */
function blockRanges(step: CallStep, launch: CallLaunch, units: Float64Array): Float64Array {
  const { unit, unitAxis = 'x' } = launch;
  const [form] = callRow(step).forms(step);
  const [across, along] = dim3(launch.blocks);
  const blocks = unitAxis === 'x' ? across : along;
  const perUnit = unit === undefined ? blocks / (form?.cut.units ?? 1) : blocks;
  const ranges = new Float64Array(units.length);
  for (let at = 0; at < units.length; at += RANGE_FIELDS) {
    const [first, last] = [units[at + RANGE.x0]!, units[at + RANGE.x1]!];
    const isRun = unit === undefined || (unit >= first && unit < last);
    const own = unit === undefined ? [first * perUnit, last * perUnit] : [0, isRun ? perUnit : 0];
    const isEmpty = own[1]! <= own[0]!;
    if (isEmpty || unitAxis === 'x') ranges.set([...own, 0, isEmpty ? 0 : along], at);
    else ranges.set([0, across, ...own], at);
  }
  return ranges;
}

/** Of a reduction in slots, the first launch leaves partial results and the others finish them. */
const PARTIAL_LAUNCHES = 1;

/**
 * The launches of a kernel that a step has. Results of what finishes a phase may have windows, which the tiles of the phase
 * have not, so that these have its first launch alone.
 */
function ownLaunches<Launch>({ kind }: KernelStep | PhaseStep, launches: readonly Launch[]): Launch[] {
  if (kind === 'phase') return launches.slice(0, PARTIAL_LAUNCHES);
  return launches.slice(kind === 'finish' ? PARTIAL_LAUNCHES : 0);
}

function sweepSpec(sweep: SweepStep, emitting: Emitting): SweepSpec {
  const body = sweep.body.flatMap(({ step, ranges }) => {
    const launches = launchSpecs(step, emitting).filter(({ kind }) => kind !== 'zero');
    if (step.kind === 'loop') return [{ step: launches[0]!, ranges: joinedRanges(ranges) }];
    const own = step.kind === 'call' ? callRow(step).kernels?.(step, emitting.limits)?.launches : undefined;
    if (step.kind === 'call' && own !== undefined)
      return own.map((launch, k) => ({ step: launches[k]!, ranges: blockRanges(step, launch, ranges[0]!) }));
    return ranges.map((table, k) => ({ step: launches[k]!, ranges: table }));
  });
  return { kind: 'sweep', tiles: sweep.tiles, queueParts: sweep.queueParts, buffers: sweep.windows, body };
}
