/**
 * Routines whose result does not fit, or whose rows do not, and depend on data for where they go: a window of the result
 * stays on the device while the rows pass in parts, each of which gives what it has for it, then the next window. Used by
 * the rows of bins (`bin-windows.ts`) and of runs (`run-products.ts`).
 *
 *     bins 0 … 99     rows 0 … 999, 1000 … 1999, …
 *     bins 100 … 199     rows 0 … 999, 1000 … 1999, …
 */
import { aroundBoth } from '../../codegen/cuts/work.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { InternalError } from '../../host/errors.js';
import { lastOf, lazyList } from '../../host/once.js';
import { aligned } from '../plan/memory.js';
import type { BytePitches, Cut, Touch } from '../tiles/sweep-cuts.js';
import {
  countsTo,
  FEWER_SLOTS,
  fewer,
  type SizedSweep,
  type Sizer,
  type SlotBlock,
  type SlotRules,
  slotBytes,
} from '../tiles/sweep-slots.js';
import { firstWhere, type Span, type SweptTask, type Tile, windowOf } from '../tiles/sweep-windows.js';
import { BYTES_OF_A_TILE, MEMORY_SPEED, MOST_TILES } from '../tiles/tile-costs.js';
import type { BufferArray, ResultWindows, RoutineStep } from './call.js';
import { bytesOfAll, type Routine } from './routine.js';

type Touches = Record<'reads' | 'writes', Touch[]>;

/** The rows and the result of a step. */
export interface WindowedRows {
  readonly of: ResultWindows['of'];
  readonly rows: number;
  /** Units of rows, each with a result of its own, and rows of a unit; the last one has fewer. */
  readonly units: number;
  readonly unitRows: number;
  /** Bins or runs of a unit. */
  readonly count: number;
  /** Numbers of a unit's result for each of a bin's: from the first one of a bin to the second. */
  readonly pitch: number;
  /** Rows that a part reads behind its own; without it, none. */
  readonly further?: number;
  /** Arrays that pass with the rows. */
  readonly passing: readonly BufferArray[];
  /** The bytes that rows, and bins or runs, of a unit touch. */
  readonly touches: (unit: number, rows: Span, window: Span) => Touches;
}

type RowsOf = (step: RoutineStep) => WindowedRows;

/** The part k of n of a size. */
const partAt = (size: number, k: number, n: number): Span => [
  Math.floor((size * k) / n),
  Math.floor((size * (k + 1)) / n),
];

const longestUnit = ({ rows, unitRows }: WindowedRows): number => Math.min(rows, unitRows);

/** Tiles of a step in windows: for each unit of rows all windows, and for each of those the unit's parts. Else units. */
export function tilesOf({ resultWindows }: RoutineStep, units: number): number {
  return resultWindows === undefined ? units : units * resultWindows.windows * resultWindows.parts;
}

/** The bytes that a tile touches. */
function touchesOf(own: WindowedRows, { windows, parts }: ResultWindows, tile: number): Touches {
  const unit = Math.floor(tile / (windows * parts));
  const window = Math.floor(tile / parts) % windows;
  const begin = unit * own.unitRows;
  const size = Math.min(own.unitRows, own.rows - begin);
  const [from, to] = partAt(size, tile % parts, parts);
  const behind = Math.min(size, to + (own.further ?? 0));
  return own.touches(unit, [begin + from, begin + behind], partAt(own.count, window, windows));
}

/** The widest windows of a step's tiles: the last parts and windows are the longest. */
function longestOf(own: WindowedRows, { windows, parts }: ResultWindows): ReadonlyMap<number, Touch> {
  const size = longestUnit(own);
  const [from] = partAt(size, parts - 1, parts);
  const before = Math.max(0, from - (own.further ?? 0));
  return byBuffer(own.touches(0, [before, size], partAt(own.count, windows - 1, windows)));
}

function cutOf(own: WindowedRows, step: RoutineStep): Cut {
  return {
    units: tilesOf(step, own.units),
    touches: (first, last) => {
      if (last !== first + 1) throw new InternalError('several tiles of a result in windows at once');
      return touchesOf(own, step.resultWindows!, first);
    },
    ranges: (first, last) => [[first, last, 0, 0, 0, 0]],
    pitches: () => [],
  };
}

/** Touches by buffer. */
function byBuffer({ reads, writes }: Touches): ReadonlyMap<number, Touch> {
  const found = new Map<number, Touch>();
  for (const touch of [...reads, ...writes]) {
    const known = found.get(touch.buffer);
    found.set(touch.buffer, known === undefined ? touch : aroundBoth(known, touch));
  }
  return found;
}

interface Choice {
  readonly step: RoutineStep;
  readonly slots: readonly SlotBlock[];
  /** Of the slots. */
  readonly byteLength: number;
  readonly cost: number;
}

/** A step, and its rows. */
interface Windowed {
  readonly swept: SweptTask;
  readonly step: RoutineStep;
  readonly own: WindowedRows;
}

/** Finds the windows and the parts of rows that move fewest bytes in what room there is. */
function sizer(windowed: Windowed, rules: SlotRules): Sizer {
  const { step, own } = windowed;
  const windowCounts = countsTo(Math.min(own.count, Math.floor(MOST_TILES / own.units)));
  const ways = FEWER_SLOTS.map((most) => {
    const rulesOfWay = { ...rules, slots: fewer(rules.slots, most) };
    return lazyList(windowCounts.length, (w) => {
      const windows = windowCounts[w]!;
      const mostParts = Math.floor(MOST_TILES / (own.units * windows));
      const counts = countsTo(Math.max(1, Math.min(longestUnit(own), mostParts)));
      const choices = lazyList(counts.length, (k) =>
        choiceOf(windowed, { of: own.of, windows, parts: counts[k]!, pitch: own.pitch }, rulesOfWay),
      );
      return { passes: passBytes(own, 1, rules) * windows, choices };
    });
  });
  return function* (room) {
    let needed = Number.POSITIVE_INFINITY;
    for (const way of ways) {
      let best: Choice | undefined;
      for (let w = 0; w < way.length; w++) {
        yield;
        const { passes, choices } = way.at(w);
        if (best !== undefined && passes >= best.cost) break;
        const least = firstWhere(0, choices.length, (k) => choices.at(k).byteLength <= room);
        if (least === choices.length) needed = Math.min(needed, choices.at(least - 1).byteLength);
        else if (best === undefined || choices.at(least).cost < best.cost) best = choices.at(least);
      }
      if (best !== undefined) return sized(windowed, best, rules);
    }
    return { needed, step };
  };
}

/** Bytes of a pass over the rows in so many parts: those that are on the device come from its memory. */
function passBytes(
  { passing, rows, units, further = 0 }: WindowedRows,
  parts: number,
  rules: SlotRules,
): number {
  const again = 1 + (units * (parts - 1) * further) / rows;
  return passing.reduce((sum, array) => {
    const bytes = again * bytesOfAll([array]);
    return sum + (rules.isWindowed(array.buffer) ? bytes : bytes / MEMORY_SPEED);
  }, 0);
}

function choiceOf({ swept, step, own }: Windowed, resultWindows: ResultWindows, rules: SlotRules): Choice {
  const { windows, parts } = resultWindows;
  const inWindows = { ...step, resultWindows };
  const tiles = tilesOf(inWindows, own.units);
  const passing = new Set(own.passing.map(({ buffer }) => buffer));
  const slots = [...longestOf(own, resultWindows).values()]
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
        slots: Math.min(rules.slots[direction], passing.has(buffer) ? tiles : tiles / parts),
        first: 0,
        last: 0,
      };
    });
  const cost = passBytes(own, parts, rules) * windows + tiles * BYTES_OF_A_TILE;
  return { step: inWindows, slots, byteLength: slotBytes(slots), cost };
}

function sized({ swept, own }: Windowed, { step, slots }: Choice, rules: SlotRules): SizedSweep {
  const resultWindows = step.resultWindows!;
  const tile = lastOf((t: number): Tile => {
    const { writes } = swept.task;
    const isLast = (t + 1) % resultWindows.parts === 0;
    const windows = [...byBuffer(touchesOf(own, resultWindows, t))].map(
      ([buffer, touch]) => [buffer, windowOf(touch)] as const,
    );
    return { spans: [[t, t + 1]], windows: new Map(windows), unfinished: isLast ? [] : writes };
  });
  const inWindows: SweptTask = { ...swept, task: { ...swept.task, step, cut: cutOf(own, step) } };
  const tiles = { length: tilesOf(step, own.units), at: tile };
  return { tasks: [inWindows], pitches: rules.pitches, tiles, slots };
}

/** The step whose several numbers of a bin lie in slots as far apart as their rows. */
function inSlots(step: RoutineStep, inSlot: BytePitches): RoutineStep {
  const { buffer, dtype } = step.results[0]!;
  const pitch = inSlot.get(buffer);
  if (pitch === undefined) return step;
  return { ...step, resultWindows: { ...step.resultWindows!, pitch: pitch / byteLengthOf(dtype) } };
}

/** How a routine runs in windows of its result. */
export const resultWindows = (rowsOf: RowsOf): NonNullable<Routine['windows']> => ({
  blocks: {
    canRun: (step) => step.resultWindows === undefined,
    sizer: (swept, step, rules) => sizer({ swept, step, own: rowsOf(step) }, rules),
  },
  cut: (step) => cutOf(rowsOf(step), step),
  inSlots,
});
