import { remembered } from '../../host/once.js';
import type { Slices } from '../../host/slices.js';
import { DEVICE_ALIGNMENT } from '../../shared/layout.js';
import { aligned, type Lifetime, placeInArena } from '../plan/memory.js';
import type { Panels, ProductPanels, Step, SweepWindows, TakenWindows } from '../plan/plan.js';
import { TileMaker } from './moved-tiles.js';
import { byBuffer, kept, type Name, ofEach, type Renaming, renamed } from './renaming.js';
import type { BytePitches } from './sweep-cuts.js';
import { RENAMED_TILE, type SweptTask, type Tile } from './sweep-windows.js';

/** Why no plan fits: the least memory found, and the step that needs it. */
export interface NoFit {
  readonly needed: number;
  readonly step: Step;
  /**
   * Why this much is needed at once: the step cannot be run in parts; or it is a loop whose states would have
   * to wait elsewhere.
   */
  readonly atOnce?: 'step' | 'states';
}

export interface SlotRules {
  readonly isWindowed: (buffer: number) => boolean;
  /** Whether a buffer is scratch memory of partial results, whose elements nothing but their size aligns. */
  readonly isPartial?: (buffer: number) => boolean;
  readonly byteLengthOf: (buffer: number) => number;
  readonly directionOf: (buffer: number, tasks: readonly SweptTask[]) => SweepWindows['direction'];
  readonly slots: Readonly<Record<SweepWindows['direction'], number>>;
  readonly tileBytes: number;
  /** Whether windows of values begin with what the tile before has left of them: their slots stay from tile to tile. */
  readonly carries?: boolean | undefined;
  /** Of panels: buffers beside the values that several of their steps read. */
  readonly beside?: readonly number[] | undefined;
  /** Of the buffers whose windows are rows, bytes from row to row in the whole. */
  readonly pitches: BytePitches;
  /** As of `SweepRules`. */
  readonly packsRows?: boolean | undefined;
  /** As of `Choice`. */
  readonly panels?: ProductPanels | undefined;
  /** Of a GPU, for the time that calls in blocks take; without it, what copies least is taken. */
  readonly multiprocessors?: number | undefined;
}

/** The slots of a buffer, and the tasks of its sweep, from first to last, that they are needed for. */
export interface SlotBlock extends Omit<SweepWindows, 'windows' | 'offset'> {
  readonly first: number;
  readonly last: number;
}

/** Tiles, which need not all be there at once. */
export interface TileList {
  readonly length: number;
  readonly at: (tile: number) => Tile | undefined;
}

/** A sweep with its tiles. */
export interface SizedSweep {
  readonly tasks: readonly SweptTask[];
  readonly pitches: BytePitches;
  readonly tiles: TileList;
  /** Where tiles are panels of a product. */
  readonly panels?: Panels | undefined;
  /** Of a kernel that takes elements in windows of indices. */
  readonly taken?: TakenWindows | undefined;
  /** Of tiles that several devices take: the part of each. */
  readonly parts?: readonly number[];
  readonly slots: readonly SlotBlock[];
  /** Buffers of which the tiles have windows where these lie: on the device. */
  readonly inPlace?: readonly Pick<SweepWindows, 'buffer' | 'direction'>[];
}

const RENAMED_BUFFER = { buffer: (buffer: number, name: Name): number => name(buffer) };

/** The tasks, whose steps have their buffers, are the other sweep's own. */
export const RENAMED_SWEEP: Renaming<SizedSweep> = {
  tasks: kept,
  pitches: byBuffer,
  tiles: ({ length, at }, name) => ({
    length,
    at: (t) => {
      const tile = at(t);
      return tile && renamed(tile, RENAMED_TILE, name);
    },
  }),
  panels: kept,
  taken: kept,
  parts: kept,
  slots: ofEach<SlotBlock>({
    ...RENAMED_BUFFER,
    direction: kept,
    slotByteLength: kept,
    slots: kept,
    slotPitch: kept,
    first: kept,
    last: kept,
  }),
  inPlace: ofEach<Pick<SweepWindows, 'buffer' | 'direction'>>({ ...RENAMED_BUFFER, direction: kept }),
};

export const blockOf = ({ slotByteLength, slots, first, last }: SlotBlock, start: number): Lifetime => ({
  byteLength: slotByteLength * slots,
  first: start + first,
  last: start + last,
});

/** Bytes of slots that are placed by themselves. */
export const slotBytes = (slots: readonly SlotBlock[]): number =>
  placeInArena(slots.map((block) => blockOf(block, 0))).byteLength;

/**
 * Bytes that rows in a slot are apart at least: strides there are never those that generated code has as
 * such.
 */
export const SHORTEST_ROW = 64;
/** Bytes of the widest access of a thread. */
const WIDEST_ACCESS = 16;

/** Finds the tiles of a sweep for what room it has. */
export type Sizer = (room: number) => Slices<SizedSweep | NoFit>;

/** Fewer slots, where a sweep fits with no more: less overlap is better than none. */
export const FEWER_SLOTS = [Number.POSITIVE_INFINITY, 2, 1];

/** Rooms are asked for by turns, of one budget and of others: what a number of tiles needs is worked out once. */
export function sweepSizer(tasks: readonly SweptTask[], rules: SlotRules): Sizer {
  const maker = new TileMaker(tasks, rules);
  const extents = (count: number, some: Iterable<number>): Slices<Extents | undefined> =>
    extentsOf(tasks, maker, some, count, rules);
  const trial = remembered((count: number) =>
    extents(count, new Set([0, 1, Math.floor(count / 2), count - 1].filter((t) => t < count))),
  );
  const sample = remembered((count: number) =>
    extents(
      count,
      new Set(Array.from({ length: SAMPLED_TILES }, (_, k) => Math.floor((k * count) / SAMPLED_TILES))),
    ),
  );
  const all = remembered((count: number) => extents(count, Array(count).keys()));
  const ways = FEWER_SLOTS.map((most) => {
    const own = { ...rules, slots: fewer(rules.slots, most) };
    const bytesOf = (of: (count: number) => Slices<Extents | undefined>) =>
      remembered(function* (count: number) {
        const found = yield* of(count);
        return found === undefined ? Number.POSITIVE_INFINITY : slotBytes(slotsOf(tasks, found, own));
      });
    const [fewBytes, sampleBytes, bytes] = [bytesOf(trial), bytesOf(sample), bytesOf(all)];
    return function* (room: number): Slices<SizedSweep | NoFit> {
      const count = yield* countFor(tasks, room, own, [fewBytes, sampleBytes, bytes]);
      if (typeof count !== 'number') return count;
      const tiles: TileList = { length: count, at: (t) => maker.tile(t, count) };
      return { tasks, pitches: rules.pitches, tiles, slots: slotsOf(tasks, (yield* all(count))!, own) };
    };
  });
  return function* (room) {
    let least: NoFit | undefined;
    for (const way of ways) {
      const sized = yield* way(room);
      if (!('needed' in sized)) return sized;
      least = least === undefined || sized.needed < least.needed ? sized : least;
    }
    return least!;
  };
}

/** Numbers of tiles to try: all up to 32, then ever larger steps, and `most`. */
export function countsTo(most: number): number[] {
  const found: number[] = [];
  for (let n = 1; n < most; n = n < 32 ? n + 1 : Math.ceil(n * 1.25)) found.push(n);
  return [...found, most];
}

/** Tiles of a sample. */
const SAMPLED_TILES = 64;

/** Tiles that are looked at in vain: of a chain whose units meet in no order, each may take 0.3 ms. */
const MOST_IN_VAIN = 4096;

type BytesOf = (count: number) => Slices<number>;

/** At most so many slots of each kind. */
export const fewer = ({ in: from, out, local }: SlotRules['slots'], most: number): SlotRules['slots'] => ({
  in: Math.min(from, most),
  out: Math.min(out, most),
  local: Math.min(local, most),
});

/**
 * The number of tiles whose slots fit into a room. `bytesOf`: bytes by a few of the tiles, which most numbers that do
 * not fit fail by, by a sample of them, and by all.
 */
function* countFor(
  tasks: readonly SweptTask[],
  room: number,
  rules: SlotRules,
  [few, sample, allOf]: readonly [few: BytesOf, sample: BytesOf, all: BytesOf],
): Slices<number | NoFit> {
  let inVain = 0;
  const most = Math.max(...tasks.map(({ task, isKept }) => (isKept ? task.cut.units : 1)));
  let least = Number.POSITIVE_INFINITY;
  for (
    let count = Math.min(most, wantedTiles(tasks, rules));
    ;
    count = Math.min(most, Math.ceil(count * 1.25))
  ) {
    yield;
    const bytes = yield* few(count);
    const isLikely = bytes <= room && (yield* sample(count)) <= room;
    const all = isLikely ? yield* allOf(count) : bytes;
    if (isLikely && all <= room) return count;
    least = Math.min(least, all);
    if (isLikely) inVain += count;
    if (count === most || inVain > MOST_IN_VAIN) return { needed: least, step: tasks[0]!.task.step };
  }
}

/** Tiles that move about `tileBytes` each way: both ways go on at once. */
function wantedTiles(tasks: readonly SweptTask[], rules: SlotRules): number {
  const bytes = { in: 0, out: 0, local: 0 };
  const moved = new Set(tasks.flatMap(({ task }) => [...task.reads, ...task.writes]));
  for (const buffer of moved)
    if (rules.isWindowed(buffer)) bytes[rules.directionOf(buffer, tasks)] += rules.byteLengthOf(buffer);
  return Math.max(1, Math.ceil(Math.max(bytes.in, bytes.out) / rules.tileBytes));
}

/** The slots of tiles that are there. */
export function* slotsOfTiles(
  tasks: readonly SweptTask[],
  tiles: readonly Tile[],
  rules: SlotRules,
): Slices<SlotBlock[]> {
  const at = (tile: number): Tile | undefined => tiles[tile];
  const extents = yield* extentsOf(tasks, { tile: at, alike: at }, tiles.keys(), tiles.length, rules);
  return slotsOf(tasks, extents!, rules);
}

/** The largest windows of tiles, by buffer. */
interface Extents {
  readonly widths: ReadonlyMap<number, number>;
  readonly heights: ReadonlyMap<number, number>;
  /** How many places windows begin at, counted up to `MOST_SLOTS`. */
  readonly distinct: ReadonlyMap<number, ReadonlySet<number>>;
}

/** Tiles between pauses: one that is worked out takes up to 0.3 ms, one that is moved along a microsecond. */
const TILES_OF_SLICE = 8;

/** More slots than any rules ask for. */
const MOST_SLOTS = 64;

/**
 * The extents of some of `count` tiles. `undefined`: one of them does not work out. Places are looked at of as many
 * tiles as are counted.
 */
function* extentsOf(
  tasks: readonly SweptTask[],
  maker: Pick<TileMaker, 'tile' | 'alike'>,
  tiles: Iterable<number>,
  count: number,
  rules: SlotRules,
): Slices<Extents | undefined> {
  const widths = new Map<number, number>();
  const heights = new Map<number, number>();
  const distinct = new Map<number, Set<number>>();
  const seldom = Math.ceil(count / MOST_SLOTS);
  let looked = 0;
  for (const t of tiles) {
    if (looked++ % TILES_OF_SLICE === 0) yield;
    const isPlaced = t < MOST_SLOTS || t % seldom === 0;
    const tile = isPlaced ? maker.tile(t, count) : maker.alike(t, count);
    if (tile === undefined) return undefined;
    for (const [buffer, { first, width, rows }] of tile.windows) {
      if (!rules.isWindowed(buffer)) continue;
      if (width > (widths.get(buffer) ?? -1)) widths.set(buffer, width);
      if (rows > (heights.get(buffer) ?? 1)) heights.set(buffer, rows);
      if (!isPlaced) continue;
      const firsts = distinct.get(buffer) ?? new Set();
      distinct.set(buffer, firsts.size < MOST_SLOTS ? firsts.add(first) : firsts);
    }
  }
  // A buffer that no tile touches has a slot like any other: its step takes an address.
  for (const { task } of tasks)
    for (const buffer of [...task.reads, ...task.writes])
      if (rules.isWindowed(buffer) && !widths.has(buffer)) widths.set(buffer, 0);
  return { widths, heights, distinct };
}

/**
 * The slots of each windowed buffer. Values inside a tile are needed from the task that makes them to the
 * last that reads them.
 */
function slotsOf(
  tasks: readonly SweptTask[],
  { widths, heights, distinct }: Extents,
  rules: SlotRules,
): SlotBlock[] {
  return [...widths].map(([buffer, width]) => {
    const direction = rules.directionOf(buffer, tasks);
    const users = tasks.flatMap(({ task }, k) =>
      task.reads.includes(buffer) || task.writes.includes(buffer) ? [k] : [],
    );
    const inside = direction === 'local' && rules.carries !== true;
    const pitch = rules.pitches.get(buffer);
    const isDense = rules.isPartial?.(buffer) === true;
    const slotPitch = pitch === undefined ? 0 : isDense ? width : slotPitchOf(pitch, width, rules);
    return {
      buffer,
      direction,
      // A slot holds a window at its first byte modulo 256.
      slotByteLength: aligned(((heights.get(buffer) ?? 1) - 1) * slotPitch + width + 255),
      slotPitch,
      // A window that all tiles share stays in its slot.
      slots: Math.min(rules.slots[direction], distinct.get(buffer)?.size ?? 1),
      first: inside ? users[0]! : 0,
      last: inside ? users[users.length - 1]! : tasks.length - 1,
    };
  });
}

/**
 * From row to row in a slot: the least that rows of `width` bytes can be apart and all be as aligned as in
 * the whole; short rows, of which there are many, only as far as an access may need.
 */
export function slotPitchOf(pitch: number, width: number, { packsRows }: SlotRules): number {
  // Not as near as elements of one row: that is another kind of access.
  if (packsRows === true && 2 * width < SHORTEST_ROW) return Math.min(pitch, 2 * width);
  const least = Math.max(width, SHORTEST_ROW);
  const alignment = width < DEVICE_ALIGNMENT ? WIDEST_ACCESS : DEVICE_ALIGNMENT;
  return least >= pitch ? pitch : least + ((pitch - least) % alignment);
}
