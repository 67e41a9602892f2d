/**
 * The work of every tile of a sweep, and the windows of the large buffers it needs: numbers, worked out tile
 * by tile.
 *
 * A task whose results are needed after the sweep runs tile t of n on the t-th n-th of its units. The others
 * run what those need: their units are found from the bytes that the tasks after them read, so that windows
 * of values inside the sweep overlap where neighbouring tiles need the same elements, which are then computed
 * twice. Called by `sweep-groups.ts` and `sweeps.ts`.
 */
import { aroundBoth } from '../../codegen/cuts/work.js';
import { byBuffer, kept, ofBuffers, type Renaming } from './renaming.js';
import type { BytePitches, Cut, Ranges, Task, Touch } from './sweep-cuts.js';

/** Units, or bytes, [first, last). */
export type Span = readonly [first: number, last: number];

/**
 * A window of a buffer, in bytes: `rows` rows of `width` bytes, `pitch` apart in the buffer; one row for a
 * stretch.
 */
export interface Window {
  readonly first: number;
  readonly width: number;
  readonly rows: number;
  readonly pitch: number;
}

export interface SweptTask {
  readonly task: Task & { readonly cut: Cut };
  /** Whether its results are needed after the sweep. */
  readonly isKept: boolean;
  /** The units whose results are needed of this sweep; without it, all: other devices have the others. */
  readonly share?: Span | undefined;
}

export interface Tile {
  /** Units of each task; `undefined`: it does not run in this tile. */
  readonly spans: readonly (Span | undefined)[];
  /** The tile's window of each buffer. */
  readonly windows: ReadonlyMap<number, Window>;
  /** Results whose windows the next tile adds to: they are copied out after the last. */
  readonly unfinished?: readonly number[];
  /** Values whose windows begin with what the window of the tile before has of them. */
  readonly carried?: readonly number[];
  /** The ranges of its task, where they do not follow from the units. */
  readonly ranges?: Ranges;
}

export const RENAMED_TILE: Renaming<Tile> = {
  spans: kept,
  windows: byBuffer,
  unfinished: ofBuffers,
  carried: ofBuffers,
  ranges: kept,
};

/** Which buffers have windows, and which of those windows of rows. */
export interface WindowRules {
  readonly isWindowed: (buffer: number) => boolean;
  readonly pitches: BytePitches;
}

/** The part of a task's units that tile t takes, which where possible does not cross the end of a period. */
export function partOf({ task, share }: SweptTask, tile: number, tiles: number): Span | undefined {
  const { units: all, period = 1 } = task.cut;
  const [from, to] = share ?? [0, all];
  const units = to - from;
  const step = units / tiles;
  const start = (t: number): number => {
    const even = from + Math.floor((units * t) / tiles);
    const end = Math.round(even / period) * period;
    const away = end - even;
    const isNear = away > -step / 2 && away <= step / 2;
    return period > 1 && t > 0 && t < tiles && end < to && end >= from && isNear ? end : even;
  };
  const span: Span = [start(tile), start(tile + 1)];
  return span[1] > span[0] ? span : undefined;
}

export const hull = (a: Span | undefined, b: Span | undefined): Span | undefined => {
  if (a === undefined || b === undefined) return a ?? b;
  return [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
};

/**
 * Tile `tile` of `tiles`. `undefined`: some task cannot follow, for what it writes does not lie in the order
 * of its units. The tasks stand in an order in which they can run.
 */
export const tileOf = (
  tasks: readonly SweptTask[],
  tile: number,
  tiles: number,
  rules: WindowRules,
): Tile | undefined =>
  tileOfParts(
    tasks,
    tasks.map((task) => (task.isKept ? partOf(task, tile, tiles) : undefined)),
    rules,
  );

/** The tile that runs these units of tasks whose results are needed after the sweep. */
export function tileOfParts(
  tasks: readonly SweptTask[],
  parts: readonly (Span | undefined)[],
  rules: WindowRules,
): Tile | undefined {
  const needs = new Map<number, Touch>();
  const windows = new Map<number, Touch>();
  const spans = new Array<Span | undefined>(tasks.length).fill(undefined);
  const add = (to: Map<number, Touch>, touch: Touch): void => {
    if (touch.last <= touch.first) return;
    const known = to.get(touch.buffer);
    to.set(touch.buffer, known === undefined ? touch : aroundBoth(known, touch));
  };
  for (let k = tasks.length - 1; k >= 0; k--) {
    const { task, isKept } = tasks[k]!;
    let span = parts[k];
    for (const buffer of task.writes) {
      const need = needs.get(buffer);
      if (need === undefined) continue;
      const covering = coveringUnits(task.cut, need, rules.pitches);
      if (covering === undefined) return undefined;
      span = hull(span, covering);
    }
    spans[k] = span;
    if (span === undefined) continue;
    const { reads, writes } = task.cut.touches(...span, rules.pitches);
    if (isKept && !isDisjoint(task.cut, span, writes, rules)) return undefined;
    for (const touch of reads) {
      add(needs, touch);
      add(windows, touch);
    }
    for (const touch of writes) add(windows, touch);
  }
  return { spans, windows: new Map([...windows].map(([buffer, touch]) => [buffer, windowOf(touch)])) };
}

export function windowOf({ first, last, rows }: Touch): Window {
  if (rows === undefined) return { first, width: last - first, rows: 1, pitch: 0 };
  const count = Math.floor((last - 1) / rows.pitch) - Math.floor(first / rows.pitch) + 1;
  return { first, width: rows.width, rows: count, pitch: rows.pitch };
}

const touchOn = (touches: readonly Touch[], buffer: number): Touch | undefined =>
  touches.find((touch) => touch.buffer === buffer);

/** The part of a touch that a cut moves along: its bytes, or its columns. */
type Along = (touch: Range) => Span;
type Range = Pick<Touch, 'first' | 'last' | 'rows'>;

const alongBytes: Along = ({ first, last }) => [first, last];
const alongColumns: Along = ({ first, last, rows }) =>
  rows === undefined ? [first, last] : [first % rows.pitch, (first % rows.pitch) + rows.width];

/**
 * The units that write what is needed of a buffer. All its elements are written once; so where units before a
 * split point write below it, and those after it above, the units between two split points write all that lies
 * between, and nothing else. Most cuts write as much in every unit: split points are looked for from there on. Units of
 * one period may lie side by side in several rows: split points are then the ends of periods, `inPeriods`.
 */
export function coveringUnits(
  cut: Cut,
  need: Touch,
  pitches: BytePitches,
  inPeriods = false,
): Span | undefined {
  const ways = need.rows === undefined ? [alongBytes] : [alongColumns, alongBytes];
  for (const along of ways) {
    const [from, to] = along(need);
    const written = (first: number, last: number): Span | undefined => {
      const touch = first < last ? touchOn(cut.touches(first, last, pitches).writes, need.buffer) : undefined;
      return touch && along(touch);
    };
    const endBefore = (unit: number): number => written(0, unit)?.[1] ?? 0;
    const startFrom = (unit: number): number => written(unit, cut.units)?.[0] ?? Number.POSITIVE_INFINITY;
    const [low, high] = written(0, cut.units) ?? [0, 0];
    const unitAt = (place: number): number => ((place - low) / Math.max(1, high - low)) * cut.units;
    const [nearFirst, nearLast] = [Math.floor(unitAt(from)), Math.ceil(unitAt(to))];
    const first = lastWhere(0, cut.units - 1, (unit) => endBefore(unit) <= from, nearFirst);
    const last = firstWhere(first + 1, cut.units, (unit) => endBefore(unit) >= to, nearLast);
    const isSplit = (unit: number): boolean => endBefore(unit) <= startFrom(unit);
    const covers = (a: number, b: number): boolean =>
      isSplit(a) && isSplit(b) && endBefore(a) <= from && endBefore(b) >= to;
    if (covers(first, last)) return [first, last];
    const { units, period = 1 } = cut;
    const whole: Span = [
      Math.floor(first / period) * period,
      Math.min(units, Math.ceil(last / period) * period),
    ];
    if (inPeriods && covers(...whole)) return whole;
  }
  return undefined;
}

/**
 * Whether what a range of units writes to each buffer in windows is theirs alone, so that the window can be
 * copied out.
 */
export function isDisjoint(
  cut: Cut,
  [first, last]: Span,
  writes: readonly Touch[],
  { isWindowed, pitches }: WindowRules,
): boolean {
  return writes.every((touch) => {
    const { buffer } = touch;
    if (!isWindowed(buffer) || (cut.inOrder?.has(buffer) && !pitches.has(buffer))) return true;
    const others = restOf(cut, first, last).flatMap(([from, to]) => {
      const other = from < to ? touchOn(cut.touches(from, to, pitches).writes, buffer) : undefined;
      return other === undefined ? [] : [other];
    });
    return others.every((other) => areDisjoint(touch, other));
  });
}

/**
 * All units but [first, last): those of other periods, which lie beside it, and those of its own, above and
 * below it.
 */
function restOf({ units, period = 1 }: Cut, first: number, last: number): Span[] {
  const [from, to] = [
    Math.floor(first / period) * period,
    Math.min(units, Math.ceil(last / period) * period),
  ];
  return [
    [0, from],
    [from, first],
    [last, to],
    [to, units],
  ];
}

/** Whether two windows of a buffer, both stretches or both rows of one pitch, are disjoint. */
export function areDisjoint(a: Range, b: Range): boolean {
  const apart = (x: Span, y: Span): boolean => x[1] <= y[0] || y[1] <= x[0];
  if (a.rows === undefined) return apart(alongBytes(a), alongBytes(b));
  const { pitch } = a.rows;
  const lines = ({ first, last }: Range): Span => [
    Math.floor(first / pitch),
    Math.floor((last - 1) / pitch) + 1,
  ];
  return apart(alongColumns(a), alongColumns(b)) || apart(lines(a), lines(b));
}

type Holds = (n: number) => boolean;

/** The largest n in [low, high] with `holds(n)`, which holds up to some n; `low` if for none. */
export const lastWhere = (low: number, high: number, holds: Holds, near?: number): number =>
  firstWhere(low + 1, high + 1, (n) => !holds(n), near === undefined ? near : near + 1) - 1;

/**
 * The smallest n in [low, high] with `holds(n)`, which holds from some n on; `high` if for none. It is looked for
 * around `near` first, at distances that double.
 */
export function firstWhere(low: number, high: number, holds: Holds, near?: number): number {
  let [from, to] = near === undefined ? [low, high] : rangeAround(low, high, holds, near);
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

function rangeAround(low: number, high: number, holds: Holds, near: number): Span {
  const at = Math.max(low, Math.min(high - 1, near));
  if (low >= high) return [high, high];
  if (holds(at)) {
    for (let [to, step] = [at, 1]; to > low; step *= 2) {
      const next = Math.max(low, at - step);
      if (!holds(next)) return [next + 1, to];
      to = next;
    }
    return [low, low];
  }
  for (let [from, step] = [at + 1, 1]; from < high; step *= 2) {
    const next = Math.min(high - 1, at + step);
    if (holds(next)) return [from, next];
    from = next + 1;
  }
  return [high, high];
}
