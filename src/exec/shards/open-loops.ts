/**
 * Loops that several devices share: the steps of a body become steps of the job, in parts that are planned as
 * any other steps are. Devices keep their shares of the states from round to round, and bring halos from their
 * neighbours when a round begins:
 *
 *     lead      initial → first       the first round
 *     steady    current → next        all others but the last: what is next is current after each
 *     last      current → last        the last round; where a condition ends the loop, copies
 *     keep      current → frame       every so many rounds, of states that are kept: copies, instead of a last round
 *
 * Called by `sharding.ts`; `loop-work.ts` says which loops are sooner done so.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import type { LoopState, LoopStep, PhaseState, Step } from '../plan/plan.js';
import { withBuffers } from '../plan/rename-buffers.js';
import { lifetimesOf, usesOf } from '../plan/stages.js';
import { buffersOf } from '../plan/step-buffers.js';
import { copyKernel, ownBuffer, type StepList, type UnplacedBuffer } from '../plan/step-list.js';

/** A loop whose rounds are phases. */
export interface OpenLoop {
  readonly nodes: readonly number[];
  readonly rounds: number;
  /** Position among the states; -1: the number of rounds is known. */
  readonly condition: number;
  /** As of `PhaseLoop`. */
  readonly every: number;
  readonly states: readonly PhaseState[];
  /** States of which a device has a share, by position. */
  readonly parted: readonly number[];
}

/** The part of a loop that steps are. */
export interface LoopPart {
  readonly loop: OpenLoop;
  readonly part: 'lead' | 'steady' | 'last' | 'keep';
}

/** A step list some of whose steps are parts of loops. */
export interface OpenStepList extends StepList {
  /** For each step; undefined: it is part of none. */
  readonly parts: readonly (LoopPart | undefined)[];
}

/** The step list with all of its loops as they are. */
export const withoutParts = (stepList: StepList): OpenStepList => ({
  ...stepList,
  parts: stepList.steps.map(() => undefined),
});

/**
 * The step list with the bodies of some loops among its steps; `partedOf` says which states of a loop devices have
 * shares of, and that it stays as it is: undefined.
 */
export function openLoops(
  stepList: StepList,
  partedOf: (loop: LoopStep) => readonly number[] | undefined,
): OpenStepList {
  const opening = new Opening(stepList);
  for (const step of stepList.steps) {
    const parted = step.kind === 'loop' ? partedOf(step) : undefined;
    if (step.kind === 'loop' && parted !== undefined) opening.open(step, parted);
    else opening.add(step);
  }
  return opening.stepList();
}

/** The buffers of states of which devices have shares. */
export const statesOf = ({ parts }: OpenStepList): Set<number> =>
  new Set(
    loopsOf(parts).flatMap(({ states, parted }) =>
      parted.flatMap((k) => {
        const { first, current, next, frame } = states[k]!;
        return frame < 0 ? [first, current, next] : [first, current, next, frame];
      }),
    ),
  );

/** Each loop of some parts once. */
export const loopsOf = (parts: readonly (LoopPart | undefined)[]): OpenLoop[] => [
  ...new Set(parts.flatMap((part) => part?.loop ?? [])),
];

/** Runs of a loop's body. */
export const roundsOf = ({ steps, stepsAtOnce }: LoopStep): number => Math.ceil(steps / stepsAtOnce);

/** Whether the rounds of a loop can be phases: where its condition is read. */
export function isOpenable(
  { steps, condition, states }: LoopStep,
  buffers: readonly UnplacedBuffer[],
): boolean {
  if (steps === 0) return false;
  return condition < 0 || buffers[states[condition]!.initial]!.role === 'temporary';
}

class Opening {
  readonly #stepList: StepList;
  readonly #buffers: UnplacedBuffer[];
  readonly #steps: Step[] = [];
  readonly #parts: (LoopPart | undefined)[] = [];
  readonly #users: ReturnType<typeof lifetimesOf>;

  constructor(stepList: StepList) {
    this.#stepList = stepList;
    this.#buffers = [...stepList.buffers];
    this.#users = lifetimesOf(stepList.steps.map((step) => ({ uses: usesOf(step) })));
  }

  add(step: Step, part?: LoopPart): void {
    this.#steps.push(step);
    this.#parts.push(part);
  }

  stepList(): OpenStepList {
    return { ...this.#stepList, buffers: this.#buffers, steps: this.#steps, parts: this.#parts };
  }

  open(loop: LoopStep, parted: readonly number[]): void {
    const { nodes, condition, every } = loop;
    const endsWithRound = condition < 0 && every === 0;
    const rounds = roundsOf(loop) - (endsWithRound ? 1 : 0);
    const states = loop.states.map((state, k) => this.#state(state, k));
    const own: OpenLoop = { nodes, rounds, condition, every, states, parted };
    const of = (name: 'initial' | 'first' | 'current' | 'next'): number[] =>
      states.map((state) => state[name]);
    if (rounds > 0) this.#round(loop, of('initial'), of('first'), { loop: own, part: 'lead' });
    if (rounds > 1) this.#round(loop, of('current'), of('next'), { loop: own, part: 'steady' });
    const end: LoopPart = { loop: own, part: every > 0 ? 'keep' : 'last' };
    if (endsWithRound) this.#round(loop, rounds > 0 ? of('current') : of('initial'), lastOf(loop), end);
    for (const [k, { current, frame }] of states.entries()) {
      if (frame >= 0) this.#copy(current, frame, end);
      else if (condition >= 0 && this.#isNeeded(loop.states[k]!.last))
        this.#copy(current, loop.states[k]!.last, end);
    }
  }

  #state({ initial, next, kept }: LoopState, k: number): PhaseState {
    const named = (name: string): number => this.#like(next, `${name} of state ${k}`);
    const own = { initial, first: named('first'), current: named('current'), next: named('next') };
    return { ...own, frame: kept < 0 ? -1 : named('kept'), kept };
  }

  /** A body that reads states from some buffers and writes the next ones to others. */
  #round(loop: LoopStep, from: readonly number[], to: readonly number[], part: LoopPart): void {
    const moved = new Map<number, number>();
    for (const [k, { current, next }] of loop.states.entries()) {
      moved.set(current, from[k]!);
      moved.set(next, to[k]!);
    }
    for (const buffer of loop.body.flatMap(madeBy))
      if (!moved.has(buffer)) moved.set(buffer, this.#like(buffer, part.part, this.#buffers[buffer]!.role));
    for (const step of loop.body)
      this.add(
        withBuffers(step, (buffer) => moved.get(buffer) ?? buffer),
        part,
      );
  }

  /** Whether the last state of a loop is a result, or something reads it. */
  #isNeeded(last: number): boolean {
    return this.#buffers[last]!.role === 'output' || (this.#users.get(last) ?? []).length > 1;
  }

  #copy(from: number, to: number, part: LoopPart): void {
    const { byteLength } = this.#buffers[to]!;
    const dtype = byteLength % byteLengthOf('uint32') === 0 ? 'uint32' : 'uint8';
    const kernel = copyKernel(dtype, byteLength / byteLengthOf(dtype));
    this.add({ kind: 'kernel', kernel, buffers: [from, to], scratch: [], nodes: [] }, part);
  }

  #like(buffer: number, name: string, role: UnplacedBuffer['role'] = 'temporary'): number {
    const { key, byteLength } = this.#buffers[buffer]!;
    return this.#buffers.push(ownBuffer(`${key} ${name}`, byteLength, role)) - 1;
  }
}

/** The buffers that a step of a body writes, and those in which a loop in it has its states. */
const madeBy = (step: Step): number[] => [
  ...buffersOf(step).writes,
  ...(step.kind === 'loop'
    ? [...step.states.flatMap(({ current, next }) => [current, next]), ...step.body.flatMap(madeBy)]
    : []),
];

const lastOf = ({ states }: LoopStep): number[] => states.map(({ last }) => last);
