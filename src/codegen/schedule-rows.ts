/**
 * The schedule of a kernel of several phases (softmax, layer norm): a row stays in registers from one walk over it to
 * the next; a row too long for the registers of a block is walked again, mostly from the L2 cache.
 */
import { type Access, argumentsOf, type Kernel, levelsOf, product } from '../fusion/kernel.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import { chunkWidth } from './chunks.js';
import { layoutOf, powerOfTwoFrom } from './schedule-reduce.js';

export interface RowSchedule {
  readonly kind: 'rows';
  /** Whether neighbouring threads lie along the reduced axis (rows) or the last parallel one (columns). */
  readonly layout: 'rows' | 'columns';
  readonly threadsP: number;
  readonly threadsR: number;
  /** Chunk length along the reduced axis; 1 in the columns layout. */
  readonly width: number;
  /** Chunks of a row that a thread holds, or that it handles at a time where the row is walked again. */
  readonly chunks: number;
  /** Whether values are held from phase to phase. */
  readonly held: boolean;
}

/** Registers of a thread for the elements it holds. */
const HELD_WORDS = 32;
const MOST_THREADS = 1024;
const WARP = 32;
/** Rows below which a kernel that walks rows again would leave a device idle. */
const FEW_ROWS = 64;
const LONG_ROW = 8192;

/** Every load and store, with its dtype. */
export function accessesOf(kernel: Kernel): { access: Access; dtype: DType; store: boolean }[] {
  const loads = kernel.tape.flatMap((i) =>
    i.kind === 'load' ? [{ access: i.access, dtype: i.dtype, store: false }] : [],
  );
  const stores = kernel.stores.map(({ access }) => ({
    access,
    dtype: kernel.buffers[access.buffer]!.dtype,
    store: true,
  }));
  return [...loads, ...stores];
}

/** Where the element-level values of a kernel are computed, as late as possible, and which are held for later. */
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
    const at = i.kind === 'reduce' ? levels.phase[position]! : first[position];
    if (at === undefined || (i.kind === 'reduce' && first[position] === undefined)) continue;
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
    if (i.kind !== 'const' && last[position]! > first[position]!) held.add(position);
  });
  return { first, last, held };
}

export const isCastOfLoad = (kernel: Kernel, position: number): boolean => {
  const i = kernel.tape[position]!;
  return i.kind === 'cast' && kernel.tape[i.args[0]]!.kind === 'load';
};

/** Most words of held elements that are alive between two phases. */
function heldWords(kernel: Kernel): number {
  const { first, last, held } = lifetimesOf(kernel);
  let most = 1;
  for (let phase = 0; phase + 1 < levelsOf(kernel).phases; phase++) {
    let words = 0;
    for (const position of held) {
      if (first[position]! <= phase && last[position]! > phase)
        words += byteLengthOf(kernel.tape[position]!.dtype) / 4;
    }
    most = Math.max(most, words);
  }
  return Math.min(most, 8);
}

/** `undefined`: there are too few rows for this schedule. */
export function chooseRows(kernel: Kernel): RowSchedule | undefined {
  return layoutOf(kernel) === 'rows' ? rowLayout(kernel) : columnLayout(kernel);
}

function rowLayout(kernel: Kernel): RowSchedule | undefined {
  const rows = product(kernel.parallel);
  const length = product(kernel.reduced);
  const axis = kernel.parallel.length + kernel.reduced.length - 1;
  const along = accessesOf(kernel).filter(({ access }) => access.strides[axis] === 1);
  const width =
    along.length === 0
      ? 1
      : chunkWidth(
          along.map(({ dtype }) => dtype),
          kernel.reduced[kernel.reduced.length - 1]!,
        );
  const perThread = Math.max(width, HELD_WORDS / heldWords(kernel));
  if (rows < FEW_ROWS && length > LONG_ROW) return undefined;
  const needed = powerOfTwoFrom(length / perThread);
  const held = needed <= MOST_THREADS;
  const threadsR = held ? Math.max(needed, Math.min(WARP, powerOfTwoFrom(length / width))) : MOST_THREADS;
  const threadsP = Math.max(1, 256 / threadsR);
  const chunks = held ? Math.max(1, Math.ceil(length / (threadsR * width))) : Math.max(1, 16 / width);
  return { kind: 'rows', layout: 'rows', threadsP, threadsR, width, chunks, held };
}

function columnLayout(kernel: Kernel): RowSchedule | undefined {
  const columns = product(kernel.parallel);
  const length = product(kernel.reduced);
  const threadsP = Math.min(WARP, powerOfTwoFrom(columns));
  const most = MOST_THREADS / threadsP;
  const perThread = HELD_WORDS / heldWords(kernel);
  const needed = powerOfTwoFrom(length / perThread);
  const held = needed <= most;
  if (!held && columns < FEW_ROWS * WARP) return undefined;
  if (columns < WARP && length > LONG_ROW) return undefined;
  const threadsR = held ? Math.max(needed, Math.min(256 / threadsP, powerOfTwoFrom(length))) : most;
  const chunks = held ? Math.max(1, Math.ceil(length / threadsR)) : 8;
  return {
    kind: 'rows',
    layout: 'columns',
    threadsP,
    threadsR: Math.max(threadsR, WARP / threadsP),
    width: 1,
    chunks,
    held,
  };
}
