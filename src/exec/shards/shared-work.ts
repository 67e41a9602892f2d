/**
 * Which buffers of a job are cut into shares: those of steps that several devices do sooner than one, by the
 * target's estimates of a step's work and of copies:
 *
 *     alone     work + copies of what lies on the host, or in shares on other devices
 *     shared    work · share + copies of what a share touches + what its phases cost
 *
 * A Gaussian kernel sum over all pairs of 43,000 numbers touches 340 KiB and takes 0.4 ms: it is shared. A map
 * over as many bytes takes 3 µs, and 3 µs of copies: it is not. Called by `sharding.ts`.
 */
import type { Slices } from '../../host/slices.js';
import type { CostModel } from '../plan/device-model.js';
import type { Step } from '../plan/plan.js';
import type { UnplacedBuffer } from '../plan/step-list.js';
import type { BytePitches, Cut, Task, Touch } from '../tiles/sweep-cuts.js';

/** A share of little work may need nearly all that the whole does: every pair of two arrays' rows, say. */
export const MOST_OF_WHOLE = 0.95;
/** Buffers of fewer bytes have too few elements for a share each. */
export const LEAST_PARTED_BYTES = 2 ** 14;
/** A step is cut for what later steps read, whose results earlier ones may read: passes over all steps. */
const PASSES = 3;

/** Where a value lies when a step begins. */
export type Lies = 'host' | 'device' | 'shares';

export interface WorkRules {
  readonly costs: CostModel;
  /** The largest share of the work that a device has. */
  readonly share: number;
  readonly buffers: readonly UnplacedBuffer[];
  /** Where an input lies, and where a result goes. */
  readonly liesAt: (buffer: number) => Lies;
  /** Buffers that are cut whatever the work: states of loops whose rounds are phases. */
  readonly states: ReadonlySet<number>;
}

/** A form of a step that can be shared: tasks that run one after the other. */
export type Form = readonly Task[];

/** A step with the forms in which it can be shared; none: it runs as a whole. */
export interface Shareable {
  readonly step: Step;
  readonly forms: readonly Form[];
}

export interface SharedWork {
  /** The buffers to cut: steps that touch them are cut. */
  readonly cut: ReadonlySet<number>;
  /** Steps that are shared although they touch none of those, by position: which of their forms. */
  readonly forms: ReadonlyMap<number, number>;
}

/** The buffers to cut, and steps to share, of steps in order. */
export function* sharedWork(steps: readonly Shareable[], rules: WorkRules): Slices<SharedWork> {
  const found = new Set<number>(rules.states);
  let forms = new Map<number, number>();
  for (let pass = 0; pass < PASSES; pass++) {
    const before = found.size;
    const choice = new Choice(found, rules);
    forms = new Map();
    for (const [at, step] of steps.entries()) {
      const form = step.forms.length > 0 ? choice.add(step) : undefined;
      if (form !== undefined) forms.set(at, form);
      yield;
    }
    if (found.size === before) break;
  }
  return { cut: found, forms };
}

interface Shared {
  readonly seconds: number;
  /** The buffers of which a share touches a part. */
  readonly parted: readonly number[];
}

class Choice {
  readonly #found: Set<number>;
  readonly #rules: WorkRules;
  readonly #lies = new Map<number, Lies>();

  constructor(found: Set<number>, rules: WorkRules) {
    this.#found = found;
    this.#rules = rules;
  }

  /**
   * Decides on a step, whose form is the one that is shared in the least time; gives that form where none of the
   * buffers that the step touches are cut.
   */
  add({ step, forms }: Shareable): number | undefined {
    const shared = forms.map((form) => this.#shared(form, step));
    const best = shared.reduce((least, one) => (one.seconds < least.seconds ? one : least));
    const tasks = forms[0]!;
    const isTouched = tasks.some(({ reads, writes }) =>
      [...reads, ...writes].some((b) => this.#found.has(b)),
    );
    // A step that touches a cut buffer is cut as well.
    const isWorth = best.seconds < this.#rules.costs.secondsOf(step, 1) + this.#aloneCopies(tasks);
    const isCut = isTouched || isWorth || this.#isMove(step);
    const cut = isCut ? best.parted.filter((b) => this.#bytesOf(b) >= LEAST_PARTED_BYTES) : [];
    for (const b of cut) this.#found.add(b);
    for (const b of tasks.flatMap(({ writes }) => writes))
      if (this.#rules.buffers[b]?.role !== 'output')
        this.#lies.set(b, isCut && best.parted.includes(b) ? 'shares' : 'device');
    return isCut && !isTouched && cut.length === 0 ? shared.indexOf(best) : undefined;
  }

  /** Whether an array is to be stored on these devices as it is: that is asked for, whatever it costs. */
  #isMove(step: Step): boolean {
    if (step.kind !== 'kernel' || step.kernel.tape.length > 1) return false;
    const roles = step.buffers.map((b) => this.#rules.buffers[b]?.role);
    return step.buffers.every(
      (b, k) => roles[k] === 'input' || (roles[k] === 'output' && this.#rules.liesAt(b) !== 'host'),
    );
  }

  #bytesOf(buffer: number): number {
    return this.#rules.buffers[buffer]?.byteLength ?? 0;
  }

  #liesAt(buffer: number): Lies {
    const before = this.#rules.states.has(buffer) ? 'shares' : this.#rules.liesAt(buffer);
    return this.#lies.get(buffer) ?? before;
  }

  #aloneCopies(tasks: Form): number {
    const written = new Set(tasks.flatMap(({ writes }) => writes));
    const read = new Set(tasks.flatMap(({ reads }) => reads).filter((b) => !written.has(b)));
    const elsewhere: Readonly<Record<Lies, number>> = { host: 1, device: 0, shares: 1 - this.#rules.share };
    let [brought, sent] = [0, 0];
    for (const b of read) brought += this.#bytesOf(b) * elsewhere[this.#liesAt(b)];
    for (const b of written) if (this.#liesAt(b) === 'host') sent += this.#bytesOf(b);
    return this.#copySeconds(brought, sent);
  }

  #shared(tasks: Form, step: Step): Shared {
    const { costs, share } = this.#rules;
    const whole = new Set(
      tasks.flatMap(({ cut, reads, writes }) => (cut === undefined ? [...reads, ...writes] : [])),
    );
    const made = new Set(tasks.flatMap(({ writes }) => writes));
    const cuts = tasks.flatMap(({ cut }) => (cut === undefined ? [] : [cut]));
    const parted: number[] = [];
    // A step that combines partial results brings those of the other devices to one.
    const partial = [...made].filter((b) => whole.has(b) && this.#rules.buffers[b]?.role === 'temporary');
    const combined = partial.reduce((sum, b) => sum + this.#bytesOf(b) * (1 - share), 0);
    let total = tasks.length * costs.phaseSeconds + this.#copySeconds(combined, 0);
    for (const cut of cuts) {
      const units = Math.max(1, Math.ceil(cut.units * share));
      const buffers = [...new Set(tasks.flatMap(({ reads, writes }) => [...reads, ...writes]))];
      const { reads, writes } = cut.touches(0, units, pitchesOf(cut, buffers));
      let [brought, sent] = [0, 0];
      for (const [buffer, bytes] of touchedBytes(reads)) {
        if (this.#isParted(buffer, bytes, whole)) parted.push(buffer);
        const here = this.#liesAt(buffer) === 'shares' ? this.#bytesOf(buffer) * share : 0;
        if (!made.has(buffer)) brought += Math.max(0, bytes - here);
      }
      for (const [buffer, bytes] of touchedBytes(writes)) {
        if (this.#isParted(buffer, bytes, whole)) parted.push(buffer);
        if (this.#liesAt(buffer) === 'host') sent += bytes;
      }
      total += costs.secondsOf(step, units / cut.units) / cuts.length + this.#copySeconds(brought, sent);
    }
    return { seconds: total, parted };
  }

  #isParted(buffer: number, bytes: number, whole: ReadonlySet<number>): boolean {
    return bytes < MOST_OF_WHOLE * this.#bytesOf(buffer) && !whole.has(buffer);
  }

  /** Copies of both ways go on at a time. */
  #copySeconds(brought: number, sent: number): number {
    return Math.max(brought, sent) / this.#rules.costs.busRate;
  }
}

/** Bytes of a stretch, or of rows of it. */
const bytesIn = ({ first, last, rows }: Touch): number =>
  (last - first) * (rows === undefined ? 1 : rows.width / rows.pitch);

/** Bytes that are touched of each buffer, once. */
export function touchedBytes(touches: readonly Touch[]): Map<number, number> {
  const hulls = new Map<number, { readonly first: number; readonly last: number; readonly sum: number }>();
  for (const touch of touches) {
    const { first, last, sum } = hulls.get(touch.buffer) ?? { ...touch, sum: 0 };
    hulls.set(touch.buffer, {
      first: Math.min(first, touch.first),
      last: Math.max(last, touch.last),
      sum: sum + bytesIn(touch),
    });
  }
  return new Map([...hulls].map(([b, { first, last, sum }]) => [b, Math.min(last - first, sum)]));
}

/** Windows of rows, where there can be some. */
const pitchesOf = (cut: Cut, buffers: readonly number[]): BytePitches =>
  new Map(
    buffers.flatMap((b) =>
      cut
        .pitches(b)
        .slice(0, 1)
        .map((pitch) => [b, pitch] as const),
    ),
  );
