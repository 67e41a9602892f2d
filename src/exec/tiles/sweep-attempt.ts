/**
 * Plans a job in windows of the buffers from a size on: groups its steps into sweeps, those of loops' bodies
 * among them. Each group is a stage that `plan-within.ts` sizes and places. Called by `sweeps.ts`, which
 * chooses that size.
 */
import type { Works } from '../../codegen/cuts/work.js';
import { InternalError } from '../../host/errors.js';
import { onceInSlices } from '../../host/once.js';
import type { Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import type { DeviceModel, SweepRules } from '../plan/device-model.js';
import { aligned } from '../plan/memory.js';
import { besideSlots, heldOutside, isInArena } from '../plan/place.js';
import type { LoopState, LoopStep, ProductPanels, Step, SweepWindows } from '../plan/plan.js';
import { type Fitted, planWithinInSlices } from '../plan/plan-within.js';
import { heldByLoop, type Stage, type Staged, type StagedBuffer } from '../plan/stages.js';
import { buffersOf } from '../plan/step-buffers.js';
import { copyKernel, ownBuffer, type StepList, type UnplacedBuffer } from '../plan/step-list.js';
import { workspacesOf } from '../plan/workspace.js';
import { withApartLoads } from './apart-loads.js';
import { indexWindowSizer } from './index-window-sizer.js';
import { holdsTaken, indexedBy, inIndexWindows } from './index-windows.js';
import { loopCut } from './loop-cuts.js';
import { bytesMoved, segmentsOf } from './loop-sweeps.js';
import { splitLoads } from './sweep-aliases.js';
import type { BytePitches, CutTask, Task } from './sweep-cuts.js';
import { groupTasks, type Refusal, type StepGroup } from './sweep-groups.js';
import { inputsToKeep } from './sweep-inputs.js';
import { SweepMemory } from './sweep-memory.js';
import { type NoFit, type Sizer, type SlotRules, sweepSizer } from './sweep-slots.js';
import { writeTables } from './sweep-tables.js';
import { formsOf, takingTask, wholeTask } from './sweep-tasks.js';
import type { SweptTask } from './sweep-windows.js';

/** Tiles that hold more than this of what is windowed save too little. */
const MOST_OF_WHOLE = 0.6;

/** A step list that is planned in sweeps, and what all choices for it share. */
export interface SweptJob {
  readonly stepList: StepList;
  readonly model: DeviceModel;
  readonly memory: SweepMemory;
  /** The scratch buffers of kernels: of which parts have windows, in tiles or where they wait, and the others. */
  readonly scratch: Readonly<Record<'whole' | 'partials', ReadonlySet<number>>>;
  /** The buffers that steps read or write. */
  readonly touched: ReadonlySet<number>;
}

/** Groups between pauses: each takes some 10 to 50 µs. */
const GROUPS_OF_SLICE = 16;

/** The choice of windowed buffers, and of how calls are cut. */
export interface Choice extends SweepRules {
  /** Bytes from which on buffers are windowed. */
  readonly threshold: number;
  readonly inBlocks: boolean;
  readonly panels: ProductPanels;
  /** Whether partial results of reductions are windowed, too. */
  readonly cutsPartials: boolean;
  /** Whether kernels take elements of windowed buffers in windows of indices. */
  readonly takesInWindows: boolean;
  /** Inputs of the size that are whole on the device all the same. */
  readonly kept?: ReadonlySet<number>;
}

/** A group of steps, and the loop that it is a part of the body of. */
type GroupInLoop = StepGroup & { readonly loop: LoopStep | undefined };

/** One choice, planned. */
export class Attempt {
  /** The same for choices of one step list that come to the same: buffers of some size may all be fixed. */
  readonly key: string;
  readonly #job: SweptJob;
  readonly #stepList: StepList;
  readonly #model: DeviceModel;
  readonly #rules: Choice;
  readonly #memory: SweepMemory;
  readonly #buffers: UnplacedBuffer[];
  readonly #windowed: boolean[];
  /** Scratch buffers of partial results that parts of a kernel's rows have windows of. */
  readonly #partials: ReadonlySet<number>;
  #groups: readonly GroupInLoop[] = [];
  readonly #groupOf = new Map<Task, number>();
  readonly #spilled = new Set<number>();
  readonly #grouped: () => Slices<Staged | NoFit | undefined>;

  constructor(job: SweptJob, rules: Choice) {
    const { stepList, model, memory, scratch } = job;
    this.#job = job;
    this.#stepList = stepList;
    this.#memory = memory;
    this.#model = model;
    this.#rules = rules;
    this.#buffers = [...stepList.buffers];
    const { whole, partials } = scratch;
    this.#partials = partials;
    const fixed = new Set(rules.cutsPartials ? whole : [...whole, ...partials]);
    if (stepList.workspace !== undefined) fixed.add(stepList.workspace);
    for (const buffer of rules.kept ?? []) fixed.add(buffer);
    this.#windowed = stepList.buffers.map(
      (buffer, k) => model.heldBytes(buffer) >= rules.threshold && rules.canWindow(buffer) && !fixed.has(k),
    );
    // Elements that are taken first are windowed from the same size on.
    const taken = rules.takesInWindows ? rules.threshold : '';
    this.key = `${rules.inBlocks} ${taken} ${this.#windowed.map(Number).join('')}`;
    this.#grouped = onceInSlices(() => this.#inGroups());
  }

  /** Whether panels other than wide ones may change how some product is cut: of a matrix and itself that has windows, of any. */
  changesPanels(): boolean {
    const isWindowed = (buffer: number): boolean => this.#windowed[buffer] === true;
    return this.#stepList.steps.some((step) => {
      if (step.kind !== 'call') return step.kind === 'loop';
      const { blocks } = callRow(step);
      if (this.#rules.panels === 'narrow') {
        const { reads, writes } = buffersOf(step);
        return blocks !== undefined && [...reads, ...writes].some(isWindowed);
      }
      const twice = blocks?.twice?.(step);
      return twice !== undefined && isWindowed(twice.buffer);
    });
  }

  /** Bytes that it holds at least, however steps are grouped: inputs and results as a whole, and the largest such value. */
  leastBytes(): number {
    let most = 0;
    const buffers = this.#stepList.buffers.map((buffer, k): StagedBuffer => {
      const staged = { ...buffer, ...(this.#windowed[k] ? { windowed: true } : {}) };
      if (isInArena(staged) && this.#job.touched.has(k)) most = Math.max(most, aligned(buffer.byteLength));
      return staged;
    });
    return heldOutside(buffers, this.#model) + most;
  }

  /** A plan within a budget. `undefined`: values would have to wait where none can. */
  *plan(budget: number): Slices<Fitted | NoFit | undefined> {
    const staged = yield* this.#grouped();
    if (staged === undefined || 'needed' in staged) return staged;
    return yield* planWithinInSlices(staged, this.#model, budget, this.#stepList.steps[0]!);
  }

  /**
   * A plan with inputs whole on the device that several sweeps of `tried` bring there in windows: where there is room
   * for them, and less is copied.
   */
  *withInputsKept(tried: Fitted, budget: number): Slices<Fitted | undefined> {
    const inputs = inputsToKeep(tried.plan, this.#buffers, this.#model, budget);
    if (inputs.length === 0) return undefined;
    const kept = new Set(inputs.map((input) => this.#stepList.buffers.indexOf(input)));
    const other = yield* new Attempt(this.#job, { ...this.#rules, kept }).plan(budget);
    if (other === undefined || 'needed' in other) return undefined;
    yield* writeTables([...tried.plan.steps, ...other.plan.steps]);
    const whole = inputs.reduce((sum, input) => sum + this.#model.heldBytes(input), 0);
    return bytesMoved(other.plan) + whole < bytesMoved(tried.plan) ? other : undefined;
  }

  /** The job in groups, whatever the budget. */
  *#inGroups(): Slices<Staged | NoFit | undefined> {
    const groups: GroupInLoop[] = [];
    for (const { loop, steps } of segmentsOf(this.#stepList.steps, (step) => this.#opens(step))) {
      if (loop !== undefined && !this.#canHold(loop)) return undefined;
      if (loop !== undefined) this.#windowStates(loop);
      const found = yield* this.#group(steps);
      if ('why' in found) return this.#refused(found);
      groups.push(...found.map((group) => ({ ...group, loop })));
    }
    this.#take(groups);
    // Where a later sweep computes again all that one makes, that one makes nothing.
    const kept: GroupInLoop[] = [];
    for (const [at, group] of groups.entries()) {
      if (at % GROUPS_OF_SLICE === 0) yield;
      if (group.runs !== 'tiles' || group.tasks.some((task) => this.#isKept(task, at))) kept.push(group);
    }
    this.#take(kept);
    const spillsAnyway = groups.some(({ loop }) => loop !== undefined) && this.#spilled.size > 0;
    if (spillsAnyway && !this.#rules.canSpill) return undefined;
    yield;
    const stages: Stage[] = [];
    for (let at = 0; at < this.#groups.length; at++) {
      if (at % GROUPS_OF_SLICE === 0) yield;
      stages.push(this.#stage(at));
    }
    return this.#staged(stages);
  }

  /** Whether the body of a loop is swept: it touches windowed buffers, and cannot be cut as a whole. */
  #opens(loop: LoopStep): boolean {
    const { reads, writes } = buffersOf(loop);
    const isTouched = [...reads, ...writes].some((buffer) => this.#windowed[buffer]);
    return isTouched && loopCut(loop, this.#rules.worksOf) === undefined;
  }

  /** Whether the states of a loop that are not on the device can lie elsewhere. */
  #canHold(loop: LoopStep): boolean {
    return loop.states.flatMap(buffersOfState).every((buffer) => {
      if (!this.#windowed[buffer]) return true;
      return this.#buffers[buffer]!.role === 'output' ? this.#rules.canReadBack : this.#rules.canSpill;
    });
  }

  /** A step of a loop has windows of states that may lie in host memory. */
  #windowStates(loop: LoopStep): void {
    for (const state of loop.states) {
      const isWindowed = [state.initial, state.last, state.other].some((buffer) => this.#windowed[buffer]);
      if (isWindowed) this.#windowed[state.current] = this.#windowed[state.next] = true;
    }
  }

  *#group(steps: readonly Step[]): Slices<readonly StepGroup[] | Refusal> {
    const isWindowed = (buffer: number): boolean => this.#windowed[buffer] === true;
    const { inBlocks } = this.#rules;
    const uncut = steps.find((s) => s.kind === 'call' && this.#memory.isUncut(s, isWindowed, inBlocks));
    if (uncut !== undefined) return { task: wholeTask(uncut), why: 'whole' };
    const forms: (readonly (readonly Task[])[])[] = [];
    for (const step of steps) {
      yield;
      for (const own of this.#parted(step))
        forms.push(...((yield* this.#taking(own)) ?? [this.#formsOf(own)]));
    }
    const made = new Set(forms.flat(2).flatMap(({ writes }) => writes));
    const found = yield* groupTasks(forms, {
      isWindowed,
      byteLengthOf: (buffer) => this.#buffers[buffer]!.byteLength,
      isInput: (buffer) => !made.has(buffer),
      isFetched: (buffer) => this.#buffers[buffer]!.isFetched === true,
      canSpill: this.#rules.canSpill,
      spillsAll: this.#rules.spillsAll,
      isApart: this.#rules.isApart,
      mostOfWhole: MOST_OF_WHOLE,
      inBlocks,
      memory: this.#memory,
    });
    if ('why' in found && found.why === 'whole' && found.task.step.kind === 'call')
      this.#memory.addUncut(found.task.step, isWindowed, inBlocks);
    return found;
  }

  /** A step as it reads a buffer in several places: through windows of their own, or in copies that are made first. */
  #parted(step: Step): readonly Step[] {
    if (step.kind === 'call') return this.#factorsApart(step);
    if (step.kind !== 'kernel') return [step];
    const isInput = (buffer: number): boolean => this.#buffers[buffer]!.role === 'input';
    const isWindowed = (buffer: number): boolean => this.#windowed[buffer] === true;
    const own = splitLoads(
      step,
      (buffer) => isWindowed(buffer) && isInput(buffer),
      (buffer) => this.#addAlias(buffer),
    );
    return withApartLoads(own, {
      isMade: (buffer) => isWindowed(buffer) && !isInput(buffer),
      takesMany: this.#rules.isApart === true,
      worksOf: this.#rules.worksOf,
      buffer: (bytes, largest) => this.#addTaken(bytes, largest),
    });
  }

  /** A call in blocks, two operands of which are one windowed buffer: an input has windows twice, another value a copy. */
  #factorsApart(step: CallStep): readonly Step[] {
    const { inBlocks, panels } = this.#rules;
    const twice = inBlocks && panels !== 'wide' ? callRow(step).blocks?.twice?.(step) : undefined;
    if (twice === undefined || this.#windowed[twice.buffer] !== true) return [step];
    const { role, byteLength } = this.#buffers[twice.buffer]!;
    if (role === 'input') return [twice.apart(this.#addAlias(twice.buffer))];
    if (!this.#rules.canSpill) return [step];
    const copy = this.#addTaken(byteLength, byteLength);
    const kernel = copyKernel('uint8', byteLength);
    const buffers = [twice.buffer, copy];
    return [{ kind: 'kernel', kernel, buffers, scratch: [], nodes: step.nodes }, twice.apart(copy)];
  }

  #formsOf(step: Step): readonly (readonly Task[])[] {
    const isWindowed = (buffer: number): boolean => this.#windowed[buffer] === true;
    return formsOf(step, this.#rules.worksOf, (bytes) => this.#addScratch(bytes), isWindowed);
  }

  /** The forms of the steps that take elements in windows of indices for one; `undefined`: it does not. */
  *#taking(step: Step): Slices<(readonly (readonly Task[])[])[] | undefined> {
    const isWindowed = (buffer: number): boolean => this.#windowed[buffer] === true;
    if (!this.#rules.takesInWindows || step.kind !== 'kernel') return undefined;
    if (!holdsTaken(step, isWindowed, this.#rules.worksOf)) return undefined;
    const parts = yield* inIndexWindows(step, isWindowed, (bytes, largest) => this.#addTaken(bytes, largest));
    if (parts === undefined) return undefined;
    const forms: (readonly (readonly Task[])[])[] = [];
    for (const part of parts) {
      yield;
      const task = part.takes ? takingTask(part.step, this.#rules.worksOf) : undefined;
      forms.push(task === undefined ? this.#formsOf(part.step) : [[task]]);
    }
    return forms;
  }

  #take(groups: readonly GroupInLoop[]): void {
    this.#groups = groups;
    this.#groupOf.clear();
    this.#spilled.clear();
    for (const [at, group] of groups.entries())
      for (const task of group.tasks) if (!this.#groupOf.has(task)) this.#groupOf.set(task, at);
    this.#findSpilled();
  }

  /** Another buffer for an input that is windowed. */
  #addAlias(buffer: number): number {
    this.#windowed.push(true);
    return this.#buffers.push(this.#buffers[buffer]!) - 1;
  }

  /** A buffer for elements that are taken before they are used; it is windowed where one of `largest` bytes would be. */
  #addTaken(bytes: number, largest: number): number {
    const name = `taken ${this.#buffers.length}`;
    const [buffer, like] = [ownBuffer(name, bytes), ownBuffer(name, largest)];
    this.#windowed.push(
      this.#model.heldBytes(like) >= this.#rules.threshold && this.#rules.canWindow(buffer),
    );
    return this.#buffers.push(buffer) - 1;
  }

  #addScratch(bytes: number): number {
    this.#windowed.push(false);
    return this.#buffers.push(ownBuffer(`partial ${this.#buffers.length}`, bytes)) - 1;
  }

  /** The need of a step that cannot be cut: all its buffers at once. */
  #refused({ task }: Refusal): NoFit {
    const touched = new Set([...task.reads, ...task.writes, ...workspacesOf(task.step)]);
    const needed = [...touched].reduce((sum, k) => sum + this.#model.heldBytes(this.#buffers[k]!), 0);
    const [held] = besideSlots(this.#staged([{ uses: [] }]), this.#model);
    return { needed: needed + held!, step: task.step, atOnce: 'step' };
  }

  /** Windowed values that a group after their own reads, and states of loops whose bodies are swept. */
  #findSpilled(): void {
    for (const { loop } of this.#groups)
      for (const buffer of loop === undefined ? [] : heldByLoop(loop))
        if (this.#windowed[buffer] && this.#buffers[buffer]!.role === 'temporary') this.#spilled.add(buffer);
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
    if (this.#groupOf.get(task) !== at) return false;
    if (!task.repeats) return true;
    return task.writes.some((buffer) => {
      if (this.#leaves(buffer)) return true;
      if (this.#windowed[buffer]) return false;
      // A loop begins with some values that no step of its body reads.
      return this.#groups.some(
        ({ tasks, loop }, k) =>
          (k !== at && tasks.some(({ reads }) => reads.includes(buffer))) ||
          (loop !== undefined && heldByLoop(loop).includes(buffer)),
      );
    });
  }

  /** Whether what a sweep makes is needed after it, outside of the device. */
  #leaves(buffer: number): boolean {
    return ['output', 'state'].includes(this.#buffers[buffer]!.role) || this.#spilled.has(buffer);
  }

  /** The job with its windowed buffers, which need no memory as a whole. */
  #staged(stages: readonly Stage[]): Staged {
    const buffers = this.#buffers.map(
      (buffer, k): StagedBuffer => ({
        ...buffer,
        role: this.#spilled.has(k) ? 'spill' : buffer.role,
        ...(this.#windowed[k] ? { windowed: true } : {}),
      }),
    );
    return { buffers, stages, outputKeys: this.#stepList.outputKeys };
  }

  #stage(at: number): Stage {
    const { tasks, runs, pitches, loop } = this.#groups[at]!;
    const uses = tasks.flatMap(({ reads, writes, step }) => [...reads, ...writes, ...workspacesOf(step)]);
    // Buffers of a loop live from its first group to its last.
    const stage = { uses: loop === undefined ? uses : [...heldByLoop(loop), ...uses], loop };
    if (runs === 'whole') return { ...stage, steps: tasks.map(({ step }) => step) };
    const rules = this.#slotRules(pitches);
    const swept = tasks.map((task): SweptTask => ({ task: task as CutTask, isKept: this.#isKept(task, at) }));
    const size = this.#memory.sizer(swept, runs, rules, () =>
      runs === 'blocks' ? blockSizer(swept[0]!, rules) : sweepSizer(swept, rules),
    );
    return { ...stage, size };
  }

  #slotRules(pitches: BytePitches): SlotRules {
    return {
      ...this.#rules,
      pitches,
      isWindowed: (buffer) => this.#windowed[buffer] === true,
      isPartial: (buffer) => this.#partials.has(buffer),
      byteLengthOf: (buffer) => this.#buffers[buffer]!.byteLength,
      directionOf: (buffer, tasks) => this.#directionOf(buffer, tasks),
    };
  }

  #directionOf(buffer: number, tasks: readonly SweptTask[]): SweepWindows['direction'] {
    const writer = tasks.find(({ task }) => task.writes.includes(buffer));
    if (writer === undefined) return 'in';
    return writer.isKept && this.#leaves(buffer) ? 'out' : 'local';
  }
}

/** Looks through a step list for what all choices share. */
export function* sweptJob(stepList: StepList, model: DeviceModel): Slices<SweptJob> {
  const { worksOf, canSpill, spillsAll } = model.sweeps!;
  const isCut = ({ rows, phases }: Works): boolean =>
    rows?.partials !== undefined || (canSpill && spillsAll === true && phases.some((phase) => phase.rows));
  const [whole, partials, touched] = [new Set<number>(), new Set<number>(), new Set<number>()];
  const visit = function* (step: Step): Slices<void> {
    yield;
    const { reads, writes } = buffersOf(step);
    for (const buffer of [...reads, ...writes]) touched.add(buffer);
    if (step.kind === 'loop') for (const part of step.body) yield* visit(part);
    if (step.kind !== 'kernel' || step.scratch.length === 0) return;
    const kind = isCut(worksOf(step.kernel)) ? partials : whole;
    for (const buffer of step.scratch) kind.add(buffer);
  };
  for (const step of stepList.steps) yield* visit(step);
  return { stepList, model, memory: new SweepMemory(), scratch: { whole, partials }, touched };
}

/** Where a state lies between the steps of a loop. */
const buffersOfState = ({ last, other }: LoopState): number[] => (other < 0 ? [last] : [last, other]);

/** A call in blocks of its result, or a kernel in windows of what it takes. */
function blockSizer(swept: SweptTask, rules: SlotRules): Sizer {
  const { step, takesInWindows } = swept.task;
  if (step.kind === 'kernel' && takesInWindows === true)
    return indexWindowSizer(swept, step, indexedBy(step), rules);
  const blocks = step.kind === 'call' ? callRow(step).blocks : undefined;
  if (step.kind !== 'call' || blocks === undefined) throw new InternalError(`${step.kind} in blocks`);
  return blocks.sizer(swept, step, rules);
}
