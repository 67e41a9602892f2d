/**
 * Sizes a sweep: the number of its tiles, and the slots that the windows of each buffer take. Called by `sweeps.ts`.
 *
 * The least number of tiles that fits is taken, or more where copies from and to the host should overlap the work.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { aligned, type Lifetime, placeInArena } from '../plan/memory.js';
import type { PanelWork } from '../plan/panel-time.js';
import type { MatmulStep, Step, SweepWindows } from '../plan/plan.js';
import {
  largestDepth,
  largestPanel,
  mostDepths,
  mostPanels,
  type PanelCounts,
  panelTiles,
  panelTraffic,
  panelWork,
} from './matmul-panels.js';
import type { BytePitches } from './sweep-cuts.js';
import { type SweptTask, type Tile, tileOf } from './sweep-windows.js';

/** Why no plan fits: the least memory found, and the step that needs it. */
export interface NoFit {
  readonly needed: number;
  readonly step: Step;
  /** Why this much is needed at once: the step cannot be run in parts; or it is a loop whose states would have to wait elsewhere. */
  readonly atOnce?: 'step' | 'states';
}

export interface SlotRules {
  readonly isWindowed: (buffer: number) => boolean;
  readonly byteLengthOf: (buffer: number) => number;
  readonly directionOf: (buffer: number, tasks: readonly SweptTask[]) => SweepWindows['direction'];
  readonly slots: Readonly<Record<SweepWindows['direction'], number>>;
  readonly tileBytes: number;
  /** Of the buffers whose windows are rows, bytes from row to row in the whole. */
  readonly pitches: BytePitches;
  /** How long a product by panels takes; without it, what copies least is taken. */
  readonly panelSeconds?: ((step: MatmulStep, work: PanelWork) => number) | undefined;
}

/** The slots of a buffer, and the tasks of its sweep, from first to last, that they are needed for. */
export interface SlotBlock extends Omit<SweepWindows, 'windows' | 'offset'> {
  readonly first: number;
  readonly last: number;
}

/** A sweep with its tiles. */
export interface SizedSweep {
  readonly tasks: readonly SweptTask[];
  readonly pitches: BytePitches;
  readonly tiles: readonly Tile[];
  /** What the tasks of each tile run, where it does not follow from the units. */
  readonly ranges?: readonly (readonly number[])[];
  /** Of tiles that several devices take: the part of each. */
  readonly parts?: readonly number[];
  readonly slots: readonly SlotBlock[];
}

export const blockOf = ({ slotByteLength, slots, first, last }: SlotBlock, start: number): Lifetime => ({
  byteLength: slotByteLength * slots,
  first: start + first,
  last: start + last,
});

const bytesOf = (slots: readonly SlotBlock[]): number =>
  placeInArena(slots.map((block) => blockOf(block, 0))).byteLength;

/** Windows lie in slots as in the whole buffer modulo so many bytes. */
const SLOT_ALIGNMENT = 256;
/** Bytes that rows in a slot are apart at least: strides there are never those that generated code has as such. */
const SHORTEST_ROW = 64;

/** Fewer slots, where a sweep fits with no more: less overlap is better than none. */
const FEWER_SLOTS = [Number.POSITIVE_INFINITY, 2, 1];

export function sizeSweep(tasks: readonly SweptTask[], room: number, rules: SlotRules): SizedSweep | NoFit {
  let least: NoFit | undefined;
  for (const most of FEWER_SLOTS) {
    const sized = sizeWithSlots(tasks, room, { ...rules, slots: fewer(rules.slots, most) });
    if (!('needed' in sized)) return sized;
    least = least === undefined || sized.needed < least.needed ? sized : least;
  }
  return least!;
}

const fewer = ({ in: from, out, local }: SlotRules['slots'], most: number): SlotRules['slots'] => ({
  in: Math.min(from, most),
  out: Math.min(out, most),
  local: Math.min(local, most),
});

function sizeWithSlots(tasks: readonly SweptTask[], room: number, rules: SlotRules): SizedSweep | NoFit {
  const most = Math.max(...tasks.map(({ task, isKept }) => (isKept ? task.cut.units : 1)));
  let least = Number.POSITIVE_INFINITY;
  for (
    let count = Math.min(most, wantedTiles(tasks, rules));
    ;
    count = Math.min(most, Math.ceil(count * 1.25))
  ) {
    const some = new Set([0, 1, Math.floor(count / 2), count - 1].filter((t) => t < count));
    const tried = slotsOf(
      tasks,
      [...some].map((t) => tileOf(tasks, t, count, rules)),
      rules,
    );
    least = Math.min(least, tried === undefined ? least : bytesOf(tried));
    if (tried !== undefined && bytesOf(tried) <= room) {
      const tiles = Array.from({ length: count }, (_, t) => tileOf(tasks, t, count, rules));
      const slots = slotsOf(tasks, tiles, rules);
      if (slots !== undefined && bytesOf(slots) <= room)
        return { tasks, pitches: rules.pitches, tiles: tiles as Tile[], slots };
    }
    if (count === most) return { needed: least, step: tasks[0]!.task.step };
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

/**
 * The slots of each windowed buffer. Values inside a tile are needed from the task that makes them to the last that reads
 * them. `undefined`: some tile does not work out.
 */
function slotsOf(
  tasks: readonly SweptTask[],
  tiles: readonly (Tile | undefined)[],
  rules: SlotRules,
): SlotBlock[] | undefined {
  const widths = new Map<number, number>();
  const heights = new Map<number, number>();
  const distinct = new Map<number, Set<number>>();
  for (const tile of tiles) {
    if (tile === undefined) return undefined;
    for (const [buffer, { first, width, rows }] of tile.windows) {
      if (!rules.isWindowed(buffer)) continue;
      widths.set(buffer, Math.max(widths.get(buffer) ?? 0, width));
      heights.set(buffer, Math.max(heights.get(buffer) ?? 1, rows));
      distinct.set(buffer, (distinct.get(buffer) ?? new Set()).add(first));
    }
  }
  // A buffer that no tile touches has a slot like any other: its step takes an address.
  for (const { task } of tasks)
    for (const buffer of [...task.reads, ...task.writes])
      if (rules.isWindowed(buffer) && !widths.has(buffer)) widths.set(buffer, 0);
  return [...widths].map(([buffer, width]) => {
    const direction = rules.directionOf(buffer, tasks);
    const users = tasks.flatMap(({ task }, k) =>
      task.reads.includes(buffer) || task.writes.includes(buffer) ? [k] : [],
    );
    const inside = direction === 'local';
    const pitch = rules.pitches.get(buffer);
    const slotPitch = pitch === undefined ? 0 : slotPitchOf(pitch, width);
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

/** From row to row in a slot: the least that rows of `width` bytes can be apart and all be as aligned as in the whole. */
function slotPitchOf(pitch: number, width: number): number {
  const least = Math.max(width, SHORTEST_ROW);
  return least >= pitch ? pitch : least + ((pitch - least) % SLOT_ALIGNMENT);
}

/**
 * A matrix product by panels: of what fits, what takes least time. Panels are cut along the contracted axis only where no
 * other way fits, then with as few slots as that takes.
 */
export function sizePanels(swept: SweptTask, room: number, rules: SlotRules): SizedSweep | NoFit {
  const step = swept.task.step as MatmulStep;
  const whole = bestPanels(swept, room, rules, 1);
  if (!('needed' in whole) || mostDepths(step) === 1) return whole;
  let { needed } = whole;
  for (const most of FEWER_SLOTS) {
    const cut = bestPanels(swept, room, { ...rules, slots: fewer(rules.slots, most) }, mostDepths(step));
    if (!('needed' in cut)) return cut;
    needed = Math.min(needed, cut.needed);
  }
  return { needed, step };
}

/** The best of the panels that are cut along the contracted axis no more than they have to be, and into at most `depths`. */
function bestPanels(swept: SweptTask, room: number, rules: SlotRules, depths: number): SizedSweep | NoFit {
  const step = swept.task.step as MatmulStep;
  let best: PanelCounts | undefined;
  let least = Number.POSITIVE_INFINITY;
  let needed = Number.POSITIVE_INFINITY;
  for (const blocks of panelChoices(step)) {
    const most = { ...blocks, depths };
    const cost = rules.panelSeconds?.(step, panelWork(step, most)) ?? panelTraffic(step, most);
    if (cost >= least) continue;
    const bytes = bytesOf(panelSlots(step, swept, most, rules));
    needed = Math.min(needed, bytes);
    if (bytes > room) continue;
    best = most;
    least = cost;
  }
  if (best === undefined) return { needed, step };
  const fitting = counts(depths).find(
    (tried) => bytesOf(panelSlots(step, swept, { ...best, depths: tried }, rules)) <= room,
  )!;
  const chosen = { ...best, depths: fitting };
  const tiles = panelTiles(step, chosen);
  return {
    tasks: [swept],
    pitches: rules.pitches,
    tiles: tiles.map(({ windows, unfinished }) => ({ spans: [[0, 1]], windows, unfinished })),
    ranges: tiles.map(({ ranges }) => ranges),
    slots: panelSlots(step, swept, chosen, rules),
  };
}

function* panelChoices({ m, n }: MatmulStep): Generator<Omit<PanelCounts, 'depths'>> {
  for (const outer of ['columns', 'rows'] as const)
    for (const rows of counts(mostPanels(m)))
      for (const columns of counts(mostPanels(n))) yield { rows, columns, outer };
}

/** All numbers up to 32, then ever larger steps, and `most`. */
function counts(most: number): number[] {
  const found: number[] = [];
  for (let n = 1; n < most; n = n < 32 ? n + 1 : Math.ceil(n * 1.25)) found.push(n);
  return [...found, most];
}

/** Rows of a window lie in its slot a multiple of 256 bytes apart. A panel that stays needs two slots, to be read ahead. */
function panelSlots(
  step: MatmulStep,
  swept: SweptTask,
  { rows, columns, depths, outer }: PanelCounts,
  rules: SlotRules,
): SlotBlock[] {
  const largest = { rows: largestPanel(step.m, rows), columns: largestPanel(step.n, columns) };
  const depth = largestDepth(step, depths);
  const operands = [
    { operand: step.a, lines: largest.rows, across: depth, stays: outer === 'rows' },
    { operand: step.b, lines: depth, across: largest.columns, stays: outer === 'columns' },
    { operand: step.c, lines: largest.rows, across: largest.columns, stays: false },
  ];
  return operands.flatMap(({ operand, lines, across, stays }): SlotBlock[] => {
    const { buffer } = operand;
    if (!rules.isWindowed(buffer)) return [];
    const [height, width] = operand.columnStride === 1 ? [lines, across] : [across, lines];
    const slotPitch = aligned(width * byteLengthOf(step.dtype));
    const direction = rules.directionOf(buffer, [swept]);
    const slots = Math.min(stays ? 2 : Number.POSITIVE_INFINITY, rules.slots[direction]);
    const slotByteLength = aligned(height * slotPitch + SLOT_ALIGNMENT - 1);
    return [{ buffer, direction, slotPitch, slotByteLength, slots, first: 0, last: 0 }];
  });
}
