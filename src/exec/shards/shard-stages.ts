/**
 * Stages: tasks that devices do together before the next ones can begin, each as it can be sharded. Called by
 * `sharding.ts`.
 */

import type { SourceArray } from '../../fusion/passes/source-array.js';
import type { Phase, Step } from '../plan/plan.js';
import type { UnplacedBuffer } from '../plan/step-list.js';
import type { BytePitches, Task, Touch } from '../tiles/sweep-cuts.js';
import type { StepGroup } from '../tiles/sweep-groups.js';
import type { SweptTask } from '../tiles/sweep-windows.js';
import type { LoopPart } from './open-loops.js';
import type { Piece } from './shard-device.js';
import type { Form } from './shared-work.js';

export interface Stage {
  readonly kind: Phase['kind'];
  readonly tasks: readonly Task[];
  readonly pitches: BytePitches;
  /** The part of a loop that it is. */
  readonly part: LoopPart | undefined;
}

/** A group of steps, and the part of a loop that they are. */
export type PlacedGroup = StepGroup & Pick<Stage, 'part'>;

/** Tasks that run as a whole after each other are one stage. */
export function stagesOf(groups: readonly PlacedGroup[]): Stage[] {
  const stages: (Stage & { readonly tasks: Task[] })[] = [];
  for (const { tasks, runs, pitches, part } of groups) {
    const kind = runs === 'tiles' ? 'sharded' : 'whole';
    const last = stages.at(-1);
    if (kind === 'whole' && last?.kind === kind && last.part === part) last.tasks.push(...tasks);
    else stages.push({ kind, tasks: [...tasks], pitches, part });
  }
  return stages;
}

/** Where an input lies on devices; none: it does not. */
export function givenPieces({ role, source }: UnplacedBuffer, sources: readonly SourceArray[]): Piece[] {
  const given = role === 'input' ? sources[source]!.source : undefined;
  if (given?.type !== 'device') return [];
  const { shards, device, byteLength } = given.buffer;
  if (shards === undefined) return [{ device, first: 0, last: byteLength }];
  return shards.map(({ buffer, first }) => ({
    device: buffer.device,
    first,
    last: first + buffer.byteLength,
  }));
}

interface TaskRules {
  readonly byteLengthOf: (buffer: number) => number;
  readonly isOnHost: (buffer: number) => boolean;
}

/**
 * A task as it can be sharded. Partial results of a phase are in scratch memory, slot after slot: a range of
 * slots is a range of bytes. Windows of rows have rows of their own in slots, which what lies on devices is
 * not copied to.
 */
function asSharded(task: Task, { byteLengthOf, isOnHost }: TaskRules): Task {
  const { step, cut } = task;
  if (cut === undefined) return task;
  const own = ownScratch(step);
  const partials = (first: number, last: number): Touch[] =>
    step.kind !== 'phase'
      ? []
      : step.scratch.map((buffer) => {
          const slot = byteLengthOf(buffer) / cut.units;
          return { buffer, first: first * slot, last: last * slot };
        });
  const touches: typeof cut.touches = (first, last, pitches) => {
    const { reads, writes } = cut.touches(first, last, pitches);
    // Each device has scratch memory of its own for the rows that it does.
    const shared = writes.filter(({ buffer }) => !own.has(buffer));
    return { reads, writes: [...shared, ...partials(first, last)] };
  };
  const pitches: typeof cut.pitches = (b) => (isOnHost(b) ? cut.pitches(b) : []);
  return { ...task, cut: { ...cut, touches, pitches } };
}

/** The forms of a step whose parts finish what they write, as devices share them. */
export const shareableForms = (forms: readonly Form[], rules: TaskRules): Form[] =>
  forms
    .map((form) => form.map((task) => asSharded(task, rules)))
    .filter((form) => form.some(({ cut }) => cut !== undefined && cut.units > 1))
    .filter((form) => form.every(finishesWhatItWrites));

/** Scratch memory that the parts of a step need no more once they have ended. */
const ownScratch = (step: Step): ReadonlySet<number> => new Set(step.kind === 'kernel' ? step.scratch : []);

/**
 * Whether the parts of a task finish all that it writes, but for memory of its own; what adds up part by part
 * does not.
 */
function finishesWhatItWrites({ step, cut, writes }: Task): boolean {
  if (cut === undefined) return true;
  const own = ownScratch(step);
  const finished = new Set(cut.touches(0, cut.units).writes.map(({ buffer }) => buffer));
  return writes.every((b) => finished.has(b) || own.has(b));
}

export const largestOf = (tasks: readonly SweptTask[], bytesOf: (buffer: number) => number): Task => {
  const size = ({ task: { reads, writes } }: SweptTask): number =>
    [...reads, ...writes].reduce((sum, b) => sum + bytesOf(b), 0);
  return tasks.reduce((most, one) => (size(one) > size(most) ? one : most)).task;
};
