/**
 * Writes a sweep as a step: for every tile the windows of each buffer with their slots, and the ranges of
 * each launch, as flat tables that the runtime executes without further decisions. Called by `sweeps.ts`.
 */

import { type BufferParameter, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { InternalError } from '../../host/errors.js';
import { RANGE_FIELDS, WINDOW, WINDOW_FIELDS } from '../../shared/layout.js';
import { callRow } from '../calls/table.js';
import type { KernelStep, PhaseStep, Step, SweepStep, SweepWindows } from '../plan/plan.js';
import type { BytePitches } from './sweep-cuts.js';
import type { SizedSweep, SlotBlock } from './sweep-slots.js';
import type { SweptTask, Tile, Window } from './sweep-windows.js';

export function sweepStep(
  { tasks, pitches, tiles, ranges, parts, inPlace = [] }: SizedSweep,
  slots: readonly (SlotBlock & { readonly offset: number })[],
): SweepStep {
  const inSlot = new Map(slots.flatMap((s) => (s.slotPitch > 0 ? [[s.buffer, s.slotPitch] as const] : [])));
  const none = { offset: 0, slotByteLength: 0, slots: 0, slotPitch: 0 };
  const windowed = [...slots, ...inPlace.map((own) => ({ ...own, ...none }))];
  return {
    kind: 'sweep',
    tiles: tiles.length,
    ...(parts === undefined ? {} : { queueParts: Float64Array.from(parts) }),
    windows: windowed.map(({ buffer, direction, offset, slotByteLength, slots: count, slotPitch }) => ({
      buffer,
      direction,
      offset,
      slotByteLength,
      slots: count,
      slotPitch,
      windows: windowTable(buffer, direction, count, tiles, parts),
    })),
    body: tasks.map(({ task }, k) => ({
      step: stepInSlots(task.step, pitches, inSlot),
      ranges:
        ranges === undefined
          ? rangeTables(
              task,
              tiles.map(({ spans }) => spans[k]),
            )
          : [Float64Array.from(ranges.flat())],
    })),
  };
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
 * A window that the tile before had stays in its slot, as does one that is added to; every other takes the
 * next one. Parts that devices take begin with nothing: the tile before may be another's.
 */
function windowTable(
  buffer: number,
  direction: SweepWindows['direction'],
  slots: number,
  tiles: readonly Tile[],
  parts: readonly number[] | undefined,
): Float64Array {
  const table = new Float64Array(tiles.length * WINDOW_FIELDS);
  let slot = -1;
  let held: Window | undefined;
  let isUnfinished = false;
  for (const [t, { windows, unfinished }] of tiles.entries()) {
    const window = windows.get(buffer);
    if (parts?.[t] !== parts?.[t - 1]) held = undefined;
    const stays =
      isUnfinished ||
      (direction === 'in' && held !== undefined && (window === undefined || same(window, held)));
    isUnfinished = unfinished === buffer;
    const copies =
      direction === 'out'
        ? window !== undefined && !isUnfinished
        : direction === 'in' && window !== undefined && !stays;
    if (slot < 0 || (window !== undefined && !stays)) slot = (slot + 1) % Math.max(1, slots);
    if (window !== undefined) held = window;
    const { first, width, rows, pitch } = window ?? NOTHING;
    const numbers = { slot, copies: copies ? 1 : 0, first, width, rows, pitch };
    for (const [k, field] of WINDOW_NAMES.entries()) table[t * WINDOW_FIELDS + k] = numbers[field];
  }
  return table;
}

const WINDOW_NAMES = Object.keys(WINDOW) as (keyof typeof WINDOW)[];
const NOTHING: Window = { first: 0, width: 0, rows: 0, pitch: 0 };

const same = (a: Window, b: Window): boolean =>
  a.first === b.first && a.width === b.width && a.rows === b.rows;

function rangeTables({ cut }: SweptTask['task'], spans: Tile['spans']): Float64Array[] {
  const launches = cut.ranges(0, cut.units).length;
  const tables = Array.from({ length: launches }, () => new Float64Array(spans.length * RANGE_FIELDS));
  for (const [t, span] of spans.entries()) {
    if (span === undefined) continue;
    for (const [k, ranges] of cut.ranges(...span).entries()) tables[k]!.set(ranges, t * RANGE_FIELDS);
  }
  return tables;
}
