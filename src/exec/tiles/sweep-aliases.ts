/**
 * Lets one kernel have several windows of one input: loads that walk an input in different places get buffers
 * of their own, so that a tile needs a small window for each instead of all that lies between them.
 *
 *     x + roll(x, 1)   the first tile reads the first rows of x, and the last one
 *
 * The arithmetic stays as it is, and so does the order of sums, for which the buffers of one input count once. Called by `sweeps.ts`.
 */
import { mapLoads } from '../../fusion/kernel/algebra.js';
import type { Access } from '../../fusion/kernel/kernel.js';
import type { KernelStep } from '../plan/plan.js';

/** Loads this close, as a part of the buffer, share a window: it is but a little larger than either. */
const NEAR = 1 / 64;

/**
 * The step with further buffers; `alias` makes one for the same data. `mayAlias` says of which buffers there
 * may be several.
 */
export function splitLoads(
  step: KernelStep,
  mayAlias: (buffer: number) => boolean,
  alias: (buffer: number) => number,
): KernelStep {
  const { kernel } = step;
  const groups = new Map<number, { readonly leader: Access; readonly position: number }[]>();
  const buffers = [...step.buffers];
  const parameters = [...kernel.buffers];
  // A kernel that does several steps of a loop finds its states in one place.
  const isCarried = (buffer: number): boolean =>
    kernel.carried?.some(({ input }) => input === buffer) === true;
  const renamed = mapLoads(kernel, (access) => {
    if (isCarried(access.buffer) || !mayAlias(step.buffers[access.buffer]!)) return access;
    const known = groups.get(access.buffer) ?? [];
    let group = known.find(({ leader }) =>
      isNear(leader, access, kernel.buffers[access.buffer]!.elementCount),
    );
    if (group === undefined) {
      const position = known.length === 0 ? access.buffer : parameters.length;
      if (known.length > 0) {
        buffers.push(alias(step.buffers[access.buffer]!));
        const parameter = { ...kernel.buffers[access.buffer]!, array: access.buffer };
        parameters[access.buffer] = parameter;
        parameters.push(parameter);
      }
      group = { leader: access, position };
      groups.set(access.buffer, [...known, group]);
    }
    return group.position === access.buffer ? access : { ...access, buffer: group.position };
  });
  if (buffers.length === step.buffers.length) return step;
  return { ...step, kernel: { ...renamed, buffers: parameters }, buffers };
}

/** Whether two accesses of a buffer of so many elements, or of rows of it, can share a window. */
export const isNear = (a: Access, b: Access, length: number): boolean =>
  a.strides.every((stride, k) => stride === b.strides[k]) && Math.abs(a.offset - b.offset) <= length * NEAR;
