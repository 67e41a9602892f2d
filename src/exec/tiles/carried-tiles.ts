/**
 * Tiles whose steps go on where they stopped: a step computes no element twice, since elements that the next tile needs
 * as well, as neighbours of its own, are moved along with the window.
 *
 *     rows of t, each from three of x, and y, each from three of t:
 *
 *     tile 0    t 0 … 9       y 0 … 7
 *     tile 1    t 10 … 17     y 8 … 15     rows 7 … 9 of t are moved to the beginning of their memory
 *
 * Called by `panel-tiles.ts`.
 */

import { aroundBoth } from '../../codegen/cuts/work.js';
import type { Touch } from './sweep-cuts.js';
import type { SlotRules } from './sweep-slots.js';
import {
  coveringUnits,
  hull,
  type Span,
  type SweptTask,
  type Tile,
  type Window,
  windowOf,
} from './sweep-windows.js';

export class CarriedTiles {
  readonly #tasks: readonly SweptTask[];
  readonly #rules: SlotRules;
  /** Units that each task has run, from the first that is still of use on. */
  readonly #done: Span[];
  /** The last window of each value. */
  readonly #held = new Map<number, Window>();
  #carriedBytes = 0;

  constructor(tasks: readonly SweptTask[], rules: SlotRules) {
    this.#tasks = tasks;
    this.#rules = rules;
    this.#done = tasks.map(() => [0, 0]);
  }

  /** Bytes that all tiles so far move along. */
  get carriedBytes(): number {
    return this.#carriedBytes;
  }

  /**
   * The next tile, in which tasks whose results are kept run up to some units, and the others what those need.
   * `undefined`: it needs what an earlier tile no longer has.
   */
  next(ends: readonly (number | undefined)[]): Tile | undefined {
    const needs = new Map<number, Touch>();
    const touched = new Map<number, Touch>();
    const spans = new Array<Span | undefined>(this.#tasks.length).fill(undefined);
    for (let k = this.#tasks.length - 1; k >= 0; k--) {
      const { task, isKept } = this.#tasks[k]!;
      const done = this.#done[k]!;
      let wanted: Span | undefined = isKept ? [done[1], Math.max(done[1], ends[k]!)] : undefined;
      for (const value of task.writes) {
        const need = needs.get(value);
        if (need === undefined) continue;
        const covering = coveringUnits(task.cut, need, this.#rules.pitches, true);
        if (covering === undefined || !this.#hasBefore(k, covering, need)) return undefined;
        wanted = hull(wanted, covering);
      }
      if (wanted === undefined) continue;
      const first = isKept ? done[1] : Math.max(done[1], wanted[0]);
      if (wanted[1] <= first) continue;
      spans[k] = [first, wanted[1]];
      this.#done[k] = first > done[1] ? spans[k]! : [done[0], wanted[1]];
      const { reads, writes } = task.cut.touches(first, wanted[1], this.#rules.pitches);
      for (const touch of reads) for (const to of [needs, touched]) add(to, touch);
      for (const touch of writes) add(touched, touch);
    }
    const windows = new Map([...touched].map(([buffer, touch]) => [buffer, windowOf(touch)]));
    return this.#carry(spans, windows);
  }

  /** Whether those of some units that ran before left what is needed of them in the last window. */
  #hasBefore(task: number, [first]: Span, need: Touch): boolean {
    const [from, to] = this.#done[task]!;
    if (first >= to) return true;
    const held = this.#held.get(need.buffer);
    return first >= from && held !== undefined && need.first >= held.first;
  }

  /** Windows that hold what is needed later of those before; `undefined`: one would begin before its last one. */
  #carry(spans: Tile['spans'], windows: Map<number, Window>): Tile | undefined {
    const carried: number[] = [];
    for (const buffer of new Set([...this.#held.keys(), ...windows.keys()])) {
      if (!this.#rules.isWindowed(buffer)) continue;
      const held = this.#held.get(buffer);
      const own = windows.get(buffer) ?? held!;
      if (own.rows !== 1) return undefined;
      const first = own.first;
      if (held !== undefined && first < held.first) return undefined;
      const left = held === undefined ? first : held.first + held.width;
      const window = { ...own, width: Math.max(first + own.width, left) - first };
      windows.set(buffer, window);
      this.#held.set(buffer, window);
      if (left <= first) continue;
      carried.push(buffer);
      this.#carriedBytes += left - first;
    }
    return { spans, windows, carried };
  }
}

function add(to: Map<number, Touch>, touch: Touch): void {
  if (touch.last <= touch.first) return;
  const known = to.get(touch.buffer);
  to.set(touch.buffer, known === undefined ? touch : aroundBoth(known, touch));
}
