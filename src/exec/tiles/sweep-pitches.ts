/**
 * Chooses which windows of a sweep are rows of a buffer rather than a stretch of it: those of tasks that need
 * some columns of many rows. A stretch around them would be most of the buffer. Called by `sweep-groups.ts`.
 */

import type { Slices } from '../../host/slices.js';
import type { BytePitches, CutTask, Task } from './sweep-cuts.js';
import type { SweepMemory } from './sweep-memory.js';
import { SHORTEST_ROW } from './sweep-slots.js';
import { type SweptTask, tileOf } from './sweep-windows.js';

export interface ShareRules {
  readonly isWindowed: (buffer: number) => boolean;
  readonly byteLengthOf: (buffer: number) => number;
  /**
   * Whether parts of a buffer come through JavaScript, which is asked for few long ones rather than for many
   * rows.
   */
  readonly isFetched: (buffer: number) => boolean;
  /** Whether windows are chosen for the smallest tiles rather than for some large ones. */
  readonly isApart?: boolean | undefined;
  /** Shares that are known; without it, they are found each time. */
  readonly memory?: SweepMemory;
}

export interface Chosen {
  readonly pitches: BytePitches;
  /**
   * The share of the windowed bytes that the largest tile holds; `undefined`: it cannot be cut so.
   */
  readonly share: number | undefined;
}

/** Tiles that a cut is tried with, and those of the smallest tiles that are looked at. */
const TRIAL_TILES = 16;
/** The smallest tiles that a cut is tried with: there may be no need of smaller ones. */
const SMALL_TILES = 2 ** 12;
/** The most units that tasks may run in all tiles together, relative to their own. */
const MOST_REPEATED = 1.5;
/** The share of a stretch's bytes that rows have to save. */
const LESS = 0.8;
/**
 * Bytes of a row from which on copying rows is as fast as copying a stretch, and what shorter ones have to
 * save.
 */
const LONG_ROW = 4096;
const MUCH_LESS = 0.15;

/** The share of all touched windowed bytes that the largest of some tiles holds. */
export function* shareOfTiles(
  tasks: readonly SweptTask[],
  rules: ShareRules,
  pitches: BytePitches,
): Slices<number | undefined> {
  const find = (): Slices<number | undefined> => findShare(tasks, rules, pitches);
  const { memory } = rules;
  return yield* memory === undefined ? find() : memory.share(tasks, rules, pitches, find);
}

const trialTiles = (tasks: readonly SweptTask[], isApart = false): number =>
  Math.min(isApart ? SMALL_TILES : TRIAL_TILES, Math.max(...tasks.map(({ task }) => task.cut.units)));

function* findShare(
  tasks: readonly SweptTask[],
  { isWindowed, byteLengthOf, isApart }: ShareRules,
  pitches: BytePitches,
): Slices<number | undefined> {
  const tiles = trialTiles(tasks, isApart);
  const looked = Math.min(tiles, TRIAL_TILES);
  let most = 0;
  let run = 0;
  const whole = new Map<number, number>();
  for (const { task } of tasks)
    for (const buffer of [...task.reads, ...task.writes])
      if (isWindowed(buffer)) whole.set(buffer, byteLengthOf(buffer));
  for (let k = 0; k < looked; k++) {
    yield; // a tile takes up to a millisecond
    const tile = tileOf(tasks, Math.floor((k * tiles) / looked), tiles, { isWindowed, pitches });
    if (tile === undefined) return undefined;
    let bytes = 0;
    for (const [buffer, { width, rows, pitch }] of tile.windows) {
      if (!isWindowed(buffer)) continue;
      // Rows that are as near as this lie in slots as they do in the whole.
      bytes += rows > 1 && pitch <= SHORTEST_ROW ? pitch * rows : width * rows;
    }
    most = Math.max(most, bytes);
    tile.spans.forEach((span, k) => {
      if (span !== undefined) run += (span[1] - span[0]) / tasks[k]!.task.cut.units;
    });
  }
  if ((run * tiles) / looked > MOST_REPEATED * tasks.length) return undefined;
  return most / [...whole.values()].reduce((a, b) => a + b, 0);
}

/** The pitches with which tiles hold least, buffer by buffer; stretches where rows save little. */
export function* choosePitches(tasks: readonly SweptTask[], rules: ShareRules): Slices<Chosen> {
  let best: Chosen = { pitches: new Map(), share: yield* shareOfTiles(tasks, rules, new Map()) };
  const tiles = Math.max(TRIAL_TILES, trialTiles(tasks, rules.isApart));
  // Written buffers first: without windows of theirs that can be copied out, no choice works.
  const buffers = new Set([
    ...tasks.flatMap(({ task }) => task.writes),
    ...tasks.flatMap(({ task }) => task.reads),
  ]);
  for (const buffer of buffers) {
    if (!rules.isWindowed(buffer) || rules.isFetched(buffer)) continue;
    const started = best;
    for (const pitch of candidatesOf(tasks, buffer)) {
      const isNeeded = started.share === undefined || started.share > 1.5 / tiles;
      if (!isNeeded && !savesCopies(tasks, buffer, pitch)) continue;
      const pitches = new Map(started.pitches).set(buffer, pitch);
      const share = yield* shareOfTiles(tasks, rules, pitches);
      if (share !== undefined && (best.share === undefined || share < LESS * best.share))
        best = { pitches, share };
    }
  }
  return best;
}

/** Pitches that all tasks that touch a buffer can have. */
function candidatesOf(tasks: readonly SweptTask[], buffer: number): number[] {
  const users = tasks.filter(({ task }) => task.reads.includes(buffer) || task.writes.includes(buffer));
  const [first, ...others] = users.map(({ task }) => task.cut.pitches(buffer));
  return (first ?? []).filter((pitch) => others.every((some) => some.includes(pitch)));
}

/** Whether so little of a buffer is used by any tile that it is worth copying rows rather than all. */
function savesCopies(tasks: readonly SweptTask[], buffer: number, pitch: number): boolean {
  return tasks.every(({ task: { cut } }) => {
    const pitches = new Map([[buffer, pitch]]);
    const touch = cut.touches(0, cut.units, pitches).reads.find((one) => one.buffer === buffer);
    if (touch?.rows === undefined) return true;
    return touch.rows.width <= (touch.rows.width >= LONG_ROW ? LESS : MUCH_LESS) * pitch;
  });
}

/** The pitches of several choices that all tasks can have; the earlier choice where two differ. */
export function joinPitches(
  tasks: readonly CutTask[],
  choices: readonly (BytePitches | undefined)[],
): BytePitches {
  const joined = new Map<number, number>();
  const allows = ({ reads, writes, cut }: Task & CutTask, buffer: number, pitch: number): boolean =>
    !(reads.includes(buffer) || writes.includes(buffer)) || cut.pitches(buffer).includes(pitch);
  for (const choice of choices)
    for (const [buffer, pitch] of choice ?? [])
      if (!joined.has(buffer) && tasks.every((task) => allows(task, buffer, pitch)))
        joined.set(buffer, pitch);
  return joined;
}
