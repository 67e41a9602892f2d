/**
 * Writes a sweep as a step: for every tile the windows of each buffer with their slots, and the ranges of
 * each launch, as flat tables that the runtime executes without further decisions. Called by `sweeps.ts`.
 */

import { type BufferParameter, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { InternalError } from '../../host/errors.js';
import { onceInSlices } from '../../host/once.js';
import { completed, type Slices } from '../../host/slices.js';
import { RANGE_FIELDS, WINDOW, WINDOW_FIELDS } from '../../shared/layout.js';
import { callRow } from '../calls/table.js';
import {
  type KernelStep,
  type PhaseStep,
  type Step,
  type SweepStep,
  type SweepWindows,
  sweepsOf,
} from '../plan/plan.js';
import type { BytePitches } from './sweep-cuts.js';
import type { SizedSweep, SlotBlock, TileList } from './sweep-slots.js';
import type { SweptTask, Tile, Window } from './sweep-windows.js';

/** The step of a sweep; its tables, of which there may be megabytes, are written when they are first asked for. */
export function sweepStep(
  sized: SizedSweep,
  slots: readonly (SlotBlock & { readonly offset: number })[],
): SweepStep {
  const { tasks, pitches, tiles, parts, panels, taken, inPlace = [] } = sized;
  const inSlot = new Map(slots.flatMap((s) => (s.slotPitch > 0 ? [[s.buffer, s.slotPitch] as const] : [])));
  const none = { offset: 0, slotByteLength: 0, slots: 0, slotPitch: 0 };
  const windowed = [...slots, ...inPlace.map((own) => ({ ...own, ...none }))];
  const tables = laterTables(sized);
  const step: SweepStep = {
    kind: 'sweep',
    tiles: tiles.length,
    ...(parts === undefined ? {} : { queueParts: Float64Array.from(parts) }),
    ...(panels === undefined ? {} : { panels }),
    ...(taken === undefined ? {} : { taken }),
    windows: windowed.map(({ buffer, direction, offset, slotByteLength, slots: count, slotPitch }, k) => ({
      buffer,
      direction,
      offset,
      slotByteLength,
      slots: count,
      slotPitch,
      get windows() {
        return completed(tables()).windows[k]!;
      },
    })),
    body: tasks.map(({ task }, k) => ({
      step: stepInSlots(task.step, pitches, inSlot),
      get ranges() {
        return completed(tables()).ranges[k]!;
      },
    })),
  };
  tablesOfStep.set(step, tables);
  return step;
}

/** Writes the tables of steps ahead, which is long work. */
export function* writeTables(steps: readonly Step[]): Slices<void> {
  for (const step of steps.flatMap(sweepsOf)) yield* tablesOfStep.get(step)?.() ?? [];
}

interface Tables {
  /** By windowed buffer. */
  readonly windows: readonly Float64Array[];
  /** By task, then by launch. */
  readonly ranges: readonly (readonly Float64Array[])[];
}

const known = new WeakMap<SizedSweep, () => Slices<Tables>>();
const tablesOfStep = new WeakMap<SweepStep, () => Slices<Tables>>();

/**
 * The tables of a sweep, once for all plans that have it. In a scope of its own: a plan that is kept keeps neither tiles
 * nor the arrays that they are of.
 */
function laterTables(sized: SizedSweep): () => Slices<Tables> {
  const tables = known.get(sized) ?? onceInSlices(() => tablesOf(sized));
  known.set(sized, tables);
  return tables;
}

/** Tiles between pauses: each takes some 2 to 50 µs. */
const TILES_OF_SLICE = 32;

function* tablesOf({ tasks, tiles, parts, slots, inPlace = [] }: SizedSweep): Slices<Tables> {
  const windowed = [...slots, ...inPlace.map((own) => ({ ...own, slots: 0 }))];
  const tables = windowed.map((own) => new WindowTable(own, tiles.length));
  const ranges = tasks.map(({ task }) => rangeTables(task, tiles));
  for (let t = 0; t < tiles.length; t++) {
    if (t % TILES_OF_SLICE === 0) yield;
    const tile = tiles.at(t)!;
    const isOwn = parts?.[t] !== parts?.[t - 1];
    for (const table of tables) table.add(t, tile, isOwn);
    for (const [k, launches] of ranges.entries()) addRanges(launches, tasks[k]!.task, t, tile, tile.spans[k]);
  }
  return { windows: tables.map(({ numbers }) => numbers), ranges };
}

/** Steps know how far apart rows lie in slots; all other windows look like the whole buffer. */
function stepInSlots(
  step: Step,
  pitches: BytePitches,
  inSlot: ReadonlyMap<number, number>,
): Exclude<Step, SweepStep> {
  if (step.kind === 'sweep') throw new InternalError('a sweep inside a sweep');
  // Loops run as a whole.
  if (step.kind === 'loop' || inSlot.size === 0) return step;
  return step.kind === 'call'
    ? callRow(step).inSlots(step, pitches, inSlot)
    : { ...step, kernel: kernelInSlots(step, pitches, inSlot) };
}

function kernelInSlots(
  { kernel, buffers, scratch }: KernelStep | PhaseStep,
  pitches: BytePitches,
  inSlot: ReadonlyMap<number, number>,
): Kernel {
  const moves = (buffer: number): boolean =>
    pitches.has(buffer) && pitches.get(buffer) !== inSlot.get(buffer);
  const partial = scratch.find(moves);
  if (partial === undefined && !buffers.some(moves)) return kernel;
  const rows = partial === undefined ? {} : { partialRows: rowsInSlot(kernel, partial, pitches, inSlot) };
  const parameters = kernel.buffers.map((parameter, position): BufferParameter => {
    const buffer = buffers[position]!;
    if (!moves(buffer)) return parameter;
    const bytes = byteLengthOf(parameter.dtype);
    const pitch = { from: pitches.get(buffer)! / bytes, to: inSlot.get(buffer)! / bytes };
    return { ...parameter, pitch };
  });
  return { ...kernel, ...rows, buffers: parameters };
}

/** The rows whose partial results a window has: as many of each scratch buffer. */
const rowsInSlot = (
  { parallel }: Kernel,
  scratch: number,
  pitches: BytePitches,
  inSlot: ReadonlyMap<number, number>,
): number => (inSlot.get(scratch)! * product(parallel)) / pitches.get(scratch)!;

/**
 * The windows of a buffer, tile by tile. A window that the tile before had stays in its slot, as does one that is
 * added to; every other takes the next one. Parts that devices take begin with nothing: the tile before may be
 * another's.
 */
class WindowTable {
  readonly numbers: Float64Array;
  readonly #buffer: number;
  readonly #direction: SweepWindows['direction'];
  readonly #slots: number;
  #slot = -1;
  #held: Window | undefined;
  #isUnfinished = false;

  constructor(
    { buffer, direction, slots }: Pick<SweepWindows, 'buffer' | 'direction' | 'slots'>,
    tiles: number,
  ) {
    this.numbers = new Float64Array(tiles * WINDOW_FIELDS);
    this.#buffer = buffer;
    this.#direction = direction;
    this.#slots = Math.max(1, slots);
  }

  /** Adds the next tile; `isOwn`: it begins a part. */
  add(t: number, { windows, unfinished, carried }: Tile, isOwn: boolean): void {
    const window = windows.get(this.#buffer);
    if (isOwn) this.#held = undefined;
    const held = this.#held;
    const isIn = this.#direction === 'in';
    const isHeld = isIn && held !== undefined && (window === undefined || same(window, held));
    const stays = this.#isUnfinished || isHeld;
    this.#isUnfinished = unfinished?.includes(this.#buffer) === true;
    const leaves = this.#direction === 'out' && !this.#isUnfinished;
    const goesOn = carried?.includes(this.#buffer) === true;
    const copies = window !== undefined && (leaves || goesOn || (isIn && !stays));
    if (this.#slot < 0 || (window !== undefined && !stays)) this.#slot = (this.#slot + 1) % this.#slots;
    if (window !== undefined) this.#held = window;
    const at = t * WINDOW_FIELDS;
    this.numbers[at + WINDOW.slot] = this.#slot;
    this.numbers[at + WINDOW.copies] = copies ? 1 : 0;
    if (window === undefined) return;
    this.numbers[at + WINDOW.first] = window.first;
    this.numbers[at + WINDOW.width] = window.width;
    this.numbers[at + WINDOW.rows] = window.rows;
    this.numbers[at + WINDOW.pitch] = window.pitch;
  }
}

const same = (a: Window, b: Window): boolean =>
  a.first === b.first && a.width === b.width && a.rows === b.rows;

/** A table for each launch of a task. */
function rangeTables({ cut }: SweptTask['task'], tiles: TileList): Float64Array[] {
  const launches = tiles.at(0)?.ranges === undefined ? cut.ranges(0, cut.units).length : 1;
  return Array.from({ length: launches }, () => new Float64Array(tiles.length * RANGE_FIELDS));
}

function addRanges(
  tables: readonly Float64Array[],
  { cut }: SweptTask['task'],
  t: number,
  { ranges }: Tile,
  span: Tile['spans'][number],
): void {
  if (span === undefined || tables.length === 0) return;
  const own = ranges === undefined ? cut.ranges(...span) : [ranges];
  for (const [k, each] of own.entries()) tables[k]!.set(each, t * RANGE_FIELDS);
}
