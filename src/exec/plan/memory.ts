/**
 * Places temporaries in one arena by their lifetimes. In the order of time, best fit among the gaps that are
 * free, which is fast and nearly always as small as can be; where it is not, also in the order of size, and
 * the smallest arena is taken.
 *
 * Called by `plan-graph.ts` and `sweeps.ts`. Nothing is allocated while a program runs: the arena is one
 * block of the size found here.
 */
import { completed, type Slices } from '../../host/slices.js';
import { DEVICE_ALIGNMENT } from '../../shared/layout.js';

/** A block that is needed from step `first` to step `last`, both included. */
export interface Lifetime {
  readonly byteLength: number;
  readonly first: number;
  readonly last: number;
}

/** Bytes that a block takes where blocks lie side by side: offsets suit vector loads and matrix libraries. */
export const aligned = (bytes: number): number => Math.ceil(bytes / DEVICE_ALIGNMENT) * DEVICE_ALIGNMENT;

export interface Arena {
  /** Byte offset of each block, in the order given. */
  readonly offsets: readonly number[];
  readonly byteLength: number;
}

/** Orders by size take time that grows with the square of the blocks. */
const MOST_BY_SIZE = 1000;

export const placeInArena = (blocks: readonly Lifetime[]): Arena => completed(placeInArenaInSlices(blocks));

/** As `placeInArena`. */
export function* placeInArenaInSlices(blocks: readonly Lifetime[]): Slices<Arena> {
  let best = yield* placeByTime(blocks);
  if (blocks.length > MOST_BY_SIZE) return best;
  const least = mostLive(blocks);
  const size = ({ byteLength }: Lifetime): number => byteLength;
  const area = ({ byteLength, first, last }: Lifetime): number => byteLength * (last - first + 1);
  for (const order of [size, area]) {
    if (best.byteLength === least) break;
    const other = placeLargestFirst(blocks, order);
    if (other.byteLength < best.byteLength) best = other;
  }
  return best;
}

/** The most bytes that are needed at the same time: no arena is smaller. */
export function mostLive(blocks: readonly Lifetime[]): number {
  const changes = new Map<number, number>();
  const add = (step: number, bytes: number): void => {
    changes.set(step, (changes.get(step) ?? 0) + bytes);
  };
  for (const { byteLength, first, last } of blocks) {
    add(first, aligned(byteLength));
    add(last + 1, -aligned(byteLength));
  }
  let live = 0;
  let most = 0;
  for (const step of [...changes.keys()].sort((a, b) => a - b)) {
    live += changes.get(step)!;
    most = Math.max(most, live);
  }
  return most;
}

/** Each at the lowest place beside those before it that are needed at the same time. */
function placeLargestFirst(blocks: readonly Lifetime[], measure: (block: Lifetime) => number): Arena {
  const offsets = new Array<number>(blocks.length).fill(0);
  const order = blocks.map((_, k) => k).sort((a, b) => measure(blocks[b]!) - measure(blocks[a]!));
  /** By offset. */
  const placed: number[] = [];
  let end = 0;
  for (const k of order) {
    const { byteLength, first, last } = blocks[k]!;
    const size = aligned(byteLength);
    let offset = 0;
    let at = 0;
    for (; at < placed.length; at++) {
      const other = blocks[placed[at]!]!;
      if (other.last < first || last < other.first) continue;
      const start = offsets[placed[at]!]!;
      if (start >= offset + size) break;
      offset = Math.max(offset, start + aligned(other.byteLength));
    }
    offsets[k] = offset;
    end = Math.max(end, offset + size);
    const after = placed.findIndex((other) => offsets[other]! > offset);
    placed.splice(after < 0 ? placed.length : after, 0, k);
  }
  return { offsets, byteLength: end };
}

/** Byte ranges that are taken, in order; neighbours that touch are one. */
class TakenRanges {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** The lowest offset of so many bytes that are free. */
  lowest(size: number): number {
    let offset = 0;
    for (let k = 0; k < this.#starts.length && this.#starts[k]! < offset + size; k++)
      offset = Math.max(offset, this.#ends[k]!);
    return offset;
  }

  add(start: number, end: number): void {
    if (start === end) return;
    const [starts, ends] = [this.#starts, this.#ends];
    let first = starts.length;
    while (first > 0 && ends[first - 1]! >= start) first--;
    let after = first;
    while (after < starts.length && starts[after]! <= end) after++;
    const from = after > first ? Math.min(start, starts[first]!) : start;
    const to = after > first ? Math.max(end, ends[after - 1]!) : end;
    starts.splice(first, after - first, from);
    ends.splice(first, after - first, to);
  }
}

/** Comparisons of blocks between pauses: each takes some 50 ns. */
const COMPARISONS_OF_SLICE = 2 ** 14;

/**
 * Places blocks, the largest first, each at the lowest place beside those before it that it may not share bytes with.
 * `kinds`: that of each block, by which `areDisjoint` says whether two may not share bytes. The blocks that a kind
 * lies beside are kept for its next one: 2,400 blocks of 30 kinds take 1.3 ms, compared with each other over 100.
 */
export function* placeBeside(
  byteLengths: readonly number[],
  kinds: readonly number[],
  areDisjoint: (kind: number, other: number) => boolean,
): Slices<Arena> {
  const offsets = new Array<number>(byteLengths.length).fill(0);
  const order = byteLengths.map((_, k) => k).sort((a, b) => byteLengths[b]! - byteLengths[a]!);
  /** By kind: what its blocks lie beside, of the first `seen` placed. */
  const known = new Map<number, { readonly taken: TakenRanges; seen: number }>();
  let end = 0;
  let compared = 0;
  for (const [place, k] of order.entries()) {
    const kind = kinds[k]!;
    const beside = known.get(kind) ?? { taken: new TakenRanges(), seen: 0 };
    known.set(kind, beside);
    compared += place - beside.seen;
    for (; beside.seen < place; beside.seen++) {
      const other = order[beside.seen]!;
      if (areDisjoint(kind, kinds[other]!))
        beside.taken.add(offsets[other]!, offsets[other]! + aligned(byteLengths[other]!));
    }
    const size = aligned(byteLengths[k]!);
    const offset = beside.taken.lowest(size);
    offsets[k] = offset;
    end = Math.max(end, offset + size);
    if (compared < COMPARISONS_OF_SLICE) continue;
    compared = 0;
    yield;
  }
  return { offsets, byteLength: end };
}

interface Gap {
  offset: number;
  byteLength: number;
}

/** Blocks between pauses: each takes some 0.5 µs. */
const BLOCKS_OF_SLICE = 1024;

function* placeByTime(blocks: readonly Lifetime[]): Slices<Arena> {
  const offsets = new Array<number>(blocks.length).fill(0);
  const order = blocks
    .map((_, k) => k)
    .sort((a, b) => blocks[a]!.first - blocks[b]!.first || blocks[b]!.byteLength - blocks[a]!.byteLength);
  const expiring = new Map<number, number[]>();
  const gaps: Gap[] = []; // by offset
  let end = 0;
  let step = -1;
  yield;
  for (const [place, k] of order.entries()) {
    if (place % BLOCKS_OF_SLICE === BLOCKS_OF_SLICE - 1) yield;
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
