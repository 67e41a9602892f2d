/**
 * The least memory that temporaries of a plan could do with, wherever they are placed: what lives at the same
 * time.
 */

import { mostLive } from '../../src/exec/plan/memory.js';
import type { DevicePlan } from '../../src/exec/plan/plan.js';
import { buffersOf } from '../../src/exec/plan/step-buffers.js';
import { workspacesOf } from '../../src/exec/plan/workspace.js';

/** Of steps that run one after the other; a loop is one step. */
export function arenaBound({ buffers, steps }: Pick<DevicePlan, 'buffers' | 'steps'>): number {
  const uses = buffers.map((): number[] => []);
  for (const [at, step] of steps.entries()) {
    const { reads, writes } = buffersOf(step);
    for (const buffer of [...reads, ...writes, ...workspacesOf(step)]) uses[buffer]!.push(at);
  }
  const blocks = buffers.flatMap(({ role, byteLength }, b) =>
    role === 'temporary' && uses[b]!.length > 0
      ? [{ byteLength, first: Math.min(...uses[b]!), last: Math.max(...uses[b]!) }]
      : [],
  );
  return mostLive(blocks);
}

/** The excess of an arena over that which is allowed. */
export const MOST_OVER_BOUND = 1.05;
