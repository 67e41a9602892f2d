/**
 * Inputs that are never in memory as a whole although they would fit: where one kernel takes every element
 * about once, whoever computes a block reads it then, and computes on it while it is in its caches. Called by
 * `plan-graph.ts`.
 */
import { type DeviceNeeds, peakOf } from './device-needs.js';
import type { Draft } from './draft.js';
import type { Plan } from './plan.js';
import { buffersOf } from './step-buffers.js';

/** Less than this is read before the job begins, by all threads at a time. */
const LEAST_BYTES = 2 ** 20;

/** The plan with such inputs read in blocks; the same plan where there are none. */
export function inReadBlocks(draft: Draft, needs: DeviceNeeds, plan: Plan): Plan {
  const { readsOnce } = needs;
  if (readsOnce === undefined || plan.steps.some(({ kind }) => kind !== 'kernel' && kind !== 'call'))
    return plan;
  const isInBlocks = draft.buffers.map(({ role, isRead, byteLength }, buffer) => {
    if (role !== 'input' || !isRead || byteLength < LEAST_BYTES) return false;
    const [reader, ...others] = plan.steps.filter((step) => buffersOf(step).reads.includes(buffer));
    if (reader?.kind !== 'kernel' || others.length > 0) return false;
    const place = reader.buffers.indexOf(buffer);
    return reader.buffers.lastIndexOf(buffer) === place && readsOnce(reader.kernel, place);
  });
  if (!isInBlocks.includes(true)) return plan;
  const held = draft.buffers.filter(({ role }, k) => role !== 'temporary' && !isInBlocks[k]);
  return {
    ...plan,
    buffers: plan.buffers.map((buffer, k) => (isInBlocks[k] ? { ...buffer, readInBlocks: true } : buffer)),
    peakBytes: peakOf(needs, plan.arenaByteLength, held),
  };
}
