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
import { usedBuffers } from '../../codegen/cuts/split-phases.js';
import {
  extract,
  type Load,
  liveValues,
  loadOf,
  loadsOf,
  mapAffines,
  sizesOf,
  withoutDead,
} from '../../fusion/kernel/algebra.js';
import { hasMonoid, isOrdered, isReduction, reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { create } from '../../fusion/kernel/instruction.js';
import { argumentsOf, type BufferParameter, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { dependenciesOf } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { denseStrides } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import type { KernelStep } from '../plan/plan.js';
import type { WorksOf } from './sweep-cuts.js';

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
    ({ access: { index, buffer } }) =>
      index !== undefined && index.place === undefined && isWindowed(buffers[buffer]!),
  );

/** Makes a buffer of so many bytes, which is windowed where one of `largest` would be. */
type MakeBuffer = (bytes: number, largest: number) => number;

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

/**
 * The same kernel for the same numbers: each choice of what is windowed asks for it, and planning knows the works of
 * kernels that it has met.
 */
function keptByKernel<Made extends object>(
  make: (kernel: Kernel, numbers: readonly number[]) => Made,
): (kernel: Kernel, numbers: readonly number[]) => Made {
  const known = new WeakMap<Kernel, Map<string, Made>>();
  return (kernel, numbers) => {
    const own = known.get(kernel) ?? new Map<string, Made>();
    known.set(kernel, own);
    const key = numbers.join();
    const found = own.get(key) ?? make(kernel, numbers);
    own.set(key, found);
    return found;
  };
}

interface Split {
  readonly taking: KernelStep;
  /** Of `taking`. */
  readonly loads: readonly Load[];
  readonly rest: KernelStep;
}

/** A step in two: a map that stores what a group of loads takes, and all else. */
function takenFirst(step: KernelStep, group: readonly Load[], buffer: MakeBuffer): Split | undefined {
  const positions = group.map(({ position }) => position);
  const { halves } = splitAt(step.kernel, positions);
  if (halves === undefined) return undefined;
  const { taking, loads, rest, bytes } = halves;
  const buffers = [...step.buffers, ...bytes.map((own) => buffer(own, Math.max(...bytes)))];
  const withUsed = ({ kernel, used }: Used): KernelStep => ({
    ...step,
    kernel,
    buffers: used.map((k) => buffers[k]!),
  });
  return { taking: { ...withUsed(taking), scratch: [] }, loads, rest: withUsed(rest) };
}

/** A kernel without the buffers that it does not touch, and those that are left. */
type Used = ReturnType<typeof usedBuffers>;

interface Halves {
  readonly taking: Used;
  /** Of `taking`. */
  readonly loads: readonly Load[];
  readonly rest: Used;
  /** Of each buffer for elements that are taken first, and for values that are kept beside them. */
  readonly bytes: readonly number[];
}

/** The halves of a kernel whose loads at some positions take elements first; none where their index is reduced. */
const splitAt = keptByKernel((kernel, positions): { readonly halves: Halves | undefined } => {
  const live = liveValues(kernel.tape, positions);
  if (live.some((at) => isReduction(kernel.tape[at]!))) return { halves: undefined };
  const group = loadsOf(kernel, positions);
  const sizes = sizesOf(kernel);
  const axes = takenAxes(kernel, group);
  const own = denseStrides(axes.map((axis) => sizes[axis]!));
  const place = { offset: 0, strides: sizes.map((_, axis) => own[axes.indexOf(axis)] ?? 0) };
  const elementCount = product(axes.map((axis) => sizes[axis]!));
  // An order of sums follows from all that its kernel reads.
  const hasOrder = hasMonoid(kernel) || reductionsOf(kernel).some((own) => isOrdered(kernel, own.position));
  const kept = hasOrder ? [] : keptValues(kernel, live, positions);
  const stored = [...positions, ...kept];
  const parameters = (role: BufferParameter['role']): BufferParameter[] => [
    ...kernel.buffers,
    ...stored.map((at): BufferParameter => ({ dtype: kernel.tape[at]!.dtype, role, elementCount })),
  ];
  const first = kernel.buffers.length;
  const { tape, moved } = extract(kernel.tape, live);
  const everywhere: Kernel = {
    name: `${kernel.name}_taken`,
    parallel: sizes,
    reduced: [],
    buffers: parameters('output'),
    tape,
    stores: stored.map((at, k) => ({
      value: moved.get(at)!,
      access: { buffer: first + k, ...place, bounds: [] },
    })),
  };
  const taking = mapAffines(
    everywhere,
    axes.map((axis) => sizes[axis]!),
    [],
    (affine) => ({
      ...affine,
      strides: axes.map((axis) => affine.strides[axis]!),
    }),
  );
  const placed = kernel.tape.map((i, at) => {
    const k = stored.indexOf(at);
    if (k < 0) return i;
    const buffer = first + k;
    if (k >= positions.length) return create.load(i.dtype, { buffer, ...place, bounds: [] });
    const { access } = group[k]!;
    return create.load(i.dtype, { ...access, buffer, index: { ...access.index!, place } });
  });
  const made = usedBuffers(taking);
  const rest = { ...kernel, buffers: parameters('input'), tape: placed };
  return {
    halves: {
      taking: made,
      loads: loadsOf(
        made.kernel,
        positions.map((at) => moved.get(at)!),
      ),
      rest: usedBuffers(kept.length > 0 ? withoutDead(rest) : rest),
      bytes: stored.map((at) => elementCount * byteLengthOf(kernel.tape[at]!.dtype)),
    },
  };
});

/**
 * Of the values that take a group, those that what is left needs, too, and that follow from elements taken before. They
 * depend on the axes of the group, for which they are stored.
 */
function keptValues(kernel: Kernel, live: readonly number[], positions: readonly number[]): number[] {
  const { tape, stores } = kernel;
  const inside = new Set(live);
  const outside = new Set(stores.map(({ value }) => value));
  tape.forEach((i, at) => {
    if (!inside.has(at)) for (const arg of argumentsOf(i)) outside.add(arg);
  });
  const depends = dependenciesOf(kernel);
  const axesOf = (at: number): string => depends[at]!.join();
  const isOfTaken = tape.map(() => false);
  const kept: number[] = [];
  for (const at of live) {
    if (positions.includes(at)) continue;
    const access = loadOf(tape[at]!);
    isOfTaken[at] =
      access?.index?.place !== undefined || argumentsOf(tape[at]!).some((arg) => isOfTaken[arg]);
    if (!isOfTaken[at] || access !== undefined || !outside.has(at)) continue;
    if (axesOf(at) !== axesOf(positions[0]!)) continue;
    kept.push(at);
    isOfTaken[at] = false;
  }
  return kept;
}

/** The axes that elements of a group depend on, outermost first: those of indices, then as arrays lie in memory. */
function takenAxes(kernel: Kernel, group: readonly Load[]): number[] {
  const depends = dependenciesOf(kernel);
  const { strides } = group[0]!.access;
  const depth = (axis: number): number =>
    strides[axis] === 0 ? Number.POSITIVE_INFINITY : Math.abs(strides[axis]!);
  const axes = [...sizesOf(kernel).keys()];
  return axes
    .filter((axis) => group.some(({ position }) => depends[position]![axis]))
    .sort((a, b) => (depth(a) === depth(b) ? a - b : depth(b) - depth(a)));
}

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
