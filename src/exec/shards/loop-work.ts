/**
 * Which loops devices share, by the target's estimates, and how many kernels of a stencil are one round:
 *
 *     alone     rounds · (work + copies of states that wait, where they do not fit) + copies of what lies on the host
 *     shared    rounds · (work of a share + its phases + what comes from other devices) + copies of a share
 *
 * Called by `sharding.ts`.
 */
import type { CostModel, MemoryModel, SweepRules } from '../plan/device-model.js';
import type { LoopStep, Step } from '../plan/plan.js';
import { buffersOf } from '../plan/step-buffers.js';
import { ownBuffer, type UnplacedBuffer } from '../plan/step-list.js';
import type { Task } from '../tiles/sweep-cuts.js';
import { formsOf } from '../tiles/sweep-tasks.js';
import { roundsOf } from './open-loops.js';
import { shareableForms } from './shard-stages.js';
import { type Form, LEAST_PARTED_BYTES, type Lies, MOST_OF_WHOLE, touchedBytes } from './shared-work.js';

/** The work of a round is about so many times what its phase costs, if that many kernels are in one. */
const WORK_OF_ROUND = 4;
/** The most kernels in a round. */
export const MOST_KERNELS = 16;
/** Of a share, so much at each end is computed by neighbours as well. */
const MOST_HALO = 1 / 8;
/** Nobody knows how often a loop with a condition runs. */
const UNKNOWN_ROUNDS = 100;

export interface LoopRules {
  readonly costs: CostModel;
  /** The largest share of the work that a device has. */
  readonly share: number;
  readonly sweeps: SweepRules;
  /** Bytes of the device that has least. */
  readonly room: number;
  readonly heldBytes: MemoryModel['heldBytes'];
  readonly buffers: readonly UnplacedBuffer[];
  readonly liesAt: (buffer: number) => Lies;
}

/** A step of a body in the form in which it is shared; none: it runs as a whole. */
interface BodyStep {
  readonly step: Step;
  readonly form: Form | undefined;
}

export class LoopWork {
  readonly #rules: LoopRules;

  constructor(rules: LoopRules) {
    this.#rules = rules;
  }

  /** Whether devices can share what a round of a loop does. */
  isShareable(loop: LoopStep): boolean {
    return this.#body(loop).some(({ form }) => form !== undefined);
  }

  /** Whether devices share what a loop does, and are sooner done with it than one is. */
  isSoonerShared(loop: LoopStep): boolean {
    const { costs, share } = this.#rules;
    const body = this.#body(loop);
    if (!body.some(({ form }) => form !== undefined)) return false;
    const rounds = Math.min(roundsOf(loop), loop.condition < 0 ? Number.POSITIVE_INFINITY : UNKNOWN_ROUNDS);
    const waiting = this.#waitingBytes(loop) / costs.busRate;
    const alone = loop.body.reduce((sum, step) => sum + costs.secondsOf(step, 1), waiting);
    const phase = costs.roundSeconds / this.kernelsOf(loop);
    const shared = phase + body.reduce((sum, one) => sum + this.#stepSeconds(one, loop), 0);
    const gathered = this.#copies(loop, { host: 1, device: 0, shares: 1 - share });
    return (
      rounds * shared + this.#copies(loop, { host: share, device: share, shares: 0 }) <
      rounds * alone + gathered
    );
  }

  /** Bytes of states that one device copies in each round, since not all of the loop fits. */
  #waitingBytes(loop: LoopStep): number {
    const { room, heldBytes, buffers } = this.#rules;
    const { reads, writes } = buffersOf(loop);
    const held = [...new Set([...reads, ...writes])].reduce((sum, b) => sum + heldBytes(buffers[b]!), 0);
    if (held <= room) return 0;
    return loop.states.reduce((sum, { next }) => sum + buffers[next]!.byteLength, 0);
  }

  /** The states of a loop that shares are parts of, by position. */
  partedStates(loop: LoopStep): number[] {
    const body = this.#body(loop);
    return loop.states.flatMap(({ next }, k) => {
      const { byteLength } = this.#rules.buffers[next]!;
      const isParted = body.some(({ form }) => form?.some((task) => this.#parts(task, next)));
      return byteLength >= LEAST_PARTED_BYTES && isParted ? [k] : [];
    });
  }

  /** How many kernels of a stencil are worth a round, each of which reads as far as one does. */
  kernelsOf(loop: LoopStep): number {
    const { costs, share, buffers } = this.#rules;
    const [step, ...others] = loop.body;
    const [task, ...more] = this.#body(loop)[0]?.form ?? [];
    const cut = task?.cut;
    if (step === undefined || others.length > 0 || cut === undefined || more.length > 0) return 1;
    const wanted = (WORK_OF_ROUND * costs.roundSeconds) / costs.secondsOf(step, share);
    const read = touchedBytes(cut.touches(...middleOf(cut.units, share)).reads);
    const halos = loop.states.map(({ current }) => {
      const own = buffers[current]!.byteLength * share;
      return Math.max(0, (read.get(current) ?? 0) - own) / 2 / own;
    });
    const most = MOST_HALO / Math.max(MOST_HALO / MOST_KERNELS, ...halos);
    return Math.max(1, Math.floor(Math.min(Math.ceil(wanted), most, MOST_KERNELS)));
  }

  #body(loop: LoopStep): BodyStep[] {
    const { sweeps, costs, share } = this.#rules;
    const buffers = [...this.#rules.buffers];
    const scratch = (bytes: number): number => buffers.push(ownBuffer('partial', bytes)) - 1;
    const rules = { byteLengthOf: (b: number) => buffers[b]!.byteLength, isOnHost: () => false };
    return loop.body.map((step) => {
      const forms = shareableForms(formsOf(step, sweeps.worksOf, scratch), rules);
      const seconds = forms.map((form) => formSeconds(form, step, costs, share));
      const best = forms[seconds.indexOf(Math.min(...seconds))];
      return { step, form: best };
    });
  }

  #stepSeconds({ step, form }: BodyStep, loop: LoopStep): number {
    const { costs, share } = this.#rules;
    if (form === undefined) return costs.secondsOf(step, 1) + costs.roundSeconds;
    return formSeconds(form, step, costs, share) + this.#broughtBytes(form, loop) / costs.busRate;
  }

  /** Bytes of what the loop makes that come from other devices. */
  #broughtBytes(form: Form, loop: LoopStep): number {
    const { share, buffers } = this.#rules;
    const made = new Set([
      ...loop.states.map(({ current }) => current),
      ...loop.body.flatMap((step) => buffersOf(step).writes),
    ]);
    let bytes = 0;
    for (const { cut } of form) {
      if (cut === undefined) continue;
      for (const [buffer, touched] of touchedBytes(cut.touches(...middleOf(cut.units, share)).reads))
        if (made.has(buffer)) bytes += Math.max(0, touched - buffers[buffer]!.byteLength * share);
    }
    return bytes;
  }

  #parts({ cut }: Task, buffer: number): boolean {
    if (cut === undefined) return false;
    const { share, buffers } = this.#rules;
    const touched = touchedBytes(cut.touches(...middleOf(cut.units, share)).writes).get(buffer);
    return touched !== undefined && touched < MOST_OF_WHOLE * buffers[buffer]!.byteLength;
  }

  /** Seconds in which a device brings its part of what a loop reads, and sends that of its results. */
  #copies(loop: LoopStep, part: Readonly<Record<Lies, number>>): number {
    const { buffers, costs, liesAt } = this.#rules;
    const { reads, writes } = buffersOf(loop);
    const bytes = (some: readonly number[]): number =>
      [...new Set(some)].reduce((sum, b) => sum + buffers[b]!.byteLength * part[liesAt(b)], 0);
    const results = writes.filter((b) => buffers[b]!.role === 'output' && liesAt(b) === 'host');
    return Math.max(bytes(reads), bytes(results)) / costs.busRate;
  }
}

/** The units of a share that has others on both of its sides, where there are any. */
function middleOf(units: number, share: number): readonly [first: number, last: number] {
  const count = Math.max(1, Math.ceil(units * share));
  const first = Math.floor((units - count) / 2);
  return [first, first + count];
}

function formSeconds(form: Form, step: Step, costs: CostModel, share: number): number {
  const cuts = form.flatMap(({ cut }) => (cut === undefined ? [] : [cut]));
  const parts = cuts.map(({ units }) => Math.max(1, Math.ceil(units * share)) / units);
  const working = parts.reduce((sum, part) => sum + costs.secondsOf(step, part) / cuts.length, 0);
  return working + (form.length - 1) * costs.roundSeconds;
}
