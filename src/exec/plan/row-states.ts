/**
 * Has loops write rows of their states in place: a state whose next value is itself with one row set (`writeRow`) lies in
 * one buffer, not in two by turns, and nothing of it is copied.
 *
 *     state 0: b5 to b6, from b1, in b2 and b3        state 0: b5 to b6, from b2, in b2
 *       v = b5 @ w                               →      v = b5 @ w
 *       b6 = writeRow b5 i v                            b6 = writeRow b5 i v, in place
 *
 * The write comes behind all other steps that read the state before it; where one of those needs the next state, it stays as
 * it is. A first state that steps before the loop make for the loop alone is made where the states lie; of any other, an
 * input among them, the first step copies all other rows. Called by `device-planner.ts` for plans that hold everything at
 * once.
 */
import type { RoutineStep } from '../calls/call.js';
import type { LoopState, LoopStep, Step } from './plan.js';
import { withBuffers } from './rename-buffers.js';
import { buffersOf } from './step-buffers.js';
import type { StepList, UnplacedBuffer } from './step-list.js';

/** The step list with such states; itself, where there are none. */
export function withRowsInPlace(stepList: StepList): StepList {
  const steps = inPlaceIn(stepList.steps, stepList.buffers);
  return steps === stepList.steps ? stepList : { ...stepList, steps };
}

/** Steps one after the other, those of loops in them too. */
function inPlaceIn<S extends Step>(given: readonly S[], buffers: readonly UnplacedBuffer[]): readonly S[] {
  let steps = given.map((step): S => (step.kind === 'loop' ? (written(step, buffers) as Step as S) : step));
  if (steps.every((step, k) => step === given[k])) return given;
  for (const [at, step] of steps.entries()) {
    if (step.kind !== 'loop') continue;
    for (const [k, { last, other }] of step.states.entries())
      if (last === other) steps = startedInPlace(steps, at, k, buffers);
  }
  return steps;
}

/** A loop whose states are written in place where they can be. */
function written(loop: LoopStep, buffers: readonly UnplacedBuffer[]): LoopStep {
  const body = inPlaceIn(loop.body, buffers);
  let found: { readonly order: readonly Step[]; readonly states: readonly LoopState[] } | undefined;
  for (const state of loop.states) {
    if (state.other < 0 || !body.some((step) => isWriteOf(step, state))) continue;
    const states = [...(found?.states ?? []), state];
    const order = orderedFor(found?.order ?? body, states);
    if (order !== undefined) found = { order, states };
  }
  if (found === undefined) return body === loop.body ? loop : { ...loop, body };
  const { order, states } = found;
  return {
    ...loop,
    body: order.map((step) =>
      states.some((state) => isWriteOf(step, state)) ? { ...(step as RoutineStep), isInPlace: true } : step,
    ),
    states: loop.states.map((state) => (states.includes(state) ? { ...state, other: state.last } : state)),
  };
}

/** Whether a step makes the next value of a state by setting a row of it. */
const isWriteOf = (step: Step, { current, next }: LoopState): boolean =>
  step.kind === 'call' &&
  step.call === 'writeRow' &&
  step.operands[0]!.buffer === current &&
  step.results[0]!.buffer === next;

/** The steps in an order in which nothing reads a state behind its write; undefined: there is none. */
function orderedFor(steps: readonly Step[], states: readonly LoopState[]): readonly Step[] | undefined {
  // Behind all that needs nothing of it, so that a GPU has something to do before it is known whether the step counts.
  let order = writtenLast(steps, states.at(-1)!);
  // Each move may bring a reader of another state behind that one's write, which then moves behind it.
  for (let k = 0; k <= states.length; k++) {
    const late = states.find((state) => isReadLate(order, state));
    if (late === undefined) return order;
    order = writtenLast(order, late);
  }
  return undefined;
}

function isReadLate(steps: readonly Step[], state: LoopState): boolean {
  const at = steps.findIndex((step) => isWriteOf(step, state));
  return steps.slice(at + 1).some((step) => buffersOf(step).reads.includes(state.current));
}

/** The steps with the write of a state, and those that need it, behind all others. */
function writtenLast(steps: readonly Step[], state: LoopState): readonly Step[] {
  const changed = new Set<number>();
  const isLast = (step: Step): boolean => {
    const { reads, writes } = buffersOf(step);
    if (!isWriteOf(step, state) && ![...reads, ...writes].some((buffer) => changed.has(buffer))) return false;
    for (const buffer of writes) changed.add(buffer);
    return true;
  };
  const last = new Set(steps.filter(isLast));
  return [...steps.filter((step) => !last.has(step)), ...last];
}

/** The steps in which the first value of state `k` of the loop at `at` is made where the others lie, if it can be. */
function startedInPlace<S extends Step>(
  steps: S[],
  at: number,
  k: number,
  buffers: readonly UnplacedBuffer[],
): S[] {
  const loop = steps[at] as Step as LoopStep;
  const { initial, last } = loop.states[k]!;
  const uses = (step: Step): boolean => {
    const { reads, writes } = buffersOf(step);
    return reads.includes(initial) || writes.includes(initial);
  };
  const isMade = steps.slice(0, at).some((step) => buffersOf(step).writes.includes(initial));
  const isReadElsewhere =
    loop.states.some((state, other) => other !== k && state.initial === initial) ||
    loop.body.some(uses) ||
    steps.slice(at + 1).some(uses);
  if (buffers[initial]!.role !== 'temporary' || !isMade || isReadElsewhere) return steps;
  const moved = (buffer: number): number => (buffer === initial ? last : buffer);
  return steps.map((step, place) => (place <= at ? withBuffers(step, moved) : step));
}
