/**
 * The runs of a loop's body: where it is one kernel that makes every state from itself, perhaps several
 * steps of it in one launch; and where its states lie then. Called by `step-list.ts`, and by `loop-counters.ts`
 * for bodies that became one kernel.
 */
import { liveValues, loadsOf } from '../../fusion/kernel/algebra.js';
import type { CarriedBuffers, Kernel } from '../../fusion/kernel/kernel.js';
import { isWhereItIsStored } from './own-place.js';
import type { KernelStep, LoopState, LoopStep, Step, SweepStep } from './plan.js';

type BodyStep = Exclude<Step, SweepStep>;

/** Loops of fewer steps, and stretches between states that are kept, are run step by step. */
const FEW_STEPS = 4;

/** Properties of a device that the runs of a loop's body depend on. */
export interface LoopNeeds {
  /**
   * Whether a kernel is a map each of whose threads reads the elements that it writes before it writes them,
   * so that a result may take an argument's memory; without it, none does.
   */
  readonly isByElement?: ((kernel: Kernel) => boolean) | undefined;
  /** Steps of a loop that the device does in one launch of a body with carried buffers; without it, one. */
  readonly stepsAtOnce?: ((kernel: Kernel) => number) | undefined;
  /** `LoopSkew.tiles` of a body with carried buffers whose steps may follow one another; without it, none may. */
  readonly skewOf?: ((kernel: Kernel) => number | undefined) | undefined;
}

/** How often a loop runs, and what is kept of its states. */
interface Count {
  readonly steps: number;
  readonly every?: number | undefined;
  readonly condition?: number | undefined;
}

/** The runs of a loop, and the places of its states. */
export function loopRuns(
  { steps, every, condition }: Count,
  states: readonly LoopState[],
  body: readonly BodyStep[],
  model: LoopNeeds,
): Pick<LoopStep, 'body' | 'states' | 'stepsAtOnce' | 'skew'> {
  const [step] = body;
  const asIs = { body, states, stepsAtOnce: 1 };
  if (condition !== undefined) return asIs;
  const carried =
    body.length === 1 && step?.kind === 'kernel' && step.scratch.length === 0
      ? carriedOf(step, states)
      : undefined;
  const stretch = every ?? steps;
  if (carried === undefined) return { ...asIs, states: steps === 1 ? once(states) : states };
  const { kernel, ...rest } = step as KernelStep;
  const fed = { ...kernel, carried };
  const stepsAtOnce = stretch < FEW_STEPS ? 1 : (model.stepsAtOnce?.(fed) ?? 1);
  const own = stepsAtOnce === 1 ? kernel : fed;
  const tiles = stepsAtOnce === 1 && stretch > 1 ? model.skewOf?.(fed) : undefined;
  const skew = tiles === undefined ? undefined : { tiles, counters: kernel.counters ?? [] };
  if (Math.ceil(stretch / stepsAtOnce) * (steps / stretch) === 1)
    return { body: [{ ...rest, kernel: own }], states: once(states), stepsAtOnce };
  const isInPlace = model.isByElement?.(own) === true && carried.every((pair) => isOwnPlace(own, pair));
  if (!isInPlace) return { body: [{ ...rest, kernel: own }], states, stepsAtOnce, skew };
  const shared = { ...own, buffers: own.buffers.map((buffer) => ({ ...buffer, isShared: true })) };
  const inPlace = states.map((state) => ({ ...state, other: state.last }));
  return { body: [{ ...rest, kernel: shared }], states: inPlace, stepsAtOnce, skew };
}

/** The states of a loop whose body is run once. */
const once = (states: readonly LoopState[]): LoopState[] => states.map((state) => ({ ...state, other: -1 }));

/** Where a kernel reads and writes each state; undefined where it does not do both. */
function carriedOf({ buffers }: KernelStep, states: readonly LoopState[]): CarriedBuffers[] | undefined {
  const carried = states.map(({ current, next }) => ({
    output: buffers.indexOf(next),
    input: buffers.indexOf(current),
  }));
  return carried.some(({ output, input }) => output < 0 || input < 0) ? undefined : carried;
}

/**
 * Whether a state may be written where it was read: each element is, and is read for its own next value at
 * the latest.
 */
function isOwnPlace(kernel: Kernel, { input, output }: CarriedBuffers): boolean {
  const store = kernel.stores.find(({ access }) => access.buffer === output)!;
  const needed = loadsOf(kernel, liveValues(kernel.tape, [store.value]));
  const isRead = needed.some(({ access }) => access.buffer === input);
  return isRead && isWhereItIsStored(kernel, input, output);
}
