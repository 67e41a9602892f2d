/**
 * Inputs that several steps of a chain read in each panel, as an image and its blur do that are subtracted: the first step
 * that reads a stretch brings it into the cache, where the others find it.
 *
 *     t = rows of x blurred; y = x + (x - columns of t blurred)     →    rows of x are read once, for t
 *
 * Called by `neighbour-panels.ts`.
 */
import { aroundBoth } from '../../codegen/cuts/work.js';
import { bytesByBuffer } from '../../fusion/kernel/traffic.js';
import type { KernelStep } from '../plan/plan.js';
import type { CutTask, Touch } from './sweep-cuts.js';
import type { SizedSweep } from './sweep-slots.js';

/** Panels that are looked at. */
const SAMPLED = 15;
/** The bytes of an input that all panels may touch together, relative to its own: neighbours, and rows around an end. */
const MOST_TOUCHED = 1.5;

/** Buffers that several tasks read and none writes. */
export function readBySeveral(tasks: readonly CutTask[]): number[] {
  const written = new Set(tasks.flatMap(({ writes }) => writes));
  const readers = new Map<number, number>();
  for (const { reads } of tasks)
    for (const buffer of new Set(reads)) readers.set(buffer, (readers.get(buffer) ?? 0) + 1);
  return [...readers].flatMap(([buffer, count]) => (count > 1 && !written.has(buffer) ? [buffer] : []));
}

/** Whether the steps of a panel read one stretch of a buffer, and those of the next one the next. */
export function passesBy(buffer: number, byteLength: number, { tasks, tiles }: SizedSweep): boolean {
  const count = Math.min(SAMPLED, tiles.length);
  const touched = Array.from({ length: count }, (_, k) => {
    const tile = tiles.at(Math.floor((k * tiles.length) / count))!;
    const touches = tile.spans.flatMap((span, at): Touch[] => {
      if (span === undefined) return [];
      return tasks[at]!.task.cut.touches(...span).reads.filter((touch) => touch.buffer === buffer);
    });
    const all = touches.reduce<Touch | undefined>(
      (hull, one) => (hull ? aroundBoth(hull, one) : one),
      undefined,
    );
    return all === undefined ? 0 : all.last - all.first;
  });
  const middle = touched.sort((a, b) => a - b)[Math.floor((count - 1) / 2)]!;
  return middle * tiles.length <= MOST_TOUCHED * byteLength;
}

/** By step of a chain, the bytes that it reads of some buffers behind another step. */
export function bytesReadAgain(steps: readonly KernelStep[], inputs: readonly number[]): number[] {
  const there = new Set<number>();
  return steps.map(({ kernel, buffers }) => {
    const bytes = bytesByBuffer(kernel);
    let again = 0;
    for (const [position, buffer] of buffers.entries()) if (there.has(buffer)) again += bytes[position]!;
    for (const buffer of buffers) if (inputs.includes(buffer)) there.add(buffer);
    return again;
  });
}
