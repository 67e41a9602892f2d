/**
 * The memory that a kernel touches, in sectors of 32 bytes, each counted once however often it is read: exact for affine
 * accesses of one buffer whose strides are equal or whose ranges do not meet, else at most the buffer.
 */
import { accessesOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { insideOf } from '../../fusion/kernel/boxes.js';
import { type Access, type Kernel, placedAccess, sameNumbers } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';

/** The smallest piece of memory that a GPU moves between its caches. */
export const SECTOR_BYTES = 32;

/** Bytes of the sectors of all buffers that a kernel reads and writes. */
export function touchedBytes(kernel: Kernel): number {
  const sizes = sizesOf(kernel);
  const byBuffer = new Map<number, Access[]>();
  for (const access of accessesOf(kernel)) {
    const own = byBuffer.get(access.buffer);
    if (own === undefined) byBuffer.set(access.buffer, [access]);
    else own.push(access);
  }
  let sum = 0;
  for (const [buffer, accesses] of byBuffer) {
    const { dtype, elementCount } = kernel.buffers[buffer]!;
    const bytes = byteLengthOf(dtype);
    sum += Math.min(sectors(elementCount * bytes), bytesOfAccesses(accesses, sizes, bytes, elementCount));
  }
  return sum;
}

const sectors = (bytes: number): number => SECTOR_BYTES * Math.ceil(bytes / SECTOR_BYTES);

/** Accesses with equal strides read the same places but for their offsets: as one with a further axis. */
function bytesOfAccesses(
  accesses: readonly Access[],
  sizes: readonly number[],
  bytes: number,
  elementCount: number,
): number {
  const groups: { readonly first: Access; count: number; low: number; high: number }[] = [];
  for (const access of accesses) {
    const { offset, strides } = access;
    const group = groups.find(({ first }) => isAlike(first, access) && sameNumbers(first.strides, strides));
    if (group === undefined) groups.push({ first: access, count: 1, low: offset, high: offset });
    else {
      group.count++;
      group.low = Math.min(group.low, offset);
      group.high = Math.max(group.high, offset);
    }
  }
  let sum = 0;
  for (const { first, count, low, high } of groups) {
    const one = bytesOfAccess(first, sizes, bytes, elementCount);
    sum += Math.min(count * one, one + (high - low) * bytes);
  }
  return sum;
}

/** Whether places differ by a number alone: not of gathers and of what is folded at the ends of an axis. */
const isAlike = (a: Access, b: Access): boolean =>
  (a.index === undefined) === (b.index === undefined) &&
  a.bounds.every(({ fold }) => fold === undefined) === b.bounds.every(({ fold }) => fold === undefined);

/**
 * Axes from the smallest stride up: those that step from sector to sector, or within what inner ones reach, lengthen a
 * run; others repeat it.
 */
function bytesOfAccess(given: Access, sizes: readonly number[], bytes: number, elementCount: number): number {
  const access = placedAccess(given);
  const inside = insideOf(
    access.bounds,
    sizes.map((n) => [0, n]),
  );
  if (inside === undefined) return 0;
  const axes = access.strides
    .map((stride, k) => ({ step: Math.abs(stride) * bytes, size: inside[k]![1] - inside[k]![0] }))
    .filter(({ step, size }) => step > 0 && size > 1);
  // A gather may read each index of its axis once, and no more of them than there are elements.
  const { index } = access;
  if (index !== undefined) {
    const count = inside.reduce((n, [first, last]) => n * Math.max(0, last - first), 1);
    axes.push({ step: Math.abs(index.stride) * bytes, size: Math.min(index.size, count, elementCount) });
  }
  axes.sort((a, b) => a.step - b.step);
  let [run, runs] = [bytes, 1];
  for (const { step, size } of axes) {
    if (step <= Math.max(run, SECTOR_BYTES)) run += step * (size - 1);
    else runs *= size;
  }
  return runs * sectors(run);
}
