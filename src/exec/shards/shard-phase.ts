/**
 * Plans what one device does in one phase of a sharded job: its share of tasks that are cut, tile by tile
 * where they do not fit, or all of tasks that are not. Called by `sharding.ts`, which knows what lies where.
 */

import { cudaBlockBytes } from '../plan/block-bytes.js';
import type { SweepRules } from '../plan/device-needs.js';
import { ALIGNMENT, aligned, placeInArena } from '../plan/memory.js';
import type { Plan, PlanBuffer, Step, SweepStep } from '../plan/plan.js';
import { lifetimesOf } from '../plan/plan-graph.js';
import type { BytePitches, Task } from '../tiles/sweep-cuts.js';
import {
  blockOf,
  type NoFit,
  type SizedSweep,
  type SlotBlock,
  type SlotRules,
  sizeSweep,
} from '../tiles/sweep-slots.js';
import { sweepStep } from '../tiles/sweep-tables.js';
import { type Span, type SweptTask, type Tile, tileOf, type Window } from '../tiles/sweep-windows.js';
import { contains, endOf, onPart, pieceOn, tileOn } from './shard-ranges.js';
import type { Piece } from './sharded-plan.js';

/** What a buffer is to a phase. */
export type Part =
  /** It was there before. */
  | 'input'
  /** It is made, and needed after the phase: in pieces on devices, or in host memory. */
  | 'kept'
  | 'hosted'
  /** It is made, and not needed after the phase. */
  | 'inner';

export interface PhaseRules {
  readonly device: string;
  /** Bytes that the device has for the phase. */
  readonly room: number;
  readonly sweeps: SweepRules;
  readonly bufferCount: number;
  readonly partOf: (buffer: number) => Part;
  readonly byteLengthOf: (buffer: number) => number;
  readonly labelOf: (buffer: number) => string;
  /** Whether a buffer stands for what a loop's states are by turns. */
  readonly isState: (buffer: number) => boolean;
  /** Where an input's bytes are on devices; none: in host memory. */
  readonly piecesOf: (buffer: number) => readonly Piece[];
  /** Whether an input is so large that only the windows that tiles need are brought to the device. */
  readonly isLarge: (buffer: number) => boolean;
  /** Of the buffers whose windows are rows, bytes from row to row in the whole. */
  readonly pitches: BytePitches;
}

export interface PlannedRun {
  readonly plan: Plan;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  /** What stays on the device after the phase, by buffer. */
  readonly kept: ReadonlyMap<number, Span>;
}

/** A stretch of a share: what it touches as one tile. */
interface Stretch {
  readonly tasks: readonly SweptTask[];
  readonly hull: Tile;
}

/** Bytes that a part of a buffer takes: it lies in its memory as aligned as in the whole. */
export const bytesOfPart = ([first, last]: Span): number =>
  last > first ? cudaBlockBytes(last - first + (first % ALIGNMENT)) : 0;

/**
 * The buffers of a task: what combines partial results needs no more than those, a loop all that its body
 * uses.
 */
const buffersOfTask = ({ step, reads, writes }: Task): number[] => [
  ...reads,
  ...writes,
  ...(step.kind === 'loop' || step.kind === 'call' ? lifetimesOf([step]).first.keys() : []),
];

const touchedBy = (tasks: readonly Task[]): number[] => [...new Set(tasks.flatMap(buffersOfTask))];

const sumOf = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** Times that less room is aimed at, because a device's pool rounds blocks up. */
const AIMS = 4;

/**
 * A share of tasks that are cut, in stretches of the reference task's units. `undefined`: it does not work
 * out.
 */
export function planShare(
  tasks: readonly SweptTask[],
  spans: readonly Span[],
  units: number,
  rules: PhaseRules,
): PlannedRun | NoFit | undefined {
  const found = sharePlanner(tasks, spans, units, rules)?.plan();
  return found === undefined || 'needed' in found ? found : found.run;
}

/**
 * The tiles of a stage in the order in which a device comes to them, and the part that each of those belongs
 * to.
 */
export interface TileOrder {
  readonly tiles: readonly number[];
  readonly parts: readonly number[];
}

export interface PlannedTiles {
  /** One for each order. */
  readonly runs: readonly PlannedRun[];
  /** How many parts the tiles are in. */
  readonly parts: number;
}

/**
 * All of the work in tiles that any device may do, in some orders; `ordersOf` gives them for so many tiles.
 * No input is taken to lie on the device. `undefined`: it does not work out.
 */
export function planTiles(
  tasks: readonly SweptTask[],
  units: number,
  rules: PhaseRules,
  ordersOf: (tiles: number) => readonly TileOrder[] | undefined,
): PlannedTiles | undefined {
  const planner = sharePlanner(tasks, [[0, units]], units, { ...rules, piecesOf: () => [] });
  const found = planner?.plan();
  if (planner === undefined || found === undefined || 'needed' in found) return undefined;
  const [sweep] = found.sized.sweeps;
  const orders = ordersOf(sweep!.tiles.length);
  if (orders === undefined) return undefined;
  const runs = orders.map(({ tiles, parts }) => {
    const own: SizedSweep = { ...sweep!, tiles: tiles.map((tile) => sweep!.tiles[tile]!), parts };
    return planner.place({ ...found.sized, sweeps: [own] });
  });
  return { runs, parts: Math.max(...orders[0]!.parts) + 1 };
}

function sharePlanner(
  tasks: readonly SweptTask[],
  spans: readonly Span[],
  units: number,
  rules: PhaseRules,
): SharePlanner | undefined {
  const stretches: Stretch[] = [];
  for (const span of spans) {
    // Small values inside the phase may be made anew for every part.
    const isShared = (b: number): boolean => rules.partOf(b) === 'inner' && !rules.isLarge(b);
    const hull = tileOn(tasks, span, units, rules.pitches, isShared);
    if (hull === undefined) return undefined;
    stretches.push({ tasks: onPart(tasks, span, units), hull });
  }
  return new SharePlanner(
    tasks.map(({ task }) => task),
    stretches,
    rules,
  );
}

/** The sweeps of a share, and what is on the device beside their windows. */
interface SizedShare {
  readonly sweeps: readonly SizedSweep[];
  /** Buffers in the arena as a whole, and the bytes of inputs that are. */
  readonly scratch: readonly number[];
  readonly held: number;
}

interface PlannedShare {
  readonly sized: SizedShare;
  readonly run: PlannedRun;
}

class SharePlanner {
  readonly #rules: PhaseRules;
  readonly #stretches: readonly Stretch[];
  readonly #touched: readonly number[];
  /** Buffers of which the device has windows; the others it has whole, or not at all. */
  readonly #windowed = new Set<number>();
  /** Of what is kept on the device, the bytes that are there. */
  readonly #kept = new Map<number, Span>();

  constructor(tasks: readonly Task[], stretches: readonly Stretch[], rules: PhaseRules) {
    this.#rules = rules;
    this.#stretches = stretches;
    // A loop says where its states lie.
    this.#touched = touchedBy(tasks).filter((buffer) => !rules.isState(buffer));
    for (const buffer of this.#touched) {
      const windows = stretches.flatMap(({ hull }) => hull.windows.get(buffer) ?? []);
      const part = rules.partOf(buffer);
      const isWindowed =
        part === 'input'
          ? rules.isLarge(buffer) || this.#isHere(buffer)
          : part !== 'inner' || (windows.length > 0 && !this.#isMadeWhole(buffer));
      if (isWindowed) this.#windowed.add(buffer);
      if (part !== 'kept') continue;
      const hull: Span = [Math.min(...windows.map(({ first }) => first)), Math.max(...windows.map(endOf))];
      this.#kept.set(buffer, windows.length === 0 ? [0, 0] : hull);
    }
  }

  /** Whether every part of the work needs all of a small value: a state of a loop that is not cut. */
  #isMadeWhole(buffer: number): boolean {
    const { byteLengthOf, isLarge } = this.#rules;
    const hulls = this.#stretches.flatMap(({ hull }) => hull.windows.get(buffer) ?? []);
    return (
      !isLarge(buffer) && hulls.every(({ first, width }) => first === 0 && width === byteLengthOf(buffer))
    );
  }

  /** Whether all that is needed of an input is in one piece on the device. */
  #isHere(buffer: number): boolean {
    return this.#stretches.every((stretch) => this.#isInPlace(buffer, stretch));
  }

  #isInPlace(buffer: number, { hull }: Stretch): boolean {
    const part = this.#rules.partOf(buffer);
    if (part === 'kept') return true;
    if (part !== 'input') return false;
    const pieces = this.#rules.piecesOf(buffer);
    const window = hull.windows.get(buffer);
    if (pieces.length === 0) return false;
    return window === undefined || contains(pieceOn(pieces, this.#rules.device), window);
  }

  plan(): PlannedShare | NoFit {
    const { room } = this.#rules;
    let aim = room;
    for (let k = 0; ; k++) {
      const sized = this.#within(aim);
      if ('needed' in sized) return sized;
      const run = this.place(sized);
      const { peakBytes } = run.plan;
      if (peakBytes <= room) return { sized, run };
      if (k + 1 === AIMS) return { needed: peakBytes, step: this.#stretches[0]!.tasks[0]!.task.step };
      aim -= peakBytes - room;
    }
  }

  /** Sizes sweeps for so many bytes, before blocks are rounded up. */
  #within(aim: number): SizedShare | NoFit {
    const { byteLengthOf, partOf } = this.#rules;
    const scratch = this.#touched.filter((b) => partOf(b) === 'inner' && !this.#windowed.has(b));
    const whole = this.#touched.filter((b) => partOf(b) === 'input' && !this.#windowed.has(b));
    const held = sumOf(whole.map((b) => aligned(byteLengthOf(b))));
    const fixed =
      held +
      sumOf(scratch.map((b) => aligned(byteLengthOf(b)))) +
      sumOf([...this.#kept.values()].map(bytesOfPart));
    const sweeps: SizedSweep[] = [];
    for (const stretch of this.#stretches) {
      const found = sizeSweep(stretch.tasks, aim - fixed, this.#slotRules(stretch));
      if ('needed' in found) return { ...found, needed: found.needed + fixed };
      sweeps.push(found);
    }
    return { sweeps, scratch, held };
  }

  #slotRules(stretch: Stretch): SlotRules {
    const { sweeps, byteLengthOf, pitches } = this.#rules;
    const bytesIn = ({ width, rows }: Window): number => width * rows;
    // What a part of the stretch needs as much of as all of it comes once, however many tiles there are.
    const half = tileOf(stretch.tasks, 0, 2, { isWindowed: () => true, pitches });
    const isShared = (buffer: number, whole: Window): boolean => {
      const window = half?.windows.get(buffer);
      return window !== undefined && window.first === whole.first && bytesIn(window) === bytesIn(whole);
    };
    return {
      ...sweeps,
      pitches,
      isWindowed: (buffer) => this.#windowed.has(buffer) && !this.#isInPlace(buffer, stretch),
      // What the stretch needs of it, from which the number of tiles follows.
      byteLengthOf: (buffer) => {
        const window = stretch.hull.windows.get(buffer);
        if (window === undefined) return byteLengthOf(buffer);
        return isShared(buffer, window) ? 0 : bytesIn(window);
      },
      directionOf: (buffer) => this.#directionOf(buffer),
    };
  }

  #directionOf(buffer: number): 'in' | 'out' | 'local' {
    const part = this.#rules.partOf(buffer);
    return part === 'input' ? 'in' : part === 'inner' ? 'local' : 'out';
  }

  /** Places everything in the arena. */
  place({ sweeps: sized, scratch, held }: SizedShare): PlannedRun {
    const { byteLengthOf, bufferCount, labelOf, partOf, isState } = this.#rules;
    const starts = [0];
    for (const { tasks } of sized) starts.push(starts.at(-1)! + tasks.length);
    const blocks = sized.flatMap(({ slots }, at) => slots.map((block) => ({ block, at })));
    const arena = placeInArena([
      ...scratch.map((b) => ({ byteLength: byteLengthOf(b), first: 0, last: starts.at(-1)! })),
      ...blocks.map(({ block, at }) => blockOf(block, starts[at]!)),
    ]);
    const offsets = new Map(scratch.map((b, k) => [b, arena.offsets[k]!]));
    const steps = sized.map((sweep, at): SweepStep => {
      const placed = blocks.flatMap(({ block, at: own }, k) =>
        own === at ? [{ ...block, offset: arena.offsets[scratch.length + k]! }] : [],
      );
      const inPlace = this.#touched
        .filter((b) => this.#windowed.has(b) && this.#isInPlace(b, this.#stretches[at]!))
        .map((b) => this.#slotless(b));
      return sweepStep(sweep, [...placed, ...inPlace]);
    });
    const touched = new Set(this.#touched);
    const buffers = Array.from({ length: bufferCount }, (_, b): PlanBuffer => {
      if (isState(b)) return { role: 'state', byteLength: byteLengthOf(b), offset: 0, label: labelOf(b) };
      if (!touched.has(b)) return { role: 'temporary', byteLength: 0, offset: 0, label: labelOf(b) };
      const part = partOf(b);
      const role = part === 'input' ? 'input' : part === 'inner' ? 'temporary' : 'output';
      const buffer = {
        role,
        byteLength: byteLengthOf(b),
        offset: offsets.get(b) ?? 0,
        label: labelOf(b),
      } as const;
      if (!this.#windowed.has(b)) return buffer;
      const kept = this.#kept.get(b);
      return { ...buffer, windowed: true, ...(kept === undefined ? {} : { part: kept }) };
    });
    return runOf(buffers, steps, arena.byteLength, held, this.#kept);
  }

  #slotless(buffer: number): SlotBlock & { readonly offset: number } {
    const direction = this.#directionOf(buffer);
    return { buffer, direction, slotByteLength: 0, slotPitch: 0, slots: 0, first: 0, last: 0, offset: 0 };
  }
}

/** `held`: what is in one block with the arena. */
function runOf(
  buffers: readonly PlanBuffer[],
  steps: readonly Step[],
  arenaByteLength: number,
  held: number,
  kept: ReadonlyMap<number, Span>,
): PlannedRun {
  const ofRole = (role: PlanBuffer['role']): number[] =>
    buffers.flatMap((buffer, b) => (buffer.role === role ? [b] : []));
  const inputs = ofRole('input');
  const block = arenaByteLength + held;
  const peakBytes = (block === 0 ? 0 : cudaBlockBytes(block)) + sumOf([...kept.values()].map(bytesOfPart));
  // What waits on the host is the sharded plan's to tell.
  const plan = { buffers, steps, inputs, outputs: [], arenaByteLength, peakBytes, hostPeakBytes: 0 };
  return { plan, inputs, outputs: ofRole('output'), kept };
}

/** Tasks that run as a whole, one after the other, on one device. */
export function planWholeTasks(tasks: readonly Task[], rules: PhaseRules): PlannedRun | NoFit {
  const { byteLengthOf, bufferCount, labelOf, partOf, piecesOf, device, isState } = rules;
  const steps = tasks.map(({ step }) => step);
  const uses = tasks.map((task) => new Set(buffersOfTask(task)));
  const touched = touchedBy(tasks);
  const inner = touched.filter((b) => partOf(b) === 'inner');
  const arena = placeInArena(
    inner.map((b) => ({
      byteLength: byteLengthOf(b),
      first: uses.findIndex((used) => used.has(b)),
      last: uses.findLastIndex((used) => used.has(b)),
    })),
  );
  const offsets = new Map(inner.map((b, k) => [b, arena.offsets[k]!]));
  const isHere = (b: number): boolean =>
    partOf(b) === 'input' &&
    contains(pieceOn(piecesOf(b), device), { first: 0, width: byteLengthOf(b), rows: 1, pitch: 0 });
  const held = sumOf(
    touched.map((b) =>
      partOf(b) === 'inner' || partOf(b) === 'kept' || isHere(b) ? 0 : aligned(byteLengthOf(b)),
    ),
  );
  const isTouched = new Set(touched);
  const buffers = Array.from({ length: bufferCount }, (_, b): PlanBuffer => {
    if (isState(b)) return { role: 'state', byteLength: byteLengthOf(b), offset: 0, label: labelOf(b) };
    if (!isTouched.has(b)) return { role: 'temporary', byteLength: 0, offset: 0, label: labelOf(b) };
    const part = partOf(b);
    const role = part === 'input' ? 'input' : part === 'inner' ? 'temporary' : 'output';
    return { role, byteLength: byteLengthOf(b), offset: offsets.get(b) ?? 0, label: labelOf(b) };
  });
  const kept = new Map(
    touched.flatMap((b) => (partOf(b) === 'kept' ? [[b, [0, byteLengthOf(b)] as Span] as const] : [])),
  );
  const run = runOf(buffers, steps, arena.byteLength, held, kept);
  const needed = run.plan.peakBytes;
  if (needed <= rules.room) return run;
  return { needed, step: tasks[0]!.step, ...(tasks.length === 1 ? { atOnce: 'step' } : {}) };
}
