/** Which buffers a step of a plan reads and writes. Called by all that orders, places or cuts steps. */
import { callRow } from '../calls/table.js';
import type { LoopState, Step } from './plan.js';

/** The buffers that a loop writes a state to. */
export const buffersOfState = ({ last, other, kept }: LoopState): number[] =>
  [last, other, kept].filter((buffer) => buffer >= 0);

/**
 * The buffers that a step reads, and those that it writes, scratch included, but for the workspace of calls.
 */
export function buffersOf(step: Step): {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
} {
  switch (step.kind) {
    case 'kernel':
    case 'phase':
    case 'finish': {
      const reads: number[] = [];
      const writes: number[] = [];
      for (let k = 0; k < step.buffers.length; k++)
        (step.kernel.buffers[k]!.role === 'input' ? reads : writes).push(step.buffers[k]!);
      for (const buffer of step.scratch) writes.push(buffer);
      return { reads, writes };
    }
    case 'call':
      return callRow(step).buffersOf(step);
    case 'loop': {
      const bound = new Set(step.states.flatMap(({ current, next }) => [current, next]));
      const parts = step.body.map(buffersOf);
      const own = step.states.flatMap(buffersOfState);
      const writes = new Set([...own, ...parts.flatMap((part) => part.writes)]);
      // States that are written in place may begin there.
      const initial = new Set(step.states.map((state) => state.initial));
      const reads = new Set([...initial, ...parts.flatMap((part) => part.reads)]);
      const isOutside = (buffer: number): boolean => !bound.has(buffer);
      return {
        reads: [...reads].filter((b) => isOutside(b) && (initial.has(b) || !writes.has(b))),
        writes: [...writes].filter(isOutside),
      };
    }
    case 'sweep': {
      const parts = step.body.map((part) => buffersOf(part.step));
      return {
        reads: [...new Set(parts.flatMap(({ reads }) => reads))],
        writes: [...new Set(parts.flatMap(({ writes }) => writes))],
      };
    }
  }
}
