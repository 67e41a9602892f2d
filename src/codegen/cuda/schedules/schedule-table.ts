/**
 * The schedule of a map that takes elements of small tables by indices (`table.take(i)`), of many times as many elements as
 * the tables have, where it runs as a whole: as many blocks as the device runs at once go through the elements by turns, and
 * each has the tables in shared memory. In the first-level cache, which arrays pass through as well, tables of 128 KiB stay;
 * of 256 KiB half of the entries are read from the second-level one, sectors of 32 bytes for 4: 2^28 of 2^16 float32 take
 * 1.31 ms on an H200, and 0.92 with 227 KiB in shared memory. A table that does not fit is shared by a pair of blocks, where
 * these read each other's shared memory: 0.81. Each has the first entries and a half of as many others as fit; entries beyond
 * both, and of a block alone those that do not fit, are read from memory.
 *
 *     entries  0 … held … + half … + 2 · half … size
 *     in       both     one      the other    memory
 */
import { type Load, loadsOf, windowIndexOf } from '../../../fusion/kernel/algebra.js';
import { hasLoops } from '../../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import type { MapSchedule } from './schedule-map.js';
import type { DeviceLimits } from './schedule-rows.js';

export interface TableSchedule {
  readonly kind: 'table';
  /** Elements that a thread handles together along the last axis. */
  readonly width: number;
  readonly threads: number;
  /** Blocks that a device runs at once. */
  readonly blocks: number;
  /** For each table of the kernel (`tablesOf`) how many of its first entries are in the shared memory of each block. */
  readonly held: readonly number[];
  /** How many of those behind are in that of each of a pair: 0 in all where blocks are alone. */
  readonly halves: readonly number[];
}

/** The elements `offset + stride · index` of a buffer, for each index below `size`. */
export interface Table {
  readonly buffer: number;
  readonly offset: number;
  readonly stride: number;
  readonly size: number;
  readonly dtype: DType;
  readonly loads: readonly TableLoad[];
}

/** A load of a table, whose index counts from an entry of it. */
interface TableLoad {
  readonly position: number;
  readonly from: number;
}

/** Threads of a block that is alone on its multiprocessor: each has 64 registers. */
const THREADS = 1024;
/** Bytes of a table that a thread loads at once, and such loads that are in flight together. */
export const [PACK_BYTES, PACKS_IN_FLIGHT] = [16, 4];
/** Blocks at most, which all that they compute at a time follows from: the width of indices does not depend on the device. */
export const MOST_BLOCKS = 256;
/** Tables begin at multiples of so many bytes in shared memory. */
const ALIGNMENT = 16;

/**
 * The tables that a kernel takes from, small ones first: gathers whose place the index alone decides. Those that meet are one.
 *
 *     table[i], table[i + 1]   →   one table, loads from its entries 0 and 1
 */
export function tablesOf(kernel: Kernel): readonly Table[] {
  const tables: Table[] = [];
  for (const { position, access, dtype } of loadsOf(kernel).filter(isTableLoad)) {
    const { buffer, offset, index } = access;
    const { stride, size } = index!;
    const own: Table = { buffer, offset, stride, size, dtype, loads: [{ position, from: 0 }] };
    const k = tables.findIndex((each) => meets(each, own));
    if (k < 0) tables.push(own);
    else tables[k] = joined(tables[k]!, own);
  }
  return tables.sort((a, b) => bytesOf(a) - bytesOf(b));
}

/** How many entries one table begins behind another. */
const entriesBetween = (a: Table, b: Table): number => (b.offset - a.offset) / a.stride;

function meets(a: Table, b: Table): boolean {
  if (a.buffer !== b.buffer || a.stride !== b.stride) return false;
  const between = entriesBetween(a, b);
  return Number.isInteger(between) && between <= a.size && -between <= b.size;
}

function joined(a: Table, b: Table): Table {
  const between = entriesBetween(a, b);
  const first = Math.min(0, between);
  const moved = (loads: readonly TableLoad[], by: number): TableLoad[] =>
    loads.map(({ position, from }) => ({ position, from: from + by }));
  return {
    ...a,
    offset: a.offset + first * a.stride,
    size: Math.max(a.size, between + b.size) - first,
    loads: [...moved(a.loads, -first), ...moved(b.loads, between - first)],
  };
}

const isTableLoad = ({ access: { strides, bounds, index, place } }: Load): boolean =>
  index !== undefined && place === undefined && bounds.length === 0 && strides.every((s) => s === 0);

const bytesOf = ({ size, dtype }: Table): number => size * byteLengthOf(dtype);

/** Bytes of shared memory that some entries of a table take. */
const heldBytes = ({ dtype }: Table, held: number): number =>
  ALIGNMENT * Math.ceil((held * byteLengthOf(dtype)) / ALIGNMENT);

/** Where each table begins in shared memory, and where the last one ends, in bytes. */
export function tablePlaces(
  tables: readonly Table[],
  { held, halves }: Pick<TableSchedule, 'held' | 'halves'>,
): number[] {
  const places = [0];
  for (const [k, table] of tables.entries())
    places.push(places[k]! + heldBytes(table, held[k]! + halves[k]!));
  return places;
}

/** Whether blocks share tables by pairs. */
export const hasPairs = ({ halves }: Pick<TableSchedule, 'halves'>): boolean =>
  halves.some((half) => half > 0);

/**
 * The schedule with tables in shared memory for a map whose own schedule is given; undefined: it takes from none. Blocks are
 * one for each multiprocessor, whose shared memory they have to themselves.
 */
export function chooseTable(
  kernel: Kernel,
  { width }: MapSchedule,
  { sharedByteLength, hasClusters }: DeviceLimits,
  multiprocessors: number,
): TableSchedule | undefined {
  if (windowIndexOf(kernel) !== undefined || hasLoops(kernel)) return undefined;
  const tables = tablesOf(kernel);
  const isWritten = ({ buffer }: Table): boolean => kernel.buffers[buffer]!.isShared === true;
  if (tables.length === 0 || tables.some(isWritten)) return undefined;
  let room = sharedByteLength;
  const places = tables.map((table) => {
    const fits = Math.floor(room / byteLengthOf(table.dtype));
    const own = hasClusters === true ? sharedOut(table, fits) : { held: Math.min(table.size, fits), half: 0 };
    room = Math.max(0, room - heldBytes(table, own.held + own.half));
    return own;
  });
  const held = places.map((own) => own.held);
  const halves = places.map((own) => own.half);
  const needed = Math.ceil(product(kernel.parallel) / (THREADS * width));
  const blocks = Math.min(multiprocessors, needed, MOST_BLOCKS);
  const paired = hasPairs({ halves }) ? Math.max(2, blocks - (blocks % 2)) : blocks;
  return { kind: 'table', width, threads: THREADS, blocks: paired, held, halves };
}

/** A table in the shared memory of a pair of blocks, in each of which so many entries fit. */
const sharedOut = ({ size }: Table, fits: number): { readonly held: number; readonly half: number } =>
  size <= fits
    ? { held: size, half: 0 }
    : { held: Math.max(0, 2 * fits - size), half: Math.min(size, 2 * fits) - fits };
