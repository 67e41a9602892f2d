/**
 * Cache lines that a tape reads or writes otherwise than in one prefetched stream: those of far memory take longer than
 * their bytes. Counted for `tape-tally.ts`, by the blocking; lines that are read again, as by neighbours' loads of a stencil,
 * are taken to be in a near cache.
 */

import { accessesOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Access, type Kernel, product } from '../../fusion/kernel/kernel.js';
import { trafficOf } from '../../fusion/kernel/traffic.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { CHUNK } from '../../shared/layout.js';
import { type Blocking, laneKindOf, laneModeOf, rowStrideOf } from './tape-blocking.js';
import { SQUARE_ROWS } from './tape-cost.js';
import type { LineRate } from './tape-rates.js';

const LINE_BYTES = 64;
/** Buffers below this size are in a core's own caches beside all others. */
const LEAST_BYTES = 2 ** 19;
/** Loads of neighbours so far apart find each other's lines in a second cache. */
const NEXT_BYTES = 2 ** 13;
/** Results from this size on are written past the caches: as in `tape-job.h`. */
export const STREAM_BYTES = 2 ** 24;

/** How many lines, or rows of lanes, there are for each rate. */
export function linesOf(
  kernel: Kernel,
  blocking: Blocking,
  isChained: boolean,
): ReadonlyMap<LineRate, number> {
  const amounts = new Map<LineRate, number>();
  const add = (rate: LineRate, amount: number): void => {
    if (amount > 0) amounts.set(rate, (amounts.get(rate) ?? 0) + amount);
  };
  for (const path of pathsOf(kernel)) {
    const { dtype, role, elementCount } = kernel.buffers[path[0]!.buffer]!;
    const bytes = byteLengthOf(dtype);
    if (path[0]!.index !== undefined || bytes * elementCount < LEAST_BYTES) continue;
    for (const [k, access] of path.entries()) {
      const gap = gapOf(kernel, path, k);
      if (k > 0 && gap >= NEXT_BYTES)
        add('again', (elementsOf(access, sizesOf(kernel)) * bytes) / LINE_BYTES);
      // Those that follow nearer find the lines of the first.
      if (gap < LEAST_BYTES) continue;
      if (role === 'input') countRead(kernel, blocking, access, bytes, add);
      else if (kernel.reduced.length === 0) countWritten(kernel, blocking, access, bytes, add);
    }
  }
  const { bytesWritten } = trafficOf(kernel);
  if (!isChained && bytesWritten >= STREAM_BYTES) add('copied', bytesWritten / LINE_BYTES);
  return amounts;
}

/** Accesses along one path through a buffer, in the order of their offsets. */
function pathsOf(kernel: Kernel): (readonly Access[])[] {
  const paths = new Map<string, Access[]>();
  for (const access of accessesOf(kernel)) {
    const key = `${access.buffer} ${access.strides} ${access.index === undefined}`;
    paths.set(key, [...(paths.get(key) ?? []), access]);
  }
  return [...paths.values()].map((path) => path.sort((a, b) => a.offset - b.offset));
}

/** Bytes of an access behind the one before it; infinite where there is none. */
const gapOf = (kernel: Kernel, path: readonly Access[], k: number): number =>
  k === 0
    ? Number.POSITIVE_INFINITY
    : byteLengthOf(kernel.buffers[path[k]!.buffer]!.dtype) * (path[k]!.offset - path[k - 1]!.offset);

type Add = (rate: LineRate, amount: number) => void;

function countRead(kernel: Kernel, blocking: Blocking, access: Access, bytes: number, add: Add): void {
  const { rows } = blocking;
  const sizes = sizesOf(kernel);
  const elements = elementsOf(access, sizes);
  const mode = laneModeOf(access, blocking, sizes);
  if (mode.type === 'splat') return;
  if (mode.type === 'table') {
    const { laneAxes, take } = blocking;
    const [outer, inner] = [laneAxes[0]!, laneAxes.at(-1)!].map((axis) => access.strides[axis]! * bytes);
    // A line serves steps along the first lane axis, too.
    const served = Math.min(take, Math.max(1, LINE_BYTES / Math.max(1, Math.abs(outer!))));
    if (Math.abs(inner!) >= LINE_BYTES) add('alone', elements / served);
    return;
  }
  const row = rowStrideOf(access, blocking);
  const apart = Math.abs(mode.stride);
  const isByLane = kernel.reduced.length > 0 && laneKindOf(kernel, blocking) !== 'reduced';
  if (apart !== 1 && Math.abs(row) === 1 && rows >= SQUARE_ROWS)
    add('alone', (elements / rows) * Math.ceil((rows * bytes) / LINE_BYTES));
  else if (apart * bytes >= LINE_BYTES) add('alone', elements);
  else {
    const isReadByColumns = isByLane && rows > 1 && row !== 0;
    if (apart > 1 || isReadByColumns) add('unasked', (elements * apart * bytes) / LINE_BYTES);
    if (!isReadByColumns && !follows(blocking, row, apart, bytes)) add('row', elements / blocking.width);
  }
}

function countWritten(kernel: Kernel, blocking: Blocking, access: Access, bytes: number, add: Add): void {
  const sizes = sizesOf(kernel);
  const mode = laneModeOf(access, blocking, sizes);
  if (mode.type !== 'stride') return;
  const elements = elementsOf(access, sizes);
  const row = rowStrideOf(access, blocking);
  const starts = access.strides.filter((_, axis) => !blocking.laneAxes.includes(axis));
  const hasWholeLines =
    mode.stride === 1 &&
    blocking.width % CHUNK === 0 &&
    [row, ...starts].every((each) => (each * bytes) % LINE_BYTES === 0);
  const isStreamed = kernel.buffers[access.buffer]!.elementCount * bytes >= STREAM_BYTES;
  if (isStreamed && !hasWholeLines) add('fetched', (elements * bytes) / LINE_BYTES);
}

const elementsOf = ({ strides }: Access, sizes: readonly number[]): number =>
  product(strides.map((stride, axis) => (stride === 0 ? 1 : sizes[axis]!)));

/** Whether a row of a block begins in the line that the last one ends in, or in the next: it goes on with its stream. */
const follows = ({ rows, width }: Blocking, row: number, apart: number, bytes: number): boolean =>
  rows === 1 || Math.abs(Math.abs(row) - width * apart) * bytes <= LINE_BYTES;
