/**
 * The schedule of a kernel of several phases (softmax, layer norm): a row stays in registers from one walk
 * over it to the next; a row too long for the registers of a block is walked again, mostly from the L2 cache.
 */
import { affineLoadOf, affineLoadsOf } from '../../../fusion/kernel/algebra.js';
import { castValueOf, hasMonoid, isConstant, isReduction } from '../../../fusion/kernel/arithmetic.js';
import { type Access, argumentsOf, type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { levelsOf } from '../../../fusion/kernel/levels.js';
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import { chooseReduce, type ReduceSchedule } from './schedule-reduce.js';
import { leavesColumnsIdle, leavesIdle } from './short-rows.js';
import { commonOrder, fitsChunks, IN_TURN } from './sum-order.js';

export interface RowSchedule {
  readonly kind: 'rows';
  /** Whether neighbouring threads lie along the reduced axis (rows) or the last parallel one (columns). */
  readonly mapping: 'rows' | 'columns';
  readonly threadsP: number;
  readonly threadsR: number;
  /** Chunk length along the reduced axis; 1 in the columns mapping. */
  readonly width: number;
  /** Chunks of a row that a thread holds, or that it handles at a time where the row is walked again. */
  readonly chunks: number;
  /** Further chunks that a thread holds in shared memory. */
  readonly sharedChunks: number;
  /** Whether values are held from phase to phase. */
  readonly held: boolean;
  /** Of whole rows (`whole-rows.ts`): the threads of a shared row for each of which a thread keeps the order. */
  readonly lanes?: number;
  /** In columns: chunks that an accumulator of several values takes up at once. */
  readonly together?: number;
}

/**
 * Limits of a device: the only input that may change a schedule besides the kernel, and never the order of a
 * reduction.
 */
export interface DeviceLimits {
  /** Most shared memory that a block may ask for. */
  readonly sharedByteLength: number;
  /** Whether it has products by warpgroups (`wgmma`). */
  readonly hasWarpgroups?: boolean;
  /** Whether it has bulk copies between global and shared memory, of which barriers know. */
  readonly hasBulkCopies?: boolean;
  /** Whether blocks of a cluster read each other's shared memory. */
  readonly hasClusters?: boolean;
}
/** Compute capability 8.0 and 9.0 and up; 8.6 and 8.9 have 99 KiB. */
export const DEFAULT_LIMITS: DeviceLimits = { sharedByteLength: 163 * 1024 };

/** Registers of a block, and of a thread, for the elements that they hold. */
const BLOCK_WORDS = 2 ** 15;
const MOST_HELD_WORDS = 128;
/** Words of an element that count, at most, so that elements of many values have chunks in registers, too. */
const MOST_ELEMENT_WORDS = 8;
/** Elements of a row, or of a column, that a thread loads together where a row is walked again. */
const STREAMED_ELEMENTS = 16;
const STREAMED_COLUMNS = 8;
/** Threads of a block whose rows need shared memory as well, at least. */
const LONG_THREADS = 512;
/** Threads of a block of several rows. */
const THREADS = 256;
/** Static shared memory of the exchange between warps. */
const RESERVED_BYTES = 2048;

/** Every store, and every load at an affine place, with its dtype. */
export function accessesOf(kernel: Kernel): { access: Access; dtype: DType; store: boolean }[] {
  const loads = affineLoadsOf(kernel).map(({ access, dtype }) => ({ access, dtype, store: false }));
  const stores = kernel.stores.map(({ access }) => ({
    access,
    dtype: kernel.buffers[access.buffer]!.dtype,
    store: true,
  }));
  return [...loads, ...stores];
}

/**
 * Where the element-level values of a kernel are computed, as late as possible, and which are held for later.
 */
export interface Lifetimes {
  /** Phase in which a value is first needed; undefined if it is not. */
  readonly first: readonly (number | undefined)[];
  /** Last phase that needs it. */
  readonly last: readonly number[];
  /** Element-level values that a later phase than their first one needs. */
  readonly held: ReadonlySet<number>;
}

export function lifetimesOf(kernel: Kernel): Lifetimes {
  const levels = levelsOf(kernel);
  const first: (number | undefined)[] = kernel.tape.map(() => undefined);
  const last: number[] = kernel.tape.map(() => 0);
  const need = (position: number, phase: number): void => {
    const at = Math.max(phase, levels.phase[position]!);
    first[position] = Math.min(first[position] ?? at, at);
    last[position] = Math.max(last[position]!, at);
  };
  for (const { value } of kernel.stores) need(value, levels.phase[value]!);
  for (let position = kernel.tape.length - 1; position >= 0; position--) {
    const i = kernel.tape[position]!;
    const needed = first[position];
    if (needed === undefined) continue;
    const at = isReduction(i) ? levels.phase[position]! : needed;
    // A cast of a load is done again rather than held: what lies in memory is never wider.
    const again = isCastOfLoad(kernel, position) ? last[position]! : at;
    for (const arg of argumentsOf(i)) {
      need(arg, at);
      need(arg, again);
    }
  }
  const held = new Set<number>();
  kernel.tape.forEach((i, position) => {
    if (!levels.element[position] || first[position] === undefined || isCastOfLoad(kernel, position)) return;
    if (!isConstant(i) && last[position]! > first[position]!) held.add(position);
  });
  return { first, last, held };
}

const isCastOfLoad = (kernel: Kernel, position: number): boolean => {
  const value = castValueOf(kernel.tape[position]!);
  return value !== undefined && affineLoadOf(kernel.tape[value]!) !== undefined;
};

/** Places for held values, shared by values that are not needed in the same phases. */
export interface HeldSlots {
  readonly slotOf: ReadonlyMap<number, number>;
  /** Bytes of an element in each slot. */
  readonly byteLengths: readonly number[];
}

export function heldSlots(kernel: Kernel): HeldSlots {
  const { first, last, held } = lifetimesOf(kernel);
  const slotOf = new Map<number, number>();
  const byteLengths: number[] = [];
  const free: number[] = [];
  for (const position of [...held].sort((a, b) => first[a]! - first[b]! || a - b)) {
    // A value may take the place of one that is read for the last time in its own phase: element by element.
    let slot = free.findIndex((until) => until <= first[position]!);
    if (slot < 0) slot = free.length;
    free[slot] = last[position]!;
    slotOf.set(position, slot);
    byteLengths[slot] = Math.max(byteLengths[slot] ?? 0, byteLengthOf(kernel.tape[position]!.dtype));
  }
  return { slotOf, byteLengths };
}

/** Words of an element's held values that are alive at once. */
const heldWords = (kernel: Kernel): number =>
  Math.max(
    1,
    Math.min(
      MOST_ELEMENT_WORDS,
      heldSlots(kernel).byteLengths.reduce((sum, bytes) => sum + bytes / 4, 0),
    ),
  );

/**
 * The schedule of a kernel of several phases, with the threads and chunks that its reductions have alone;
 * `undefined`: some have others, or a block would not do a whole row.
 */
export function chooseRows(kernel: Kernel, limits: DeviceLimits): RowSchedule | undefined {
  // Elements of a user's monoid keep their order, which rows on the chip do not.
  if (hasMonoid(kernel)) return undefined;
  const alone = commonOrder(kernel);
  const schedule = alone?.order === IN_TURN ? chooseReduce(kernel) : alone?.schedule;
  if (schedule?.kind !== 'reduce' || schedule.slots > 1 || schedule.staged) return undefined;
  if (schedule.mapping === 'rows')
    return fitsChunks(kernel, schedule) ? rowLayout(kernel, schedule, limits) : undefined;
  const columns = columnLayout(kernel, schedule);
  return columns && alone?.together !== undefined ? { ...columns, together: alone.together } : columns;
}

/** Chunks that each thread of a block can hold in registers. */
const chunksInRegisters = (kernel: Kernel, threads: number, width: number): number =>
  Math.floor(Math.min(MOST_HELD_WORDS, BLOCK_WORDS / threads) / heldWords(kernel) / width);

/** Whether a block of so many threads holds the chunks of its rows in registers. */
export const fitsRegisters = (kernel: Kernel, { chunks, width }: RowSchedule, threads: number): boolean =>
  chunks <= chunksInRegisters(kernel, threads, width);

function rowLayout(
  kernel: Kernel,
  { threadsR, width }: ReduceSchedule,
  limits: DeviceLimits,
): RowSchedule | undefined {
  const rows = product(kernel.parallel);
  const length = product(kernel.reduced);
  if (leavesIdle(rows, length)) return undefined;
  const threadsP = Math.max(1, THREADS / threadsR);
  const frame = { kind: 'rows', mapping: 'rows', width, threadsP, threadsR } as const;
  const chunks = Math.max(1, Math.ceil(length / (threadsR * width)));
  const inRegisters = chunksInRegisters(kernel, threadsP * threadsR, width);
  if (chunks <= inRegisters) return { ...frame, chunks, sharedChunks: 0, held: true };
  const sharedChunks = chunks - inRegisters;
  const bytes =
    heldSlots(kernel).byteLengths.reduce((sum, n) => sum + n, 0) * width * threadsR * sharedChunks;
  const isShared = threadsP === 1 && inRegisters > 0 && threadsR >= LONG_THREADS;
  if (isShared && bytes + RESERVED_BYTES <= limits.sharedByteLength)
    return { ...frame, chunks: inRegisters, sharedChunks, held: true };
  return walkedAgain(frame);
}

/** Rows that are read in each phase. */
export const walkedAgain = <S extends Pick<RowSchedule, 'width'>>(schedule: S) => ({
  ...schedule,
  chunks: Math.max(1, STREAMED_ELEMENTS / schedule.width),
  sharedChunks: 0,
  held: false,
});

function columnLayout(kernel: Kernel, { threadsP, threadsR }: ReduceSchedule): RowSchedule | undefined {
  const chunks = Math.max(1, Math.ceil(product(kernel.reduced) / threadsR));
  const held = chunks <= chunksInRegisters(kernel, threadsP * threadsR, 1);
  if (!held && leavesColumnsIdle(product(kernel.parallel))) return undefined;
  return {
    kind: 'rows',
    mapping: 'columns',
    threadsP,
    threadsR,
    width: 1,
    chunks: held ? chunks : STREAMED_COLUMNS,
    sharedChunks: 0,
    held,
  };
}
