/**
 * Streams: which of a GPU's streams each step of a plan runs in, so that steps that do not need each other
 * run at a time. Made by `device-planner.ts` for plans whose buffers are all there as a whole.
 *
 * It pays where steps leave a part of the device idle: small products, short kernels, reductions over few
 * rows. Steps that fill the device gain nothing, and every wait between streams costs. A choice depends on
 * the plan and on the device's kind alone. Steps stay in their order, which is that in which they are queued.
 */

import type { StepCost } from '../calls/call.js';
import type { Step, StepStream, StreamPlan } from './plan.js';
import { buffersOf } from './step-buffers.js';

/** The inputs of the choice of streams. */
export interface StreamNeeds {
  readonly most: number;
  readonly costOf: (step: Step) => StepCost;
}

/** Plans of more steps have one stream: what is ordered is found in time that grows with their square. */
const MOST_STEPS = 512;
/** Seconds of a wait between streams, on the device and on the host. */
const WAIT_SECONDS = 3e-6;
const QUEUED_WAIT_SECONDS = 1.5e-6;
/** The least gain: as a share of the time, and in seconds. */
const LEAST_SHARE = 0.15;
const LEAST_SECONDS = 10e-6;

/** The streams of a plan's steps; undefined: they run in one. */
export function streamsOf(steps: readonly Step[], model: StreamNeeds): StreamPlan | undefined {
  if (steps.length < 3 || steps.length > MOST_STEPS) return undefined;
  const costs = steps.map(model.costOf);
  const assignment = new Assignment(model.most);
  for (const [at, needed] of dependencesOf(steps).entries()) assignment.add(needed, costs[at]!);
  const plan = assignment.finish();
  const makespan = Math.max(...assignment.ends);
  return plan.count > 1 && pays(plan, makespan, costs) ? plan : undefined;
}

/**
 * For each step, the earlier ones that it has to come after: what wrote what it reads or writes, what read
 * what it writes.
 */
export function dependencesOf(steps: readonly Step[]): readonly (readonly number[])[] {
  const writer = new Map<number, number>();
  const readers = new Map<number, number[]>();
  return steps.map((step, at) => {
    const { reads, writes } = buffersOf(step);
    const before = new Set<number>();
    const add = (other: number | undefined): void => {
      if (other !== undefined && other !== at) before.add(other);
    };
    for (const buffer of reads) {
      add(writer.get(buffer));
      const others = readers.get(buffer);
      if (others === undefined) readers.set(buffer, [at]);
      else others.push(at);
    }
    for (const buffer of writes) {
      add(writer.get(buffer));
      readers.get(buffer)?.forEach(add);
      writer.set(buffer, at);
      readers.delete(buffer);
    }
    return [...before].sort((a, b) => a - b);
  });
}

/** Of each stream, the last step that is known to have ended; -1: none. */
type Known = readonly number[];

/** The steps known to be done when both sets are. */
const joined = (a: Known, b: Known): Known => a.map((step, stream) => Math.max(step, b[stream]!));

class Assignment {
  readonly #most: number;
  readonly steps: StepStream[] = [];
  /** When each step ends, if the device could do all at a time. */
  readonly ends: number[] = [];
  /** After each step. */
  readonly #known: Known[] = [];
  /** The last step of each stream. */
  readonly #last: number[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  add(needed: readonly number[], { seconds }: StepCost): void {
    const ready = this.#latest(needed);
    const stream = this.#choose(needed, ready);
    const before = this.#last[stream] ?? -1;
    const own = this.#known[before] ?? new Array<number>(this.#most).fill(-1);
    const { after, known } = this.#waits(needed, own);
    const at = this.steps.length;
    const begin = Math.max(this.ends[before] ?? 0, ready) + (after.length > 0 ? WAIT_SECONDS : 0);
    this.ends.push(begin + seconds);
    this.#known.push(known.map((step, other) => (other === stream ? at : step)));
    this.#last[stream] = at;
    this.steps.push({ stream, after });
  }

  finish(): StreamPlan {
    const own = this.#known[this.#last[0]!]!;
    const { after } = this.#waits(
      [...this.#last].sort((a, b) => a - b),
      own,
    );
    return { count: this.#last.length, steps: this.steps, ends: after };
  }

  #latest(steps: readonly number[]): number {
    return steps.reduce((time, step) => Math.max(time, this.ends[step]!), 0);
  }

  /**
   * The stream that ends with what the step needs last; else one that has nothing left to do by then; else a
   * new one.
   */
  #choose(needed: readonly number[], ready: number): number {
    const endings = this.#last.map((step) => this.ends[step]!);
    const own = [...this.#last.keys()].filter((stream) => needed.includes(this.#last[stream]!));
    if (own.length > 0) return own.reduce((best, other) => (endings[other]! > endings[best]! ? other : best));
    const idle = endings.findIndex((time) => time <= ready);
    if (idle >= 0) return idle;
    if (endings.length < this.#most) return endings.length;
    return endings.indexOf(Math.min(...endings));
  }

  /** The waits of a stream that knows these steps to be done, and the steps it knows then. */
  #waits(
    needed: readonly number[],
    own: Known,
  ): { readonly after: readonly number[]; readonly known: Known } {
    const after: number[] = [];
    let known = own;
    // The latest first: often it comes after the others.
    for (const step of [...needed].reverse()) {
      if (known[this.steps[step]!.stream]! >= step) continue;
      after.unshift(step);
      known = joined(known, this.#known[step]!);
    }
    return { after, known };
  }
}

/** Whether the streams are worth their waits. */
function pays({ count, steps, ends }: StreamPlan, makespan: number, costs: readonly StepCost[]): boolean {
  const waits = steps.reduce((sum, { after }) => sum + after.length, count - 1 + ends.length);
  const alone = costs.reduce((sum, { seconds }) => sum + seconds, 0);
  const filled = costs.reduce((sum, { seconds, share }) => sum + seconds * share, 0);
  const queued = costs.reduce((sum, { queueSeconds }) => sum + queueSeconds, 0);
  const together = Math.max(makespan, filled, queued + waits * QUEUED_WAIT_SECONDS) + WAIT_SECONDS;
  const gain = Math.max(alone, queued) - together;
  return gain > LEAST_SECONDS && gain > LEAST_SHARE * alone;
}

/** Whether a step ends before another begins, by streams and waits. */
export function orderOf({ count, steps }: StreamPlan): (one: number, other: number) => boolean {
  const last = new Array<Known>(count).fill(new Array<number>(count).fill(-1));
  /** The steps known to be done after each step; `known`: before it. */
  const before: Known[] = [];
  const known = steps.map(({ stream, after }, at) => {
    const all = after.reduce((sum, step) => joined(sum, before[step]!), last[stream]!);
    before.push(all.map((step, k) => (k === stream ? at : step)));
    last[stream] = before[at]!;
    return all;
  });
  return (one, other) => known[other]![steps[one]!.stream]! >= one;
}
