/**
 * The tiles of a product that passes through memory panel by panel: ranges of its rows (or columns), and of the steps
 * behind it those units that read a panel and no more. Called by `product-panels.ts` and
 * `neighbour-panels.ts`.
 *
 *     t = a @ b of 16384 × 16384 float32, max(t, 1)   →   64 tiles: 256 rows of t, in 16 MiB that all of them use;
 *                                                         the units of the maxima that read these rows
 */
import type { Slices } from '../../host/slices.js';
import { CarriedTiles } from './carried-tiles.js';
import type { Cut } from './sweep-cuts.js';
import { type SizedSweep, type SlotRules, slotBytes, slotsOfTiles } from './sweep-slots.js';
import { firstWhere, type Span, type SweptTask, type Tile, tileOfParts } from './sweep-windows.js';

/** The most panels: a plan has a range of each step for each. */
const MOST_PANELS = 1024;
/** Panels between pauses: each is a tile of a few steps, some 50 µs. */
const PANELS_OF_SLICE = 16;
/** The most bytes of slots, relative to those of a panel: what is reduced in long slots takes longer panels. */
const MOST_HELD = 5;
/** The most units that a product may compute in all panels together, relative to its own: ends that two panels need. */
const MOST_REPEATED = 1.25;

export interface PanelTiles {
  readonly sized: SizedSweep;
  /** The product's units in all tiles together, relative to its own. */
  readonly repeated: number;
  /** Bytes of values that are moved from tile to tile. */
  readonly carried: number;
}

/**
 * The panels of a product, the first of the tasks, whose values, and what is read beside them, hold about `bytes` at a time. `undefined`: what a step
 * reads for a range of its units is no panel.
 */
export function* panelTiles(
  tasks: readonly SweptTask[],
  rules: SlotRules,
  bytes: number,
): Slices<PanelTiles | undefined> {
  const { cut } = tasks[0]!.task;
  const windowed = new Set(tasks.flatMap(({ task }) => task.writes.filter(rules.isWindowed)));
  const all = [...windowed, ...(rules.beside ?? [])].reduce((sum, k) => sum + rules.byteLengthOf(k), 0);
  const least = Math.ceil(cut.units / MOST_PANELS);
  const wanted = Math.max(1, least, Math.floor((bytes * cut.units) / all));
  const places = new Places(tasks, rules);
  // Nothing is computed twice that is carried along, wherever panels end.
  const step = rules.carries === true ? 1 : places.step(MOST_HELD * wanted);
  const bounds = boundsOf(cut.units, cut.period ?? cut.units, wanted, step);
  const ends: (readonly number[] | undefined)[] = [];
  for (const [k, { isKept }] of tasks.entries()) {
    const own: number[] = [];
    for (const [b, unit] of (isKept ? bounds : []).entries()) {
      if (b % PANELS_OF_SLICE === 0) yield;
      own.push(places.unitsBefore(k, unit));
    }
    ends.push(isKept ? own : undefined);
  }
  const held = MOST_HELD * Math.max(bytes, all / MOST_PANELS);
  if (rules.carries === true) return yield* carriedPanels(tasks, rules, ends, held);
  const tiles: Tile[] = [];
  let computed = 0;
  for (let t = 0; t + 1 < bounds.length; t++) {
    if (t % PANELS_OF_SLICE === 0) yield;
    const parts = ends.map((own): Span | undefined => {
      const [first, last] = own === undefined ? [0, 0] : [own[t]!, own[t + 1]!];
      return last > first ? [first, last] : undefined;
    });
    if (parts.every((part) => part === undefined)) continue;
    const tile = tileOfParts(tasks, parts, rules);
    const span = tile?.spans[0];
    if (tile === undefined || span === undefined || !isOneRange(span, cut)) return undefined;
    computed += span[1] - span[0];
    if (computed > MOST_REPEATED * cut.units) return undefined;
    tiles.push(tile);
  }
  const sized = yield* sweepOf(tasks, rules, tiles, held);
  return sized && { sized, repeated: computed / cut.units, carried: 0 };
}

/** Panels whose steps go on where those of the panel before stopped; `ends`: of each task whose results are kept. */
function* carriedPanels(
  tasks: readonly SweptTask[],
  rules: SlotRules,
  ends: readonly (readonly number[] | undefined)[],
  held: number,
): Slices<PanelTiles | undefined> {
  const maker = new CarriedTiles(tasks, rules);
  const tiles: Tile[] = [];
  const { length } = ends.find((own) => own !== undefined)!;
  for (let t = 1; t < length; t++) {
    if (t % PANELS_OF_SLICE === 0) yield;
    const tile = maker.next(ends.map((own) => own?.[t]));
    if (tile === undefined) return undefined;
    let bytes = 0;
    for (const [buffer, { width }] of tile.windows) bytes += rules.isWindowed(buffer) ? width : 0;
    if (bytes > held) return undefined;
    if (tile.spans.some((span) => span !== undefined)) tiles.push(tile);
  }
  const sized = yield* sweepOf(tasks, rules, tiles, held);
  return sized && { sized, repeated: 1, carried: maker.carriedBytes };
}

/** The sweep over some tiles, of which there are several; `undefined`: their slots take more than `most` bytes. */
function* sweepOf(
  tasks: readonly SweptTask[],
  rules: SlotRules,
  tiles: readonly Tile[],
  most: number,
): Slices<SizedSweep | undefined> {
  if (tiles.length < 2) return undefined;
  const slots = yield* slotsOfTiles(tasks, tiles, rules);
  if (slotBytes(slots) > most) return undefined;
  return { tasks, pitches: rules.pitches, tiles: { length: tiles.length, at: (t) => tiles[t] }, slots };
}

/** Whether units are of one period, or of whole ones. */
const isOneRange = ([first, last]: Span, { units, period = units }: Cut): boolean =>
  Math.floor(first / period) === Math.floor((last - 1) / period) ||
  (first % period === 0 && last % period === 0);

/** Where the units of tasks are in the product's result: in its bytes, of columns those of a row. */
class Places {
  readonly #tasks: readonly SweptTask[];
  readonly #rules: SlotRules;
  /** By task: the value in panels that it reads, or makes; of the first, that it makes. */
  readonly #values: readonly number[];

  constructor(tasks: readonly SweptTask[], rules: SlotRules) {
    this.#tasks = tasks;
    this.#rules = rules;
    this.#values = tasks.map(
      ({ task: { reads, writes } }, k) => (k === 0 ? writes : [...reads, ...writes]).find(rules.isWindowed)!,
    );
  }

  /** The units of a task that read what the product's units before one write. */
  unitsBefore(task: number, unit: number): number {
    const { cut } = this.#tasks[task]!.task;
    if (unit === this.#tasks[0]!.task.cut.units) return cut.units;
    const place = this.#at(0, unit);
    const near = Math.round((place / this.#at(task, cut.units - 1)) * (cut.units - 1));
    return firstWhere(0, cut.units, (own) => this.#at(task, own) >= place, near);
  }

  /** The least number of the product's units that are whole units of all kept tasks; 1: not up to `most`. */
  step(most: number): number {
    const { units } = this.#tasks[0]!.task.cut;
    const isWhole = (unit: number, task: number): boolean => {
      const own = this.unitsBefore(task, unit);
      return own < this.#tasks[task]!.task.cut.units && this.#at(task, own) === this.#at(0, unit);
    };
    const kept = this.#tasks.flatMap(({ isKept }, k) => (isKept ? [k] : []));
    for (let step = 1; step <= Math.min(most, units - 1); step++)
      if (kept.every((k) => isWhole(step, k))) return step;
    return 1;
  }

  /** The place of a unit, in bytes of the product's result. */
  #at(task: number, unit: number): number {
    const { cut } = this.#tasks[task]!.task;
    const value = this.#values[task]!;
    const touches = cut.touches(unit, unit + 1, this.#rules.pitches);
    const near = task === 0 ? touches.writes : [...touches.reads, ...touches.writes];
    const touched = near.find(({ buffer }) => buffer === value);
    const first = touched?.first ?? 0;
    const pitch = this.#rules.pitches.get(value);
    const { byteLengthOf } = this.#rules;
    const scale = byteLengthOf(this.#values[0]!) / byteLengthOf(value);
    return (pitch === undefined ? first : first % pitch) * scale;
  }
}

/** Units of panels that a library computes in whole blocks. */
const BLOCK_UNITS = 16;

/** The ends of panels: ranges of at most about `wanted` units, in one period or of whole ones, multiples of `step`. */
function boundsOf(units: number, period: number, wanted: number, step: number): number[] {
  const whole = wanted >= period ? Math.floor(wanted / period) * period : undefined;
  const stretch = whole === undefined ? period : units;
  const unit = wanted >= 2 * BLOCK_UNITS && BLOCK_UNITS % step === 0 ? BLOCK_UNITS : step;
  const most = whole ?? Math.max(unit, Math.floor(wanted / unit) * unit);
  const even = whole ?? Math.ceil(period / Math.ceil(period / most) / unit) * unit;
  const bounds: number[] = [];
  for (let from = 0; from < units; from += stretch)
    for (let at = from; at < Math.min(units, from + stretch); at += even) bounds.push(at);
  return [...bounds, units];
}
