/** Kernels as maps of routines, and the uses of buffers that say which may be one. Called by `scan-maps.ts` and `sparse-maps.ts`. */
import type { ElementMap, RoutineStep } from '../calls/call.js';
import type { KernelStep, Step } from './plan.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

/** By buffer, the steps that write it and those that read it. */
export interface Uses {
  readonly writers: ReadonlyMap<number, readonly Step[]>;
  readonly readers: ReadonlyMap<number, readonly Step[]>;
  readonly isTemporary: (buffer: number) => boolean;
  readonly isStreamed: (buffer: number) => boolean;
}

export function usesOf(steps: readonly Step[], buffers: StepList['buffers']): Uses {
  const writers = new Map<number, Step[]>();
  const readers = new Map<number, Step[]>();
  const enter = (uses: Map<number, Step[]>, buffer: number, step: Step): void => {
    const entered = uses.get(buffer);
    if (entered === undefined) uses.set(buffer, [step]);
    else entered.push(step);
  };
  for (const step of steps) {
    const { reads, writes } = buffersOf(step);
    for (const buffer of new Set(reads)) enter(readers, buffer, step);
    for (const buffer of new Set(writes)) enter(writers, buffer, step);
  }
  return {
    writers,
    readers,
    isTemporary: (buffer) => buffers[buffer]!.role === 'temporary',
    isStreamed: (buffer) => buffers[buffer]!.isRead || buffers[buffer]!.isFetched === true,
  };
}

/** A kernel as a map of a routine. */
export const mapOf = ({ kernel, buffers }: KernelStep): ElementMap => ({ kernel, buffers });

/** The array that an epilogue writes, in the shape of the routine's, or of one element a row. */
export function resultOf(
  { results }: RoutineStep,
  { kernel, buffers }: ElementMap,
): RoutineStep['results'][number] {
  const { buffer } = kernel.stores[0]!.access;
  const { shape: whole } = results[0]!;
  const shape = kernel.reduced.length > 0 ? [whole[0]!, ...whole.slice(1).map(() => 1)] : whole;
  return { shape, dtype: kernel.buffers[buffer]!.dtype, buffer: buffers[buffer]! };
}
