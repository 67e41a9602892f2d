/**
 * The properties of a GPU that plans depend on: memory as its pools count it, the time of steps, and how
 * kernels are cut. All of it follows from schedules, before a line of source is printed.
 */

import type { DeviceLimits } from '../../codegen/cuda/cuda.js';
import { expandForDevice, footprintOf, secondsOfKernel } from '../../codegen/cuda/footprint.js';
import type { DeviceRates } from '../../codegen/cuda/launch-seconds.js';
import { warpFoldOf } from '../../codegen/cuda/routines/row-fold-function.js';
import { WARP_ROW } from '../../codegen/cuda/routines/scan.js';
import { cudaWorks } from '../../codegen/cuts/cuda-work.js';
import { canBeElement } from '../../codegen/cuts/element-map.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { LOOP_RECORD_BYTES, MOST_STREAMS, PACKED_BYTES } from '../../shared/layout.js';
import type { StepCost } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import { cudaInfo, refusesLoops, stagingLimits } from '../native/native.js';
import { cudaBlockBytes, hostBlockBytes } from '../plan/block-bytes.js';
import { hasConditionalNodes } from '../plan/loop-records.js';
import { aligned } from '../plan/memory.js';
import { type DevicePlan, type PlanBuffer, type Step, sweepsOf } from '../plan/plan.js';
import type { Destination, DeviceModel } from '../plan/plan-graph.js';
import { launchedWith, secondsOfCudaCall } from './cuda-call-seconds.js';
import { limitsOf, ratesOf } from './cuda-device.js';
import type { Device } from './device.js';
import { cudaPanels } from './panel-choice.js';

/**
 * Bytes that a tile copies each way, so that the copies of some tiles overlap the work of others and the
 * first is soon there.
 */
const TILE_BYTES = 48 * 2 ** 20;

/** `destination`: where results are wanted; those that stay on the device are there as a whole. */
export function cudaModel(device: Device, destination: Destination): DeviceModel {
  const limits = limitsOf(device);
  const rates = ratesOf(device);
  const { multiprocessors } = rates;
  const launchedAs = launchedWith(limits);
  return {
    scratchOf: (kernel) => footprintOf(kernel, limits).scratch.map((scratch) => scratch.byteLength),
    expand: (kernel) => expandForDevice(kernel, limits),
    stepsAtOnce: (kernel) => stepsAtOnce(kernel, limits),
    workspaceOf: (step) => callRow(step).workspace.cuda(step),
    scansInOnePass: true,
    mapsAnywhere: true,
    isElementMap: (kernel, count, given, most) =>
      footprintOf(kernel, limits).schedule.kind === 'map' && canBeElement(kernel, count, given, most),
    foldsRows: (kernel, given, rows, length) => {
      const fold = length <= WARP_ROW ? warpFoldOf(kernel, given) : undefined;
      return fold?.rows === rows && fold.length === length;
    },
    blockBytes: cudaBlockBytes,
    hasOwnBlock: ({ role }) => role === 'output' && destination === 'device',
    hostPeakOf: cudaHostPeak,
    copies: { most: stagingLimits().copies, least: stagingLimits().leastCopies },
    heldBytes: ({ role, byteLength, isStored }) => (isStored || role === 'state' ? 0 : byteLength),
    streams: { most: MOST_STREAMS, costOf: (step) => costOf(step, limits, multiprocessors) },
    costs: {
      secondsOf: (step, part) => secondsOf(step, part, { limits, rates, launchedAs }),
      busRate: BUS_RATE,
      phaseSeconds: PHASE_SECONDS,
      roundSeconds: ROUND_SECONDS,
    },
    loopRecordBytes: () =>
      device.architecture === undefined && hasConditionalNodes(cudaInfo()) && !refusesLoops(device.name)
        ? LOOP_RECORD_BYTES
        : 0,
    overwrites: (step) => callRow(step).overwrites?.cuda === true,
    isByElement: (kernel) => ['map', 'repeat'].includes(footprintOf(kernel, limits).schedule.kind),
    panels: cudaPanels(),
    sweeps: {
      worksOf: (kernel) => cudaWorks(kernel, footprintOf(kernel, limits).schedule),
      canWindow: ({ role }) => role !== 'output' || destination !== 'device',
      canSpill: true,
      canReadBack: destination !== 'file',
      slots: { in: 3, out: 3, local: 1 },
      tileBytes: TILE_BYTES,
      multiprocessors,
    },
  };
}

/** Steps of a loop that one launch of a kernel with carried buffers does. */
function stepsAtOnce(kernel: Kernel, limits: DeviceLimits): number {
  const { schedule } = footprintOf(kernel, limits);
  return schedule.kind === 'stencil' || schedule.kind === 'repeat' ? schedule.steps : 1;
}

/** Threads of a multiprocessor. */
const THREADS = 2048;
const LAUNCH_SECONDS = 2.5e-6;
/** Bytes a second of what is in memory; a kernel that fills half of the device reaches it. */
const MEMORY_RATE = 4e12;

/** About how long a step takes by itself, and how much of the device it fills. */
function costOf(step: Step, limits: DeviceLimits, multiprocessors: number): StepCost {
  if (step.kind === 'call') return callRow(step).costOf(step, multiprocessors);
  if (step.kind !== 'kernel') return { seconds: LAUNCH_SECONDS, share: 1, queueSeconds: LAUNCH_SECONDS };
  const { launches, share: unbounded } = fillOf(step.kernel, limits, multiprocessors);
  const share = Math.min(1, unbounded);
  const launching = launches * LAUNCH_SECONDS;
  return { seconds: launching + movedSeconds(step.kernel, share), share, queueSeconds: launching };
}

/** Launches of a kernel, and its threads relative to those that the device runs at a time. */
function fillOf(kernel: Kernel, limits: DeviceLimits, multiprocessors: number) {
  const { launches } = footprintOf(kernel, limits);
  const threads = launches.map(({ grid, block }) => [...grid, ...block].reduce((n, size) => n * size, 1));
  return { launches: launches.length, share: Math.max(1, ...threads) / (multiprocessors * THREADS) };
}

/** The memory traffic of a kernel that fills a share of the device. */
function movedSeconds({ buffers }: Kernel, share: number): number {
  const bytes = buffers.reduce((sum, b) => sum + b.elementCount * byteLengthOf(b.dtype), 0);
  return bytes / (MEMORY_RATE * Math.min(1, 2 * share));
}

/** Bytes a second of the bus: PCIe 5, as measured. */
const BUS_RATE = 50e9;
/**
 * Seconds that another device adds to a phase: its run is queued, and its results are waited for. 512 KiB from the host
 * take two devices as long as one.
 */
const PHASE_SECONDS = 5e-6;
/**
 * Seconds of a phase that is queued when the one before it is: its runs begin and report on JavaScript's thread. An
 * estimate that no machine of several GPUs has confirmed.
 */
const ROUND_SECONDS = 6e-5;

/** The properties of a GPU that the times of steps depend on. */
interface Properties {
  readonly limits: DeviceLimits;
  readonly rates: DeviceRates;
  readonly launchedAs: ReturnType<typeof launchedWith>;
}

/** About how long a part of a step takes by itself. Streams are chosen without the arithmetic, as measured. */
function secondsOf(step: Step, part: number, properties: Properties): number {
  const { limits, rates, launchedAs } = properties;
  if (step.kind === 'loop') {
    const runs = Math.ceil(step.steps / step.stepsAtOnce);
    return runs * step.body.reduce((sum, one) => sum + secondsOf(one, part, properties), 0);
  }
  if (step.kind === 'kernel') return secondsOfKernel(step.kernel, part, rates, limits);
  const ofCall = step.kind === 'call' ? secondsOfCudaCall(step, part, launchedAs, rates) : undefined;
  if (ofCall !== undefined) return ofCall;
  const { seconds, share, queueSeconds } = costOf(step, limits, rates.multiprocessors);
  return share < 1 ? seconds : queueSeconds + (seconds - queueSeconds) * part;
}

/**
 * Values that wait between sweeps, and pinned memory: for what small arrays are packed into, and for each
 * kind of copies.
 */
function cudaHostPeak({ buffers, steps, copyByteLength }: Omit<DevicePlan, 'hostPeakBytes'>): number {
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
  const isLarge = Math.max(atOnce('input'), atOnce('output')) > PACKED_BYTES;
  const sweeps = steps.flatMap(sweepsOf).flatMap(({ windows }) => windows);
  const ways = ['in', 'out'].filter((way) => sweeps.some(({ direction }) => direction === way));
  return spilled + (ends.length > 0 ? packed : 0) + ((isLarge ? 1 : 0) + ways.length) * copies;
}
