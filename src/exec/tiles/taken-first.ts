/**
 * Kernels in two: a map that stores what some loads of a kernel read, and all else, which reads it where it was put. What
 * is left is planned and scheduled as the whole was, so that sums keep their order.
 *
 *     y[i] = f(x[i], table[k[i]])     t[i] = table[k[i]]     y[i] = f(x[i], t[i])
 *
 * Called by `index-windows.ts` and `apart-loads.ts`.
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
import {
  type Affine,
  argumentsOf,
  type BufferParameter,
  type Kernel,
  product,
} from '../../fusion/kernel/kernel.js';
import { dependenciesOf } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { denseStrides } from '../../graph/graph.js';
import type { KernelStep } from '../plan/plan.js';

/** Makes a buffer of so many bytes, which is windowed where one of `largest` would be. */
export type MakeBuffer = (bytes: number, largest: number) => number;

/**
 * The same kernel for the same numbers: each choice of what is windowed asks for it, and planning knows the works of
 * kernels that it has met.
 */
export function keptByKernel<Made extends object>(
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
export function takenFirst(step: KernelStep, group: readonly Load[], buffer: MakeBuffer): Split | undefined {
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

/** The halves of a kernel whose loads at some positions come first; none where their index is reduced. */
const splitAt = keptByKernel((kernel, positions): { readonly halves: Halves | undefined } => {
  const live = liveValues(kernel.tape, positions);
  if (live.some((at) => isReduction(kernel.tape[at]!))) return { halves: undefined };
  const group = loadsOf(kernel, positions);
  const sizes = sizesOf(kernel);
  const axes = takenAxes(kernel, group);
  const place = placeOf(group[0]!, axes, sizes);
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
    return create.load(i.dtype, { ...group[k]!.access, buffer, place });
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

/** Where elements of a group lie that were taken: in order, and in the direction in which loads without an index walk. */
function placeOf(
  { access: { index, strides } }: Load,
  axes: readonly number[],
  sizes: readonly number[],
): Affine {
  const own = denseStrides(axes.map((axis) => sizes[axis]!));
  let offset = 0;
  const along = sizes.map((size, axis) => {
    const step = own[axes.indexOf(axis)] ?? 0;
    if (index !== undefined || strides[axis]! >= 0) return step;
    offset += step * (size - 1);
    return -step;
  });
  return { offset, strides: along };
}

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
    isOfTaken[at] = access?.place !== undefined || argumentsOf(tape[at]!).some((arg) => isOfTaken[arg]);
    if (!isOfTaken[at] || access !== undefined || !outside.has(at)) continue;
    if (axesOf(at) !== axesOf(positions[0]!)) continue;
    kept.push(at);
    isOfTaken[at] = false;
  }
  return kept;
}

/** The axes that elements of a group depend on, outermost first: those of indices, then as arrays lie in memory. */
export function takenAxes(kernel: Kernel, group: readonly Load[]): number[] {
  const depends = dependenciesOf(kernel);
  const { strides } = group[0]!.access;
  const depth = (axis: number): number =>
    strides[axis] === 0 ? Number.POSITIVE_INFINITY : Math.abs(strides[axis]!);
  const axes = [...sizesOf(kernel).keys()];
  return axes
    .filter((axis) => group.some(({ position }) => depends[position]![axis]))
    .sort((a, b) => (depth(a) === depth(b) ? a - b : depth(b) - depth(a)));
}
