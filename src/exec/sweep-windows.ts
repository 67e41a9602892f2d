/**
 * What every tile of a sweep runs, and which windows of the large buffers it needs: numbers, worked out tile by tile.
 *
 * A task whose results are needed after the sweep runs tile t of n on the t-th n-th of its units. The others run
 * what those need: their units are found from the bytes that the tasks after them read, so that windows of values inside the sweep
 * overlap where neighbouring tiles need the same elements, which are then computed twice. Called by `sweep-groups.ts` and `sweeps.ts`.
 */
import type { Cut, Task, Touch } from './sweep-tasks.js';

/** Units, or bytes, [first, last). */
export type Span = readonly [first: number, last: number];

/** A window of a buffer, in bytes: `rows` rows of `width` bytes, `pitch` apart in the buffer; one row for a stretch. */
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
}

export interface Tile {
  /** Units of each task; `undefined`: it does not run in this tile. */
  readonly spans: readonly (Span | undefined)[];
  /** What the tile touches of each buffer. */
  readonly windows: ReadonlyMap<number, Window>;
}

/** The n-th part of `units` that tile t takes. */
const partOf = (units: number, tile: number, tiles: number): Span | undefined => {
  const span: Span = [Math.floor((units * tile) / tiles), Math.floor((units * (tile + 1)) / tiles)];
  return span[1] > span[0] ? span : undefined;
};

const hull = (a: Span | undefined, b: Span | undefined): Span | undefined => {
  if (a === undefined || b === undefined) return a ?? b;
  return [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
};

/**
 * Tile `tile` of `tiles`. `undefined`: some task cannot follow, for what it writes does not lie in the order of its units.
 * The tasks stand in an order in which they can run.
 */
export function tileOf(tasks: readonly SweptTask[], tile: number, tiles: number): Tile | undefined {
  const needs = new Map<number, Span>();
  const windows = new Map<number, Span>();
  const spans = new Array<Span | undefined>(tasks.length).fill(undefined);
  const add = (to: Map<number, Span>, { buffer, first, last }: Touch): void => {
    if (last > first) to.set(buffer, hull(to.get(buffer), [first, last])!);
  };
  for (let k = tasks.length - 1; k >= 0; k--) {
    const { task, isKept } = tasks[k]!;
    let span = isKept ? partOf(task.cut.units, tile, tiles) : undefined;
    for (const buffer of task.writes) {
      const need = needs.get(buffer);
      if (need === undefined) continue;
      const cover = coverOf(task.cut, buffer, need);
      if (cover === undefined) return undefined;
      span = hull(span, cover);
    }
    spans[k] = span;
    if (span === undefined) continue;
    if (isKept && !inOrder(task.cut, span)) return undefined;
    const { reads, writes } = task.cut.touches(...span);
    for (const touch of reads) {
      add(needs, touch);
      add(windows, touch);
    }
    for (const touch of writes) add(windows, touch);
  }
  const stretches = [...windows].map(([buffer, [first, last]]): [number, Window] => [
    buffer,
    { first, width: last - first, rows: 1, pitch: 0 },
  ]);
  return { spans, windows: new Map(stretches) };
}

const touchOn = (touches: readonly Touch[], buffer: number): Touch | undefined =>
  touches.find((touch) => touch.buffer === buffer);

/** Where the units before `unit` stop writing to a buffer, and where the units from there on start. */
function seamAt(cut: Cut, buffer: number, unit: number): Span {
  const before = unit === 0 ? undefined : touchOn(cut.touches(0, unit).writes, buffer);
  const after = unit === cut.units ? undefined : touchOn(cut.touches(unit, cut.units).writes, buffer);
  return [before?.last ?? 0, after?.first ?? Number.POSITIVE_INFINITY];
}

/**
 * The units that write bytes `need` of a buffer. All its elements are written once; so where units before a seam write
 * below it, and those after it above, the units between two seams write all that lies between, and nothing else.
 */
function coverOf(cut: Cut, buffer: number, need: Span): Span | undefined {
  const end = (unit: number): number => seamAt(cut, buffer, unit)[0];
  const first = lastWhere(0, cut.units - 1, (unit) => end(unit) <= need[0]);
  const last = firstWhere(first + 1, cut.units, (unit) => end(unit) >= need[1]);
  const from = seamAt(cut, buffer, first);
  const to = seamAt(cut, buffer, last);
  const covers = from[0] <= need[0] && from[0] <= from[1] && to[0] <= to[1] && to[1] >= need[1];
  return covers && to[0] >= need[1] ? [first, last] : undefined;
}

/** Whether a range of units writes a stretch of each buffer by itself, so that the stretch can be copied out. */
function inOrder(cut: Cut, [first, last]: Span): boolean {
  return cut.touches(first, last).writes.every(({ buffer }) =>
    [first, last].every((unit) => {
      const [before, after] = seamAt(cut, buffer, unit);
      return before <= after;
    }),
  );
}

/** The largest n in [low, high] with `holds(n)`, which holds up to some n; `low` if for none. */
function lastWhere(low: number, high: number, holds: (n: number) => boolean): number {
  let from = low;
  let to = high;
  while (from < to) {
    const middle = Math.ceil((from + to) / 2);
    if (holds(middle)) from = middle;
    else to = middle - 1;
  }
  return from;
}

/** The smallest n in [low, high] with `holds(n)`, which holds from some n on; `high` if for none. */
function firstWhere(low: number, high: number, holds: (n: number) => boolean): number {
  let from = low;
  let to = high;
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
