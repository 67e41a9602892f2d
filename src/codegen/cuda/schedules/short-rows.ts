/**
 * The threads of a row (or column) that a block reduces by itself and can hold on the chip: as many for a
 * reduction alone as in a kernel of several phases, so that both combine elements in one order.
 *
 *     x.mean(1) of [262144, 1024]: 32 threads of 8 chunks a row, like the layer norm that it may be part of
 *
 * A function of the reduction's extents and of the dtypes that it reads. Called by `schedule-reduce.ts`.
 */
import { ROW_LIMITS } from '../../../fusion/partition/merge-limits.js';
import { powerOfTwoFrom } from '../powers.js';
import { LONGEST_CHAIN, WARP } from './limits.js';

/** The extents of a reduction: how many rows or columns, their length, and the bytes of what it reads. */
export interface Extents {
  readonly rows: number;
  readonly length: number;
  /** Of the widest element read. */
  readonly byteLength: number;
}

/** Registers of a thread for the elements that it holds of one array: of a row, of a column. */
const HELD_WORDS = 64;
const COLUMN_WORDS = 32;
const MOST_THREADS = 1024;
/** Threads of a row at most; what they do not hold lies in shared memory, or is read again. */
const ROW_THREADS = 512;
/** Threads of a row that is one of many, and the chunks from which on several warps are worth an exchange. */
const LONG_ROW_THREADS = 128;
const LONG_ROW_CHUNKS = 8 * LONG_ROW_THREADS;
/** Threads of a row that is one of few, where it has as many chunks. */
const FEW_ROWS_THREADS = 256;
const MANY_ROWS = 4096;
/** Limits of rows that fusion lets several phases walk. */
const { leastRows, smallJob, mostRowBytes, mostColumnBytes } = ROW_LIMITS;
/** Rows below which a kernel of long rows would leave a device idle, were each reduced by one block. */
const FEW_ROWS = 64;
const LONG_ROW = 8192;
/** Columns that fill a device also where a block cannot hold them. */
const MANY_COLUMNS = FEW_ROWS * WARP;

/** Whether one block a row would leave a device idle. */
export const leavesIdle = (rows: number, length: number): boolean => rows < FEW_ROWS && length > LONG_ROW;

/** Whether one block for a few columns would. */
export const leavesColumnsIdle = (columns: number): boolean => columns < MANY_COLUMNS;

/** Elements of one array that fill so many registers of a thread. */
const elementsIn = (words: number, byteLength: number): number => words / Math.max(1, byteLength / 4);

/** Threads of a row in chunks of `width`; `undefined`: no block reduces such rows by itself. */
export function threadsOfShortRow(extents: Extents, width: number): number | undefined {
  const { rows, length, byteLength } = extents;
  if (!isShortRow(extents, width)) return undefined;
  const chunks = Math.ceil(length / width);
  const most = chunks >= LONG_ROW_CHUNKS ? LONG_ROW_THREADS : WARP;
  const least = rows >= MANY_ROWS ? most : FEW_ROWS_THREADS;
  const needed = powerOfTwoFrom(length / Math.max(width, elementsIn(HELD_WORDS, byteLength)));
  return Math.min(ROW_THREADS, Math.max(needed, Math.min(least, powerOfTwoFrom(chunks))));
}

function isShortRow({ rows, length, byteLength }: Extents, width: number): boolean {
  if (rows * length <= smallJob) return !leavesIdle(rows, length);
  if (rows >= MANY_ROWS) return length <= ROW_THREADS * width * LONGEST_CHAIN;
  return rows >= leastRows && length * byteLength <= mostRowBytes;
}

/** Threads along and across the columns of a block; `undefined`: no kernel of several phases has such. */
export function threadsOfShortColumns(
  extents: Extents,
): { readonly threadsP: number; readonly threadsR: number } | undefined {
  const { rows: columns, length, byteLength } = extents;
  if (length * byteLength > mostColumnBytes) return undefined;
  if (columns < leastRows && columns * length > smallJob) return undefined;
  const threadsP = Math.min(WARP, powerOfTwoFrom(columns));
  const most = MOST_THREADS / threadsP;
  const needed = powerOfTwoFrom(length / elementsIn(COLUMN_WORDS, byteLength));
  if (needed > most && leavesColumnsIdle(columns)) return undefined;
  const threads = needed > most ? most : Math.max(needed, Math.min(256 / threadsP, powerOfTwoFrom(length)));
  return { threadsP, threadsR: Math.max(threads, WARP / threadsP) };
}
