/**
 * The tiles of a kernel that takes elements in windows of indices (`index-windows.ts`): its result in parts, and for each
 * part all windows, one after the other. Where the result is on the device as a whole there is one part, and the arrays
 * that are taken from come there once; else their windows come again for each part.
 *
 * Of what fits, the choice that moves fewest bytes is taken: those over the bus, and those of the device's memory by their
 * share of its speed, since the indices of a part are read again for each window. Called by `sweep-attempt.ts`.
 */
import { loadsOf, sizesOf } from '../../fusion/kernel/algebra.js';
import { type Access, type Kernel, placedAccess, product } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { type LazyList, lastOf, lazyList, onceInSlices } from '../../host/once.js';
import type { Slices } from '../../host/slices.js';
import { aligned } from '../plan/memory.js';
import type { KernelStep } from '../plan/plan.js';
import { bytesOf, type InRows, inWindowsOf, pitchesOf, windowsOf } from './index-window-footprints.js';
import type { Indexed } from './index-windows.js';
import {
  countsTo,
  FEWER_SLOTS,
  fewer,
  type SizedSweep,
  type Sizer,
  type SlotBlock,
  type SlotRules,
  slotPitchOf,
} from './sweep-slots.js';
import {
  firstWhere,
  isDisjoint,
  partOf,
  type Span,
  type SweptTask,
  type Tile,
  windowOf,
} from './sweep-windows.js';
import { BYTES_OF_A_TILE, MEMORY_SPEED, MOST_TILES } from './tile-costs.js';

/** Times as long as with copies and work at a time, about. */
const ONE_AFTER_THE_OTHER = 1.5;
/** The most parts that a result is cut into. */
const MOST_PARTS = 256;

/** A number of parts, whatever the windows; or all as some of them say. */
interface Parts {
  readonly count: number;
  /** Of those that were looked at. */
  readonly spans: readonly Span[];
  /** Of each buffer, the widest window of one index, or a row of it, and its rows. */
  readonly widths: ReadonlyMap<number, number>;
  readonly heights: ReadonlyMap<number, number>;
  /** Bytes that are read of the buffers that are not taken from: once for each window. */
  readonly readBytes: number;
  /** Bytes of windows of all buffers, in all parts; of those that are taken from, of all indices. */
  readonly bytes: number;
}

interface Choice {
  readonly parts: Parts;
  readonly windows: number;
  readonly cost: number;
  readonly slots: readonly SlotBlock[];
  /** Of the slots. */
  readonly byteLength: number;
}

/** A number of parts with at most so many slots. */
interface Way {
  /** Bytes that it takes at least. */
  readonly least: number;
  /** Choices by some of the parts, and by all. */
  readonly tried: () => Slices<Choices | undefined>;
  readonly found: () => Slices<Choices | undefined>;
  readonly slower: number;
  readonly count: number;
}

/** By the number of windows, the fewest first. */
type Choices = LazyList<Choice>;

/**
 * Finds the parts and windows for what room there is: numbers of parts are compared by some of the parts, and all are
 * looked at of the best.
 */
export function indexWindowSizer(
  swept: SweptTask,
  step: KernelStep,
  given: Indexed,
  rules: SlotRules,
): Sizer {
  const { units } = swept.task.cut;
  const indexed = { ...given, pitches: pitchesOf(swept, given, rules) };
  const leastOf = leastBytes(step, indexed, rules);
  const parts = countsTo(Math.min(units, MOST_PARTS)).map((count) => ({
    count,
    least: leastOf(count),
    some: onceInSlices(function* () {
      return forAll(yield* partsOf(swept, count, trialParts(count), indexed, rules), count);
    }),
    all: onceInSlices(() => partsOf(swept, count, Array(count).keys(), indexed, rules)),
  }));
  // Rooms are asked for by turns: what choices take is the same for each.
  const ways = FEWER_SLOTS.flatMap((most) => {
    const own = { ...rules, slots: fewer(rules.slots, most) };
    const slower = most === 1 ? ONE_AFTER_THE_OTHER : 1;
    const choices = (of: () => Slices<Parts | undefined>) =>
      onceInSlices(function* () {
        const found = yield* of();
        return found && choicesOf(swept, found, indexed, own);
      });
    return parts.map(
      ({ count, least, some, all }): Way => ({
        count,
        least,
        slower,
        tried: choices(some),
        found: choices(all),
      }),
    );
  });
  return function* (room) {
    let needed = Number.POSITIVE_INFINITY;
    let best: Candidate | undefined;
    // Where parts of which others were looked at need more, as those across two rows of a transposed array, numbers of
    // parts that would cost more are left.
    for (let left: readonly Way[] = ways; best === undefined && left.length > 0; ) {
      const compared = yield* comparedBySome(left, room);
      needed = Math.min(needed, compared.needed);
      for (const { way, cost } of compared.candidates) {
        if (best !== undefined && cost >= best.cost) break;
        const choices = yield* way.found();
        if (choices === undefined) continue;
        const choice = bestOf(choices, room);
        if ('needed' in choice) needed = Math.min(needed, choice.needed);
        else if (best === undefined || way.slower * choice.cost < best.cost)
          best = { choice, cost: way.slower * choice.cost };
      }
      left = compared.dearer;
    }
    return best === undefined ? { needed, step } : sized(swept, best.choice, indexed);
  };
}

interface Candidate {
  readonly choice: Choice;
  readonly cost: number;
}

interface Compared {
  /** Those that fit by some of their parts, the cheapest first. */
  readonly candidates: readonly { readonly way: Way; readonly cost: number }[];
  /** Those that cost more than one that fits, which were not looked at. */
  readonly dearer: readonly Way[];
  /** The least that one of the others needs. */
  readonly needed: number;
}

/** Ways in a room by some of their parts. */
function* comparedBySome(ways: readonly Way[], room: number): Slices<Compared> {
  const candidates: { readonly way: Way; readonly cost: number }[] = [];
  const dearer: Way[] = [];
  let [needed, least] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const way of ways) {
    // More parts copy no less.
    if (way.slower * way.count * BYTES_OF_A_TILE >= least) {
      dearer.push(way);
      continue;
    }
    const choices = way.least > room ? undefined : yield* way.tried();
    if (choices === undefined) {
      if (way.least > room) needed = Math.min(needed, way.least);
      continue;
    }
    const best = bestOf(choices, room);
    if ('needed' in best) {
      needed = Math.min(needed, best.needed);
      continue;
    }
    const cost = way.slower * best.cost;
    candidates.push({ way, cost });
    least = Math.min(least, cost);
  }
  return { candidates: candidates.sort((a, b) => a.cost - b.cost), dearer, needed };
}

/** The choice for a room that costs least. */
function bestOf(choices: Choices, room: number): Choice | { readonly needed: number } {
  const least = firstWhere(0, choices.length, (k) => choices.at(k).byteLength <= room);
  if (least === choices.length) return { needed: choices.at(least - 1).byteLength };
  // With more windows there is less to wait for ahead of the first tile, then more to read again.
  let best = choices.at(least);
  for (let k = least + 1; k < choices.length; k++) {
    const choice = choices.at(k);
    if (choice.cost >= best.cost) break;
    best = choice;
  }
  return best;
}

/**
 * Bytes that slots take at least, by the number of parts: the shares of windowed arrays of which each element of the domain
 * has its own, and the smallest windows. It asks for no footprints.
 */
function leastBytes(
  { kernel, buffers }: KernelStep,
  indexed: Indexed,
  { isWindowed }: SlotRules,
): (count: number) => number {
  const elements = product(sizesOf(kernel));
  const own = new Set<number>();
  for (const { access } of [...kernel.stores, ...loadsOf(kernel)])
    if (isWindowed(buffers[access.buffer]!) && hasOwnElements(access, kernel)) own.add(access.buffer);
  let shared = 0;
  for (const position of own) shared += elements * byteLengthOf(kernel.buffers[position]!.dtype);
  return (count) => {
    let bytes = shared / count;
    for (const [buffer, stride] of indexed.strides)
      if (isWindowed(buffer)) bytes += furtherIn(indexed, mostWindows(indexed, count), stride);
    return bytes;
  };
}

/** Whether each element of a kernel's domain has an element of a buffer of its own: steps are longer than all inner ones. */
function hasOwnElements(access: Access, kernel: Kernel): boolean {
  const { bounds, strides, index } = placedAccess(access);
  if (bounds.length > 0 || index !== undefined) return false;
  const axes = sizesOf(kernel).flatMap((size, axis) =>
    size > 1 ? [{ size, step: Math.abs(strides[axis]!) }] : [],
  );
  axes.sort((a, b) => a.step - b.step);
  let reach = 0;
  return axes.every(({ size, step }) => {
    const isOutside = step > reach;
    reach += step * (size - 1);
    return isOutside;
  });
}

/** The most windows that come by for so many parts. */
const mostWindows = ({ size }: Indexed, parts: number): number =>
  Math.min(size, Math.floor(MOST_TILES / parts));

/** Bytes from the first index of the widest window to its last. */
const furtherIn = ({ size }: Indexed, windows: number, stride: number): number =>
  (Math.ceil(size / windows) - 1) * Math.abs(stride);

/** Some parts of so many, by which numbers of parts are compared. */
const trialParts = (count: number): ReadonlySet<number> => new Set([0, count >> 1, count - 1]);

/** Some of `count` parts. `undefined`: windows of a result could not be copied out part by part. */
function* partsOf(
  swept: SweptTask,
  count: number,
  some: Iterable<number>,
  indexed: InRows,
  rules: SlotRules,
): Slices<Parts | undefined> {
  const { size, strides, isBounded } = indexed;
  const { cut, writes } = swept.task;
  const isInOrder =
    count === 1 || writes.every((buffer) => !rules.isWindowed(buffer) || cut.inOrder?.has(buffer) === true);
  const widths = new Map<number, number>();
  const heights = new Map<number, number>();
  const spans: Span[] = [];
  let [bytes, readBytes] = [0, 0];
  for (const r of some) {
    yield;
    const span = partOf(swept, r, count);
    if (span === undefined) continue;
    spans.push(span);
    if (!isInOrder && !isDisjoint(cut, span, cut.touches(...span).writes, rules)) return undefined;
    const touchesIn = inWindowsOf(swept, span, indexed);
    // Where bounds leave less of the first or the last index, others tell.
    for (const at of isBounded ? [0, size >> 1, size - 1] : [0]) {
      for (const touch of touchesIn([at, at + 1]).values()) {
        const [{ width, rows }, { buffer }] = [windowOf(touch), touch];
        widths.set(buffer, Math.max(widths.get(buffer) ?? 0, width));
        heights.set(buffer, Math.max(heights.get(buffer) ?? 1, rows));
      }
    }
    for (const touch of touchesIn([0, size]).values()) {
      if (rules.isWindowed(touch.buffer)) bytes += bytesOf(touch);
      if (!strides.has(touch.buffer)) readBytes += bytesOf(touch);
    }
  }
  return { count: spans.length, spans, widths, heights, readBytes, bytes };
}

/** All parts, as some of them say. */
function forAll(some: Parts | undefined, count: number): Parts | undefined {
  if (some === undefined || some.count === 0) return undefined;
  const times = count / some.count;
  return { ...some, count, readBytes: some.readBytes * times, bytes: some.bytes * times };
}

/** By the number of windows, the fewest first; what they take is worked out when it is asked for. */
function choicesOf(swept: SweptTask, parts: Parts, indexed: InRows, rules: SlotRules): Choices {
  const { count } = parts;
  const counts = countsTo(mostWindows(indexed, count));
  return lazyList(counts.length, (k) => {
    const windows = counts[k]!;
    const slots = slotsOf(swept, parts, windows, indexed, rules);
    const first = slots.reduce((sum, slot) => sum + (slot.direction === 'in' ? slot.slotByteLength : 0), 0);
    const again = (parts.readBytes * windows) / MEMORY_SPEED;
    const cost = parts.bytes + first + again + count * windows * BYTES_OF_A_TILE;
    // All of them live at the same time.
    const byteLength = slots.reduce((sum, slot) => sum + slot.slots * slot.slotByteLength, 0);
    return { parts, windows, slots, byteLength, cost };
  });
}

/** The i-th of `count` windows. */
const windowAt = ({ size }: Indexed, i: number, count: number): Span => [
  Math.floor((size * i) / count),
  Math.floor((size * (i + 1)) / count),
];

function slotsOf(
  swept: SweptTask,
  { count, widths, heights }: Parts,
  windows: number,
  indexed: InRows,
  rules: SlotRules,
): SlotBlock[] {
  const { reads, writes } = swept.task;
  return [...new Set([...reads, ...writes])].filter(rules.isWindowed).map((buffer) => {
    const direction = rules.directionOf(buffer, [swept]);
    const stride = indexed.strides.get(buffer);
    const further = stride === undefined ? 0 : furtherIn(indexed, windows, stride);
    const distinct = count * (stride === undefined ? 1 : windows);
    const width = (widths.get(buffer) ?? 0) + further;
    const pitch = indexed.pitches.get(buffer);
    const slotPitch = pitch === undefined ? 0 : slotPitchOf(pitch, width, rules);
    return {
      buffer,
      direction,
      slotByteLength: aligned(((heights.get(buffer) ?? 1) - 1) * slotPitch + width + 255),
      slotPitch,
      slots: Math.min(rules.slots[direction], distinct),
      first: 0,
      last: 0,
    };
  });
}

function sized(swept: SweptTask, { parts: { spans }, windows, slots }: Choice, indexed: InRows): SizedSweep {
  const { cut, writes } = swept.task;
  const windowsIn = lastOf((part: number) => windowsOf(swept, spans[part]!, indexed));
  const rangesOf = lastOf((part: number) => cut.ranges(...spans[part]!)[0]!);
  const at = (t: number): Tile => {
    const [part, k] = [Math.floor(t / windows), t % windows];
    const span = spans[part]!;
    const window = windowAt(indexed, k, windows);
    return {
      spans: [span],
      windows: windowsIn(part)(window),
      // A part of the result stays until its last window.
      unfinished: k < windows - 1 ? writes : [],
      ranges: [...rangesOf(part), ...window],
    };
  };
  const tiles = { length: spans.length * windows, at };
  return { tasks: [swept], pitches: indexed.pitches, tiles, slots, taken: { windows, parts: spans.length } };
}
