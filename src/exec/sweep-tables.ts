/**
 * Writes a sweep as a step: for every tile the windows of each buffer with their slots, and the ranges of each launch,
 * as tables of numbers that the runtime follows without thinking. Called by `sweeps.ts`.
 */
import { RANGE_FIELDS, WINDOW_FIELDS } from './native-types.js';
import type { Step, SweepStep, SweepWindows } from './plan.js';
import type { SweptTask, Tile } from './sweep-windows.js';

/** The slots of a buffer, before they have a place. */
export type Slots = Omit<SweepWindows, 'windows' | 'slotPitch' | 'offset'>;

export function sweepStep(
  tasks: readonly SweptTask[],
  tiles: readonly Tile[],
  slots: readonly (Slots & { readonly offset: number })[],
): SweepStep {
  return {
    kind: 'sweep',
    tiles: tiles.length,
    windows: slots.map(({ buffer, direction, offset, slotByteLength, slots: count }) => ({
      buffer,
      direction,
      offset,
      slotByteLength,
      slots: count,
      slotPitch: 0,
      windows: windowTable(buffer, direction, count, tiles),
    })),
    body: tasks.map(({ task }, k) => ({
      step: task.step as Exclude<Step, SweepStep>,
      ranges: rangeTables(
        task,
        tiles.map(({ spans }) => spans[k]),
      ),
    })),
  };
}

/** A window that the tile before had stays in its slot; every other takes the next one. */
function windowTable(
  buffer: number,
  direction: SweepWindows['direction'],
  slots: number,
  tiles: readonly Tile[],
): Float64Array {
  const table = new Float64Array(tiles.length * WINDOW_FIELDS);
  let slot = -1;
  let held: readonly [number, number] | undefined;
  for (const [t, { windows }] of tiles.entries()) {
    const window = windows.get(buffer);
    const stays = direction === 'in' && held !== undefined && (window === undefined || same(window, held));
    const copies = direction !== 'local' && window !== undefined && !stays;
    if (slot < 0 || (window !== undefined && !stays)) slot = (slot + 1) % slots;
    if (window !== undefined) held = window;
    const [first, last] = window ?? [0, 0];
    table.set([slot, copies ? 1 : 0, first, last - first, 1, 0], t * WINDOW_FIELDS);
  }
  return table;
}

const same = (a: readonly [number, number], b: readonly [number, number]): boolean =>
  a[0] === b[0] && a[1] === b[1];

function rangeTables({ cut }: SweptTask['task'], spans: Tile['spans']): Float64Array[] {
  const launches = cut.ranges(0, cut.units).length;
  const tables = Array.from({ length: launches }, () => new Float64Array(spans.length * RANGE_FIELDS));
  for (const [t, span] of spans.entries()) {
    if (span === undefined) continue;
    for (const [k, ranges] of cut.ranges(...span).entries()) tables[k]!.set(ranges, t * RANGE_FIELDS);
  }
  return tables;
}
