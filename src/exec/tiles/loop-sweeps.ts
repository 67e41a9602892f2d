/**
 * Loops whose bodies are swept: what a step reads elsewhere it finds in the whole state before, which waits
 * in host memory. Several steps of a stencil become one body, so that the states are copied once for all of
 * them; tiles then have a halo as wide as those steps reach, which neighbours compute too:
 *
 *     8 steps of x → f(x)   →   2 steps of x → f(f(f(f(x))))
 *
 * Called by `sweeps.ts`.
 */

import type { Kernel } from '../../fusion/kernel/kernel.js';
import { WINDOW, WINDOW_FIELDS } from '../../shared/layout.js';
import type { DevicePlan, KernelStep, LoopState, LoopStep, Step } from '../plan/plan.js';
import { copyKernel, ownBuffer, type StepList, type UnplacedBuffer } from '../plan/step-list.js';
import { loopCut } from './loop-cuts.js';
import type { WorksOf } from './sweep-cuts.js';

/** The most kernels that become one body: planning takes longer with each. */
const MOST_UNROLLED = 16;

/** A run of steps that are planned together: those of a loop's body, or steps between loops. */
export interface Segment {
  readonly loop: LoopStep | undefined;
  readonly steps: readonly Step[];
}

/** Steps between loops that `opens` chooses, and the bodies of those. */
export function segmentsOf(steps: readonly Step[], opens: (loop: LoopStep) => boolean): Segment[] {
  const segments: Segment[] = [];
  for (const step of steps) {
    if (step.kind === 'loop' && opens(step)) {
      segments.push({ loop: step, steps: step.body });
      continue;
    }
    const last = segments.at(-1);
    if (last === undefined || last.loop !== undefined) segments.push({ loop: undefined, steps: [step] });
    else segments[segments.length - 1] = { loop: undefined, steps: [...last.steps, step] };
  }
  return segments;
}

/**
 * The step lists to try, where loops may do several steps of a stencil at a time: more at once first, and one at
 * last.
 */
export function unrollings(stepList: StepList, worksOf: WorksOf): StepList[] {
  const open = unrollable(stepList, worksOf);
  if (open.size === 0) return [stepList];
  const stepLists: StepList[] = [];
  // With kernels of one step, whose parts are smaller, where those of several are not enough.
  const several = [...open].some((step) => step.kind === 'loop' && step.stepsAtOnce > 1);
  for (const isPlain of several ? [false, true] : [true])
    for (let most = MOST_UNROLLED; most >= 1; most /= 2)
      stepLists.push(new Unrolling(stepList, open, { most: () => most, isPlain }).stepList());
  return stepLists;
}

/** Loops of a stencil: their bodies are one map, which reads elsewhere. */
const unrollable = ({ steps }: StepList, worksOf: WorksOf): ReadonlySet<Step> =>
  new Set(
    steps.filter((step) => step.kind === 'loop' && isMap(step) && loopCut(step, worksOf) === undefined),
  );

/** The step list where some loops, if they are of a stencil, do in each step as many kernels as `most` says. */
export function unrolled(
  stepList: StepList,
  worksOf: WorksOf,
  loops: ReadonlySet<Step>,
  most: (loop: LoopStep) => number,
): StepList {
  const open = new Set([...unrollable(stepList, worksOf)].filter((loop) => loops.has(loop)));
  return new Unrolling(stepList, open, { most, isPlain: false }).stepList();
}

/** How many kernels become one body, and whether each does one step. */
interface Way {
  readonly most: (loop: LoopStep) => number;
  readonly isPlain: boolean;
}

/**
 * The step list with loops that have their last states in memory of their own, from where they are copied: of
 * results that go to files, which a loop cannot read again.
 */
export function withResultsApart(stepList: StepList, worksOf: WorksOf): StepList {
  const buffers = [...stepList.buffers];
  const steps = stepList.steps.flatMap((step): Step[] => {
    if (step.kind !== 'loop' || loopCut(step, worksOf) !== undefined) return [step];
    const copies: KernelStep[] = [];
    const states = step.states.map((state): LoopState => {
      const { key, byteLength, role } = buffers[state.last]!;
      if (role !== 'output') return state;
      const last = buffers.push(ownBuffer(`last ${key}`, byteLength)) - 1;
      const kernel = copyKernel('uint8', byteLength);
      copies.push({ kind: 'kernel', kernel, buffers: [last, state.last], scratch: [], nodes: step.nodes });
      return { ...state, last, other: state.other === state.last ? last : state.other };
    });
    return [{ ...step, states }, ...copies];
  });
  return { ...stepList, buffers, steps };
}

/** Whether the body of a loop is one map. */
function isMap({ condition, body: [only, ...others] }: LoopStep): boolean {
  if (condition >= 0 || only?.kind !== 'kernel' || others.length > 0) return false;
  return only.kernel.reduced.length === 0 && only.scratch.length === 0;
}

class Unrolling {
  readonly #stepList: StepList;
  /** The loops that change. */
  readonly #open: ReadonlySet<Step>;
  readonly #way: Way;
  readonly #buffers: UnplacedBuffer[];

  constructor(stepList: StepList, open: ReadonlySet<Step>, way: Way) {
    this.#stepList = stepList;
    this.#open = open;
    this.#way = way;
    this.#buffers = [...stepList.buffers];
  }

  stepList(): StepList {
    const steps = this.#stepList.steps.flatMap((step) =>
      step.kind === 'loop' && this.#open.has(step) ? this.#unrolled(step) : [step],
    );
    return { ...this.#stepList, buffers: this.#buffers, steps };
  }

  /** The loop with several steps in each; what is left over comes first, as a loop of its own. */
  #unrolled(loop: LoopStep): LoopStep[] {
    const stretch = loop.every > 0 ? loop.every : loop.steps;
    const most = Math.min(this.#way.most(loop) * this.#stepsOf(loop), stretch);
    const divisor = largestDivisor(stretch, most);
    const apart = loop.every === 0 && 2 * divisor < most;
    const count = apart ? most : divisor;
    const rest = loop.steps % count;
    if (rest === 0) return [this.#several(loop, loop.steps, count)];
    const between = loop.states.map((state) => this.#add(state.last));
    const before = loop.states.map((state, k): LoopState => ({ ...state, last: between[k]! }));
    const after = loop.states.map((state, k): LoopState => ({ ...state, initial: between[k]! }));
    return [
      this.#several({ ...loop, states: before }, rest, rest),
      this.#several({ ...loop, states: after }, loop.steps - rest, count),
    ];
  }

  /** Steps that a kernel does. */
  #stepsOf({ stepsAtOnce }: LoopStep): number {
    return this.#way.isPlain ? 1 : stepsAtOnce;
  }

  /** `steps` steps of a loop, `count` at a time. */
  #several(loop: LoopStep, steps: number, count: number): LoopStep {
    const own = this.#stepsOf(loop);
    const step = apartFrom(loop.body[0] as KernelStep, own > 1);
    const kernels = Math.ceil(count / own);
    // Two loops may not have the same buffers for their states.
    const states = loop.states.map((state): LoopState => {
      const [current, next] = [this.#add(state.current), this.#add(state.next)];
      const isOnce = steps === count;
      const other = isOnce
        ? -1
        : state.other < 0 || state.other === state.last
          ? this.#add(state.last)
          : state.other;
      return { ...state, current, next, other };
    });
    const inner = Array.from({ length: kernels - 1 }, () =>
      loop.states.map(({ next }) => this.#add(next, 'temporary')),
    );
    const body = Array.from({ length: kernels }, (_, k): KernelStep => {
      const moved = new Map<number, number>();
      for (const [s, { current, next }] of loop.states.entries()) {
        moved.set(current, k === 0 ? states[s]!.current : inner[k - 1]![s]!);
        moved.set(next, k === kernels - 1 ? states[s]!.next : inner[k]![s]!);
      }
      const buffers = step.buffers.map((buffer) => moved.get(buffer) ?? buffer);
      return { ...step, buffers, ...(own > 1 ? { loopSteps: Math.min(own, count - k * own) } : {}) };
    });
    const every = loop.every / (loop.every > 0 ? count : 1);
    return { ...loop, steps: steps / count, every, stepsAtOnce: 1, states, body, skew: undefined };
  }

  /** Another buffer like one that is there; of the memory of a run, if that one is a result. */
  #add(like: number, as?: UnplacedBuffer['role']): number {
    const { key, byteLength, role } = this.#buffers[like]!;
    const own = as ?? (role === 'state' ? role : 'temporary');
    return this.#buffers.push(ownBuffer(`${key} again ${this.#buffers.length}`, byteLength, own)) - 1;
  }
}

function largestDivisor(n: number, most: number): number {
  for (let d = most; d > 1; d--) if (n % d === 0) return d;
  return 1;
}

/** A kernel that writes over nothing that it reads; one that does a single step, or several. */
function apartFrom(step: KernelStep, isSeveral: boolean): KernelStep {
  const { carried, ...kernel } = step.kernel;
  const buffers = kernel.buffers.map(({ isShared: _, ...buffer }) => buffer);
  const own: Kernel = { ...kernel, buffers };
  return { ...step, kernel: isSeveral && carried !== undefined ? { ...own, carried } : own };
}

/** Bytes that a plan's sweeps copy, in all runs of the loops that they are in. */
export function bytesMoved({ steps }: Pick<DevicePlan, 'steps'>): number {
  const moved = (step: Step): number => {
    if (step.kind === 'loop') return runsOf(step) * step.body.reduce((sum, part) => sum + moved(part), 0);
    if (step.kind !== 'sweep') return 0;
    let bytes = 0;
    for (const { windows } of step.windows)
      for (let at = 0; at < windows.length; at += WINDOW_FIELDS)
        if (windows[at + WINDOW.copies] === 1)
          bytes += windows[at + WINDOW.width]! * windows[at + WINDOW.rows]!;
    return bytes;
  };
  return steps.reduce((sum, step) => sum + moved(step), 0);
}

/** With a condition nobody knows: any number does to compare plans that differ in nothing else. */
const runsOf = ({ steps, condition, stepsAtOnce }: LoopStep): number =>
  condition >= 0 ? 1 : Math.ceil(steps / stepsAtOnce);
