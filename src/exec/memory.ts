/**
 * Places temporaries in one arena by their lifetimes: best fit among the gaps that are free, else at the end.
 *
 * Called by `planner.ts`. Nothing is allocated while a program runs: the arena is one block of the size found here.
 */

/** A block that is needed from step `first` to step `last`, both included. */
export interface Lifetime {
  readonly byteLength: number;
  readonly first: number;
  readonly last: number;
}

/** Every offset is a multiple of this: what vector loads and matrix libraries want on any device. */
export const ALIGNMENT = 256;

/** Bytes that a block takes where blocks lie side by side. */
export const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

interface Gap {
  offset: number;
  byteLength: number;
}

export interface Arena {
  /** Byte offset of each block, in the order given. */
  readonly offsets: readonly number[];
  readonly byteLength: number;
}

export function placeInArena(blocks: readonly Lifetime[]): Arena {
  const offsets = new Array<number>(blocks.length).fill(0);
  const order = blocks
    .map((_, k) => k)
    .sort((a, b) => blocks[a]!.first - blocks[b]!.first || blocks[b]!.byteLength - blocks[a]!.byteLength);
  const expiring = new Map<number, number[]>();
  const gaps: Gap[] = []; // by offset
  let end = 0;
  let step = -1;
  for (const k of order) {
    const block = blocks[k]!;
    for (; step < block.first - 1; step++)
      for (const dead of expiring.get(step + 1) ?? [])
        release(gaps, offsets[dead]!, aligned(blocks[dead]!.byteLength));
    const size = aligned(block.byteLength);
    const offset = take(gaps, size) ?? growFrom(gaps, end);
    offsets[k] = offset;
    end = Math.max(end, offset + size);
    const list = expiring.get(block.last);
    if (list === undefined) expiring.set(block.last, [k]);
    else list.push(k);
  }
  return { offsets, byteLength: end };
}

/** The smallest gap that holds `size`. */
function take(gaps: Gap[], size: number): number | undefined {
  let best = -1;
  gaps.forEach((gap, k) => {
    if (gap.byteLength >= size && (best < 0 || gap.byteLength < gaps[best]!.byteLength)) best = k;
  });
  if (best < 0) return undefined;
  const gap = gaps[best]!;
  const { offset } = gap;
  if (gap.byteLength === size) {
    gaps.splice(best, 1);
  } else {
    gap.offset += size;
    gap.byteLength -= size;
  }
  return offset;
}

/** A gap at the arena's end is extended instead of left behind. */
function growFrom(gaps: Gap[], end: number): number {
  const last = gaps[gaps.length - 1];
  if (last === undefined || last.offset + last.byteLength !== end) return end;
  gaps.pop();
  return last.offset;
}

function release(gaps: Gap[], offset: number, byteLength: number): void {
  let k = 0;
  while (k < gaps.length && gaps[k]!.offset < offset) k++;
  gaps.splice(k, 0, { offset, byteLength });
  const next = gaps[k + 1];
  if (next !== undefined && offset + byteLength === next.offset) {
    gaps[k]!.byteLength += next.byteLength;
    gaps.splice(k + 1, 1);
  }
  const before = gaps[k - 1];
  if (before !== undefined && before.offset + before.byteLength === offset) {
    before.byteLength += gaps[k]!.byteLength;
    gaps.splice(k, 1);
  }
}
