/**
 * How much the launches of a kernel do, by their schedules and before a line of source is printed: what a model of their
 * times goes by (`launch-seconds.ts`).
 */
import { affineLoadOf, liveOf, loadsOf } from '../../fusion/kernel/algebra.js';
import {
  castValueOf,
  costOf,
  isConstant,
  opOf,
  reductionOf,
  reductionsOf,
} from '../../fusion/kernel/arithmetic.js';
import { type Access, argumentsOf, type Kernel, oncePerKernel, product } from '../../fusion/kernel/kernel.js';
import { levelsOf } from '../../fusion/kernel/levels.js';
import { byteLengthOf, type DType, isHalf } from '../../graph/dtype.js';
import { reductionRow } from '../../graph/reductions.js';
import { normalize } from '../cuts/domain.js';
import { splitPhases } from '../cuts/split-phases.js';
import { isVector, neighboursOf } from './chunks.js';
import { type Launches, launchesOf } from './launches.js';
import { isInTurn } from './schedules/in-turn.js';
import { type Schedule, scheduleOfNormal } from './schedules/schedule.js';
import {
  PACK_BYTES,
  PACKS_IN_FLIGHT,
  type Table,
  type TableSchedule,
  tablePlaces,
  tablesOf,
} from './schedules/schedule-table.js';
import { isRowAfterRow } from './schedules/whole-rows.js';
import { SECTOR_BYTES, touchedBytes } from './traffic.js';

/** Instructions of 32-bit numbers and of 64-bit ones, by the weights of the op table; conversions; accesses to memory. */
export interface Instructions {
  readonly narrow: number;
  readonly wide: number;
  readonly casts: number;
  readonly accesses: number;
  /** Of places: coordinates of chunks, and axes of accesses. */
  readonly places: number;
}

export interface LaunchWork {
  /** Bytes of memory that it touches, each once; and what it reads of them again. */
  readonly bytes: number;
  readonly again: number;
  /** Bytes of the second-level cache that gathers read, of tables that are too large for the first-level one. */
  readonly gathered: number;
  /** Of all threads. */
  readonly instructions: Instructions;
  readonly blocks: number;
  readonly threads: number;
  /** The part of the instructions that one thread runs. */
  readonly threadPart: number;
  /** Loads of a thread that wait for those before them. */
  readonly waits: number;
  /** Instructions by which the threads of a block combine what they have, each after those before it. */
  readonly combining: Pick<Instructions, 'narrow' | 'wide'>;
}

type Arithmetic = Omit<Instructions, 'accesses' | 'places'>;

/** The part of a walk's work that no schedule changes. */
interface Tally {
  /** Memory that it touches. */
  readonly bytes: number;
  readonly arithmetic: Arithmetic;
  /** A step of combining, by how reductions do. */
  readonly combining: {
    readonly byHalves: LaunchWork['combining'];
    readonly inTurn: LaunchWork['combining'];
  };
  readonly accesses: readonly CountedAccess[];
  /** Where no table is in shared memory. */
  readonly gathered: number;
  /** By the width of chunks. */
  readonly moves: Map<number, Moves>;
}

type Moves = Pick<Instructions, 'accesses' | 'places'>;

/** An access, how many elements it moves, and axes along which it does. */
interface CountedAccess {
  readonly access: Access;
  readonly count: number;
  readonly axes: number;
}

const tallyOf: (kernel: Kernel) => Tally = oncePerKernel((kernel) => ({
  bytes: touchedBytes(kernel),
  arithmetic: arithmeticIn(kernel),
  combining: combiningIn(kernel),
  accesses: accessesIn(kernel),
  gathered: gatheredIn(kernel),
  moves: new Map(),
}));

function accessesIn(kernel: Kernel): CountedAccess[] {
  const { element } = levelsOf(kernel);
  const rows = product(kernel.parallel);
  const elements = rows * product(kernel.reduced);
  const counted = (access: Access, value: number): CountedAccess => ({
    access,
    count: element[value] ? elements : rows,
    axes: access.strides.filter((stride) => stride !== 0).length,
  });
  return [
    ...loadsOf(kernel, liveOf(kernel)).map(({ position, access }) => counted(access, position)),
    ...kernel.stores.map(({ value, access }) => counted(access, value)),
  ];
}

/** The bytes and the instructions of a kernel's launches, whatever its schedule. */
export type LeastWork = Pick<Tally, 'bytes' | 'arithmetic' | 'gathered'>;

export const leastWorkOf = (kernel: Kernel): LeastWork => tallyOf(kernel);

/** The work of each launch of a kernel in the normal form by a schedule; empty where there is nothing to compute. */
export function workOf(
  kernel: Kernel,
  schedule: Schedule,
  footprint: Launches = launchesOf(kernel, schedule),
): readonly LaunchWork[] {
  if (schedule.kind === 'empty') return [];
  if (schedule.kind === 'split')
    return splitPhases(kernel).kernels.flatMap((part) => {
      const normal = normalize(part);
      return workOf(normal, scheduleOfNormal(normal));
    });
  const walk = walkOf(kernel, schedule, footprint);
  const [, combine] = footprint.launches;
  if (combine === undefined) return [walk];
  return [walk, combineOf(kernel, 'slots' in schedule ? schedule.slots : 1, footprint)];
}

const threadsIn = ({ launches }: Launches, k: number): number => product(launches[k]!.block);
const blocksIn = ({ launches }: Launches, k: number): number => product(launches[k]!.grid);
const scratchBytes = ({ scratch }: Launches): number =>
  scratch.reduce((sum, { byteLength }) => sum + byteLength, 0);

function walkOf(kernel: Kernel, schedule: Walked, footprint: Launches): LaunchWork {
  const { waits, passes, combines, turns } = pathOf(kernel, schedule);
  const each = instructionsOf(kernel, schedule);
  const repeats = 'steps' in schedule ? schedule.steps : 1;
  const { bytes, gathered } = tallyOf(kernel);
  const [blocks, threads] = [blocksIn(footprint, 0), threadsIn(footprint, 0)];
  const combining = combiningOf(kernel, combines, turns);
  return {
    bytes: bytes + scratchBytes(footprint),
    again: (passes - 1) * bytesOfLoads(kernel, bytes) + blocks * heldBytesOf(kernel, schedule),
    gathered: passes * (schedule.kind === 'table' ? gatheredIn(kernel, schedule) : gathered),
    instructions: {
      narrow: repeats * each.narrow + blocks * threads * combining.narrow,
      wide: repeats * each.wide + blocks * threads * combining.wide,
      casts: repeats * each.casts,
      accesses: passes * each.accesses,
      places: passes * each.places,
    },
    blocks,
    threads,
    threadPart: threadPartOf(kernel, schedule, blocks * threads),
    waits: repeats * waits,
    combining,
  };
}

/** Tiles and chunks at the ends of an array keep their threads as busy as those inside. */
function threadPartOf({ parallel }: Kernel, schedule: Walked, threads: number): number {
  const elements = product(parallel);
  switch (schedule.kind) {
    case 'map':
      return Math.min(1, (schedule.width * schedule.unroll) / elements);
    case 'transpose':
      return Math.min(1, schedule.tile ** 2 / schedule.threads / elements);
    default:
      return 1 / threads;
  }
}

/** Schedules that are one walk over the domain. */
type Walked = Exclude<Schedule, { readonly kind: 'empty' | 'split' }>;

/** The launch that combines partial results of slots: each is read once. */
function combineOf(kernel: Kernel, slots: number, footprint: Launches): LaunchWork {
  const rows = product(kernel.parallel);
  const [blocks, threads] = [blocksIn(footprint, 1), threadsIn(footprint, 1)];
  const sharing = Math.max(1, (blocks * threads) / rows);
  const combining = combiningOf(kernel, Math.log2(sharing));
  const once = combiningOf(kernel, 1);
  return {
    bytes: scratchBytes(footprint),
    again: 0,
    gathered: 0,
    instructions: {
      narrow: rows * slots * once.narrow + blocks * threads * combining.narrow,
      wide: rows * slots * once.wide + blocks * threads * combining.wide,
      casts: 0,
      accesses: rows * slots,
      places: rows * slots,
    },
    blocks,
    threads,
    threadPart: 1 / (blocks * threads),
    waits: Math.ceil(slots / sharing),
    combining,
  };
}

/** Of so many steps; `turns`: of reductions in turn. */
function combiningOf(kernel: Kernel, steps: number, turns = steps): LaunchWork['combining'] {
  const { byHalves, inTurn } = tallyOf(kernel).combining;
  return {
    narrow: steps * byHalves.narrow + turns * inTurn.narrow,
    wide: steps * byHalves.wide + turns * inTurn.wide,
  };
}

function combiningIn(kernel: Kernel): Tally['combining'] {
  const found = { byHalves: { narrow: 0, wide: 0 }, inTurn: { narrow: 0, wide: 0 } };
  for (const { name, taken } of reductionsOf(kernel))
    found[isInTurn(kernel, name) ? 'inTurn' : 'byHalves'][isWide(taken) ? 'wide' : 'narrow'] +=
      reductionRow(name).cost;
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
  /** Steps in which a thread combines its own results, of the elements of a chunk, and those of other threads. */
  readonly combines: number;
  /** The same of reductions in turn, where they have others. */
  readonly turns?: number;
}

/** Waits of a block from its begin to its end. */
function pathOf(kernel: Kernel, schedule: Walked): Path {
  const length = product(kernel.reduced);
  switch (schedule.kind) {
    case 'map':
    case 'repeat':
    case 'stencil':
    case 'transpose':
      return { waits: 1, passes: 1, combines: 0 };
    case 'table': {
      // The tables, and the first elements: others are loaded while those before them are computed.
      const loads = heldBytesOf(kernel, schedule) / (schedule.threads * PACKS_IN_FLIGHT * PACK_BYTES);
      return { waits: Math.ceil(loads) + 1, passes: 1, combines: 0 };
    }
    case 'reduce': {
      const { mapping, threadsR, width, unrollR, slotLength, itemsP } = schedule;
      const step = threadsR * unrollR * (mapping === 'rows' ? width : 1);
      const steps = Math.ceil(Math.min(length, slotLength) / step);
      const isRows = mapping === 'rows';
      // The elements of a chunk along a row become one result, those of columns are results by themselves.
      const combines = itemsP * (isRows ? width - 1 + Math.log2(threadsR) : width * Math.log2(threadsR));
      const turns = isRows && threadsR > 1 ? itemsP * turnsOf(length, width) : combines;
      return { waits: steps * itemsP, passes: 1, combines, turns };
    }
    case 'rows': {
      const { mapping, threadsR, width, chunks, sharedChunks, held, lanes } = schedule;
      const passes = held ? 1 : levelsOf(kernel).phases;
      const steps = Math.ceil(length / (threadsR * width * (chunks + sharedChunks)));
      // A whole row is combined as it is read, but for what lanes without elements have, and other threads.
      if (lanes !== undefined) {
        const idle = Math.max(0, (lanes - chunks) * width);
        return { waits: 1, passes, combines: idle + Math.log2(threadsR), turns: 0 };
      }
      const combines = width - 1 + Math.log2(threadsR);
      const isMet = mapping === 'rows' && threadsR > 1;
      return { waits: passes * steps, passes, combines, turns: isMet ? turnsOf(length, width) : combines };
    }
    case 'outer-product': {
      const steps = Math.ceil(Math.min(length, schedule.slotLength) / schedule.depth);
      return { waits: steps, passes: 1, combines: 0 };
    }
  }
}

/** Steps in which a thread takes what those before it in a short row have, beside its own elements. */
const HANDED_ON = 3;

/** Steps in which threads with a chunk each combine a row in turn: all take part in each. */
const turnsOf = (length: number, width: number): number => (length / width) * (width + HANDED_ON);

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
function arithmeticIn(kernel: Kernel): Arithmetic {
  const { element } = levelsOf(kernel);
  const rows = product(kernel.parallel);
  const elements = rows * product(kernel.reduced);
  const found = { narrow: 0, wide: 0, casts: 0 };
  const shared = sharedMaps(kernel);
  for (const position of liveOf(kernel)) {
    const i = kernel.tape[position]!;
    if (isConstant(i) || shared.has(position)) continue;
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
  return found;
}

/**
 * Maps of neighbours along a line that a thread has computed for the element before, as the squares of a window: all but the
 * first of every chunk.
 */
function sharedMaps(kernel: Kernel): ReadonlySet<number> {
  const found = new Set<number>();
  if (kernel.parallel.length !== 1 || kernel.reduced.length > 0) return found;
  const seen = new Map<string, number>();
  for (const position of liveOf(kernel)) {
    const i = kernel.tape[position]!;
    const op = opOf(i);
    if (op === undefined) continue;
    const arrays = argumentsOf(i).map((arg) => affineLoadOf(kernel.tape[arg]!));
    const [first] = arrays;
    if (first === undefined || arrays.some((each) => each !== first) || first.bounds.length > 0) continue;
    const key = `${op} ${first.buffer} ${first.strides[0]}`;
    const before = seen.get(key) ?? 0;
    if (before > 0) found.add(position);
    seen.set(key, (before + 1) % LEAST_CHUNK);
  }
  return found;
}

/** Elements of a chunk of a window. */
const LEAST_CHUNK = 4;

/** Instructions of a walk in the chunks of a schedule. */
function instructionsOf(kernel: Kernel, schedule: Walked): Instructions {
  const chunking = chunkingOf(kernel, schedule);
  const isWhole = 'lanes' in schedule;
  const { arithmetic, moves } = tallyOf(kernel);
  const { narrow, wide, casts } = arithmetic;
  // Schedules of a kernel have chunks along one axis.
  const { accesses, places } =
    (isWhole ? undefined : moves.get(chunking.width)) ?? movesIn(kernel, chunking, isWhole);
  if (!isWhole) moves.set(chunking.width, { accesses, places });
  const { parallel } = kernel;
  const isSpread = ['map', 'transpose', 'table'].includes(schedule.kind);
  const coordinates = isSpread ? COORDINATE * Math.max(0, parallel.length - 1) * product(parallel) : 0;
  return { narrow, wide, casts, accesses, places: places + coordinates / chunking.width };
}

/**
 * Bytes of the first-level cache that keep entries of tables: half of it, as measured on an H200, where tables of 128 KiB are
 * read at the rate of memory, and of twice that half of the reads miss. Shared memory leaves none.
 */
const CACHED_BYTES = 128 * 1024;

/** Bytes that stand for a read of the shared memory of another block, which several lanes of a warp make at once. */
const PAIR_BYTES = 8;

/** Bytes that gathers at random places read past the first-level cache: a sector for each entry that is not in it. */
function gatheredIn(kernel: Kernel, schedule?: TableSchedule): number {
  const elements = product(kernel.parallel) * product(kernel.reduced);
  const tables = tablesOf(kernel);
  if (schedule !== undefined) {
    const bytesOf = ({ size, loads }: Table, k: number): number => {
      const [held, inPair] = [schedule.held[k]! / size, (2 * schedule.halves[k]!) / size];
      return loads.length * (SECTOR_BYTES * (1 - held - inPair) + PAIR_BYTES * inPair);
    };
    return elements * tables.reduce((sum, table, k) => sum + bytesOf(table, k), 0);
  }
  const all = tables.reduce(
    (sum, { size, stride, dtype }) => sum + size * Math.abs(stride) * byteLengthOf(dtype),
    0,
  );
  const missing = Math.max(0, 1 - CACHED_BYTES / all);
  return SECTOR_BYTES * elements * missing * tables.reduce((sum, { loads }) => sum + loads.length, 0);
}

/** Bytes that each block brings into shared memory. */
const heldBytesOf = (kernel: Kernel, schedule: Walked): number =>
  schedule.kind === 'table' ? tablePlaces(tablesOf(kernel), schedule).at(-1)! : 0;

/** Loads of a window, at least, in whose chunks threads find most elements of the others. */
const MANY_LOADS = 24;

/** Accesses of a walk in chunks, and their places. */
function movesIn(kernel: Kernel, chunking: Chunking, isWhole: boolean): Moves {
  let [accesses, places] = [0, 0];
  const all = tallyOf(kernel).accesses;
  const isTogether = kernel.reduced.length === 0 && all.length > MANY_LOADS;
  for (const { access, count, axes } of all) {
    const { dtype } = kernel.buffers[access.buffer]!;
    if (isWhole && isRowAfterRow(kernel, access, dtype)) {
      // Packs of memory, each with one of shared memory; and what a thread has of that.
      const packs = (count * byteLengthOf(dtype)) / PACK_BYTES;
      accesses += 2 * packs + count / chunking.width;
      places += packs;
      continue;
    }
    const own = isTogether ? ownPart(access, all, chunking) : 1;
    const moved = (own * count) / movedAtOnce(access, chunking);
    accesses += moved;
    places += moved * axes;
  }
  return { accesses, places };
}

/** The part of a chunk's elements that an access moves itself: of neighbours the others are in chunks beside it. */
function ownPart(access: Access, all: readonly CountedAccess[], chunking: Chunking): number {
  if (isVector(access, chunking)) return 1;
  const { first, rest } = neighboursOf(access, all, (other) => other.access, chunking);
  if (first !== undefined && rest !== undefined) return 0;
  return first === undefined && rest === undefined ? 1 : (first?.by ?? -rest!.by) / chunking.width;
}

/** Elements of a chunk that an access moves as one. */
const movedAtOnce = (access: Access, chunking: Chunking): number =>
  chunking.width > 1 && (isVector(access, chunking) || access.strides[chunking.axis] === 0)
    ? chunking.width
    : 1;
