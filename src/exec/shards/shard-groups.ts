/**
 * The buffers of a job that are cut into shares, and its steps in groups that devices do together: steps that are shared, and
 * those that one device does as a whole, with the reason. Made by `sharding.ts`, which plans their phases.
 */
import { InternalError } from '../../host/errors.js';
import type { Slices } from '../../host/slices.js';
import type { LoopStep, PlanValue, WholeReason } from '../plan/plan.js';
import { usesOf } from '../plan/stages.js';
import { ownBuffer, type UnplacedBuffer } from '../plan/step-list.js';
import { splitLoads } from '../tiles/sweep-aliases.js';
import type { Task } from '../tiles/sweep-cuts.js';
import { type GroupRules, groupTasks, type StepGroup } from '../tiles/sweep-groups.js';
import { formsOf, wholeTask } from '../tiles/sweep-tasks.js';
import { loopsOf, type OpenStepList, statesOf } from './open-loops.js';
import { type Job, LEAST_CUT_BYTES, largestShareOf, liesIn } from './shard-job.js';
import { givenPieces, type PlacedGroup, shareableForms } from './shard-stages.js';
import { isShareableLoop } from './shared-loops.js';
import {
  type Form,
  type Lies,
  MOST_OF_WHOLE,
  type Shareable,
  type SharedWork,
  sharedWork,
} from './shared-work.js';

/** Buffers that must not be cut, and steps of which no buffer is cut that must not be shared. */
export interface Uncut {
  readonly uncut: readonly number[];
  readonly whole: readonly number[];
}

export class ShardGroups {
  /** Those of the step list, then aliases of inputs and scratch memory. */
  readonly buffers: UnplacedBuffer[];
  /** Buffers that must not be cut. */
  readonly uncut: ReadonlySet<number>;
  /** Small values that wait in host memory, since any device may have made a part of them. */
  readonly hosted = new Set<number>();
  readonly #stepList: OpenStepList;
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
  /** Of states of loops that are kept, the values that they are a part of. */
  readonly #wholes = new Map<number, number>();
  /** States of loops in memory of others, that rounds made. */
  readonly #handedOn = new Set<number>();
  /** Scratch memory of kernels. */
  readonly #scratch: ReadonlySet<number>;

  constructor(stepList: OpenStepList, job: Job, uncut: ReadonlySet<number>, whole: ReadonlySet<number>) {
    this.#stepList = stepList;
    this.#job = job;
    this.uncut = uncut;
    this.#whole = whole;
    this.buffers = [...stepList.buffers];
    this.#scratch = new Set(stepList.steps.flatMap((step) => (step.kind === 'kernel' ? step.scratch : [])));
    for (const { condition, states } of loopsOf(stepList.parts)) {
      for (const [k, { initial, first, current, next, frame, kept }] of states.entries()) {
        this.#handedOn.add(current);
        if (frame >= 0) this.#wholes.set(frame, kept);
        // JavaScript reads the conditions of loops.
        if (k === condition) for (const buffer of [initial, first, current, next]) this.hosted.add(buffer);
      }
    }
  }

  /** The step of the step list that a task is of. */
  stepOf(task: Task): number {
    return this.#stepOf.get(task)!;
  }

  /** Whether a buffer is cut. */
  isLarge(buffer: number): boolean {
    return this.#cut.has(buffer);
  }

  *#chooseShared(): Slices<void> {
    const { costs, cutsAll, sweeps } = this.#job;
    const steps: Shareable[] = [];
    for (const step of this.#stepList.steps) {
      const all = formsOf(step, sweeps.worksOf, (bytes) => this.#addScratch(bytes));
      steps.push({ step, forms: this.#shareable(all) });
      yield;
    }
    this.#isShareable = steps.map(({ forms }) => forms.length > 0);
    const share = largestShareOf(this.#job.devices);
    const liesAt = (b: number): Lies => liesIn(this.buffers[b]!, this.#job);
    const states = statesOf(this.#stepList);
    const { cut, forms } = yield* sharedWork(steps, { costs, share, buffers: this.buffers, liesAt, states });
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
    return shareableForms(forms, {
      byteLengthOf: (b) => this.buffers[b]!.byteLength,
      isOnHost: (b) => this.isOnHost(b),
    });
  }

  /** Chooses the buffers that are cut; then the steps in groups, each of steps that are the same part of a loop. */
  *group(): Slices<readonly PlacedGroup[] | Uncut> {
    yield* this.#chooseShared();
    const { parts } = this.#stepList;
    const forms: Form[][] = [];
    for (const at of this.#stepList.steps.keys()) {
      forms.push(this.#formsFor(at));
      yield;
    }
    const groups: PlacedGroup[] = [];
    for (let from = 0; from < forms.length; ) {
      const part = parts[from];
      let to = from + 1;
      while (to < forms.length && parts[to] === part) to++;
      const own = forms.slice(from, to);
      const found = yield* groupTasks(own, this.#groupRules(own));
      if ('why' in found) return this.without(found.task);
      const shared = (group: StepGroup): StepGroup =>
        this.#shared.has(group.tasks[0]!) ? { ...group, runs: 'tiles' } : group;
      groups.push(...found.map((group) => ({ ...shared(group), part })));
      from = to;
    }
    return groups;
  }

  /** The forms of a step: the one that was chosen, or as a whole and those in which it can be shared. */
  #formsFor(at: number): Form[] {
    const step = this.#stepList.steps[at]!;
    const isWindowedInput = (b: number): boolean => this.#isWindowed(b) && this.buffers[b]!.role === 'input';
    const own = step.kind === 'kernel' ? splitLoads(step, isWindowedInput, (b) => this.#addAlias(b)) : step;
    const all = formsOf(own, this.#job.sweeps.worksOf, (bytes) => this.#addScratch(bytes));
    const shareable = this.#shareable(all);
    const chosen = this.#forms.get(at);
    const every = chosen === undefined ? [[wholeTask(own)], ...shareable] : [shareable[chosen]!];
    if (chosen !== undefined)
      for (const task of every[0]!) if (task.cut !== undefined) this.#shared.add(task);
    for (const task of every.flat()) this.#stepOf.set(task, at);
    return every;
  }

  #isWindowed(buffer: number): boolean {
    return this.isLarge(buffer) && !this.#scratch.has(buffer);
  }

  #groupRules(forms: readonly (readonly Form[])[]): GroupRules {
    const made = new Set(forms.flat(2).flatMap(({ writes }) => writes));
    return {
      isWindowed: (b) => this.#isWindowed(b),
      byteLengthOf: (b) => this.buffers[b]!.byteLength,
      isInput: (b) => this.buffers[b]!.role === 'input' || !made.has(b),
      isFetched: () => false,
      canSpill: true,
      keepsAll: true,
      mostOfWhole: MOST_OF_WHOLE,
      inBlocks: false,
    };
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

  /** Whether a value has no memory of its own, as a state that a round made before. */
  isHandedOn(buffer: number): boolean {
    return this.#handedOn.has(buffer);
  }

  locationOf(buffer: number): PlanValue['location'] {
    const whole = this.#wholes.get(buffer);
    if (whole !== undefined) return this.locationOf(whole);
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
    const loops = tasks.flatMap(({ step }) => (step.kind === 'loop' ? [step] : []));
    const isOpenable = (loop: LoopStep): boolean => isShareableLoop(loop, this.#stepList, this.#job);
    if (loops.length > 0 && loops.every(isOpenable)) return this.#job.whyWhole;
    const reasons = tasks.map((task): WholeReason => {
      if (task.step.kind === 'finish') return 'combine';
      const step = this.#stepOf.get(task)!;
      const isExcluded = [...task.reads, ...task.writes].some((b) => this.uncut.has(b));
      return this.#isShareable[step] && !isExcluded && !this.#whole.has(step) ? 'short' : 'uncut';
    });
    return (['uncut', 'short'] as const).find((reason) => reasons.includes(reason)) ?? 'combine';
  }
}
