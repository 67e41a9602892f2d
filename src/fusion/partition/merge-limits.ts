/**
 * Whether two kernels that fit together stay within what one kernel may be: buffers, walks over its rows,
 * length of a row that stays on the chip. Found before the merged kernel is made, since many merges end here.
 * Called by `merge.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import { type Affine, product, type Store } from '../kernel/kernel.js';
import type { BufferKey } from './buffer-key.js';
import type { MutableKernel } from './mutable-kernel.js';
import { isElement, type Level, levelsIn, type TapeLevels } from './tape-levels.js';
import type { IsLiveOut, Reason, Union } from './union.js';

/** Most arrays one kernel reads and writes: their addresses and strides are its arguments. */
export const MAX_BUFFERS = 96;
/** Most walks over the rows: what lives between them takes registers. */
const MAX_PHASES = 6;

/**
 * Limits of kernels that walk their rows more than once, on every target: with the same kernels on all, values
 * round alike.
 */
export const ROW_LIMITS = {
  /** Fewest rows that fill the device, unless the whole job has no more elements than `smallJob`. */
  leastRows: 128,
  smallJob: 1 << 16,
  /** Longest row, in bytes, that stays on the chip when rows are contiguous, and when columns are. */
  mostRowBytes: 1 << 18,
  mostColumnBytes: 1 << 13,
} as const;

/** Why the two must not be one; `undefined`: they may. */
export function limitOf(union: Union, isLiveOut: IsLiveOut): Reason | undefined {
  if (bufferCount(union, isLiveOut) > MAX_BUFFERS) return 'buffer-limit';
  if (union.reduced.length === 0) return undefined;
  const { first, second, axisOfFirst, axisOfSecond, parallel, reduced } = union;
  const levelsOfFirst = levelsIn(first, axisOfFirst, parallel.length);
  const held = (key: BufferKey): Level | undefined => {
    const stores = first.storesOf(key);
    return stores.length === 0
      ? undefined
      : Math.max(...stores.map(({ value }) => levelsOfFirst.levels[value]!));
  };
  const levelsOfSecond = levelsIn(second, axisOfSecond, parallel.length, held);
  const spreads = (kernel: MutableKernel, axisOf: readonly number[], { levels }: TapeLevels): boolean => {
    const isSpread = ({ value, access }: Store): boolean =>
      !isElement(levels[value]!) && walksRow(access, axisOf, union);
    return kernel.uses.some(({ buffer, stores }) => stores.some(isSpread) && isLiveOut(buffer.key));
  };
  // A value of the row, or a constant, is stored once for a row.
  if (spreads(first, axisOfFirst, levelsOfFirst) || spreads(second, axisOfSecond, levelsOfSecond))
    return 'domain-mismatch';
  const phases = Math.max(levelsOfFirst.phases, levelsOfSecond.phases);
  if (phases === 1) return undefined;
  if (phases > MAX_PHASES) return 'phase-limit';
  const length = product(reduced);
  return rowsProblem(product(parallel), length, length * rowBytes(union), rowsAreContiguous(union));
}

/**
 * Why rows, or columns that are not contiguous, are not walked several times by one kernel, in which they stay on the
 * chip; `undefined`: they are.
 */
export function rowsProblem(
  rows: number,
  length: number,
  byteLength: number,
  areContiguous: boolean,
): 'too-few-rows' | 'row-too-long' | 'needs-result' | undefined {
  if (rows * length <= ROW_LIMITS.smallJob) return undefined;
  const isLong = byteLength > (areContiguous ? ROW_LIMITS.mostRowBytes : ROW_LIMITS.mostColumnBytes);
  // However they are laid out: an array by its mean, or by those of a few columns.
  if (rows < ROW_LIMITS.leastRows) return isLong ? 'needs-result' : 'too-few-rows';
  return isLong ? 'row-too-long' : undefined;
}

/** Buffers that the merged kernel reads and writes. */
function bufferCount({ first, second }: Union, isLiveOut: IsLiveOut): number {
  let count = 0;
  for (const { buffer, loads, stores } of first.uses) {
    if (loads.length > 0) count++;
    if (stores.length > 0 && isLiveOut(buffer.key)) count++;
  }
  for (const { buffer, loads, stores } of second.uses) {
    if (loads.length > 0 && !first.touches(buffer.key)) count++;
    if (stores.length > 0 && isLiveOut(buffer.key)) count++;
  }
  return count;
}

/** Whether an access moves along a reduced axis of the merged kernel. */
const walksRow = ({ strides }: Affine, axisOf: readonly number[], { parallel, reduced }: Union): boolean =>
  strides.some((stride, k) => {
    const axis = axisOf[k]! - parallel.length;
    return stride !== 0 && axis >= 0 && reduced[axis] !== 1;
  });

/** Bytes of the widest element loaded along the row. */
function rowBytes({ first, second }: Union): number {
  let most = 1;
  for (const kernel of [first, second]) {
    for (const { buffer, loads } of kernel.uses)
      if (loads.length > 0 && (kernel === first || first.storesOf(buffer.key).length === 0))
        most = Math.max(most, byteLengthOf(buffer.dtype));
  }
  return most;
}

/** Whether some load walks a reduced axis with stride 1. */
function rowsAreContiguous({ first, second, axisOfFirst, axisOfSecond, parallel }: Union): boolean {
  const walks = ({ strides }: Affine, axisOf: readonly number[]): boolean =>
    strides.some((stride, k) => axisOf[k]! >= parallel.length && Math.abs(stride) === 1);
  for (const { loads } of first.uses) if (loads.some((load) => walks(load, axisOfFirst))) return true;
  for (const { buffer, loads } of second.uses) {
    if (first.storesOf(buffer.key).length > 0) continue;
    if (loads.some((load) => walks(load, axisOfSecond))) return true;
  }
  return false;
}
