/**
 * Stages: what planners fill and `place.ts` places. A stage is anything that reads and writes buffers: a
 * step, steps that share tiles, a device's part of a phase. A job that fits has a stage for each step;
 * whatever does not fit has sweeps in stages.
 *
 *     x → exp → y → sum → z      stage 0 uses x, y; stage 1 uses y, z      y lives from 0 to 1
 */
import { completed, type Slices } from '../../host/slices.js';
import type { Sizer } from '../tiles/sweep-slots.js';
import { recordsOf } from './loop-records.js';
import type { LoopStep, PlanBuffer, Step } from './plan.js';
import { buffersOf, buffersOfState } from './step-buffers.js';
import type { UnplacedBuffer } from './step-list.js';
import { workspacesOf } from './workspace.js';

export interface Stage {
  /** The buffers that it reads and writes, and memory of its own: in use from its beginning to its end. */
  readonly uses: readonly number[];
  /** Its steps, where it is no sweep. */
  readonly steps?: readonly Step[];
  /** Sizes its sweep, given the bytes that there are for slots. */
  readonly size?: Sizer;
  /** The loop whose body it is a part of. */
  readonly loop?: LoopStep | undefined;
}

/** A buffer, and how much of it is in memory. */
export type StagedBuffer = UnplacedBuffer & Pick<PlanBuffer, 'windowed' | 'part'>;

/** Steps between pauses: each takes some 1 µs. */
const STEPS_OF_SLICE = 1024;

/** A job as stages that run one after the other, over numbered buffers. */
export interface Staged {
  readonly buffers: readonly StagedBuffer[];
  readonly stages: readonly Stage[];
  /** The key of each output of the graph. */
  readonly outputKeys: readonly string[];
}

/**
 * For each buffer that is used, the stages that use it, in order: it lives from the first of them to the
 * last.
 */
export type Lifetimes = ReadonlyMap<number, readonly number[]>;

export function lifetimesOf(stages: readonly Pick<Stage, 'uses'>[]): Lifetimes {
  return completed(lifetimesInSlices(stages));
}

/** As `lifetimesOf`. */
export function* lifetimesInSlices(stages: readonly Pick<Stage, 'uses'>[]): Slices<Lifetimes> {
  const lifetimes = new Map<number, number[]>();
  for (let at = 0; at < stages.length; at++) {
    if (at % STEPS_OF_SLICE === STEPS_OF_SLICE - 1) yield;
    for (const buffer of stages[at]!.uses) {
      const known = lifetimes.get(buffer);
      if (known === undefined) lifetimes.set(buffer, [at]);
      else if (known[known.length - 1] !== at) known.push(at);
    }
  }
  return lifetimes;
}

/** The buffers that a step reads and writes, and the workspace of its calls. */
export function usesOf(step: Step): number[] {
  const { reads, writes } = buffersOf(step);
  return [...reads, ...writes, ...workspacesOf(step)];
}

/** Everything that a loop touches from before its first step to after its last. */
export const heldByLoop = (loop: LoopStep): number[] => [
  ...buffersOf(loop).reads,
  ...loop.states.flatMap(buffersOfState),
  ...recordsOf(loop),
];

/**
 * A stage for each step; for a loop those of its body, and one at its end: memory of one step of it serves
 * the next, too.
 */
export const stagesOf = (steps: readonly Step[]): Stage[] => completed(stagesInSlices(steps));

/** As `stagesOf`. */
export function* stagesInSlices(steps: readonly Step[]): Slices<Stage[]> {
  const stages: Stage[] = [];
  for (let k = 0; k < steps.length; k++) {
    if (k % STEPS_OF_SLICE === STEPS_OF_SLICE - 1) yield;
    const step = steps[k]!;
    if (step.kind === 'loop') stages.push(...stagesOfLoop(step));
    else stages.push({ uses: usesOf(step), steps: [step] });
  }
  return stages;
}

function stagesOfLoop(loop: LoopStep): Stage[] {
  const held = heldByLoop(loop);
  const [first, ...others] = stagesOf(loop.body).map(({ uses }) => ({ uses }));
  const body = first === undefined ? [] : [{ uses: [...held, ...first.uses] }, ...others];
  return [...body, { uses: held, steps: [loop] }];
}
