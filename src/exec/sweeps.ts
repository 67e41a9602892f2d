/**
 * Plans a job that does not fit into its budget: which buffers are on the device in windows only, which steps share
 * a sweep over tiles, and how many tiles each sweep has. Called by `planner.ts`.
 *
 * The largest buffers are windowed first; what is left stays whole. Of the tile counts, the least that fits is taken, or
 * more where copies from and to the host should overlap the work.
 */

import type { Works } from '../codegen/work.js';
import type { Kernel } from '../fusion/kernel.js';
import type { Draft, DraftBuffer } from './draft.js';
import { aligned, type Lifetime, placeInArena } from './memory.js';
import type { Plan, PlanBuffer, Step, SweepWindows } from './plan.js';
import { type Group, groupTasks, type Refusal } from './sweep-groups.js';
import { type Slots, sweepStep } from './sweep-tables.js';
import { type Cut, formsOf, type Task } from './sweep-tasks.js';
import { type SweptTask, type Tile, tileOf } from './sweep-windows.js';

/** What planning needs to know of a device, beyond the plan's own buffers. */
export interface DeviceNeeds {
  /** Bytes of each scratch buffer a kernel uses. */
  readonly scratchOf: (kernel: Kernel) => readonly number[];
  /** Bytes that libraries hold while a plan has matrix products. */
  readonly workspaceByteLength: number;
  /** Bytes that a buffer takes on the device as a whole; 0: it is used where it lies. */
  readonly heldBytes: (buffer: DraftBuffer) => number;
  /** How kernels can be run in parts; without it, a job fits as a whole or not at all. */
  readonly sweeps?: SweepRules | undefined;
}

export interface SweepRules {
  readonly worksOf: (kernel: Kernel) => Works;
  /** Whether windows of a buffer will do: not of what stays on the device. */
  readonly canWindow: (buffer: DraftBuffer) => boolean;
  /** Whether large values may wait in host memory between sweeps. */
  readonly canSpill: boolean;
  /** Windows of one buffer that are on the device at once: while one is computed, others are copied. */
  readonly slots: Readonly<Record<SweepWindows['direction'], number>>;
  /** Bytes of a tile that are copied while another is computed. */
  readonly tileBytes: number;
}

/** Why no plan fits: the least memory found, and the step that needs it. */
export interface NoFit {
  readonly needed: number;
  readonly step: Step;
}

/** A plan that holds at most `budget` bytes; `whole`: what the job needs as a whole. */
export function planSweeps(draft: Draft, budget: number, needs: DeviceNeeds, whole: NoFit): Plan | NoFit {
  const { sweeps } = needs;
  if (sweeps === undefined) return whole;
  const sizes = [...new Set(draft.buffers.map(needs.heldBytes))].filter((n) => n > 0).sort((a, b) => b - a);
  let least = whole;
  for (const threshold of sizes) {
    const tried = new Attempt(draft, budget, needs, sweeps, threshold).plan();
    if (!('needed' in tried)) return tried;
    if (tried.needed < least.needed) least = tried;
  }
  return least;
}

/** A sweep with its tiles. */
interface Sized {
  readonly tasks: readonly SweptTask[];
  readonly tiles: readonly Tile[];
}

/** One choice of windowed buffers. */
class Attempt {
  readonly #draft: Draft;
  readonly #budget: number;
  readonly #needs: DeviceNeeds;
  readonly #rules: SweepRules;
  readonly #buffers: DraftBuffer[];
  readonly #windowed: boolean[];
  #groups: readonly Group[] = [];
  readonly #home = new Map<Task, number>();
  readonly #spilled = new Set<number>();

  constructor(draft: Draft, budget: number, needs: DeviceNeeds, rules: SweepRules, threshold: number) {
    this.#draft = draft;
    this.#budget = budget;
    this.#needs = needs;
    this.#rules = rules;
    this.#buffers = [...draft.buffers];
    const scratch = new Set(draft.steps.flatMap((step) => (step.kind === 'kernel' ? step.scratch : [])));
    this.#windowed = draft.buffers.map(
      (buffer, k) => needs.heldBytes(buffer) >= threshold && rules.canWindow(buffer) && !scratch.has(k),
    );
  }

  plan(): Plan | NoFit {
    const forms = this.#draft.steps.map((step) =>
      formsOf(step, this.#rules.worksOf, (bytes) => this.#addScratch(bytes)),
    );
    const groups = groupTasks(forms, {
      isWindowed: (buffer) => this.#windowed[buffer] === true,
      byteLengthOf: (buffer) => this.#buffers[buffer]!.byteLength,
      isInput: (buffer) => this.#buffers[buffer]!.role === 'input',
      canSpill: this.#rules.canSpill,
    });
    if ('why' in groups) return this.#refused(groups);
    this.#groups = groups;
    for (const [at, group] of groups.entries())
      for (const task of group.tasks) if (!this.#home.has(task)) this.#home.set(task, at);
    this.#findSpilled();
    return this.#fit();
  }

  #addScratch(bytes: number): number {
    this.#windowed.push(false);
    const key = `partial ${this.#buffers.length}`;
    return this.#buffers.push({ key, role: 'temporary', byteLength: bytes, source: -1, isStored: false }) - 1;
  }

  /** What a step needs that cannot be cut: all its buffers at once. */
  #refused({ task }: Refusal): NoFit {
    const touched = new Set([...task.reads, ...task.writes]);
    const needed = [...touched].reduce((sum, k) => sum + this.#needs.heldBytes(this.#buffers[k]!), 0);
    return { needed: Math.max(needed, this.#budget + 1), step: task.step };
  }

  /** Windowed values that a group after their own reads. */
  #findSpilled(): void {
    for (const group of this.#groups) {
      const here = new Set(group.tasks.flatMap(({ writes }) => writes));
      for (const task of group.tasks)
        for (const buffer of task.reads)
          if (this.#windowed[buffer] && !here.has(buffer) && this.#buffers[buffer]!.role === 'temporary')
            this.#spilled.add(buffer);
    }
  }

  /** Whether a task's results are needed after its group's sweep. */
  #isKept(task: Task, at: number): boolean {
    if (this.#home.get(task) !== at) return false;
    if (!task.repeats) return true;
    return task.writes.some((buffer) => {
      if (this.#buffers[buffer]!.role === 'output' || this.#spilled.has(buffer)) return true;
      if (this.#windowed[buffer]) return false;
      return this.#groups.some(
        (group, k) => k !== at && group.tasks.some(({ reads }) => reads.includes(buffer)),
      );
    });
  }

  #fit(): Plan | NoFit {
    const sweeps = this.#groups.map((group, at): readonly SweptTask[] | undefined =>
      group.isSwept
        ? group.tasks.map((task) => ({ task: task as Task & { cut: Cut }, isKept: this.#isKept(task, at) }))
        : undefined,
    );
    const live = this.#liveBytes();
    const sized: (Sized | undefined)[] = [];
    for (const [at, tasks] of sweeps.entries()) {
      if (tasks === undefined) {
        sized.push(undefined);
        continue;
      }
      const found = this.#sizeSweep(tasks, this.#budget - live[at]!);
      if ('needed' in found) return { ...found, needed: found.needed + live[at]! };
      sized.push(found);
    }
    return this.#place(sized);
  }

  /** For each group, the bytes that are on the device whole while it runs. */
  #liveBytes(): number[] {
    const { first, last } = this.#lifetimes();
    const held = this.#heldWhole();
    return this.#groups.map((_, at) => {
      let bytes = held;
      for (const [k, from] of first)
        if (this.#inArena(k) && from <= at && last.get(k)! >= at)
          bytes += aligned(this.#buffers[k]!.byteLength);
      return bytes;
    });
  }

  /** Inputs and outputs that are whole on the device, and the libraries' workspace. */
  #heldWhole(): number {
    const library = this.#draft.steps.some((step) => step.kind === 'matmul')
      ? this.#needs.workspaceByteLength
      : 0;
    return this.#buffers.reduce(
      (sum, buffer, k) =>
        sum + (buffer.role === 'temporary' || this.#windowed[k] ? 0 : aligned(this.#needs.heldBytes(buffer))),
      library,
    );
  }

  #inArena(buffer: number): boolean {
    return this.#buffers[buffer]!.role === 'temporary' && !this.#windowed[buffer];
  }

  #lifetimes(): { first: Map<number, number>; last: Map<number, number> } {
    const first = new Map<number, number>();
    const last = new Map<number, number>();
    for (const [at, group] of this.#groups.entries()) {
      for (const task of group.tasks) {
        for (const buffer of [...task.reads, ...task.writes]) {
          if (!first.has(buffer)) first.set(buffer, at);
          last.set(buffer, at);
        }
      }
    }
    return { first, last };
  }

  /** The least number of tiles that fits into `room` bytes, or more for the sake of overlap. */
  #sizeSweep(tasks: readonly SweptTask[], room: number): Sized | NoFit {
    const most = Math.max(...tasks.map(({ task, isKept }) => (isKept ? task.cut.units : 1)));
    let least = Number.POSITIVE_INFINITY;
    for (
      let tiles = Math.min(most, this.#wantedTiles(tasks));
      ;
      tiles = Math.min(most, Math.ceil(tiles * 1.25))
    ) {
      const bytes = this.#slotBytes(tasks, this.#sampled(tasks, tiles));
      least = Math.min(least, bytes);
      if (bytes <= room) {
        const all = Array.from({ length: tiles }, (_, t) => tileOf(tasks, t, tiles));
        if (this.#slotBytes(tasks, all) <= room) return { tasks, tiles: all as Tile[] };
      }
      if (tiles === most) return { needed: least, step: tasks[0]!.task.step };
    }
  }

  /** Tiles that move about `tileBytes` each. */
  #wantedTiles(tasks: readonly SweptTask[]): number {
    const moved = new Set<number>();
    for (const { task } of tasks)
      for (const buffer of [...task.reads, ...task.writes])
        if (this.#windowed[buffer] && this.#directionOf(buffer, tasks) !== 'local') moved.add(buffer);
    const bytes = [...moved].reduce((sum, buffer) => sum + this.#buffers[buffer]!.byteLength, 0);
    return Math.max(1, Math.ceil(bytes / this.#rules.tileBytes));
  }

  #sampled(tasks: readonly SweptTask[], tiles: number): (Tile | undefined)[] {
    const some = new Set([0, 1, Math.floor(tiles / 2), tiles - 1].filter((t) => t < tiles));
    return [...some].map((t) => tileOf(tasks, t, tiles));
  }

  /** Bytes of all slots that tiles like these need. */
  #slotBytes(tasks: readonly SweptTask[], tiles: readonly (Tile | undefined)[]): number {
    if (tiles.includes(undefined)) return Number.POSITIVE_INFINITY;
    const blocks = this.#slotsOf(tasks, tiles as readonly Tile[]);
    return placeInArena(blocks.map((slots) => blockOf(slots, 0))).byteLength;
  }

  /** The slots of each windowed buffer. Values inside a tile are needed from the task that makes them to the last that reads them. */
  #slotsOf(tasks: readonly SweptTask[], tiles: readonly Tile[]): SlotBlock[] {
    const widths = new Map<number, number>();
    for (const tile of tiles)
      for (const [buffer, [from, to]] of tile.windows)
        if (this.#windowed[buffer]) widths.set(buffer, Math.max(widths.get(buffer) ?? 0, to - from));
    return [...widths].map(([buffer, width]) => {
      const direction = this.#directionOf(buffer, tasks);
      const users = tasks.flatMap(({ task }, k) =>
        task.reads.includes(buffer) || task.writes.includes(buffer) ? [k] : [],
      );
      const inside = direction === 'local';
      return {
        buffer,
        direction,
        slotByteLength: slotByteLength(width),
        slots: this.#rules.slots[direction],
        first: inside ? users[0]! : 0,
        last: inside ? users[users.length - 1]! : tasks.length - 1,
      };
    });
  }

  #directionOf(buffer: number, tasks: readonly SweptTask[]): SweepWindows['direction'] {
    const { role } = this.#buffers[buffer]!;
    const writer = tasks.find(({ task }) => task.writes.includes(buffer));
    if (writer === undefined) return 'in';
    return writer.isKept && (role === 'output' || this.#spilled.has(buffer)) ? 'out' : 'local';
  }

  /** Places everything in the arena and writes the steps. */
  #place(sized: readonly (Sized | undefined)[]): Plan | NoFit {
    const starts = startsOf(this.#groups);
    const { first, last } = this.#lifetimes();
    const whole = [...first.keys()].filter((buffer) => this.#inArena(buffer));
    const slots = sized.flatMap((sweep, at) =>
      sweep === undefined ? [] : this.#slotsOf(sweep.tasks, sweep.tiles).map((block) => ({ ...block, at })),
    );
    const arena = placeInArena([
      ...whole.map((k) => ({
        byteLength: this.#buffers[k]!.byteLength,
        first: starts[first.get(k)!]!,
        last: starts[last.get(k)! + 1]! - 1,
      })),
      ...slots.map((block) => blockOf(block, starts[block.at]!)),
    ]);
    const peakBytes = arena.byteLength + this.#heldWhole();
    if (peakBytes > this.#budget) return { needed: peakBytes, step: this.#draft.steps[0]! };
    const offsets = new Map(whole.map((k, at) => [k, arena.offsets[at]!]));
    const placed = slots.map((block, k) => ({ ...block, offset: arena.offsets[whole.length + k]! }));
    const steps = this.#groups.flatMap((group, at): Step[] => {
      const sweep = sized[at];
      if (sweep === undefined) return group.tasks.map(({ step }) => step);
      return [
        sweepStep(
          sweep.tasks,
          sweep.tiles,
          placed.filter((block) => block.at === at),
        ),
      ];
    });
    return {
      buffers: this.#buffers.map((buffer, k) => this.#planBuffer(buffer, k, offsets.get(k) ?? 0)),
      steps,
      inputs: this.#buffers.filter(({ role }) => role === 'input').map(({ source }) => source),
      outputs: this.#outputs(),
      arenaByteLength: arena.byteLength,
      peakBytes,
    };
  }

  #planBuffer({ role, byteLength, key }: DraftBuffer, k: number, offset: number): PlanBuffer {
    const buffer = { role: this.#spilled.has(k) ? ('spill' as const) : role, byteLength, offset, label: key };
    return this.#windowed[k] ? { ...buffer, windowed: true } : buffer;
  }

  #outputs(): number[] {
    const keys = this.#buffers.filter(({ role }) => role === 'output').map(({ key }) => key);
    return this.#draft.outputKeys.map((key) => keys.indexOf(key));
  }
}

/** The slots of a buffer, and the tasks of its sweep, from first to last, that they are needed for. */
interface SlotBlock extends Slots {
  readonly first: number;
  readonly last: number;
}

const blockOf = ({ slotByteLength: bytes, slots, first, last }: SlotBlock, start: number): Lifetime => ({
  byteLength: bytes * slots,
  first: start + first,
  last: start + last,
});

/** For each group, the position of its first task among all tasks; the last entry is their number. */
function startsOf(groups: readonly Group[]): number[] {
  const starts = [0];
  for (const { tasks } of groups) starts.push(starts[starts.length - 1]! + tasks.length);
  return starts;
}

/** A slot holds a window at its first byte modulo 256. */
const slotByteLength = (width: number): number => aligned(width + 255);
