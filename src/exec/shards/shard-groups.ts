/**
 * The buffers of a job that are cut into shares, and its steps in groups that devices do together: steps that are shared, and
 * those that one device does as a whole, with the reason. Made by `sharding.ts`, which plans their phases.
 */
import type { SourceArray } from '../../fusion/passes/source-array.js';
import { InternalError } from '../../host/errors.js';
import type { CostModel, DeviceModel, SweepRules } from '../plan/device-model.js';
import type { PlanValue, WholeReason } from '../plan/plan.js';
import type { Destination } from '../plan/plan-graph.js';
import { usesOf } from '../plan/stages.js';
import { ownBuffer, type StepList, type UnplacedBuffer } from '../plan/step-list.js';
import { splitLoads } from '../tiles/sweep-aliases.js';
import type { Task } from '../tiles/sweep-cuts.js';
import { groupTasks, type StepGroup } from '../tiles/sweep-groups.js';
import { formsOf, wholeTask } from '../tiles/sweep-tasks.js';
import type { ShardDevice } from './shard-device.js';
import { asSharded, finishesWhatItWrites, givenPieces } from './shard-stages.js';
import {
  type Form,
  type Lies,
  MOST_OF_WHOLE,
  type Shareable,
  type SharedWork,
  sharedWork,
} from './shared-work.js';

/** Where memory is short, buffers of so many bytes are cut, however little is done with them. */
const LEAST_CUT_BYTES = 512 * 1024;

export interface Job {
  readonly sources: readonly SourceArray[];
  readonly model: DeviceModel;
  readonly sweeps: SweepRules;
  readonly costs: CostModel;
  readonly devices: readonly ShardDevice[];
  readonly destination: Destination;
  readonly hostBudget: number;
  /** Whether all large buffers are cut, or those alone with which several devices are sooner done than one. */
  readonly cutsAll: boolean;
  /** Whether large values wait in host memory between phases. */
  readonly spills: boolean;
}

/** Buffers that must not be cut, and steps of which no buffer is cut that must not be shared. */
export interface Uncut {
  readonly uncut: readonly number[];
  readonly whole: readonly number[];
}

/** The part of the work of each device; the sum is 1. */
export function weightsOf(devices: readonly ShardDevice[]): number[] {
  const total = devices.reduce((sum, { weight }) => sum + weight, 0);
  return devices.map(({ weight }) => weight / total);
}

export class ShardGroups {
  /** Those of the step list, then aliases of inputs and scratch memory. */
  readonly buffers: UnplacedBuffer[];
  /** Buffers that must not be cut. */
  readonly uncut: ReadonlySet<number>;
  /** Small values that wait in host memory, since any device may have made a part of them. */
  readonly hosted = new Set<number>();
  readonly #stepList: StepList;
  readonly #job: Job;
  readonly #whole: ReadonlySet<number>;
  /** Buffers that are cut, with their aliases. */
  readonly #cut = new Set<number>();
  /** Steps that are shared although no buffer of theirs is cut, by position: which of their forms. */
  #forms: SharedWork['forms'] = new Map();
  readonly #shared = new Set<Task>();
  /** Whether there are forms in which it can be shared, of each step. */
  #isShareable: readonly boolean[] = [];
  readonly #stepOf = new Map<Task, number>();

  constructor(stepList: StepList, job: Job, uncut: ReadonlySet<number>, whole: ReadonlySet<number>) {
    this.#stepList = stepList;
    this.#job = job;
    this.uncut = uncut;
    this.#whole = whole;
    this.buffers = [...stepList.buffers];
    this.#chooseShared();
  }

  /** The step of the step list that a task is of. */
  stepOf(task: Task): number {
    return this.#stepOf.get(task)!;
  }

  /** Whether a buffer is cut. */
  isLarge(buffer: number): boolean {
    return this.#cut.has(buffer);
  }

  #chooseShared(): void {
    const { costs, cutsAll, sweeps, sources, destination } = this.#job;
    const steps = this.#stepList.steps.map((step) => {
      const all = formsOf(step, sweeps.worksOf, (bytes) => this.#addScratch(bytes));
      return { step, forms: this.#shareable(all) };
    });
    this.#isShareable = steps.map(({ forms }) => forms.length > 0);
    const liesAt = (b: number): Lies => {
      const buffer = this.buffers[b]!;
      if (buffer.role === 'output') return destination === 'device' ? 'device' : 'host';
      const pieces = buffer.role === 'input' ? givenPieces(buffer, sources).length : 1;
      return pieces === 0 ? 'host' : pieces === 1 ? 'device' : 'shares';
    };
    const share = Math.max(...weightsOf(this.#job.devices));
    const { cut, forms } = sharedWork(steps, { costs, share, buffers: this.buffers, liesAt });
    for (const b of cut) this.#cut.add(b);
    if (cutsAll)
      for (const [b, { byteLength }] of this.#stepList.buffers.entries())
        if (byteLength >= LEAST_CUT_BYTES) this.#cut.add(b);
    for (const b of this.uncut) this.#cut.delete(b);
    const touchesCut = ({ step }: Shareable): boolean => usesOf(step).some((b) => this.#cut.has(b));
    this.#forms = new Map([...forms].filter(([at]) => !touchesCut(steps[at]!) && !this.#whole.has(at)));
  }

  /** The forms of a step whose parts finish what they write, as devices share them. */
  #shareable(forms: readonly Form[]): Form[] {
    const rules = {
      byteLengthOf: (b: number) => this.buffers[b]!.byteLength,
      isOnHost: (b: number) => this.isOnHost(b),
    };
    return forms
      .map((form) => form.map((task) => asSharded(task, rules)))
      .filter((form) => form.some(({ cut }) => cut !== undefined && cut.units > 1))
      .filter((form) => form.every(finishesWhatItWrites));
  }

  group(): readonly StepGroup[] | Uncut {
    const scratch = new Set(
      this.#stepList.steps.flatMap((step) => (step.kind === 'kernel' ? step.scratch : [])),
    );
    const isWindowed = (b: number): boolean => this.isLarge(b) && !scratch.has(b);
    const isWindowedInput = (b: number): boolean => isWindowed(b) && this.buffers[b]!.role === 'input';
    const forms = this.#stepList.steps.map((step, at) => {
      const own = step.kind === 'kernel' ? splitLoads(step, isWindowedInput, (b) => this.#addAlias(b)) : step;
      const all = formsOf(own, this.#job.sweeps.worksOf, (bytes) => this.#addScratch(bytes));
      const shareable = this.#shareable(all);
      const chosen = this.#forms.get(at);
      const every = chosen === undefined ? [[wholeTask(own)], ...shareable] : [shareable[chosen]!];
      if (chosen !== undefined)
        for (const task of every[0]!) if (task.cut !== undefined) this.#shared.add(task);
      for (const task of every.flat()) this.#stepOf.set(task, at);
      return every;
    });
    const groups = groupTasks(forms, {
      isWindowed,
      byteLengthOf: (b) => this.buffers[b]!.byteLength,
      isInput: (b) => this.buffers[b]!.role === 'input',
      isFetched: () => false,
      canSpill: true,
      keepsAll: true,
      mostOfWhole: MOST_OF_WHOLE,
      inBlocks: false,
    });
    if ('why' in groups) return this.without(groups.task);
    return groups.map((group) => (this.#shared.has(group.tasks[0]!) ? { ...group, runs: 'tiles' } : group));
  }

  /** The large buffers that a task touches, which are not to be cut. */
  without(task: Task): Uncut {
    if (this.#shared.has(task)) return { uncut: [], whole: [this.#stepOf.get(task)!] };
    const { reads, writes } = task;
    const uncut = [...reads, ...writes].filter((b) => this.isLarge(b));
    if (uncut.length === 0) throw new InternalError('[shard] a task that is neither cut nor whole');
    // Aliases are numbered anew each time: their originals are what is excluded.
    const originals = uncut.map((b) => this.#stepList.buffers.indexOf(this.buffers[b]!));
    return { uncut: originals.filter((b) => b >= 0), whole: [] };
  }

  isOnHost(buffer: number): boolean {
    const own = this.buffers[buffer]!;
    return own.role === 'input'
      ? givenPieces(own, this.#job.sources).length === 0
      : this.locationOf(buffer) === 'host';
  }

  /** Another buffer for an input that is windowed. */
  #addAlias(buffer: number): number {
    const alias = this.buffers.push(this.buffers[buffer]!) - 1;
    if (this.#cut.has(buffer)) this.#cut.add(alias);
    return alias;
  }

  #addScratch(bytes: number): number {
    return this.buffers.push(ownBuffer(`partial ${this.buffers.length}`, bytes)) - 1;
  }

  locationOf(buffer: number): PlanValue['location'] {
    const { role } = this.buffers[buffer]!;
    if (role === 'output') return this.#job.destination === 'device' ? 'devices' : 'host';
    if (this.hosted.has(buffer)) return 'host';
    return this.spills(buffer) ? 'host' : 'devices';
  }

  /** Whether a value waits in host memory between phases, for want of room on devices. */
  spills(buffer: number): boolean {
    const { role, byteLength } = this.buffers[buffer]!;
    return this.#job.spills && role === 'temporary' && byteLength >= LEAST_CUT_BYTES;
  }

  /** Why one device does tasks: of several reasons the one that a user can do most about. */
  reasonOf(tasks: readonly Task[]): WholeReason {
    const reasons = tasks.map((task): WholeReason => {
      if (task.step.kind === 'finish') return 'combine';
      const step = this.#stepOf.get(task)!;
      const isExcluded = [...task.reads, ...task.writes].some((b) => this.uncut.has(b));
      return this.#isShareable[step] && !isExcluded && !this.#whole.has(step) ? 'short' : 'uncut';
    });
    return (['uncut', 'short'] as const).find((reason) => reasons.includes(reason)) ?? 'combine';
  }
}
