/**
 * The schedule of a loop's body that is one map over neighbouring elements of its own states: several steps
 * are one launch.
 *
 * A block holds a tile of each state in registers, with a halo that is as wide as the steps reach, and
 * computes all of it at every step: what is wrong at its edge moves inwards, and what is right in the end is
 * stored.
 */
import { loadsOf } from '../../../fusion/kernel/algebra.js';
import { arithmeticOf } from '../../../fusion/kernel/arithmetic.js';
import { type Access, type Affine, isZeroOutside, type Kernel } from '../../../fusion/kernel/kernel.js';
import type { DType } from '../../../graph/dtype.js';
import { indexWidthOf } from '../index-math.js';

export interface StencilSchedule {
  readonly kind: 'stencil';
  /** The most steps of a launch. */
  readonly steps: number;
  /** Rows and columns of a tile that each thread holds; a warp holds rows of 32 threads. */
  readonly rows: number;
  readonly columns: number;
  readonly warps: number;
  /** Times that the rows which warps hand to each other are in shared memory: with two, a step waits once. */
  readonly copies: 1 | 2;
  /** Rows above and below, columns to the left and to the right that are not stored. */
  readonly halo: readonly [number, number];
}

/** A load of a state: how many rows down and columns to the right of the element that is computed. */
export interface Shift {
  readonly state: number;
  readonly row: number;
  readonly column: number;
}

const LANES = 32;
const COLUMNS = 4;
const WARPS = 8;
/**
 * Farthest element that is a neighbour, and registers of a thread that hold elements: two blocks share a
 * multiprocessor.
 */
const MOST_REACH = 2;
const MOST_WORDS = 32;
/** Arithmetic of an element beyond which computing halo again costs more than it saves. */
const MOST_COST = 48;
const STEPS = 8;
/** Part of a tile that has to be stored, so that not too much is computed twice; shared memory of a block. */
const LEAST_STORED = 0.65;
const MOST_SHARED = 40 * 1024;

/** Values held in registers and exchanged between threads. */
const WORDS: Partial<Record<DType, number>> = {
  float32: 1,
  int32: 1,
  uint32: 1,
  float64: 2,
  int64: 2,
  uint64: 2,
};

export const tileRows = ({ rows, warps }: StencilSchedule): number => rows * warps;
export const tileColumns = ({ columns }: StencilSchedule): number => columns * LANES;

/** Tiles along each axis. */
export function stencilGrid(kernel: Kernel, schedule: StencilSchedule): [number, number] {
  const [height, width] = kernel.parallel as readonly [number, number];
  const [above, left] = schedule.halo;
  return [
    Math.ceil(height / (tileRows(schedule) - 2 * above)),
    Math.ceil(width / (tileColumns(schedule) - 2 * left)),
  ];
}

/** The state that a load reads, and from where; undefined: it reads no state. Null: a state, too far away. */
export function shiftOf(kernel: Kernel, access: Access): Shift | undefined | null {
  const state = kernel.carried!.findIndex(({ input }) => input === access.buffer);
  if (state < 0) return undefined;
  const width = kernel.parallel[1]!;
  if (!isDense(access, width)) return null;
  const row = Math.round(access.offset / width);
  const column = access.offset - row * width;
  const reach = Math.max(Math.abs(row), Math.abs(column));
  return reach > MOST_REACH ? null : { state, row, column };
}

const isDense = ({ strides }: Affine, width: number): boolean => strides[0] === width && strides[1] === 1;

/**
 * The schedule of a kernel in the normal form, if it can be one; its carried buffers say which outputs are its next
 * inputs.
 */
export function chooseStencil(kernel: Kernel): StencilSchedule | undefined {
  const { carried, parallel, stores } = kernel;
  if (carried === undefined || parallel.length !== 2 || kernel.reduced.length > 0) return undefined;
  const [, width] = parallel as readonly [number, number];
  if (stores.length !== carried.length || indexWidthOf(kernel, 0) !== 32) return undefined;
  if (width <= 4 * MOST_REACH) return undefined;
  if (stores.some(({ access }) => access.offset !== 0 || !isDense(access, width))) return undefined;
  let words = 0;
  for (const { output } of carried) {
    if (!stores.some(({ access }) => access.buffer === output)) return undefined;
    const own = WORDS[kernel.buffers[output]!.dtype];
    if (own === undefined) return undefined;
    words += own;
  }
  let [down, across] = [0, 0];
  const cost = arithmeticOf(kernel);
  if (cost > MOST_COST) return undefined;
  for (const { access, dtype } of loadsOf(kernel)) {
    if (access.index !== undefined || !access.bounds.every(isZeroOutside)) return undefined;
    const shift = shiftOf(kernel, access);
    if (shift === null) return undefined;
    if (shift !== undefined) {
      down = Math.max(down, Math.abs(shift.row));
      across = Math.max(across, Math.abs(shift.column));
    } else if (access.strides.some((stride) => stride !== 0)) {
      words += WORDS[dtype] ?? 1;
    }
  }
  return tiled({ words, down, across });
}

interface Reach {
  /** Registers for each element of a thread. */
  readonly words: number;
  readonly down: number;
  readonly across: number;
}

function tiled({ words, down, across }: Reach): StencilSchedule | undefined {
  const rows = words * COLUMNS * 8 <= MOST_WORDS ? 8 : 4;
  const edgeBytes = WARPS * 2 * down * LANES * COLUMNS * 4 * words;
  const copies = 2 * edgeBytes <= MOST_SHARED ? 2 : 1;
  if (words * COLUMNS * rows > 2 * MOST_WORDS || copies * edgeBytes > MOST_SHARED) return undefined;
  for (let steps = STEPS; steps > 1; steps--) {
    const left = Math.ceil((across * steps) / COLUMNS) * COLUMNS;
    const halo = [down * steps, left] as const;
    const schedule = {
      kind: 'stencil',
      steps,
      rows,
      columns: COLUMNS,
      warps: WARPS,
      copies,
      halo,
    } as const;
    if (storedPart(schedule) >= LEAST_STORED) return schedule;
  }
  return undefined;
}

/** How much of what a block computes at each step is stored in the end. */
export function storedPart(schedule: StencilSchedule): number {
  const [above, left] = schedule.halo;
  const part = (size: number, halo: number): number => Math.max(0, size - 2 * halo) / size;
  return part(tileRows(schedule), above) * part(tileColumns(schedule), left);
}
