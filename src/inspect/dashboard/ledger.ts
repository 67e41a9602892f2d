/**
 * Ledger: the computes and batches of this thread, those under way and the last ones. It has what is
 * reported of each (`exec/run/watch.ts`); texts are made when a page asks (`snapshot.ts`). An end keeps no array, no
 * native program and no error object alive.
 */
import { namesOf } from '../../exec/plan/phases.js';
import { kernelsOf, type Plan, type Step } from '../../exec/plan/plan.js';
import { budgetIn, type ComputeTarget } from '../../exec/run/compute-target.js';
import type { Program } from '../../exec/run/program.js';
import type { ProgressScale } from '../../exec/run/progress.js';
import { scaleOf } from '../../exec/run/run-program.js';
import type {
  BatchProgress,
  BatchWatch,
  ComputeWatch,
  Subject,
  WatchedBatch,
  Watcher,
} from '../../exec/run/watch.js';
import { trafficOf } from '../../fusion/kernel/traffic.js';

export type Outcome = 'done' | 'failed' | 'cancelled';

/** A program that ran, without its native part. */
export interface SeenProgram {
  readonly id: number;
  readonly plan: Plan;
  readonly title: string;
  /** Bytes that its kernels read and write in memory each time. */
  readonly kernelBytes: number;
  /** Milliseconds of its last run. */
  last: number | undefined;
}

/** A compute under way. */
export class OpenCompute implements ComputeWatch {
  readonly begin = performance.now();
  devices: readonly string[] = [];
  budget: number | undefined = undefined;
  program: SeenProgram | undefined = undefined;
  /** When the program that runs now began. */
  runBegin = 0;
  tilesDone: (() => number) | undefined = undefined;
  #isPlanned = false;
  #scale: ProgressScale | undefined = undefined;
  #native: Program | undefined = undefined;
  readonly #ledger: Ledger;

  constructor(
    readonly id: number,
    readonly subject: Subject,
    readonly signal: AbortSignal | undefined,
    ledger: Ledger,
  ) {
    this.#ledger = ledger;
  }

  chosen(target: ComputeTarget): void {
    this.#isPlanned = true;
    this.devices = target.devices.map(({ name }) => name);
    this.budget = target.isSharded ? target.budget : budgetIn(target);
  }

  running(program: Program, tilesDone?: () => number): void {
    // Calls of a program that is known may be of microseconds: no plan was made between, and no clock is read.
    this.runBegin = this.#isPlanned ? performance.now() : this.begin;
    this.program = this.#ledger.see(program);
    this.devices = program.plan.devices;
    this.tilesDone = tilesDone;
    this.#native = program;
    this.#scale = undefined;
  }

  /** The tiles of the program that runs now. */
  scale(): ProgressScale {
    this.#scale ??= scaleOf(this.#native!);
    return this.#scale;
  }

  ended(failure?: { readonly error: unknown }): void {
    this.#ledger.close(this, failure);
  }
}

/** Computes that are over: one, or several of the same kernels that came after each other. */
export interface ClosedCompute {
  readonly id: number;
  readonly subject: Subject;
  readonly devices: readonly string[];
  readonly budget: number | undefined;
  /** The last one. */
  program: SeenProgram | undefined;
  readonly outcome: Outcome;
  readonly error: string | undefined;
  readonly begin: number;
  end: number;
  count: number;
  milliseconds: number;
}

export interface LedgerBatch {
  readonly id: number;
  readonly batch: WatchedBatch;
  outcome: Outcome | 'running';
  error: string | undefined;
  /** Its counts at its end. */
  counts: BatchProgress | undefined;
  readonly failures: { index: number; name: string | undefined; device: string | undefined; error: string }[];
}

const CLOSED = 64;
const PROGRAMS = 24;
const BATCHES = 8;
const FAILURES = 12;
/** Ends of the same kernels are one entry where they follow each other within so many milliseconds. */
const TOGETHER = 2000;
/** The last entries that an end may belong to. */
const LOOKED_AT = 6;

/** A name and message of what was thrown, short enough for a page. */
export function textOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.length > 2000 ? `${text.slice(0, 2000)}…` : text;
}

export class Ledger implements Watcher {
  readonly open = new Set<OpenCompute>();
  /** Oldest first. */
  readonly closed: ClosedCompute[] = [];
  readonly batches: LedgerBatch[] = [];
  readonly totals: Record<Outcome, number> = { done: 0, failed: 0, cancelled: 0 };
  /** Bytes of the kernels of all runs that ended. */
  kernelBytes = 0;
  /** Called where a compute begins, with the time. */
  onBegin: ((now: number) => void) | undefined;
  /** Changes with all that begins or ends. */
  changes = 0;
  #ids = 0;
  #seen = new WeakMap<Program, SeenProgram>();
  /** The last ones, oldest first. */
  readonly #programs: SeenProgram[] = [];

  /** A program by its number, if it is one of the last. */
  programOf(id: number): SeenProgram | undefined {
    return this.#programs.find((program) => program.id === id);
  }

  compute(subject: Subject, signal: AbortSignal | undefined): ComputeWatch {
    const open = new OpenCompute(++this.#ids, subject, signal, this);
    this.open.add(open);
    this.changes++;
    this.onBegin?.(open.begin);
    return open;
  }

  /** A compute is over. */
  close(open: OpenCompute, failure: { readonly error: unknown } | undefined): void {
    const { id, subject, begin, devices, budget, program, signal } = open;
    const end = performance.now();
    this.open.delete(open);
    this.changes++;
    const outcome = outcomeOf(failure, signal);
    this.totals[outcome]++;
    if (program !== undefined && outcome === 'done') {
      program.last = end - open.runBegin;
      this.kernelBytes += program.kernelBytes;
      const same = this.#lastOf(program.title);
      if (same !== undefined && begin - same.end < TOGETHER) {
        same.program = program;
        same.end = end;
        same.count++;
        same.milliseconds += end - begin;
        return;
      }
    }
    const error = failure === undefined ? undefined : textOf(failure.error);
    const milliseconds = end - begin;
    this.closed.push({
      id,
      subject,
      devices,
      budget,
      program,
      outcome,
      error,
      begin,
      end,
      count: 1,
      milliseconds,
    });
    if (this.closed.length > CLOSED) this.closed.shift();
  }

  /** The entry that an end of some kernels may belong to. Calls may be of microseconds: no list is made. */
  #lastOf(title: string): ClosedCompute | undefined {
    const { closed } = this;
    for (let k = closed.length - 1; k >= 0 && k >= closed.length - LOOKED_AT; k--) {
      const one = closed[k]!;
      if (one.program?.title === title && one.outcome === 'done') return one;
    }
    return undefined;
  }

  see(program: Program): SeenProgram {
    const known = this.#seen.get(program);
    if (known !== undefined) return known;
    const seen = seenProgram(++this.#ids, program.plan);
    this.#seen.set(program, seen);
    this.#programs.push(seen);
    if (this.#programs.length > PROGRAMS) this.#programs.shift();
    return seen;
  }

  batch(batch: WatchedBatch, signal: AbortSignal | undefined): BatchWatch {
    const entry: LedgerBatch = {
      id: ++this.#ids,
      batch,
      outcome: 'running',
      error: undefined,
      counts: undefined,
      failures: [],
    };
    this.batches.push(entry);
    // Those that run are kept, however many they are.
    const over = this.batches.findIndex(({ outcome }) => outcome !== 'running');
    if (this.batches.length > BATCHES && over >= 0) this.batches.splice(over, 1);
    this.changes++;
    return {
      jobFailed: ({ index, name, device }, error) => {
        entry.failures.push({ index, name, device, error: textOf(error) });
        if (entry.failures.length > FAILURES) entry.failures.shift();
        this.changes++;
      },
      ended: (failure) => {
        entry.outcome = outcomeOf(failure, signal);
        entry.error = failure && textOf(failure.error);
        entry.counts = batch.counts();
        this.changes++;
      },
    };
  }
}

const outcomeOf = (
  failure: { readonly error: unknown } | undefined,
  signal: AbortSignal | undefined,
): Outcome => (failure === undefined ? 'done' : signal?.aborted === true ? 'cancelled' : 'failed');

const NAMES = 3;

function seenProgram(id: number, plan: Plan): SeenProgram {
  const names = [...new Set(plan.phases.flatMap(namesOf))];
  const more = names.length > NAMES ? ` + ${names.length - NAMES} more` : '';
  // Devices that share a phase have the same kernels.
  const kernelBytes = plan.phases.reduce(
    (sum, { runs, loop }) => sum + (loop?.rounds ?? 1) * bytesOf(runs[0]?.plan.steps ?? []),
    0,
  );
  const title = names.length === 0 ? 'nothing to run' : `${names.slice(0, NAMES).join(', ')}${more}`;
  return { id, plan, title, kernelBytes, last: undefined };
}

/** Bytes that the kernels of steps move; of loops each time, once where a condition ends them. */
function bytesOf(steps: readonly Step[]): number {
  return steps.reduce((sum, step) => {
    if (step.kind === 'loop') return sum + (step.condition < 0 ? step.steps : 1) * bytesOf(step.body);
    if (step.kind === 'sweep') return sum + bytesOf(step.body.map((part) => part.step));
    if (step.kind === 'finish' || (step.kind === 'phase' && step.phase > 0)) return sum;
    return kernelsOf(step).reduce((own, kernel) => {
      const { bytesRead, bytesWritten } = trafficOf(kernel);
      return own + bytesRead + bytesWritten;
    }, sum);
  }, 0);
}
