/**
 * Groups the steps of a plan into sweeps and steps that run as a whole, given which buffers are only ever on the device
 * in windows. Steps join a sweep while they share its windows and can follow its tiles; what needs a finished reduction waits for a
 * later one. A large value that a later sweep needs is computed again there (its task then stands in both groups), or
 * spilled to host memory. Called by `sweeps.ts`.
 */
import type { CutTask, Task } from './sweep-tasks.js';
import { type SweptTask, tileOf } from './sweep-windows.js';

export interface Group {
  readonly tasks: readonly Task[];
  /**
   * `tiles`: all tasks run tile by tile. `panels`: one matrix product, of which two operands are windowed at once. `whole`:
   * one task runs as a whole.
   */
  readonly runs: 'tiles' | 'panels' | 'whole';
}

export interface GroupRules {
  readonly isWindowed: (buffer: number) => boolean;
  readonly byteLengthOf: (buffer: number) => number;
  readonly isInput: (buffer: number) => boolean;
  /** Whether large values may wait in host memory. */
  readonly canSpill: boolean;
  /** Whether matrix products are run by panels rather than by a cut that leaves an operand whole. */
  readonly byPanels: boolean;
}

/** Why some buffers cannot be windowed: what the step that cannot be cut needs at once. */
export interface Refusal {
  readonly task: Task;
  readonly why: 'whole' | 'order';
}

/** Tiles that a cut is tried with. */
const TRIAL_TILES = 16;
/** What a tile may hold of the windowed bytes, as a part of all: a cut that saves less is none. */
const MOST_OF_WHOLE = 0.6;
/** What tasks may run in all their tiles together, relative to their units. */
const MOST_REPEATED = 1.5;

export function groupTasks(
  steps: readonly (readonly (readonly Task[])[])[],
  rules: GroupRules,
): readonly Group[] | Refusal {
  const tasks: Task[] = [];
  for (const forms of steps) {
    const form = chooseForm(forms, rules);
    if ('why' in form) return form;
    tasks.push(...form);
  }
  return new Grouper(tasks, rules).run();
}

const touchesWindowed = (task: Task, { isWindowed }: GroupRules): boolean =>
  task.reads.some(isWindowed) || task.writes.some(isWindowed);

/** The form whose tiles hold the least of the windowed buffers. */
function chooseForm(forms: readonly (readonly Task[])[], rules: GroupRules): readonly Task[] | Refusal {
  const first = forms[0]!;
  if (!first.some((task) => touchesWindowed(task, rules))) return first;
  if (rules.byPanels && first[0]!.step.kind === 'matmul') {
    const panels = panelsOf(first[0]!);
    if (panels !== undefined) return panels;
  }
  let best: readonly Task[] | undefined;
  let least = MOST_OF_WHOLE;
  for (const form of forms) {
    if (!form.every((task) => writesInWindows(task, rules))) continue;
    const share = Math.max(...form.map((task) => shareOf(task, rules)));
    if (share < least) {
      best = form;
      least = share;
    }
  }
  return best ?? { task: first[0]!, why: 'whole' };
}

/** Whether what a task writes to windowed buffers is part of what its parts touch: of partial sums it is not. */
const writesInWindows = ({ cut, writes }: Task, { isWindowed }: GroupRules): boolean => {
  if (cut === undefined) return true;
  const touched = new Set(cut.touches(0, cut.units).writes.map(({ buffer }) => buffer));
  return writes.every((buffer) => !isWindowed(buffer) || touched.has(buffer));
};

/** A matrix product that no single cut helps: it is run by panels, in a sweep of its own. A vector's elements stay side by side. */
function panelsOf(task: Task): readonly Task[] | undefined {
  const { step } = task;
  if (step.kind !== 'matmul' || step.batch > 1 || step.m === 1 || step.n === 1) return undefined;
  return step.a.buffer === step.b.buffer ? undefined : [{ ...task, cut: undefined, repeats: false }];
}

/** What a tile of a task by itself holds of the windowed bytes that it touches, as a part of all of them. */
function shareOf(task: Task, rules: GroupRules): number {
  if (!touchesWindowed(task, rules)) return 0;
  if (task.cut === undefined) return 1;
  return shareOfTiles([{ task: task as CutTask, isKept: true }], rules) ?? 1;
}

function shareOfTiles(
  tasks: readonly SweptTask[],
  { isWindowed, byteLengthOf }: GroupRules,
): number | undefined {
  const tiles = Math.min(TRIAL_TILES, Math.max(...tasks.map(({ task }) => task.cut.units)));
  let most = 0;
  let run = 0;
  const whole = new Map<number, number>();
  for (const { task } of tasks)
    for (const buffer of [...task.reads, ...task.writes])
      if (isWindowed(buffer)) whole.set(buffer, byteLengthOf(buffer));
  for (let t = 0; t < tiles; t++) {
    const tile = tileOf(tasks, t, tiles);
    if (tile === undefined) return undefined;
    let bytes = 0;
    for (const [buffer, { width }] of tile.windows) if (isWindowed(buffer)) bytes += width;
    most = Math.max(most, bytes);
    tile.spans.forEach((span, k) => {
      if (span !== undefined) run += (span[1] - span[0]) / tasks[k]!.task.cut.units;
    });
  }
  if (run > MOST_REPEATED * tasks.length) return undefined;
  return most / [...whole.values()].reduce((a, b) => a + b, 0);
}

class Grouper {
  readonly #tasks: readonly Task[];
  readonly #rules: GroupRules;
  readonly #inputsOf = new Map<Task, readonly Task[]>();
  readonly #writerOf = new Map<number, Task>();
  readonly #done = new Set<Task>();

  constructor(tasks: readonly Task[], rules: GroupRules) {
    this.#tasks = tasks;
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

  run(): readonly Group[] | Refusal {
    const groups: Group[] = [];
    let waiting = [...this.#tasks];
    while (waiting.length > 0) {
      const whole = this.#wholeTasks(waiting);
      const swept = whole.length > 0 ? [] : this.#sweep(waiting);
      if ('why' in swept) return swept;
      for (const task of [...whole, ...swept]) this.#done.add(task);
      groups.push(...whole.map((task): Group => ({ tasks: [task], runs: 'whole' })));
      if (swept.length > 0)
        groups.push({ tasks: swept, runs: swept[0]!.cut === undefined ? 'panels' : 'tiles' });
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

  #sweep(waiting: readonly Task[]): readonly Task[] | Refusal {
    let sweep: CutTask[] = [];
    let blocked: Task | undefined;
    for (const task of waiting) {
      if (!touchesWindowed(task, this.#rules)) continue;
      if (task.cut === undefined) {
        const isReady = this.#inputsOf.get(task)!.every((input) => this.#done.has(input));
        if (isReady && sweep.length === 0) return [task];
        continue;
      }
      const grown = this.#joined(sweep, task as CutTask);
      if (grown !== undefined) sweep = grown;
      else if (sweep.length === 0) blocked ??= task;
    }
    return sweep.length > 0 ? sweep : { task: blocked ?? waiting[0]!, why: 'order' };
  }

  /** The sweep with a task, and with what it needs to be computed again; `undefined` if it cannot join. */
  #joined(sweep: readonly CutTask[], task: CutTask): CutTask[] | undefined {
    const inside = new Set<Task>(sweep);
    const inputs = this.#inputsOf.get(task)!;
    if (!inputs.every((input) => this.#done.has(input) || inside.has(input))) return undefined;
    const again = this.#producersAgain(task, inside);
    if (again === undefined) return undefined;
    if (sweep.length > 0 && !this.#isRelated(sweep, [...again, task])) return undefined;
    const grown = [...sweep, ...again, task];
    const share = shareOfTiles(
      grown.map((each) => ({ task: each, isKept: !again.includes(each) && !this.#done.has(each) })),
      this.#rules,
    );
    if (share === undefined || share > MOST_OF_WHOLE) return undefined;
    return grown;
  }

  /**
   * The earlier tasks to run again for the windowed values that a task reads, inputs first: all where nothing may be
   * spilled, else those for which that moves fewer bytes. `undefined`: a value can neither be had again nor be spilled.
   */
  #producersAgain(task: CutTask, inside: ReadonlySet<Task>): CutTask[] | undefined {
    const found: CutTask[] = [];
    const visit = (reader: Task): boolean => {
      for (const buffer of reader.reads) {
        if (!this.#rules.isWindowed(buffer) || this.#rules.isInput(buffer)) continue;
        const writer = this.#writerOf.get(buffer)!;
        if (inside.has(writer) || found.includes(writer as CutTask)) continue;
        if (this.#rules.canSpill && this.#moved(writer) > 2 * this.#rules.byteLengthOf(buffer)) continue;
        if (!writer.repeats || writer.cut === undefined) {
          if (this.#rules.canSpill) continue;
          return false;
        }
        if (!visit(writer)) return false;
        found.push(writer as CutTask);
      }
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
