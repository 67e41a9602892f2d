/**
 * Chunks: V consecutive elements along one axis that one thread handles together, how an access to them moves, and which
 * others it finds its elements in. A chunk moves as one access of up to 16 bytes where its addresses are
 * consecutive and aligned, else element by element; what does not depend on the axis is loaded once.
 *
 * Called by the schedules, which choose axis and V, and by `chunk-moves.ts`, which prints loads and stores.
 */
import { type Access, isZeroOutside, sameBound } from '../../fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import { STORAGE_TYPE } from './casts.js';

/** The axis along which chunks lie, and their length. */
export interface Chunking {
  readonly axis: number;
  readonly width: number;
}

/** Coordinates of a chunk's first element. */
export type ChunkCoordinates = readonly string[];

/** The coordinates of a chunk's element `e`. */
export const elementCoordinates = (at: ChunkCoordinates, { axis, width }: Chunking, e = 'e'): string[] =>
  at.map((coordinate, k) => (k === axis && width > 1 ? `(${coordinate} + ${e})` : coordinate));

/** How a chunk moves: one element for all, one access, or one for each element. */
type Mode = 'uniform' | 'vector' | 'single';

/** Whether every chunk of a contiguous access starts at a multiple of its length. */
export const isAligned = (access: Access, { axis, width }: Chunking): boolean =>
  access.offset % width === 0 &&
  access.strides.every((stride, k) => k === axis || stride % width === 0) &&
  access.bounds.every(({ fold }) => fold === undefined || fold.stride % width === 0);

export function modeOf(access: Access, chunking: Chunking): Mode {
  const { axis, width } = chunking;
  const bounded = access.bounds.some((b) => b.strides[axis] !== 0);
  if (access.strides[axis] === 0 && !bounded) return 'uniform';
  return width > 1 && access.strides[axis] === 1 && !bounded && isAligned(access, chunking)
    ? 'vector'
    : 'single';
}

/**
 * How many elements further an access reads than one that moves as a whole, of which it has most elements;
 * undefined: it has not.
 */
function shiftFrom(whole: Access, access: Access, chunking: Chunking): number | undefined {
  const by = access.offset - whole.offset;
  const isFast = by !== 0 && Math.abs(by) < chunking.width && access.buffer === whole.buffer;
  if (!isFast || !isVector(whole, chunking) || isVector(access, chunking)) return undefined;
  const isAlong = access.strides.every((stride, k) => stride === whole.strides[k]);
  // Where the one is read, the other is there.
  const holds = whole.bounds.every((bound) => access.bounds.some((other) => sameBound(bound, other)));
  // Folds along other axes move both alike; one along the chunk moves no element that is in both.
  const moves = access.bounds.every(
    (bound) =>
      isZeroOutside(bound) ||
      bound.strides[chunking.axis] !== 0 ||
      whole.bounds.some((other) => sameBound(bound, other)),
  );
  return isAlong && holds && moves ? by : undefined;
}

/**
 * The accesses that a chunk's elements are taken from: the first ones from one that moves as a whole, by so many elements
 * further on, and the others from the one behind it, `by` below 0; undefined: there is no such one.
 */
export interface Neighbours<T> {
  readonly first: Neighbour<T> | undefined;
  readonly rest: Neighbour<T> | undefined;
}

interface Neighbour<T> {
  readonly from: T;
  readonly by: number;
}

export function neighboursOf<T>(
  access: Access,
  others: readonly T[],
  accessOf: (other: T) => Access,
  chunking: Chunking,
): Neighbours<T> {
  let first: Neighbour<T> | undefined;
  let rest: Neighbour<T> | undefined;
  for (const from of others) {
    const by = shiftFrom(accessOf(from), access, chunking);
    if (by === undefined) continue;
    if (by > 0) first ??= { from, by };
    else rest ??= { from, by };
  }
  return { first, rest };
}

/** The type of a chunk as it lies in memory. */
export const packType = (dtype: DType, width: number): string =>
  `weft_pack<${STORAGE_TYPE[dtype]}, ${width}>`;

/** Whether the chunks of an access move as a whole. */
export const isVector = (access: Access, chunking: Chunking): boolean =>
  modeOf(access, chunking) === 'vector';

/** Bytes of the widest access of a thread, and so the most elements of a chunk, of one byte each. */
export const ACCESS_BYTES = 16;
/** A multiple of every chunk's length, for axes whose end may lie in a chunk. */
export const ANY_LENGTH = ACCESS_BYTES;
/** Elements of a chunk of small dtypes, at least. */
const LEAST_ELEMENTS = 4;

/**
 * Chunk length along an axis for accesses of these dtypes: 16 bytes of the widest, but at least 4 elements of
 * what is smaller, and a divisor of `multiple`, so that no chunk crosses the end of the axis.
 */
export function chunkWidth(dtypes: readonly DType[], multiple: number): number {
  if (dtypes.length === 0) return Math.min(LEAST_ELEMENTS, powerOfTwoIn(multiple));
  const bytes = dtypes.map(byteLengthOf);
  const widest = ACCESS_BYTES / Math.min(...bytes);
  const width = Math.max(ACCESS_BYTES / Math.max(...bytes), Math.min(LEAST_ELEMENTS, widest));
  return Math.min(width, powerOfTwoIn(multiple));
}

/** The largest power of two that divides a size (16 at most). */
const powerOfTwoIn = (size: number): number => {
  let width = 1;
  while (width < ANY_LENGTH && size % (2 * width) === 0) width *= 2;
  return width;
};
