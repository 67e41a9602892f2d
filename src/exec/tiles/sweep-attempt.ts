/**
 * Plans a job in windows of the buffers from a size on: groups its steps into sweeps, those of loops' bodies
 * among them, sizes the sweeps for what room there is, and places everything in the arena. Called by
 * `sweeps.ts`, which chooses that size.
 */
import { InternalError } from '../../host/errors.js';
import { callRow } from '../calls/table.js';
import { type DeviceNeeds, peakOf, type SweepRules, withHostPeak } from '../plan/device-needs.js';
import type { Draft, DraftBuffer } from '../plan/draft.js';
import { aligned, placeInArena } from '../plan/memory.js';
import type { LoopState, LoopStep, Plan, PlanBuffer, Step, SweepWindows } from '../plan/plan.js';
import { buffersOf } from '../plan/step-buffers.js';
import { workspacesOf } from '../plan/workspace.js';
import { loopCut } from './loop-cuts.js';
import { heldByLoop, segmentsOf } from './loop-sweeps.js';
import { splitLoads } from './sweep-aliases.js';
import type { BytePitches, CutTask, Task } from './sweep-cuts.js';
import { type Group, groupTasks, type Refusal } from './sweep-groups.js';
import { blockOf, type NoFit, type SizedSweep, type SlotRules, sizeSweep } from './sweep-slots.js';
import { sweepStep } from './sweep-tables.js';
import { formsOf } from './sweep-tasks.js';
import type { SweptTask } from './sweep-windows.js';

/** Times that sweeps are sized, for less room each time, where what they leave does not fit after all. */
const AIMS = 8;
/** Tiles that hold more than this of what is windowed save too little. */
const MOST_OF_WHOLE = 0.6;

/** What is windowed, and how products are cut. */
export interface Choice extends SweepRules {
  /** Bytes from which on buffers are windowed. */
  readonly threshold: number;
  readonly inBlocks: boolean;
}

/** A group of steps, and the loop that it is a part of the body of. */
type PlacedGroup = Group & { readonly loop: LoopStep | undefined };

/** One choice, planned. */
export class Attempt {
  readonly #draft: Draft;
  readonly #budget: number;
  readonly #needs: DeviceNeeds;
  readonly #rules: Choice;
  readonly #buffers: DraftBuffer[];
  readonly #windowed: boolean[];
  #groups: readonly PlacedGroup[] = [];
  readonly #home = new Map<Task, number>();
  readonly #spilled = new Set<number>();

  constructor(draft: Draft, budget: number, needs: DeviceNeeds, rules: Choice) {
    this.#draft = draft;
    this.#budget = budget;
    this.#needs = needs;
    this.#rules = rules;
    this.#buffers = [...draft.buffers];
    const scratch = new Set(draft.steps.flatMap((step) => (step.kind === 'kernel' ? step.scratch : [])));
    if (draft.workspace !== undefined) scratch.add(draft.workspace);
    this.#windowed = draft.buffers.map(
      (buffer, k) => needs.heldBytes(buffer) >= rules.threshold && rules.canWindow(buffer) && !scratch.has(k),
    );
  }

  /** `undefined`: values would have to wait where none can. */
  plan(): Plan | NoFit | undefined {
    const groups: PlacedGroup[] = [];
    for (const { loop, steps } of segmentsOf(this.#draft.steps, (step) => this.#opens(step))) {
      if (loop !== undefined && !this.#canHold(loop)) return undefined;
      if (loop !== undefined) this.#windowStates(loop);
      const found = this.#group(steps);
      if ('why' in found) return this.#refused(found);
      groups.push(...found.map((group) => ({ ...group, loop })));
    }
    this.#take(groups);
    // Where a later sweep computes again all that one makes, that one makes nothing.
    this.#take(
      groups.filter(({ tasks, runs }, at) => runs !== 'tiles' || tasks.some((t) => this.#isKept(t, at))),
    );
    const spillsAnyway = groups.some(({ loop }) => loop !== undefined) && this.#spilled.size > 0;
    if (spillsAnyway && !this.#rules.canSpill) return undefined;
    return this.#fitInto(this.#budget);
  }

  /** Whether the body of a loop is swept: it touches windowed buffers, and cannot be cut as a whole. */
  #opens(loop: LoopStep): boolean {
    const { reads, writes } = buffersOf(loop);
    const isTouched = [...reads, ...writes].some((buffer) => this.#windowed[buffer]);
    return isTouched && loopCut(loop, this.#rules.worksOf) === undefined;
  }

  /** Whether the states of a loop that are not on the device can lie elsewhere. */
  #canHold(loop: LoopStep): boolean {
    return loop.states.flatMap(placesOfState).every((buffer) => {
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

  #group(steps: readonly Step[]): readonly Group[] | Refusal {
    const isWindowedInput = (buffer: number): boolean =>
      this.#windowed[buffer] === true && this.#buffers[buffer]!.role === 'input';
    const forms = steps.map((step) => {
      const own =
        step.kind === 'kernel' ? splitLoads(step, isWindowedInput, (buffer) => this.#addAlias(buffer)) : step;
      return formsOf(own, this.#rules.worksOf, (bytes) => this.#addScratch(bytes));
    });
    const made = new Set(forms.flat(2).flatMap(({ writes }) => writes));
    return groupTasks(forms, {
      isWindowed: (buffer) => this.#windowed[buffer] === true,
      byteLengthOf: (buffer) => this.#buffers[buffer]!.byteLength,
      isInput: (buffer) => !made.has(buffer),
      isFetched: (buffer) => this.#buffers[buffer]!.isFetched === true,
      canSpill: this.#rules.canSpill,
      mostOfWhole: MOST_OF_WHOLE,
      inBlocks: this.#rules.inBlocks,
    });
  }

  #take(groups: readonly PlacedGroup[]): void {
    this.#groups = groups;
    this.#home.clear();
    this.#spilled.clear();
    for (const [at, group] of groups.entries())
      for (const task of group.tasks) if (!this.#home.has(task)) this.#home.set(task, at);
    this.#findSpilled();
  }

  /** Another buffer for an input that is windowed. */
  #addAlias(buffer: number): number {
    this.#windowed.push(true);
    return this.#buffers.push(this.#buffers[buffer]!) - 1;
  }

  #addScratch(bytes: number): number {
    this.#windowed.push(false);
    const key = `partial ${this.#buffers.length}`;
    const own = { role: 'temporary', source: -1, isStored: false, isRead: false } as const;
    return this.#buffers.push({ ...own, key, byteLength: bytes }) - 1;
  }

  /** What a step needs that cannot be cut: all its buffers at once. */
  #refused({ task }: Refusal): NoFit {
    const touched = new Set([...task.reads, ...task.writes, ...this.#workspaceOf(task)]);
    const needed = [...touched].reduce((sum, k) => sum + this.#needs.heldBytes(this.#buffers[k]!), 0);
    return { needed: needed + this.#heldWhole(), step: task.step, atOnce: 'step' };
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
    if (this.#home.get(task) !== at) return false;
    if (!task.repeats) return true;
    return task.writes.some((buffer) => {
      if (this.#leaves(buffer)) return true;
      if (this.#windowed[buffer]) return false;
      return this.#groups.some(
        (group, k) => k !== at && group.tasks.some(({ reads }) => reads.includes(buffer)),
      );
    });
  }

  /** Whether what a sweep makes is needed after it, outside of the device. */
  #leaves(buffer: number): boolean {
    return ['output', 'state'].includes(this.#buffers[buffer]!.role) || this.#spilled.has(buffer);
  }

  /** What lives at the same time may take more than its bytes: then sweeps are sized for less. */
  #fitInto(budget: number): Plan | NoFit {
    const first = this.#fit(budget);
    if ('needed' in first || first.peakBytes <= budget) return first;
    // Bytes to leave free: more than the one, less than the other.
    let [more, less] = [0, Number.POSITIVE_INFINITY];
    for (let k = 0; k < AIMS; k++) {
      const free =
        less === Number.POSITIVE_INFINITY ? Math.max(2 * more, first.peakBytes - budget) : (more + less) / 2;
      const found = this.#fit(budget - free);
      if ('needed' in found) less = free;
      else if (found.peakBytes <= budget) return found;
      else more = free;
    }
    return { needed: first.peakBytes, step: this.#draft.steps[0]! };
  }

  #fit(budget: number): Plan | NoFit {
    const live = this.#liveBytes();
    const sized: (SizedSweep | undefined)[] = [];
    for (const [at, { tasks, runs, pitches }] of this.#groups.entries()) {
      if (runs === 'whole') {
        sized.push(undefined);
        continue;
      }
      const room = budget - live[at]!;
      const rules = this.#slotRules(pitches);
      const swept = tasks.map(
        (task): SweptTask => ({ task: task as CutTask, isKept: this.#isKept(task, at) }),
      );
      const found = runs === 'blocks' ? sizeBlocks(swept[0]!, room, rules) : sizeSweep(swept, room, rules);
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

  /** Inputs and outputs that are whole on the device. */
  #heldWhole(): number {
    return this.#whole().reduce((sum, buffer) => sum + aligned(this.#needs.heldBytes(buffer)), 0);
  }

  #whole(): DraftBuffer[] {
    return this.#buffers.filter((buffer, k) => buffer.role !== 'temporary' && !this.#windowed[k]);
  }

  #workspaceOf({ step }: Task): number[] {
    return workspacesOf(step);
  }

  #inArena(buffer: number): boolean {
    return this.#buffers[buffer]!.role === 'temporary' && !this.#windowed[buffer];
  }

  #lifetimes(): { first: Map<number, number>; last: Map<number, number> } {
    const first = new Map<number, number>();
    const last = new Map<number, number>();
    const use = (buffer: number, at: number): void => {
      if (!first.has(buffer)) first.set(buffer, at);
      last.set(buffer, at);
    };
    for (const [at, group] of this.#groups.entries()) {
      // What a loop holds lives from its first group to its last.
      for (const buffer of group.loop === undefined ? [] : heldByLoop(group.loop)) use(buffer, at);
      for (const task of group.tasks)
        for (const buffer of [...task.reads, ...task.writes, ...this.#workspaceOf(task)]) use(buffer, at);
    }
    return { first, last };
  }

  #slotRules(pitches: BytePitches): SlotRules {
    return {
      ...this.#rules,
      pitches,
      isWindowed: (buffer) => this.#windowed[buffer] === true,
      byteLengthOf: (buffer) => this.#buffers[buffer]!.byteLength,
      directionOf: (buffer, tasks) => this.#directionOf(buffer, tasks),
    };
  }

  #directionOf(buffer: number, tasks: readonly SweptTask[]): SweepWindows['direction'] {
    const writer = tasks.find(({ task }) => task.writes.includes(buffer));
    if (writer === undefined) return 'in';
    return writer.isKept && this.#leaves(buffer) ? 'out' : 'local';
  }

  /** Places everything in the arena and writes the steps. */
  #place(sized: readonly (SizedSweep | undefined)[]): Plan {
    const starts = startsOf(this.#groups);
    const { first, last } = this.#lifetimes();
    const whole = [...first.keys()].filter((buffer) => this.#inArena(buffer));
    const slots = sized.flatMap((sweep, at) =>
      sweep === undefined ? [] : sweep.slots.map((block) => ({ ...block, at })),
    );
    const arena = placeInArena([
      ...whole.map((k) => ({
        byteLength: this.#buffers[k]!.byteLength,
        first: starts[first.get(k)!]!,
        last: starts[last.get(k)! + 1]! - 1,
      })),
      ...slots.map((block) => blockOf(block, starts[block.at]!)),
    ]);
    const offsets = new Map(whole.map((k, at) => [k, arena.offsets[at]!]));
    const placed = slots.map((block, k) => ({ ...block, offset: arena.offsets[whole.length + k]! }));
    const stepsAt = (at: number): Step[] => {
      const sweep = sized[at];
      if (sweep === undefined) return this.#groups[at]!.tasks.map(({ step }) => step);
      const blocks = placed.filter((block) => block.at === at);
      return [sweepStep(sweep, blocks)];
    };
    const steps: Step[] = [];
    for (let at = 0, end = 0; at < this.#groups.length; at = end) {
      const { loop } = this.#groups[at]!;
      for (end = at + 1; loop !== undefined && this.#groups[end]?.loop === loop; ) end++;
      const own = Array.from({ length: end - at }, (_, k) => stepsAt(at + k)).flat();
      steps.push(...(loop === undefined ? own : [{ ...loop, body: own }]));
    }
    return withHostPeak(this.#needs, {
      buffers: this.#buffers.map((buffer, k) =>
        // Scratch memory of a form that was not chosen is not needed.
        this.#planBuffer(
          first.has(k) || buffer.role !== 'temporary' ? buffer : { ...buffer, byteLength: 0 },
          k,
          offsets.get(k) ?? 0,
        ),
      ),
      steps,
      inputs: this.#buffers.filter(({ role }) => role === 'input').map(({ source }) => source),
      outputs: this.#outputs(),
      arenaByteLength: arena.byteLength,
      peakBytes: peakOf(this.#needs, arena.byteLength, this.#whole()),
    });
  }

  #planBuffer({ role, byteLength, key }: DraftBuffer, k: number, offset: number): PlanBuffer {
    const buffer = { role: this.#spilled.has(k) ? ('spill' as const) : role, byteLength, offset, label: key };
    return this.#windowed[k] ? { ...buffer, windowed: true } : buffer;
  }

  #outputs(): number[] {
    const keys = this.#buffers.filter(({ role }) => role === 'output').map(({ key }) => key);
    const places = new Map(keys.map((key, at) => [key, at]));
    return this.#draft.outputKeys.map((key) => places.get(key) ?? -1);
  }
}

/** Where a state lies between the steps of a loop. */
const placesOfState = ({ last, other }: LoopState): number[] => (other < 0 ? [last] : [last, other]);

/** For each group, the position of its first task among all tasks; the last entry is their number. */
function startsOf(groups: readonly Group[]): number[] {
  const starts = [0];
  for (const { tasks } of groups) starts.push(starts[starts.length - 1]! + tasks.length);
  return starts;
}

/** A call in blocks of its result. */
function sizeBlocks(swept: SweptTask, room: number, rules: SlotRules): SizedSweep | NoFit {
  const { step } = swept.task;
  const blocks = step.kind === 'call' ? callRow(step).blocks : undefined;
  if (step.kind !== 'call' || blocks === undefined) throw new InternalError(`${step.kind} in blocks`);
  return blocks.size(swept, step, room, rules);
}
