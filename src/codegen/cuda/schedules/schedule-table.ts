/**
 * The schedule of a map that takes elements of small tables by indices (`table.take(i)`), of many times as many elements as
 * the tables have, where it runs as a whole: as many blocks as the device runs at once go through the elements by turns, and
 * each has the tables in shared memory. In the first-level cache, which arrays pass through as well, tables of 128 KiB stay;
 * of 256 KiB half of the entries are read from the second-level one, sectors of 32 bytes for 4: 2^28 of 2^16 float32 take
 * 1.31 ms on an H200, and 0.92 with 227 KiB in shared memory. A table that does not fit is held as far as it does; its other
 * entries are read from memory.
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
  /** For each table of the kernel (`tablesOf`) how many of its first entries are in shared memory. */
  readonly held: readonly number[];
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

const isTableLoad = ({ access: { strides, bounds, index } }: Load): boolean =>
  index !== undefined && index.place === undefined && bounds.length === 0 && strides.every((s) => s === 0);

const bytesOf = ({ size, dtype }: Table): number => size * byteLengthOf(dtype);

/** Bytes of shared memory that some entries of a table take. */
const heldBytes = ({ dtype }: Table, held: number): number =>
  ALIGNMENT * Math.ceil((held * byteLengthOf(dtype)) / ALIGNMENT);

/** Where each table begins in shared memory, and where the last one ends, in bytes. */
export function tablePlaces(tables: readonly Table[], held: readonly number[]): number[] {
  const places = [0];
  for (const [k, table] of tables.entries()) places.push(places[k]! + heldBytes(table, held[k]!));
  return places;
}

/**
 * The schedule with tables in shared memory for a map whose own schedule is given; undefined: it takes from none. Blocks are
 * one for each multiprocessor, whose shared memory they have to themselves.
 */
export function chooseTable(
  kernel: Kernel,
  { width }: MapSchedule,
  { sharedByteLength }: DeviceLimits,
  multiprocessors: number,
): TableSchedule | undefined {
  if (windowIndexOf(kernel) !== undefined || hasLoops(kernel)) return undefined;
  const tables = tablesOf(kernel);
  const isWritten = ({ buffer }: Table): boolean => kernel.buffers[buffer]!.isShared === true;
  if (tables.length === 0 || tables.some(isWritten)) return undefined;
  let room = sharedByteLength;
  const held = tables.map((table) => {
    const count = Math.min(table.size, Math.floor(room / byteLengthOf(table.dtype)));
    room = Math.max(0, room - heldBytes(table, count));
    return count;
  });
  const needed = Math.ceil(product(kernel.parallel) / (THREADS * width));
  return {
    kind: 'table',
    width,
    threads: THREADS,
    blocks: Math.min(multiprocessors, needed, MOST_BLOCKS),
    held,
  };
}
