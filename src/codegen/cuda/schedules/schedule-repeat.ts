/**
 * The schedule of a loop's body that is one map of each element by itself: a thread keeps its elements in
 * registers for many steps.
 */
import { isSamePlace, loadsFrom } from '../../../fusion/kernel/algebra.js';
import { arithmeticOf } from '../../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { ANY_LENGTH, chunkWidth } from '../chunks.js';
import { accessesOf } from './schedule-rows.js';

export interface RepeatSchedule {
  readonly kind: 'repeat';
  /** The most steps of a launch. */
  readonly steps: number;
  /** Elements that a thread handles together along the last axis. */
  readonly width: number;
  readonly threads: number;
}

const THREADS = 256;
const MOST_STEPS = 512;
/** Elements of a thread, at most: their states stay in registers for all steps. */
const MOST_WIDTH = 4;
/** Arithmetic of a launch, in additions: a few milliseconds, so that a loop that is cancelled ends soon. */
const MOST_WORK = 2 ** 36;

/**
 * The schedule of a kernel in the normal form, if it can be one; its carried buffers say which outputs are its next
 * inputs.
 */
export function chooseRepeat(kernel: Kernel): RepeatSchedule | undefined {
  const { carried, parallel } = kernel;
  if (carried === undefined || kernel.reduced.length > 0 || kernel.stores.length !== carried.length)
    return undefined;
  for (const { output, input } of carried) {
    const store = kernel.stores.find(({ access }) => access.buffer === output);
    if (store === undefined || (parallel.length > 0 && store.access.strides.at(-1) !== 1)) return undefined;
    if (!loadsFrom(kernel, input).every(({ access }) => isSamePlace(access, store.access))) return undefined;
  }
  const count = product(parallel);
  const cost = 1 + arithmeticOf(kernel);
  const steps = Math.min(MOST_STEPS, 2 ** Math.floor(Math.log2(MOST_WORK / (count * cost))));
  if (steps < 2) return undefined;
  return { kind: 'repeat', steps, width: widthOf(kernel), threads: THREADS };
}

function widthOf(kernel: Kernel): number {
  const last = kernel.parallel.length - 1;
  if (last < 0) return 1;
  const along = accessesOf(kernel)
    .filter(({ access }) => access.strides[last] === 1)
    .map(({ dtype }) => dtype);
  return Math.min(MOST_WIDTH, chunkWidth(along, last > 0 ? kernel.parallel[last]! : ANY_LENGTH));
}
