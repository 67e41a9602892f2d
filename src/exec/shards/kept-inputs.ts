/**
 * Inputs of the host that several phases read: the first phase that brings a device its share leaves it
 * there, so that an input goes over the bus once:
 *
 *     m = mean(x), y = x - m      →      m = mean(x) and k = copy(x), y = k - m
 *
 * Called by `sharding.ts`, which drops the copies where devices have no room for them.
 */
import type { KernelStep, Step } from '../plan/plan.js';
import { withBuffers } from '../plan/rename-buffers.js';
import { copyKernel, ownBuffer } from '../plan/step-list.js';
import type { Task } from '../tiles/sweep-cuts.js';
import type { OpenStepList } from './open-loops.js';
import type { Stage } from './shard-stages.js';

/** Of an input, so much is read by the first phase that takes it: a copy brings no more. */
const MOST = 0.9;

export interface ReaderRules {
  /** The number of a buffer in the step list, if it is an input of the host that is large. */
  readonly inputOf: (buffer: number) => number | undefined;
  readonly byteLengthOf: (buffer: number) => number;
  /** The step of the step list that a task is of. */
  readonly stepOf: (task: Task) => number;
}

/** The steps that read an input in the first phase that does, and those that read it in later ones. */
interface Readers {
  readonly stage: number;
  readonly first: Set<number>;
  readonly later: Set<number>;
}

/**
 * The step list in which later phases read copies that the first one leaves; itself, where no input is read
 * twice.
 */
export function withKeptInputs(
  stepList: OpenStepList,
  stages: readonly Stage[],
  rules: ReaderRules,
): OpenStepList {
  const buffers = [...stepList.buffers];
  let { steps } = stepList;
  const copies = new Map<number, KernelStep[]>();
  for (const [input, { first, later }] of readersOf(stages, rules)) {
    const moved = [...later].filter((step) => !first.has(step) && stepList.steps[step]!.kind !== 'loop');
    if (moved.length === 0) continue;
    const { key, byteLength } = buffers[input]!;
    const kept = buffers.push(ownBuffer(`kept ${key}`, byteLength)) - 1;
    steps = steps.map((step, k) => (moved.includes(k) ? reading(step, input, kept) : step));
    const [nodes, after] = [[], Math.min(...first)];
    const kernel = copyKernel('uint8', byteLength);
    const copy: KernelStep = { kind: 'kernel', kernel, buffers: [input, kept], scratch: [], nodes };
    copies.set(after, [...(copies.get(after) ?? []), copy]);
  }
  if (copies.size === 0) return stepList;
  const parts = stepList.parts.flatMap((part, k) => [part, ...(copies.get(k) ?? []).map(() => part)]);
  return { ...stepList, buffers, parts, steps: steps.flatMap((step, k) => [step, ...(copies.get(k) ?? [])]) };
}

function readersOf(stages: readonly Stage[], rules: ReaderRules): Map<number, Readers> {
  const found = new Map<number, Readers>();
  for (const [at, { kind, tasks }] of stages.entries()) {
    if (kind === 'whole') continue;
    for (const task of tasks) {
      for (const buffer of task.reads) {
        const input = rules.inputOf(buffer);
        if (input === undefined) continue;
        const known = found.get(input);
        if (known !== undefined) (known.stage === at ? known.first : known.later).add(rules.stepOf(task));
        else if (readsMost(task, buffer, rules.byteLengthOf(buffer)))
          found.set(input, { stage: at, first: new Set([rules.stepOf(task)]), later: new Set() });
      }
    }
  }
  return found;
}

function readsMost({ cut }: Task, buffer: number, byteLength: number): boolean {
  const touch = cut?.touches(0, cut.units).reads.find((read) => read.buffer === buffer);
  return touch !== undefined && touch.last - touch.first >= MOST * byteLength;
}

/** The step with another buffer in the place of one that it reads. */
const reading = (step: Step, from: number, to: number): Step =>
  withBuffers(step, (buffer) => (buffer === from ? to : buffer));
