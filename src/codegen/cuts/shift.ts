/**
 * Shifts: how the footprint of a range of units moves where the range moves along the outermost axis that is cut.
 * Jobs far larger than memory have a hundred thousand tiles; all but a few are others moved, and need not be worked
 * out again (`exec/tiles/moved-tiles.ts`).
 *
 *     y[i, j] = x[i, j] + b[j], a row a unit, of 16 float32   →   x and y: 64 bytes a unit, b: 0
 */
import { sizesOf } from '../../fusion/kernel/algebra.js';
import { type Box, holdsEverywhere, insideOf, rangeIn, rangeOf } from '../../fusion/kernel/boxes.js';
import {
  type Access,
  type Affine,
  isZeroOutside,
  type Kernel,
  placedAccess,
} from '../../fusion/kernel/kernel.js';

/**
 * Units [first + period, last + period) touch what [first, last) do, so many elements (of a work) or bytes (of a cut)
 * further in each buffer; in others the same. For ranges between `from` and `to`.
 */
export interface Shift {
  readonly period: number;
  readonly from: number;
  readonly to: number;
  readonly by: ReadonlyMap<number, number>;
}

/** Loops that units go through: how many steps of what length along an axis of the kernel, outermost first. */
export interface UnitLoop {
  readonly axis: number;
  readonly count: number;
  readonly step: number;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * The shift of units of `length` steps each of some loops. `undefined`: accesses of a buffer move differently, or
 * none of them by the same in every step.
 */
export function shiftOf(
  kernel: Kernel,
  accesses: readonly Access[],
  loops: readonly UnitLoop[],
  length = 1,
): Shift | undefined {
  const outermost = loops.findIndex(({ count }) => count > 1);
  if (outermost < 0) return undefined;
  const { axis, step } = loops[outermost]!;
  const inner = loops.slice(outermost + 1).reduce((all, { count }) => all * count, 1);
  const period = inner / gcd(inner, length);
  const distance = ((period * length) / inner) * step;
  const by = new Map<number, number>();
  const inside: [first: number, last: number] = [0, sizesOf(kernel)[axis]!];
  const placed = accesses.map(placedAccess);
  for (const access of placed) {
    if (insideOf(access.bounds, wholeBox(kernel)) === undefined) continue;
    const moved = (access.strides[axis] ?? 0) * distance;
    if ((by.get(access.buffer) ?? moved) !== moved || !narrow(kernel, access, axis, inside)) return undefined;
    by.set(access.buffer, moved);
  }
  const box = wholeBox(kernel).map((range, k) => (k === axis ? inside : range));
  const stays = (access: Access): boolean => {
    const { elementCount } = kernel.buffers[access.buffer]!;
    const [low, high] = rangeIn(access, insideOf(access.bounds, box) ?? box);
    return access.strides[axis] === 0 || (low >= 0 && high < elementCount);
  };
  if (inside[1] <= inside[0] || !placed.every(stays)) return undefined;
  const from = Math.ceil(inside[0] / distance) * period;
  const to = Math.floor(inside[1] / distance) * period;
  return to - from > period ? { period, from, to, by } : undefined;
}

const wholeBox = (kernel: Kernel): Box => sizesOf(kernel).map((size) => [0, Math.max(1, size)] as const);

/**
 * Narrows a range of an axis to where bounds of an access cut nothing off. False: it gathers along the axis, or
 * folds coordinates that move along it.
 */
function narrow(
  kernel: Kernel,
  { bounds, index, strides }: Access,
  axis: number,
  inside: [number, number],
): boolean {
  if (index !== undefined && strides[axis] !== 0) return false;
  for (const bound of bounds) {
    const stride = bound.strides[axis]!;
    if (stride === 0 || holdsEverywhere(bound, sizesOf(kernel))) continue;
    if (!isZeroOutside(bound)) return false;
    const others: Affine = { offset: bound.offset, strides: bound.strides.with(axis, 0) };
    const [low, high] = rangeOf(others, sizesOf(kernel));
    // 0 <= low + stride * x and high + stride * x <= size - 1
    const ends = [-low / stride, (bound.size - 1 - high) / stride];
    inside[0] = Math.max(inside[0], Math.ceil(stride > 0 ? ends[0]! : ends[1]!));
    inside[1] = Math.min(inside[1], Math.floor(stride > 0 ? ends[1]! : ends[0]!) + 1);
  }
  return true;
}
