/**
 * Plan → native program for a GPU: every kernel becomes CUDA C, compiled (or found in the cache) for the
 * device's architecture. Called by `program.ts`.
 */
import {
  CUDA_OPTIONS,
  type CudaArgument,
  type CudaKernel,
  cudaKernel,
  DEFAULT_LIMITS,
  type DeviceLimits,
  expandForDevice,
} from '../../codegen/cuda/cuda.js';
import { footprintOf } from '../../codegen/cuda/footprint.js';
import { LOOP_BEGIN, LOOP_CHECK, LOOP_GO_ON, LOOP_RECORD_BYTES } from '../../codegen/cuda/loop-check.js';
import { cudaWorks } from '../../codegen/cuts/cuda-work.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { CallStep, StepCost } from '../calls/call.js';
import type { CallLaunch } from '../calls/call-row.js';
import { callRow } from '../calls/table.js';
import {
  type CudaDeviceInfo,
  cudaInfo,
  type LaunchArgument,
  type ProgramSpec,
  refusesLoops,
  type StepSpec,
  type SweepSpec,
  stagingLimits,
} from '../native/native.js';
import { RANGE_FIELDS } from '../native/program-types.js';
import { timed } from '../native/recorder.js';
import { cudaBlockBytes, hostBlockBytes } from '../plan/block-bytes.js';
import { hasConditionalNodes, recordsOf } from '../plan/loop-records.js';
import { aligned } from '../plan/memory.js';
import {
  type KernelStep,
  kernelsOf,
  type PhaseStep,
  type Plan,
  type PlanBuffer,
  type Step,
  type SweepStep,
  sweepsOf,
} from '../plan/plan.js';
import type { DeviceNeeds, Place } from '../plan/plan-graph.js';
import { callsOf } from '../plan/workspace.js';
import { debug } from './debug.js';
import { loadImage } from './kernel-cache.js';
import { graphsOf, streamsOfSpecs } from './program-graphs.js';
import { bufferSpecs, joinedRanges, loopSpec } from './program-spec.js';

/** By kernel and by the shared memory of a block. */
const printed = new WeakMap<Kernel, Map<number, CudaKernel>>();

/** The CUDA C of a kernel for devices with these limits; printed once. */
export function cudaOf(kernel: Kernel, limits: DeviceLimits = DEFAULT_LIMITS): CudaKernel {
  const byLimit = printed.get(kernel) ?? new Map<number, CudaKernel>();
  let cuda = byLimit.get(limits.sharedByteLength);
  if (cuda === undefined) {
    const { schedule } = footprintOf(kernel, limits);
    cuda = timed('codegen', kernel.name, () => cudaKernel(kernel, schedule));
    printed.set(kernel, byLimit.set(limits.sharedByteLength, cuda));
    const { source } = cuda;
    debug('cuda', kernel.name, () => source);
  }
  return cuda;
}

const infoOf = (device: string): CudaDeviceInfo | undefined =>
  cudaInfo().devices[Number(device.slice('cuda:'.length))];

/** The limits of a device for the schedules of its kernels; plans for an absent one take the usual ones. */
export function limitsOf(device: string): DeviceLimits {
  const sharedByteLength = infoOf(device)?.sharedMemoryPerBlockOptin;
  return sharedByteLength === undefined ? DEFAULT_LIMITS : { sharedByteLength };
}

/** Of a device that is not here. */
const USUAL_MULTIPROCESSORS = 132;
const multiprocessorsOf = (device: string): number =>
  infoOf(device)?.multiprocessorCount ?? USUAL_MULTIPROCESSORS;

/**
 * Bytes that a tile copies each way, so that the copies of some tiles overlap the work of others and the
 * first is soon there.
 */
const TILE_BYTES = 48 * 2 ** 20;

/**
 * The properties of a GPU that plans depend on. `place`: where results are wanted; those that stay on the
 * device are there as a whole.
 */
export function cudaNeeds(device: string, place: Place): DeviceNeeds {
  const limits = limitsOf(device);
  const multiprocessors = multiprocessorsOf(device);
  return {
    scratchOf: (kernel) => footprintOf(kernel, limits).scratch.map((scratch) => scratch.byteLength),
    expand: expandForDevice,
    stepsAtOnce: (kernel) => {
      const { schedule } = footprintOf(kernel, limits);
      return schedule.kind === 'stencil' || schedule.kind === 'repeat' ? schedule.steps : 1;
    },
    workspaceOf: (step) => callRow(step).workspace.cuda(step),
    blockBytes: cudaBlockBytes,
    hasOwnBlock: ({ role }) => role === 'output' && place === 'device',
    hostPeakOf: cudaHostPeak,
    copies: { most: stagingLimits().copies, least: stagingLimits().leastCopies },
    heldBytes: ({ role, byteLength, isStored }) => (isStored || role === 'state' ? 0 : byteLength),
    streams: { most: MOST_STREAMS, costOf: (step) => costOf(step, limits, multiprocessors) },
    loopRecordBytes: () => (hasConditionalNodes(cudaInfo()) && !refusesLoops(device) ? LOOP_RECORD_BYTES : 0),
    isByElement: (kernel) => ['map', 'repeat'].includes(footprintOf(kernel, limits).schedule.kind),
    sweeps: {
      worksOf: (kernel) => cudaWorks(kernel, footprintOf(kernel, limits).schedule),
      canWindow: ({ role }) => role !== 'output' || place !== 'device',
      canSpill: true,
      canReadBack: place !== 'file',
      slots: { in: 3, out: 3, local: 1 },
      tileBytes: TILE_BYTES,
      multiprocessors,
    },
  };
}

/** As many as native programs have: `Program::kMostStreams`. */
const MOST_STREAMS = 8;
/** Threads of a multiprocessor. */
const THREADS = 2048;
const LAUNCH_SECONDS = 2.5e-6;
/** Bytes a second of what is in memory; a kernel that fills half of the device reaches it. */
const MEMORY_RATE = 4e12;

/** About how long a step takes by itself, and how much of the device it fills. */
function costOf(step: Step, limits: DeviceLimits, multiprocessors: number): StepCost {
  if (step.kind === 'call') return callRow(step).costOf(step, multiprocessors);
  if (step.kind !== 'kernel') return { seconds: LAUNCH_SECONDS, share: 1, queueSeconds: LAUNCH_SECONDS };
  const { launches } = footprintOf(step.kernel, limits);
  const threads = launches.map(({ grid, block }) => [...grid, ...block].reduce((n, size) => n * size, 1));
  const share = Math.min(1, Math.max(1, ...threads) / (multiprocessors * THREADS));
  const bytes = step.kernel.buffers.reduce((sum, b) => sum + b.elementCount * byteLengthOf(b.dtype), 0);
  const moved = bytes / (MEMORY_RATE * Math.min(1, 2 * share));
  const launching = launches.length * LAUNCH_SECONDS;
  return { seconds: launching + moved, share, queueSeconds: launching };
}

/**
 * Copies of more bytes than this go through the lanes of their direction: `PinnedSlots` of
 * `native/cuda/slots.h`.
 */
const PACKED = 64 * 2 ** 10;

/**
 * Values that wait between sweeps, and pinned memory: for what small arrays are packed into, and for each
 * kind of copies.
 */
function cudaHostPeak({ buffers, steps, copyByteLength }: Omit<Plan, 'hostPeakBytes'>): number {
  const { packed, copies: most } = stagingLimits();
  const copies = copyByteLength ?? most;
  const spilled = buffers.reduce(
    (sum, b) => sum + (b.role === 'spill' ? hostBlockBytes(b.byteLength) : 0),
    0,
  );
  const ends = buffers.filter(
    ({ role, windowed }) => (role === 'input' || role === 'output') && windowed !== true,
  );
  const atOnce = (role: PlanBuffer['role']): number =>
    ends.reduce((sum, b) => sum + (b.role === role ? aligned(b.byteLength) : 0), 0);
  const isLarge = Math.max(atOnce('input'), atOnce('output')) > PACKED;
  const sweeps = steps.flatMap(sweepsOf).flatMap(({ windows }) => windows);
  const ways = ['in', 'out'].filter((way) => sweeps.some(({ direction }) => direction === way));
  return spilled + (ends.length > 0 ? packed : 0) + ((isLarge ? 1 : 0) + ways.length) * copies;
}

/** NVRTC's name of a device's architecture: `sm_90`. */
const architectureOf = (device: string): string => `sm_${infoOf(device)!.computeCapability.join('')}`;

/** `hostBudget`: results are page-locked within what the plan leaves of it. */
export async function cudaProgram(plan: Plan, device: string, hostBudget?: number): Promise<ProgramSpec> {
  const architecture = architectureOf(device);
  const limits = limitsOf(device);
  const position = new Map<string, number>(); // source → image
  for (const step of plan.steps) {
    const sources = kernelsOf(step).map((kernel) => cudaOf(kernel, limits).source);
    sources.push(...callsOf(step).flatMap((call) => callRow(call).kernels?.(call).source ?? []));
    if (recordsOf(step).length > 0) sources.push(LOOP_CHECK);
    for (const source of sources) if (!position.has(source)) position.set(source, position.size);
  }
  const images = await Promise.all(
    [...position.keys()].map((source) => loadImage(source, architecture, CUDA_OPTIONS)),
  );
  const specs = plan.steps.map((step) => stepSpecs(step, { limits, position }));
  const counts = specs.map(({ length }) => length);
  const streams = streamsOfSpecs(plan, counts);
  return {
    device,
    buffers: bufferSpecs(plan),
    arenaByteLength: plan.arenaByteLength,
    ...(plan.copyByteLength === undefined ? {} : { copyByteLength: plan.copyByteLength }),
    ...(hostBudget === undefined ? {} : { lockByteLength: Math.max(0, hostBudget - plan.hostPeakBytes) }),
    images,
    steps: specs.flat(),
    ...(streams === undefined ? {} : { streams }),
    graphs: graphsOf(plan, counts, streams, multiprocessorsOf(device)),
  };
}

/** For each graph of a plan's program, how many steps it has. */
export function graphSizes(plan: Plan, device: string): number[] {
  const limits = limitsOf(device);
  const counts = plan.steps.map((step): number => {
    if (step.kind === 'sweep' || step.kind === 'loop') return 1;
    if (step.kind === 'call') return callRow(step).kernels?.(step).launches.length ?? 1;
    const { scratch, launches } = footprintOf(step.kernel, limits);
    if (step.kind === 'finish') return launches.length - PARTIAL_LAUNCHES;
    return launches.length + scratch.filter((buffer) => buffer.zeroed).length;
  });
  const streams = streamsOfSpecs(plan, counts);
  return graphsOf(plan, counts, streams, multiprocessorsOf(device)).map(({ count }) => count);
}

interface Images {
  readonly limits: DeviceLimits;
  /** Source → image. */
  readonly position: ReadonlyMap<string, number>;
}

function stepSpecs(step: Step, images: Images): StepSpec[] {
  if (step.kind === 'sweep') return [sweepSpec(step, images)];
  return launchSpecs(step, images);
}

/** The launches of a step; of a kernel that is cut into phases, all of its launches. */
function launchSpecs(step: Exclude<Step, SweepStep>, images: Images): Exclude<StepSpec, SweepSpec>[] {
  if (step.kind === 'call') return callSpecs(step, images);
  if (step.kind === 'loop') {
    const spec = loopSpec(step, (part) => stepSpecs(part, images));
    const { record } = step;
    if (record === undefined) return [spec];
    const image = images.position.get(LOOP_CHECK)!;
    return [{ ...spec, check: { image, begin: LOOP_BEGIN, goOn: LOOP_GO_ON, record } }];
  }
  const cuda = cudaOf(step.kernel, images.limits);
  const image = images.position.get(cuda.source)!;
  const launches = cuda.launches.map((launch) => ({
    kind: 'launch' as const,
    image,
    function: launch.function,
    grid: launch.grid,
    block: launch.block,
    sharedByteLength: launch.sharedByteLength,
    args: launch.args.map((argument) => launchArgument(argument, step)),
  }));
  if (step.kind === 'finish') return launches.slice(PARTIAL_LAUNCHES);
  const zeroed = cuda.scratch.flatMap((scratch, k) =>
    scratch.zeroed ? [{ kind: 'zero' as const, buffer: step.scratch[k]! }] : [],
  );
  return [...zeroed, ...launches];
}

/** A call as its kernels' launches, or as one step of a library. */
function callSpecs(step: CallStep, images: Images): Exclude<StepSpec, SweepSpec>[] {
  const { kernels, spec } = callRow(step);
  if (kernels === undefined) return [spec(step)];
  const { source, launches } = kernels(step);
  const image = images.position.get(source)!;
  return launches.map(({ function: name, blocks, threads, args }) => ({
    kind: 'launch',
    image,
    function: name,
    grid: [blocks, 1, 1],
    block: [threads, 1, 1],
    sharedByteLength: 0,
    args,
  }));
}

/** The blocks of a call's launch that tiles run, from the units that they run: see `CallLaunch`. */
function blockRanges(step: CallStep, { blocks, unit }: CallLaunch, units: Float64Array): Float64Array {
  const [form] = callRow(step).forms(step);
  const perUnit = unit === undefined ? blocks / (form?.cut.units ?? 1) : blocks;
  const ranges = new Float64Array(units.length);
  for (let at = 0; at < units.length; at += RANGE_FIELDS) {
    const [first, last] = [units[at]!, units[at + 1]!];
    const isRun = unit === undefined || (unit >= first && unit < last);
    const own = unit === undefined ? [first * perUnit, last * perUnit] : [0, isRun ? perUnit : 0];
    ranges.set([...own, 0, own[1]! > own[0]! ? 1 : 0], at);
  }
  return ranges;
}

/** Of a reduction in slots, the first launch leaves partial results and the others finish them. */
const PARTIAL_LAUNCHES = 1;

function sweepSpec(sweep: SweepStep, images: Images): SweepSpec {
  const body = sweep.body.flatMap(({ step, ranges }) => {
    const launches = launchSpecs(step, images).filter(({ kind }) => kind !== 'zero');
    if (step.kind === 'loop') return [{ step: launches[0]!, ranges: joinedRanges(ranges) }];
    const own = step.kind === 'call' ? callRow(step).kernels?.(step).launches : undefined;
    if (step.kind === 'call' && own !== undefined)
      return own.map((launch, k) => ({ step: launches[k]!, ranges: blockRanges(step, launch, ranges[0]!) }));
    return ranges.map((table, k) => ({ step: launches[k]!, ranges: table }));
  });
  return { kind: 'sweep', tiles: sweep.tiles, claims: sweep.claims, buffers: sweep.windows, body };
}

function launchArgument(argument: CudaArgument, step: KernelStep | PhaseStep): LaunchArgument {
  if ('steps' in argument && step.loopSteps !== undefined)
    return { bytes: new Uint8Array(Uint32Array.of(step.loopSteps).buffer) };
  if ('bytes' in argument || 'block' in argument || 'steps' in argument || 'done' in argument)
    return argument;
  return { buffer: 'buffer' in argument ? step.buffers[argument.buffer]! : step.scratch[argument.scratch]! };
}
