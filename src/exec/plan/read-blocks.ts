/**
 * Inputs that are never in memory as a whole although they would fit: where one kernel takes every element
 * about once, whoever computes a block reads it then, and computes on it while it is in its caches. Called by
 * `device-planner.ts`.
 */
import type { DeviceModel } from './device-model.js';
import type { Draft } from './draft.js';
import { buffersOf } from './step-buffers.js';

/** Less than this is read before the job begins, by all threads at a time. */
const LEAST_BYTES = 2 ** 20;

/** The draft with such inputs read in blocks; the same draft where there are none. */
export function inReadBlocks(draft: Draft, { readsOnce }: Pick<DeviceModel, 'readsOnce'>): Draft {
  if (readsOnce === undefined || draft.steps.some(({ kind }) => kind !== 'kernel' && kind !== 'call'))
    return draft;
  const isInBlocks = draft.buffers.map(({ role, isRead, byteLength }, buffer) => {
    if (role !== 'input' || !isRead || byteLength < LEAST_BYTES) return false;
    const [reader, ...others] = draft.steps.filter((step) => buffersOf(step).reads.includes(buffer));
    if (reader?.kind !== 'kernel' || others.length > 0) return false;
    const place = reader.buffers.indexOf(buffer);
    return reader.buffers.lastIndexOf(buffer) === place && readsOnce(reader.kernel, place);
  });
  if (!isInBlocks.includes(true)) return draft;
  const buffers = draft.buffers.map((buffer, k) =>
    isInBlocks[k] === true ? { ...buffer, readInBlocks: true } : buffer,
  );
  return { ...draft, buffers };
}
