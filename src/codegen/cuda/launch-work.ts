/**
 * How much the launches of a kernel do, by their schedules and before a line of source is printed: what a model of their
 * times goes by (`exec/targets/cuda-times.ts`).
 */
import { liveOf, loadsOf } from '../../fusion/kernel/algebra.js';
import {
  castValueOf,
  costOf,
  isConstant,
  reductionOf,
  reductionsOf,
} from '../../fusion/kernel/arithmetic.js';
import { type Access, argumentsOf, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { levelsOf } from '../../fusion/kernel/levels.js';
import { byteLengthOf, type DType, isHalf } from '../../graph/dtype.js';
import { reductionRow } from '../../graph/reductions.js';
import { normalize } from '../cuts/domain.js';
import { splitPhases } from '../cuts/split-phases.js';
import { isVector } from './chunks.js';
import { type Footprint, footprintOf } from './footprint.js';
import type { Schedule } from './schedules/schedule.js';
import type { DeviceLimits } from './schedules/schedule-rows.js';
import { touchedBytes } from './traffic.js';

/** Instructions of 32-bit numbers and of 64-bit ones, by the weights of the op table; conversions; accesses to memory. */
export interface Instructions {
  readonly narrow: number;
  readonly wide: number;
  readonly casts: number;
  readonly accesses: number;
}

export interface LaunchWork {
  /** Bytes of memory that it touches, each once; and what it reads of them again. */
  readonly bytes: number;
  readonly again: number;
  /** Of all threads. */
  readonly instructions: Instructions;
  readonly blocks: number;
  readonly threads: number;
  /** Loads of a thread that wait for those before them. */
  readonly waits: number;
  /** Instructions by which the threads of a block combine what they have, each after those before it. */
  readonly combining: Pick<Instructions, 'narrow' | 'wide'>;
}

/** The work of each launch of a kernel; empty where there is nothing to compute. */
export function workOf(kernel: Kernel, limits?: DeviceLimits): readonly LaunchWork[] {
  const footprint = footprintOf(kernel, limits);
  const normal = normalize(kernel);
  const { schedule } = footprint;
  if (schedule.kind === 'empty') return [];
  if (schedule.kind === 'split') return splitPhases(normal).kernels.flatMap((part) => workOf(part, limits));
  const walk = walkOf(normal, schedule, footprint);
  const [, combine] = footprint.launches;
  if (combine === undefined) return [walk];
  return [walk, combineOf(normal, 'slots' in schedule ? schedule.slots : 1, footprint)];
}

const threadsIn = ({ launches }: Footprint, k: number): number => product(launches[k]!.block);
const blocksIn = ({ launches }: Footprint, k: number): number => product(launches[k]!.grid);
const scratchBytes = ({ scratch }: Footprint): number =>
  scratch.reduce((sum, { byteLength }) => sum + byteLength, 0);

function walkOf(kernel: Kernel, schedule: Walked, footprint: Footprint): LaunchWork {
  const { waits, passes, sharing } = pathOf(kernel, schedule);
  const each = instructionsOf(kernel, schedule);
  const repeats = 'steps' in schedule ? schedule.steps : 1;
  const bytes = touchedBytes(kernel);
  const [blocks, threads] = [blocksIn(footprint, 0), threadsIn(footprint, 0)];
  const combining = combiningOf(kernel, sharing);
  return {
    bytes: bytes + scratchBytes(footprint),
    again: (passes - 1) * bytesOfLoads(kernel, bytes),
    instructions: {
      narrow: repeats * each.narrow + blocks * threads * combining.narrow,
      wide: repeats * each.wide + blocks * threads * combining.wide,
      casts: repeats * each.casts,
      accesses: passes * each.accesses,
    },
    blocks,
    threads,
    waits: repeats * waits,
    combining,
  };
}

/** Schedules that are one walk over the domain. */
type Walked = Exclude<Schedule, { readonly kind: 'empty' | 'split' }>;

/** The launch that combines partial results of slots: each is read once. */
function combineOf(kernel: Kernel, slots: number, footprint: Footprint): LaunchWork {
  const rows = product(kernel.parallel);
  const [blocks, threads] = [blocksIn(footprint, 1), threadsIn(footprint, 1)];
  const sharing = Math.max(1, (blocks * threads) / rows);
  const combining = combiningOf(kernel, sharing);
  const once = combiningOf(kernel, 2);
  return {
    bytes: scratchBytes(footprint),
    again: 0,
    instructions: {
      narrow: rows * slots * once.narrow + blocks * threads * combining.narrow,
      wide: rows * slots * once.wide + blocks * threads * combining.wide,
      casts: 0,
      accesses: rows * slots,
    },
    blocks,
    threads,
    waits: Math.ceil(slots / sharing),
    combining,
  };
}

/** A tree of `sharing` threads' partial results. */
function combiningOf(kernel: Kernel, sharing: number): LaunchWork['combining'] {
  const steps = Math.log2(sharing);
  const found = { narrow: 0, wide: 0 };
  for (const { name, taken } of reductionsOf(kernel))
    found[isWide(taken) ? 'wide' : 'narrow'] += steps * reductionRow(name).cost;
  return found;
}

/** Bytes that a further walk reads: all but the stores. */
function bytesOfLoads(kernel: Kernel, all: number): number {
  const stored = kernel.stores.reduce((sum, { access }) => {
    const { dtype, elementCount } = kernel.buffers[access.buffer]!;
    return sum + elementCount * byteLengthOf(dtype);
  }, 0);
  return Math.max(0, all - stored);
}

interface Path {
  readonly waits: number;
  /** Walks over the reduced axes that read memory. */
  readonly passes: number;
  /** Threads that share a row. */
  readonly sharing: number;
}

/** Waits of a block from its begin to its end. */
function pathOf(kernel: Kernel, schedule: Walked): Path {
  const length = product(kernel.reduced);
  switch (schedule.kind) {
    case 'map':
    case 'repeat':
    case 'stencil':
    case 'transpose':
      return { waits: 1, passes: 1, sharing: 1 };
    case 'reduce': {
      const { mapping, threadsR, width, unrollR, slotLength, itemsP } = schedule;
      const step = threadsR * unrollR * (mapping === 'rows' ? width : 1);
      const steps = Math.ceil(Math.min(length, slotLength) / step);
      return { waits: steps * itemsP, passes: 1, sharing: threadsR };
    }
    case 'rows': {
      const { threadsR, width, chunks, sharedChunks, held } = schedule;
      const passes = held ? 1 : levelsOf(kernel).phases;
      const steps = Math.ceil(length / (threadsR * width * (chunks + sharedChunks)));
      return { waits: passes * steps, passes, sharing: threadsR };
    }
    case 'outer-product': {
      const steps = Math.ceil(Math.min(length, schedule.slotLength) / schedule.depth);
      return { waits: steps, passes: 1, sharing: 1 };
    }
  }
}

interface Chunking {
  readonly axis: number;
  readonly width: number;
}

/** The axis along which a schedule's threads move chunks, and their length. */
function chunkingOf(kernel: Kernel, schedule: Walked): Chunking {
  const last = kernel.parallel.length - 1;
  if (!('width' in schedule)) return { axis: last, width: 1 };
  const isAlongRows = 'mapping' in schedule && schedule.mapping === 'rows';
  return { axis: isAlongRows ? last + kernel.reduced.length : last, width: schedule.width };
}

const isWide = (dtype: DType): boolean => byteLengthOf(dtype) >= 8 && dtype !== 'complex64';

/** Instructions by which a thread finds a coordinate of a chunk from its place in a domain of several axes. */
const COORDINATE = 4;
/** Conversions between 32 and 64 bits are four times as slow as those of halves, others twice as fast. */
const [WIDE_CAST, NARROW_CAST] = [4, 0.5];

/** Instructions of a walk, each value's as often as there are elements of its level. */
function instructionsOf(kernel: Kernel, schedule: Walked): Instructions {
  const { element } = levelsOf(kernel);
  const chunking = chunkingOf(kernel, schedule);
  const rows = product(kernel.parallel);
  const elements = rows * product(kernel.reduced);
  const found = { narrow: 0, wide: 0, casts: 0, accesses: 0 };
  const live = liveOf(kernel);
  for (const position of live) {
    const i = kernel.tape[position]!;
    if (isConstant(i)) continue;
    const reduction = reductionOf(i);
    const times = element[position] || reduction !== undefined ? elements : rows;
    const taken = argumentsOf(i).map((arg) => kernel.tape[arg]!.dtype);
    const isOfWide = reduction === undefined ? [i.dtype, ...taken].some(isWide) : isWide(taken[0]!);
    if (castValueOf(i) !== undefined) {
      const isOfHalves = [i.dtype, ...taken].some(isHalf);
      found.casts += times * (isOfWide ? WIDE_CAST : isOfHalves ? 1 : NARROW_CAST);
    } else {
      const cost = reduction === undefined ? costOf(i) : reductionRow(reduction).cost;
      found[isOfWide ? 'wide' : 'narrow'] += times * cost;
    }
  }
  for (const { position, access } of loadsOf(kernel, live))
    found.accesses += (element[position] ? elements : rows) / movedAtOnce(access, chunking);
  for (const { value, access } of kernel.stores)
    found.accesses += (element[value] ? elements : rows) / movedAtOnce(access, chunking);
  if (schedule.kind === 'map' || schedule.kind === 'transpose')
    found.narrow += (COORDINATE * Math.max(0, kernel.parallel.length - 1) * elements) / chunking.width;
  return found;
}

/** Elements of a chunk that an access moves as one. */
const movedAtOnce = (access: Access, chunking: Chunking): number =>
  isVector(access, chunking) || access.strides[chunking.axis] === 0 ? chunking.width : 1;
