/**
 * Kernels that take elements at any indices of buffers that are on the device in windows: such a kernel runs once for
 * each window of the indexed axis, on the elements whose index lies in it.
 *
 *     y[i] = exp(table[k[i]])      window 0: rows 0 … 999     y[i] where k[i] < 1000
 *                                  window 1: rows 1000 … 1999     y[i] where 1000 <= k[i] < 2000
 *
 * Of loads by several indices, and of a reduction, elements are taken by kernels of their own first; what is left reads
 * them where they are, in the order of the whole. Of a map in which each index follows from what the last one took, as in
 * a search, each of these kernels stores as well how far it has come, so that the next one reads no more than that:
 *
 *     k = t[h] < y[i] ? h : 0;  l = t[k + q] < y[i] ? k + q : k;  z[i] = t[l]
 *
 *     t0[i] = t[h]     k[i] = t0[i] < y[i] ? h : 0, t1[i] = t[k[i] + q]     l[i] = t1[i] < y[i] ? k[i] + q : k[i], z[i] = t[l[i]]
 *
 * Called by `sweep-attempt.ts`.
 */
import { type Load, loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Kernel, product } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { Slices } from '../../host/slices.js';
import type { KernelStep } from '../plan/plan.js';
import type { WorksOf } from './sweep-cuts.js';
import { keptByKernel, type MakeBuffer, takenAxes, takenFirst } from './taken-first.js';

/** A part of a step; `takes`: it runs in windows of indices. */
export interface TakingPart {
  readonly step: KernelStep;
  readonly takes: boolean;
}

/** Loads of windowed buffers by an index. */
const takenLoads = (
  { kernel, buffers }: KernelStep,
  isWindowed: (buffer: number) => boolean,
): readonly Load[] =>
  loadsOf(kernel).filter(
    ({ access: { index, place, buffer } }) =>
      index !== undefined && place === undefined && isWindowed(buffers[buffer]!),
  );

/**
 * The steps that do the same in windows, in order; `buffer` makes one for elements that are taken first. `undefined`: an
 * index is reduced in the kernel, or a buffer is read in another way, too.
 */
export function* inIndexWindows(
  step: KernelStep,
  isWindowed: (buffer: number) => boolean,
  buffer: MakeBuffer,
): Slices<readonly TakingPart[] | undefined> {
  const { carried, reduced } = step.kernel;
  if (carried !== undefined || product(sizesOf(step.kernel)) === 0) return undefined;
  const parts: TakingPart[] = [];
  let rest = step;
  for (;;) {
    yield;
    const [group, ...others] = groupsOf(takenLoads(rest, isWindowed));
    if (group === undefined) return [...parts, { step: rest, takes: false }];
    if (others.length === 0 && reduced.length === 0) {
      return isAlone(rest, group) ? [...parts, { step: withWindows(rest, group), takes: true }] : undefined;
    }
    const split = takenFirst(rest, group, buffer);
    if (split === undefined || !isAlone(split.taking, split.loads)) return undefined;
    parts.push({ step: withWindows(split.taking, split.loads), takes: true });
    rest = split.rest;
  }
}

/** Loads that move through windows together, those first that others' indices may depend on. */
function groupsOf(loads: readonly Load[]): Load[][] {
  const groups = new Map<string, Load[]>();
  for (const load of loads) {
    const { value, size } = load.access.index!;
    const key = `${value} ${size}`;
    groups.set(key, [...(groups.get(key) ?? []), load]);
  }
  return [...groups.values()];
}

/** Whether the buffers of a group are read by it alone, each by one stride of the index. */
function isAlone({ kernel }: KernelStep, group: readonly Load[]): boolean {
  const strides = new Map(group.map(({ access }) => [access.buffer, access.index!.stride]));
  const { value } = group[0]!.access.index!;
  return loadsOf(kernel).every(({ access: { buffer, index } }) => {
    const stride = strides.get(buffer);
    return stride === undefined || (index?.value === value && index.stride === stride);
  });
}

const withWindows = (step: KernelStep, group: readonly Load[]): KernelStep => {
  const taken = group.map(({ access }) => access.buffer);
  return { ...step, kernel: inWindows(step.kernel, [...new Set(taken)]) };
};

/** A kernel that takes elements of some of its buffers in windows. */
const inWindows = keptByKernel((kernel, taken) => ({
  ...kernel,
  buffers: kernel.buffers.map((buffer, k) =>
    taken.includes(k) ? { ...buffer, isTakenInWindows: true } : buffer,
  ),
}));

/** Bytes of what the loads of a kernel take by an index. */
export function takenBytes(kernel: Kernel): number[] {
  const sizes = sizesOf(kernel);
  return loadsOf(kernel)
    .filter(({ access }) => access.index !== undefined)
    .map((load) => product(takenAxes(kernel, [load]).map((axis) => sizes[axis]!)) * byteLengthOf(load.dtype));
}

/** The part of a buffer that the smallest tile of a kernel may hold: with more, few budgets have room for it. */
const MOST_HELD = 1 / 32;

/** Whether a kernel takes elements of windowed buffers, much of which each of its tiles would hold. */
export function holdsTaken(
  step: KernelStep,
  isWindowed: (buffer: number) => boolean,
  worksOf: WorksOf,
): boolean {
  const taken = new Set(takenLoads(step, isWindowed).map(({ access }) => access.buffer));
  if (taken.size === 0) return false;
  const { rows } = worksOf(step.kernel);
  if (rows === undefined) return true;
  return rows
    .regions(0, 1)
    .reads.some(
      ({ buffer, first, last }) =>
        taken.has(buffer) && last - first > MOST_HELD * step.kernel.buffers[buffer]!.elementCount,
    );
}

/** The axis that elements are taken along in windows, and the buffers that they are taken from. */
export interface Indexed {
  readonly size: number;
  /** Of each, bytes from one index to the next; negative where it is flipped. */
  readonly strides: ReadonlyMap<number, number>;
  /** Whether elements are read within bounds, or a buffer in another way, too: footprints do not just move on. */
  readonly isBounded: boolean;
}

/** The axis of a step that takes elements in windows. */
export function indexedBy({ kernel, buffers }: KernelStep): Indexed {
  const loads = loadsOf(kernel).filter(
    ({ access }) => kernel.buffers[access.buffer]!.isTakenInWindows === true,
  );
  const strides = loads.map(({ access: { buffer, index }, dtype }) => {
    return [buffers[buffer]!, index!.stride * byteLengthOf(dtype)] as const;
  });
  const taken = new Set(loads.map(({ access }) => access.buffer));
  const isAlsoElse = buffers.some((buffer, k) => !taken.has(k) && strides.some(([own]) => own === buffer));
  const isBounded = isAlsoElse || loads.some(({ access }) => access.bounds.length > 0);
  return { size: loads[0]!.access.index!.size, strides: new Map(strides), isBounded };
}
