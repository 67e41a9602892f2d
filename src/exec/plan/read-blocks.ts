/**
 * Inputs that are never in memory as a whole although they would fit: where one kernel takes every element
 * about once, whoever computes a block reads it then, and computes on it while it is in its caches. Called by
 * `device-planner.ts`.
 */
import type { DeviceModel } from './device-model.js';
import { buffersOf } from './step-buffers.js';
import type { StepList } from './step-list.js';

/** Less than this is read before the job begins, by all threads at a time. */
const LEAST_BYTES = 2 ** 20;

/** The step list with such inputs read in blocks; the same step list where there are none. */
export function inReadBlocks(stepList: StepList, { readsOnce }: Pick<DeviceModel, 'readsOnce'>): StepList {
  if (readsOnce === undefined || stepList.steps.some(({ kind }) => kind !== 'kernel' && kind !== 'call'))
    return stepList;
  const isInBlocks = stepList.buffers.map(({ role, isRead, byteLength }, buffer) => {
    if (role !== 'input' || !isRead || byteLength < LEAST_BYTES) return false;
    const [reader, ...others] = stepList.steps.filter((step) => buffersOf(step).reads.includes(buffer));
    if (reader?.kind !== 'kernel' || others.length > 0) return false;
    const place = reader.buffers.indexOf(buffer);
    return reader.buffers.lastIndexOf(buffer) === place && readsOnce(reader.kernel, place);
  });
  if (!isInBlocks.includes(true)) return stepList;
  const buffers = stepList.buffers.map((buffer, k) =>
    isInBlocks[k] === true ? { ...buffer, readInBlocks: true } : buffer,
  );
  return { ...stepList, buffers };
}
