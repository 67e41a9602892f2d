/**
 * Plans what one device does in one phase of a sharded job: its share of tasks that are cut, tile by tile
 * where they do not fit, or all of tasks that are not. Fills the stages of a plan with them; called by
 * `sharding.ts`, which knows what lies where.
 */

import type { Slices } from '../../host/slices.js';
import { hostBlockBytes } from '../plan/block-bytes.js';
import type { DeviceModel, MemoryModel, SweepRules } from '../plan/device-model.js';
import { planOf } from '../plan/place.js';
import type { DevicePlan, PlanBuffer } from '../plan/plan.js';
import { planWithin, planWithinInSlices } from '../plan/plan-within.js';
import { type Stage, type Staged, type StagedBuffer, stagesOf } from '../plan/stages.js';
import { ownBuffer, type UnplacedBuffer } from '../plan/step-list.js';
import type { BytePitches, Task } from '../tiles/sweep-cuts.js';
import { type NoFit, type SizedSweep, type Sizer, type SlotRules, sweepSizer } from '../tiles/sweep-slots.js';
import { type Span, type SweptTask, type Tile, tileOf, type Window } from '../tiles/sweep-windows.js';
import type { Piece } from './shard-device.js';
import { contains, endOf, isWholeOn, onPart, pieceOn, tileOn } from './shard-ranges.js';
import type { WholePlanners } from './whole-planners.js';

/** The role of a buffer in a phase. */
export type PhaseRole =
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
  /** Bytes of host memory that values of the phase may wait in. */
  readonly hostRoom: number;
  readonly model: DeviceModel;
  readonly sweeps: SweepRules;
  readonly planners: WholePlanners;
  readonly buffers: readonly UnplacedBuffer[];
  readonly phaseRoleOf: (buffer: number) => PhaseRole;
  readonly byteLengthOf: (buffer: number) => number;
  /** Where an input's bytes are on devices; none: in host memory. */
  readonly piecesOf: (buffer: number) => readonly Piece[];
  /** Whether an input is so large that only the windows that tiles need are brought to the device. */
  readonly isLarge: (buffer: number) => boolean;
  /** Of the buffers whose windows are rows, bytes from row to row in the whole. */
  readonly pitches: BytePitches;
}

export interface PlannedRun {
  readonly plan: DevicePlan;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  /** The bytes that stay on the device after the phase, by buffer. */
  readonly kept: ReadonlyMap<number, Span>;
}

/** A stretch of a share: what it touches as one tile. */
interface Stretch {
  readonly tasks: readonly SweptTask[];
  readonly hull: Tile;
}

/**
 * The buffers of a task: what combines partial results needs no more than those, a loop all that its body
 * uses.
 */
const buffersOfTask = ({ step, reads, writes }: Task): number[] => [
  ...reads,
  ...writes,
  ...(step.kind === 'loop' || step.kind === 'call' ? stagesOf([step]).flatMap(({ uses }) => uses) : []),
];

const touchedBy = (tasks: readonly Task[]): number[] => [...new Set(tasks.flatMap(buffersOfTask))];

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
  const share = shareOf(tasks, spans, units, rules);
  if (share === undefined) return undefined;
  const found = planWithin(share.staged(), share.model, rules.room, tasks[0]!.task.step);
  return 'needed' in found ? found : share.run(found.plan);
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
  const share = shareOf(tasks, [[0, units]], units, { ...rules, piecesOf: () => [] });
  if (share === undefined) return undefined;
  const staged = share.staged();
  const found = planWithin(staged, share.model, rules.room, tasks[0]!.task.step);
  if ('needed' in found) return undefined;
  const sweep = found.sweeps[0]!;
  const orders = ordersOf(sweep.tiles.length);
  if (orders === undefined) return undefined;
  const runs = orders.map(({ tiles, parts }) => {
    const own: SizedSweep = { ...sweep, tiles: tiles.map((tile) => sweep.tiles.at(tile)!), parts };
    return share.run(planOf(staged, share.model, [own]));
  });
  return { runs, parts: Math.max(...orders[0]!.parts) + 1 };
}

function shareOf(
  tasks: readonly SweptTask[],
  spans: readonly Span[],
  units: number,
  rules: PhaseRules,
): Share | undefined {
  const stretches: Stretch[] = [];
  for (const span of spans) {
    // Small values inside the phase may be made anew for every part.
    const isShared = (b: number): boolean => rules.phaseRoleOf(b) === 'inner' && !rules.isLarge(b);
    const hull = tileOn(tasks, span, units, rules.pitches, isShared);
    if (hull === undefined) return undefined;
    stretches.push({ tasks: onPart(tasks, span, units), hull });
  }
  return new Share(
    tasks.map(({ task }) => task),
    stretches,
    rules,
  );
}

/** A device's part of tasks that are cut: a stage for each stretch. */
class Share {
  readonly model: MemoryModel;
  readonly #rules: PhaseRules;
  readonly #stretches: readonly Stretch[];
  readonly #touched: readonly number[];
  /** Buffers of which the device has windows; the others it has whole, or not at all. */
  readonly #windowed = new Set<number>();
  /** Of what is kept on the device, the bytes that are there. */
  readonly #kept = new Map<number, Span>();

  constructor(tasks: readonly Task[], stretches: readonly Stretch[], rules: PhaseRules) {
    this.model = memoryModelOf(rules);
    this.#rules = rules;
    this.#stretches = stretches;
    // A loop says where its states lie.
    this.#touched = touchedBy(tasks).filter((b) => rules.buffers[b]!.role !== 'state');
    for (const buffer of this.#touched) {
      const windows = stretches.flatMap(({ hull }) => hull.windows.get(buffer) ?? []);
      const role = rules.phaseRoleOf(buffer);
      const isWindowed =
        role === 'input'
          ? rules.isLarge(buffer) || this.#isHere(buffer)
          : role !== 'inner' || (windows.length > 0 && !this.#isMadeWhole(buffer));
      if (isWindowed) this.#windowed.add(buffer);
      if (role !== 'kept') continue;
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
    const role = this.#rules.phaseRoleOf(buffer);
    if (role === 'kept') return true;
    if (role !== 'input') return false;
    const pieces = this.#rules.piecesOf(buffer);
    const window = hull.windows.get(buffer);
    if (pieces.length === 0) return false;
    return window === undefined || contains(pieceOn(pieces, this.#rules.device), window);
  }

  staged(): Staged {
    const buffers = buffersOf(this.#rules, this.#touched, (b) => {
      if (!this.#windowed.has(b)) return {};
      const part = this.#kept.get(b);
      return { windowed: true, ...(part === undefined ? {} : { part }) };
    });
    const stages = this.#stretches.map((stretch): Stage => {
      const inPlace = this.#touched
        .filter((b) => this.#windowed.has(b) && this.#isInPlace(b, stretch))
        .map((buffer) => ({ buffer, direction: this.#directionOf(buffer) }));
      const sizer = sweepSizer(stretch.tasks, this.#slotRules(stretch));
      const size: Sizer = function* (room) {
        const found = yield* sizer(room);
        return 'needed' in found ? found : { ...found, inPlace };
      };
      return { uses: this.#touched, size };
    });
    return { buffers, stages, outputKeys: [] };
  }

  run(plan: DevicePlan): PlannedRun {
    return runOf(plan, this.#kept);
  }

  #slotRules(stretch: Stretch): SlotRules {
    const { sweeps, byteLengthOf, pitches } = this.#rules;
    const bytesIn = ({ width, rows }: Window): number => width * rows;
    // A buffer of which every part of the stretch needs all comes once, however many tiles there are.
    const half = tileOf(stretch.tasks, 0, 2, { isWindowed: () => true, pitches });
    const isShared = (buffer: number, whole: Window): boolean => {
      const window = half?.windows.get(buffer);
      return window !== undefined && window.first === whole.first && bytesIn(window) === bytesIn(whole);
    };
    return {
      ...sweeps,
      pitches,
      isWindowed: (buffer) => this.#windowed.has(buffer) && !this.#isInPlace(buffer, stretch),
      // The stretch's share of it, from which the number of tiles follows.
      byteLengthOf: (buffer) => {
        const window = stretch.hull.windows.get(buffer);
        if (window === undefined) return byteLengthOf(buffer);
        return isShared(buffer, window) ? 0 : bytesIn(window);
      },
      directionOf: (buffer) => this.#directionOf(buffer),
    };
  }

  #directionOf(buffer: number): 'in' | 'out' | 'local' {
    const role = this.#rules.phaseRoleOf(buffer);
    return role === 'input' ? 'in' : role === 'inner' ? 'local' : 'out';
  }
}

/** Bytes that a device holds in a phase: values that stay there have blocks of their own. */
const memoryModelOf = ({
  model: { heldBytes, blockBytes },
  phaseRoleOf,
}: Pick<PhaseRules, 'model' | 'phaseRoleOf'>): MemoryModel => ({
  heldBytes,
  blockBytes,
  hasOwnBlock: ({ source }) => source >= 0 && phaseRoleOf(source) === 'kept',
});

const ROLES = { input: 'input', kept: 'output', hosted: 'output', inner: 'temporary' } as const;

/** The buffers of a run, each by its number in the job: that is its source here. */
function buffersOf(
  { buffers, phaseRoleOf }: PhaseRules,
  touched: readonly number[],
  more: (buffer: number) => Partial<StagedBuffer>,
): StagedBuffer[] {
  const isTouched = new Set(touched);
  const roleOf = (b: number): PlanBuffer['role'] => {
    const { role } = buffers[b]!;
    return role === 'state' ? role : isTouched.has(b) ? ROLES[phaseRoleOf(b)] : 'temporary';
  };
  return buffers.map(({ key, byteLength }, b) => {
    const role = roleOf(b);
    const own = { ...ownBuffer(key, byteLength, role), source: b };
    return role === 'input' || role === 'output' || role === 'temporary' ? { ...own, ...more(b) } : own;
  });
}

function runOf(plan: DevicePlan, kept: ReadonlyMap<number, Span>): PlannedRun {
  const outputs = plan.buffers.flatMap(({ role }, b) => (role === 'output' ? [b] : []));
  return { plan, inputs: plan.inputs, outputs, kept };
}

/** Tasks that run as a whole, one after the other, on one device. */
export function* planWholeTasks(tasks: readonly Task[], rules: PhaseRules): Slices<PlannedRun | NoFit> {
  const { byteLengthOf, phaseRoleOf, piecesOf, device } = rules;
  const touched = touchedBy(tasks);
  yield;
  const buffers = buffersOf(rules, touched, (b) => ({
    isStored: phaseRoleOf(b) === 'input' && isWholeOn(piecesOf(b), device, byteLengthOf(b)),
  }));
  yield;
  const stages = tasks.map((task) => ({ uses: buffersOfTask(task), steps: [task.step] }));
  yield;
  const found = yield* planWithinInSlices(
    { buffers, stages, outputKeys: [] },
    memoryModelOf(rules),
    rules.room,
    tasks[0]!.step,
  );
  yield;
  const plan = 'needed' in found ? yield* planSwept(tasks, buffers, rules) : found.plan;
  if ('needed' in plan) return plan;
  const kept = touched.filter((b) => phaseRoleOf(b) === 'kept');
  return runOf(plan, new Map(kept.map((b) => [b, [0, byteLengthOf(b)]])));
}

/** Tasks that do not fit as a whole, on their device in place or in sweeps, as a job of one device would be. */
function* planSwept(
  tasks: readonly Task[],
  buffers: readonly StagedBuffer[],
  rules: PhaseRules,
): Slices<DevicePlan | NoFit> {
  const { model, sweeps, room, hostRoom, planners } = rules;
  // As they are now: later stages change them.
  const roles = buffers.map((_, b) => rules.phaseRoleOf(b));
  const phaseRoleOf = (b: number): PhaseRole => roles[b]!;
  const own = (): DeviceModel => ({
    ...model,
    ...memoryModelOf({ model, phaseRoleOf }),
    hostPeakOf: spilledBytes,
    copies: undefined,
    streams: undefined,
    sweeps: {
      ...sweeps,
      canWindow: ({ role, source }) => role !== 'output' || phaseRoleOf(source) === 'hosted',
    },
  });
  const stepList = { buffers, steps: tasks.map(({ step }) => step), outputKeys: [] };
  return yield* planners.of(stepList, roles.join(), own).plan(room, hostRoom);
}

/** Host memory that a device plan's values wait in. */
export const spilledBytes = ({ buffers }: Pick<DevicePlan, 'buffers'>): number =>
  buffers.reduce((sum, { role, byteLength }) => sum + (role === 'spill' ? hostBlockBytes(byteLength) : 0), 0);
