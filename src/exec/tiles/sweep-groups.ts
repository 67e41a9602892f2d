/**
 * Groups the steps of a plan into sweeps and steps that run as a whole, given which buffers are only ever on
 * the device in windows. Steps join a sweep while they share its windows and can follow its tiles; what needs
 * a finished reduction waits for a later one. A large value that a later sweep needs is computed again there
 * (its task then stands in both groups), or spilled to host memory. Called by `sweeps.ts`.
 */

import type { Slices } from '../../host/slices.js';
import { callRow } from '../calls/table.js';
import type { BytePitches, CutTask, Task } from './sweep-cuts.js';
import type { SweepMemory } from './sweep-memory.js';
import { type Chosen, choosePitches, joinPitches, shareOfTiles } from './sweep-pitches.js';
import type { SweptTask } from './sweep-windows.js';

export interface StepGroup {
  readonly tasks: readonly Task[];
  /**
   * `tiles`: all tasks run tile by tile. `blocks`: one call, several operands of which are windowed at once, or one kernel
   * that takes elements in windows of indices.
   * `whole`: one task runs as a whole.
   */
  readonly runs: 'tiles' | 'blocks' | 'whole';
  /** Of the buffers whose windows are rows, bytes from row to row in the whole. */
  readonly pitches: BytePitches;
}

export interface GroupRules {
  readonly isWindowed: (buffer: number) => boolean;
  readonly byteLengthOf: (buffer: number) => number;
  readonly isInput: (buffer: number) => boolean;
  /** As of `ShareRules`. */
  readonly isFetched: (buffer: number) => boolean;
  /** Whether large values may wait in host memory. */
  readonly canSpill: boolean;
  /** As of `SweepRules`. */
  readonly spillsAll?: boolean | undefined;
  /** Whether large values are always kept between sweeps, never computed again. */
  readonly keepsAll?: boolean;
  /** As of `SweepRules`. */
  readonly isApart?: boolean | undefined;
  /** The share of the windowed bytes that a tile may hold: a cut that saves less is none. */
  readonly mostOfWhole: number;
  /** Whether calls are run in blocks of their results rather than by a cut that leaves an operand whole. */
  readonly inBlocks: boolean;
  /** As of `ShareRules`. */
  readonly memory?: SweepMemory;
}

/** Why some buffers cannot be windowed: what the step that cannot be cut needs at once. */
export interface Refusal {
  readonly task: Task;
  readonly why: 'whole' | 'order';
}

const NO_PITCHES: BytePitches = new Map();

export function* groupTasks(
  steps: readonly (readonly (readonly Task[])[])[],
  rules: GroupRules,
): Slices<readonly StepGroup[] | Refusal> {
  const tasks: Task[] = [];
  const pitches = new Map<Task, BytePitches>();
  for (const forms of steps) {
    const form = yield* chooseForm(forms, rules, pitches);
    if ('why' in form) return form;
    tasks.push(...form);
    yield;
  }
  return yield* new Grouper(tasks, pitches, rules).run();
}

const touchesWindowed = (task: Task, { isWindowed }: GroupRules): boolean =>
  task.reads.some(isWindowed) || task.writes.some(isWindowed);

/**
 * The share of an earlier form's tiles that a later one may hold: those are better where they hold as much, and where others
 * seldom follow a later one, up to twice as much, unless nothing follows anyway.
 */
const CLEARLY_LESS = 0.95;
const FAR_LESS = 0.5;

/** The form whose tiles hold the least of the windowed buffers; `pitches` receives the rows of its windows. */
function* chooseForm(
  forms: readonly (readonly Task[])[],
  rules: GroupRules,
  pitches: Map<Task, BytePitches>,
): Slices<readonly Task[] | Refusal> {
  const first = forms[0]!;
  if (!first.some((task) => touchesWindowed(task, rules))) return first;
  if (first[0]!.takesInWindows === true) return first;
  if (rules.inBlocks && canRunInBlocks(first[0]!)) return [{ ...first[0]!, cut: undefined, repeats: false }];
  let best: readonly Task[] | undefined;
  let least = rules.mostOfWhole;
  for (const form of forms) {
    if (!form.every((task) => writesInWindows(task, rules))) continue;
    const chosen: Chosen[] = [];
    for (const task of form) chosen.push(yield* chosenFor(task, rules));
    const share = Math.max(...chosen.map((one) => one.share ?? 1));
    const part = form[0]!.isSeldomFollowed === true && rules.isApart !== true ? FAR_LESS : CLEARLY_LESS;
    if (share >= (best === undefined ? least : part * least)) continue;
    best = form;
    least = share;
    for (const [k, task] of form.entries()) pitches.set(task, chosen[k]!.pitches);
  }
  return best ?? { task: first[0]!, why: 'whole' };
}

/**
 * Whether what a task writes to windowed buffers is part of what its parts touch: of partial sums it is not.
 */
const writesInWindows = ({ cut, writes }: Task, { isWindowed }: GroupRules): boolean => {
  if (cut === undefined) return true;
  const touched = new Set(cut.touches(0, cut.units).writes.map(({ buffer }) => buffer));
  return writes.every((buffer) => !isWindowed(buffer) || touched.has(buffer));
};

/** Whether a task is a call that can be run in blocks of its result, in a sweep of its own. */
const canRunInBlocks = ({ step }: Task): boolean =>
  step.kind === 'call' && callRow(step).blocks?.canRun(step) === true;

/** The share of its windowed bytes that a tile of a task by itself holds, and in which windows. */
function* chosenFor(task: Task, rules: GroupRules): Slices<Chosen> {
  if (!touchesWindowed(task, rules)) return { pitches: NO_PITCHES, share: 0 };
  if (task.cut === undefined) return { pitches: NO_PITCHES, share: 1 };
  return yield* choosePitches([{ task: task as CutTask, isKept: true }], rules);
}

/** Tasks that share a sweep, and how their windows lie. */
interface Sweep {
  readonly tasks: readonly CutTask[];
  readonly pitches: BytePitches;
}

class Grouper {
  readonly #tasks: readonly Task[];
  readonly #pitches: ReadonlyMap<Task, BytePitches>;
  readonly #rules: GroupRules;
  readonly #inputsOf = new Map<Task, readonly Task[]>();
  readonly #writerOf = new Map<number, Task>();
  readonly #done = new Set<Task>();

  constructor(tasks: readonly Task[], pitches: ReadonlyMap<Task, BytePitches>, rules: GroupRules) {
    this.#tasks = tasks;
    this.#pitches = pitches;
    this.#rules = rules;
    const last = new Map<number, Task[]>();
    for (const task of tasks) {
      const before = [...task.reads, ...task.writes].flatMap((buffer) => last.get(buffer) ?? []);
      this.#inputsOf.set(task, [...new Set(before)]);
      for (const buffer of task.writes) {
        last.set(buffer, [task]);
        this.#writerOf.set(buffer, task);
      }
    }
  }

  *run(): Slices<readonly StepGroup[] | Refusal> {
    const groups: StepGroup[] = [];
    let waiting = [...this.#tasks];
    while (waiting.length > 0) {
      yield;
      const whole = this.#wholeTasks(waiting);
      const swept = whole.length > 0 ? undefined : yield* this.#sweep(waiting);
      if (swept !== undefined && 'why' in swept) return swept;
      for (const task of swept?.tasks ?? whole) this.#done.add(task);
      groups.push(...whole.map((task): StepGroup => ({ tasks: [task], runs: 'whole', pitches: NO_PITCHES })));
      if (swept !== undefined) groups.push(swept);
      waiting = waiting.filter((task) => !this.#done.has(task));
    }
    return groups;
  }

  /** Tasks that touch no windowed buffer and can run now. */
  #wholeTasks(waiting: readonly Task[]): Task[] {
    const found = new Set<Task>();
    for (const task of waiting) {
      if (touchesWindowed(task, this.#rules)) continue;
      if (this.#inputsOf.get(task)!.every((input) => this.#done.has(input) || found.has(input)))
        found.add(task);
    }
    return [...found];
  }

  *#sweep(waiting: readonly Task[]): Slices<StepGroup | Refusal> {
    let sweep: Sweep = { tasks: [], pitches: NO_PITCHES };
    let blocked: Task | undefined;
    for (const task of waiting) {
      if (!touchesWindowed(task, this.#rules)) continue;
      if (task.cut === undefined || task.takesInWindows === true) {
        const isReady = this.#inputsOf.get(task)!.every((input) => this.#done.has(input));
        if (isReady && sweep.tasks.length === 0 && this.#hasItsInputs(task))
          return { tasks: [task], runs: 'blocks', pitches: NO_PITCHES };
        if (isReady) blocked ??= task;
        continue;
      }
      const grown = yield* this.#joined(sweep, task as CutTask);
      if (grown !== undefined) {
        sweep = grown;
        if (this.#rules.isApart === true) break;
      } else if (sweep.tasks.length === 0) blocked ??= task;
    }
    if (sweep.tasks.length === 0) return { task: blocked ?? waiting[0]!, why: 'order' };
    return { ...sweep, runs: 'tiles' };
  }

  /** Whether what a call in blocks reads is there: nothing is computed again for it. */
  #hasItsInputs({ reads }: Task): boolean {
    const { canSpill, isWindowed, isInput } = this.#rules;
    return canSpill || reads.every((buffer) => !isWindowed(buffer) || isInput(buffer));
  }

  /**
   * The sweep with a task, and with what it needs to be computed again; `undefined` if it cannot join. Values
   * whose tasks cannot follow its tiles wait in other memory instead, where they may.
   */
  *#joined(sweep: Sweep, task: CutTask): Slices<Sweep | undefined> {
    const inside = new Set<Task>(sweep.tasks);
    const inputs = this.#inputsOf.get(task)!;
    if (!inputs.every((input) => this.#done.has(input) || inside.has(input))) return undefined;
    const again = this.#rules.isApart === true ? [] : this.#producersAgain(task, inside);
    if (again === undefined) return undefined;
    const grown = yield* this.#grown(sweep, task, again);
    if (grown !== undefined || again.length === 0 || this.#rules.spillsAll !== true) return grown;
    return yield* this.#grown(sweep, task, []);
  }

  *#grown({ tasks, pitches }: Sweep, task: CutTask, again: readonly CutTask[]): Slices<Sweep | undefined> {
    if (tasks.length > 0 && !this.#isRelated(tasks, [...again, task])) return undefined;
    const grown = [...tasks, ...again, task];
    const swept = grown.map(
      (each): SweptTask => ({ task: each, isKept: !again.includes(each) && !this.#done.has(each) }),
    );
    const ways = [
      joinPitches(grown, [pitches, ...[...again, task].map((each) => this.#pitches.get(each))]),
      NO_PITCHES,
    ];
    for (const way of ways[0]!.size > 0 ? ways : [NO_PITCHES]) {
      const share = yield* shareOfTiles(swept, this.#rules, way);
      if (share !== undefined && share <= this.#rules.mostOfWhole) return { tasks: grown, pitches: way };
    }
    return undefined;
  }

  /**
   * The earlier tasks to run again for the windowed values that a task reads, inputs first: all where nothing
   * may be spilled, else those for which that moves fewer bytes. A value that a task of the sweep reads where it
   * waits is there for the others, too: made again behind that task, also for another value of the same kernel, it would not
   * wait any more when that task reads it. `undefined`: a value can neither be had again nor be spilled.
   */
  #producersAgain(task: CutTask, inside: ReadonlySet<Task>): CutTask[] | undefined {
    const found: CutTask[] = [];
    const waiting = new Set([...inside].flatMap(({ reads }) => reads));
    const isWaiting = (buffer: number): boolean => this.#rules.isWindowed(buffer) && waiting.has(buffer);
    const visit = (reader: Task): boolean => {
      const left: number[] = [];
      for (const buffer of reader.reads) {
        if (!this.#rules.isWindowed(buffer) || this.#rules.isInput(buffer)) continue;
        const writer = this.#writerOf.get(buffer)!;
        if (inside.has(writer) || found.includes(writer as CutTask) || waiting.has(buffer)) continue;
        if (this.#rules.keepsAll === true) continue;
        const isDear = writer.isDear === true || this.#moved(writer) > 2 * this.#rules.byteLengthOf(buffer);
        const isRepeatable = writer.repeats && writer.cut !== undefined && !writer.writes.some(isWaiting);
        if (this.#rules.canSpill && (isDear || !isRepeatable)) {
          left.push(buffer);
          continue;
        }
        if (!isRepeatable || !visit(writer)) return false;
        found.push(writer as CutTask);
      }
      for (const buffer of left) waiting.add(buffer);
      return true;
    };
    return visit(task) ? found : undefined;
  }

  /** Windowed bytes that a task reads. */
  #moved(task: Task): number {
    return task.reads.reduce(
      (sum, buffer) => sum + (this.#rules.isWindowed(buffer) ? this.#rules.byteLengthOf(buffer) : 0),
      0,
    );
  }

  /** Whether tasks share a windowed buffer with a sweep, or read what it makes. */
  #isRelated(sweep: readonly Task[], tasks: readonly Task[]): boolean {
    const touched = new Set(
      sweep.flatMap(({ reads, writes }) => [...reads.filter(this.#rules.isWindowed), ...writes]),
    );
    return tasks.some(({ reads, writes }) => [...reads, ...writes].some((buffer) => touched.has(buffer)));
  }
}
