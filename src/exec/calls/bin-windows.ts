/**
 * Bins that do not fit, or whose rows do not: a window of the bins stays on the device while the rows pass in parts, each
 * of which is gathered in it, then the next window. Rows whose bin is elsewhere are left out. No operation of bins depends
 * on an order, so the bits are those of the whole. Called through `bins.ts`.
 *
 *     bins 0 … 99     rows 0 … 999, 1000 … 1999, …
 *     bins 100 … 199     rows 0 … 999, 1000 … 1999, …
 */
import { aroundBoth } from '../../codegen/cuts/work.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { InternalError } from '../../host/errors.js';
import { lastOf, once } from '../../host/once.js';
import { aligned } from '../plan/memory.js';
import type { BytePitches, Cut, Touch } from '../tiles/sweep-cuts.js';
import {
  countsTo,
  FEWER_SLOTS,
  fewer,
  type NoFit,
  type SizedSweep,
  type SlotBlock,
  type SlotRules,
  slotBytes,
} from '../tiles/sweep-slots.js';
import { firstWhere, type Span, type SweptTask, type Tile, windowOf } from '../tiles/sweep-windows.js';
import { BYTES_OF_A_TILE, MEMORY_SPEED, MOST_TILES } from '../tiles/tile-costs.js';
import { planOf } from './bin-plan.js';
import type { BinWindows, RoutineStep } from './call.js';
import type { Routine } from './routine.js';

/** The part k of n of a size. */
const partAt = (size: number, k: number, n: number): Span => [
  Math.floor((size * k) / n),
  Math.floor((size * (k + 1)) / n),
];

/** Rows of the longest unit. */
const longestUnit = (step: RoutineStep): number => {
  const { rows, unitRows } = planOf(step);
  return Math.min(rows, unitRows);
};

/** Tiles of a step in windows: for each unit of rows all windows of the bins, and for each of those the unit's parts. */
export const tilesOf = (step: RoutineStep): number => {
  const { bins, rows } = step.binWindows!;
  return planOf(step).units * bins * rows;
};

/** The bytes that a tile touches; a window of several parts of each bin has a row for each. */
function touchesOf(step: RoutineStep, tile: number): Record<'reads' | 'writes', Touch[]> {
  const { form, keys, values, scales, edges, rows, bins, unitRows } = planOf(step);
  const { width, parts } = form;
  const windows = step.binWindows!;
  const unit = Math.floor(tile / (windows.bins * windows.rows));
  const window = Math.floor(tile / windows.rows) % windows.bins;
  const begin = unit * unitRows;
  const [from, to] = partAt(Math.min(unitRows, rows - begin), tile % windows.rows, windows.rows);
  const [low, high] = partAt(bins, window, windows.bins).map((bin) => bin * width) as [number, number];
  const reads: Touch[] = [];
  for (const [array, first, last] of [
    [keys, begin + from, begin + to],
    [values, (begin + from) * width, (begin + to) * width],
    [scales, low, high],
    [edges, 0, bins + 1],
  ] as const) {
    if (array === undefined) continue;
    const bytes = byteLengthOf(array.dtype);
    reads.push({ buffer: array.buffer, first: first * bytes, last: last * bytes });
  }
  const { buffer, dtype } = step.results[0]!;
  const bytes = byteLengthOf(dtype);
  const [size, own] = [bins * width, unit * parts * bins * width];
  const range = { buffer, first: (own + low) * bytes, last: (own + (parts - 1) * size + high) * bytes };
  const inRows = { ...range, rows: { pitch: size * bytes, width: (high - low) * bytes } };
  return { reads, writes: [parts === 1 ? range : inRows] };
}

function cutOf(step: RoutineStep): Cut {
  return {
    units: tilesOf(step),
    touches: (first, last) => {
      if (last !== first + 1) throw new InternalError('several tiles of bins at once');
      return touchesOf(step, first);
    },
    ranges: (first, last) => [[first, last, 0, 0, 0, 0]],
    pitches: () => [],
  };
}

/** Touches by buffer. */
function byBuffer({ reads, writes }: Record<'reads' | 'writes', Touch[]>): ReadonlyMap<number, Touch> {
  const found = new Map<number, Touch>();
  for (const touch of [...reads, ...writes]) {
    const known = found.get(touch.buffer);
    found.set(touch.buffer, known === undefined ? touch : aroundBoth(known, touch));
  }
  return found;
}

/** The step in so many windows, whose numbers lie as those of the whole. */
function inWindows(step: RoutineStep, counts: Omit<BinWindows, 'pitch'>): RoutineStep {
  const { bins, form } = planOf(step);
  return { ...step, binWindows: { ...counts, pitch: bins * form.width } };
}

interface Choice {
  readonly step: RoutineStep;
  readonly slots: readonly SlotBlock[];
  /** Of the slots. */
  readonly byteLength: number;
  readonly cost: number;
}

/** Finds the windows of bins and the parts of rows that move fewest bytes in what room there is. */
function sizer(swept: SweptTask, step: RoutineStep, rules: SlotRules): (room: number) => SizedSweep | NoFit {
  const { bins, units } = planOf(step);
  const ways = FEWER_SLOTS.map((most) => {
    const own = { ...rules, slots: fewer(rules.slots, most) };
    return countsTo(Math.min(bins, Math.floor(MOST_TILES / units))).map((windows) => {
      const mostParts = Math.max(1, Math.min(longestUnit(step), Math.floor(MOST_TILES / (units * windows))));
      const choices = countsTo(mostParts).map((rows) =>
        once(() => choiceOf(swept, inWindows(step, { bins: windows, rows }), own)),
      );
      return { passes: passBytes(step, rules) * windows, choices };
    });
  });
  return (room) => {
    let needed = Number.POSITIVE_INFINITY;
    for (const way of ways) {
      let best: Choice | undefined;
      for (const { passes, choices } of way) {
        if (best !== undefined && passes >= best.cost) break;
        const least = firstWhere(0, choices.length, (k) => choices[k]!().byteLength <= room);
        if (least === choices.length) needed = Math.min(needed, choices.at(-1)!().byteLength);
        else if (best === undefined || choices[least]!().cost < best.cost) best = choices[least]!();
      }
      if (best !== undefined) return sized(swept, best, rules);
    }
    return { needed, step };
  };
}

/** Bytes of a pass over the rows: those that are on the device come from its memory. */
function passBytes(step: RoutineStep, { isWindowed }: SlotRules): number {
  const { keys, values } = planOf(step);
  return [keys, ...(values === undefined ? [] : [values])].reduce((sum, { buffer, dtype, shape }) => {
    const bytes = sizeOfShape(shape) * byteLengthOf(dtype);
    return sum + (isWindowed(buffer) ? bytes : bytes / MEMORY_SPEED);
  }, 0);
}

function choiceOf(swept: SweptTask, step: RoutineStep, rules: SlotRules): Choice {
  const { bins, rows } = step.binWindows!;
  // The last parts and windows are the longest.
  const perUnit = bins * rows;
  const longest = byBuffer(touchesOf(step, perUnit - 1));
  const result = step.results[0]!.buffer;
  const slots = [...longest.values()]
    .filter(({ buffer }) => rules.isWindowed(buffer))
    .map((touch): SlotBlock => {
      const { buffer, rows: lines } = touch;
      const window = windowOf(touch);
      const slotPitch = lines === undefined ? 0 : aligned(lines.width);
      const direction = rules.directionOf(buffer, [swept]);
      return {
        buffer,
        direction,
        slotPitch,
        slotByteLength: aligned((lines === undefined ? window.width : window.rows * slotPitch) + 255),
        slots: Math.min(rules.slots[direction], buffer === result ? tilesOf(step) / rows : tilesOf(step)),
        first: 0,
        last: 0,
      };
    });
  const cost = passBytes(step, rules) * bins + tilesOf(step) * BYTES_OF_A_TILE;
  return { step, slots, byteLength: slotBytes(slots), cost };
}

function sized(swept: SweptTask, { step, slots }: Choice, rules: SlotRules): SizedSweep {
  const tile = lastOf((t: number): Tile => {
    const { writes } = swept.task;
    const isLast = (t + 1) % step.binWindows!.rows === 0;
    const windows = [...byBuffer(touchesOf(step, t))].map(
      ([buffer, own]) => [buffer, windowOf(own)] as const,
    );
    return { spans: [[t, t + 1]], windows: new Map(windows), unfinished: isLast ? [] : writes };
  });
  const own: SweptTask = { ...swept, task: { ...swept.task, step, cut: cutOf(step) } };
  return { tasks: [own], pitches: rules.pitches, tiles: { length: tilesOf(step), at: tile }, slots };
}

/** The step whose parts of a bin's numbers lie in slots as far apart as their rows. */
function inSlots(step: RoutineStep, inSlot: BytePitches): RoutineStep {
  const { buffer, dtype } = step.results[0]!;
  const pitch = inSlot.get(buffer);
  if (pitch === undefined) return step;
  return { ...step, binWindows: { ...step.binWindows!, pitch: pitch / byteLengthOf(dtype) } };
}

export const BIN_WINDOWS: NonNullable<Routine['windows']> = {
  blocks: {
    canRun: (step) => step.binWindows === undefined,
    sizer: (swept, step, rules) => sizer(swept, step, rules),
  },
  cut: cutOf,
  inSlots,
};
