/**
 * The tiles of a sweep, most of which are earlier ones moved along: where the footprints of all tasks move with
 * their units (`codegen/cuts/shift.ts`), a tile whose parts are as large and begin at the same place of a period has
 * the same windows further on. Planning a hundred thousand tiles works out a few. Called by `sweep-slots.ts`.
 *
 *     tile 1: rows 64 … 127 of x, 32 KiB from byte 32768 on   →   tile 2: 32 KiB from byte 65536 on
 */
import type { Shift } from '../../codegen/cuts/shift.js';
import type { Cut, Touch } from './sweep-cuts.js';
import {
  partOf,
  type Span,
  type SweptTask,
  type Tile,
  tileOfParts,
  type WindowRules,
} from './sweep-windows.js';

/** The parts of kept tasks: units of each, `undefined` of others. */
type Parts = readonly (Span | undefined)[];

interface Template {
  readonly parts: Parts;
  readonly tile: Tile;
}

/** The least distance that all tasks of a sweep move by together: units of each, and bytes of each buffer. */
interface Move {
  readonly units: readonly number[];
  readonly bytes: ReadonlyMap<number, number>;
}

/** Templates that are kept at once: more are of tasks whose units hardly ever meet. */
const MOST_TEMPLATES = 4096;

/** Finds tiles of a sweep, whatever their number. */
export class TileMaker {
  readonly #tasks: readonly SweptTask[];
  readonly #rules: WindowRules;
  readonly #shifts: readonly (Shift | undefined)[];
  readonly #move: Move | undefined;
  readonly #templates = new Map<string, Template>();

  constructor(tasks: readonly SweptTask[], rules: WindowRules) {
    this.#tasks = tasks;
    this.#rules = rules;
    this.#shifts = tasks.map(({ task }) => shiftOf(task.cut, rules));
    this.#move = moveOf(this.#shifts);
  }

  /** Tile `tile` of `tiles`; `undefined` as of `tileOf`. */
  tile(tile: number, tiles: number): Tile | undefined {
    const { made, times } = this.#find(tile, tiles);
    return made === undefined || times === 0 ? made : this.#moved(made, times);
  }

  /** The same tile, or one whose windows are as large. */
  alike(tile: number, tiles: number): Tile | undefined {
    return this.#find(tile, tiles).made;
  }

  /** A tile that has to be moved so many times. */
  #find(tile: number, tiles: number): { readonly made: Tile | undefined; readonly times: number } {
    const parts = this.#tasks.map((task) => (task.isKept ? partOf(task, tile, tiles) : undefined));
    const move = this.#move;
    if (move === undefined) return { made: tileOfParts(this.#tasks, parts, this.#rules), times: 0 };
    const key = parts.map((part, k) => part && `${part[0] % move.units[k]!} ${part[1] - part[0]}`).join();
    const template = this.#templates.get(key);
    const times = template && this.#timesTo(parts, template, move);
    if (times !== undefined) return { made: template!.tile, times };
    const made = tileOfParts(this.#tasks, parts, this.#rules);
    if (this.#templates.size >= MOST_TEMPLATES) this.#templates.clear();
    if (made !== undefined) this.#templates.set(key, { parts, tile: made });
    return { made, times: 0 };
  }

  /** How often a template is moved to have these parts; `undefined`: they move apart, or reach an edge. */
  #timesTo(parts: Parts, { parts: before, tile }: Template, { units }: Move): number | undefined {
    const kept = parts.findIndex((part) => part !== undefined);
    if (kept < 0) return 0;
    const times = (parts[kept]![0] - before[kept]![0]) / units[kept]!;
    if (times === 0) return 0;
    const isThere = parts.every(
      (part, k) => part === undefined || part[0] - before[k]![0] === times * units[k]!,
    );
    const isInside = tile.spans.every((span, k) => {
      if (span === undefined) return true;
      const { from, to } = this.#shifts[k]!;
      const by = times * units[k]!;
      return span[0] + Math.min(0, by) >= from && span[1] + Math.max(0, by) <= to;
    });
    return isThere && isInside ? times : undefined;
  }

  #moved({ spans, windows }: Tile, times: number): Tile {
    const { units, bytes } = this.#move!;
    const moved = (span: Span | undefined, by: number): Span | undefined =>
      span && [span[0] + by, span[1] + by];
    const further = (buffer: number): number => times * (bytes.get(buffer) ?? 0);
    return {
      spans: spans.map((span, k) => moved(span, times * units[k]!)),
      windows: new Map(
        [...windows].map(([buffer, window]) => [
          buffer,
          { ...window, first: window.first + further(buffer) },
        ]),
      ),
    };
  }
}

/**
 * The shift of a cut, where periods write one behind the other: then the units that write what is needed, and whether
 * windows of results are theirs alone, do not depend on the place.
 */
function shiftOf(cut: Cut, { pitches }: WindowRules): Shift | undefined {
  const { shift } = cut;
  if (shift === undefined || shift.to - shift.from <= shift.period) return undefined;
  const isBehind = ({ buffer, first, last, rows }: Touch): boolean => {
    const by = shift.by.get(buffer) ?? 0;
    if (rows === undefined) return last - first <= by;
    return by < rows.pitch ? rows.width <= by : by % rows.pitch === 0 && last - first <= by;
  };
  const { writes } = cut.touches(shift.from, shift.from + shift.period, pitches);
  return writes.every(isBehind) ? shift : undefined;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * The move of tasks whose shifts are known, in whole periods of each. `undefined`: a buffer would have to move by one
 * of them in one way, by another one in another.
 */
function moveOf(shifts: readonly (Shift | undefined)[]): Move | undefined {
  let bytes = new Map<number, number>();
  let units: number[] = [];
  for (const shift of shifts.toReversed()) {
    if (shift === undefined) return undefined;
    const [shared, by] = [...shift.by].find(([buffer, own]) => own !== 0 && bytes.has(buffer)) ?? [-1, 1];
    const further = bytes.get(shared) ?? 1;
    const times = Math.abs(by) / gcd(Math.abs(by), Math.abs(further));
    bytes = new Map([...bytes].map(([buffer, own]) => [buffer, own * times]));
    const periods = (further * times) / by;
    units = [periods * shift.period, ...units.map((own) => own * times)];
    for (const [buffer, own] of shift.by) {
      if ((bytes.get(buffer) ?? periods * own) !== periods * own) return undefined;
      bytes.set(buffer, periods * own);
    }
  }
  return units.every((own) => own > 0) ? { units, bytes } : undefined;
}
