/**
 * The tiles of a kernel that takes elements in windows of indices (`index-windows.ts`): its result in parts, and for each
 * part all windows, one after the other. Where the result is on the device as a whole there is one part, and the arrays
 * that are taken from come there once; else their windows come again for each part.
 *
 * Of what fits, the choice that moves fewest bytes is taken: those over the bus, and those of the device's memory by their
 * share of its speed, since the indices of a part are read again for each window. Called by `sweep-attempt.ts`.
 */
import { aroundBoth } from '../../codegen/cuts/work.js';
import { sizesOf } from '../../fusion/kernel/algebra.js';
import { product } from '../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { lastOf, once } from '../../host/once.js';
import { aligned } from '../plan/memory.js';
import type { KernelStep } from '../plan/plan.js';
import type { Indexed } from './index-windows.js';
import type { Touch } from './sweep-cuts.js';
import {
  countsTo,
  FEWER_SLOTS,
  fewer,
  type NoFit,
  type SizedSweep,
  type SlotBlock,
  type SlotRules,
  slotBytes,
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

/** A number of parts, whatever the windows. */
interface Parts {
  readonly spans: readonly Span[];
  /** Of each buffer, the widest window of one index. */
  readonly widths: ReadonlyMap<number, number>;
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

/** Finds the parts and windows for what room there is. */
export function indexWindowSizer(
  swept: SweptTask,
  step: KernelStep,
  indexed: Indexed,
  rules: SlotRules,
): (room: number) => SizedSweep | NoFit {
  const { units } = swept.task.cut;
  const leastOf = leastBytes(step, indexed, rules);
  const parts = countsTo(Math.min(units, MOST_PARTS)).map((count) => ({
    count,
    least: leastOf(count),
    trial: once(() => partsOf(swept, count, trialParts(count), indexed, rules)),
    find: once(() => partsOf(swept, count, Array(count).keys(), indexed, rules)),
  }));
  // Rooms are asked for by turns: what choices take is the same for each.
  const ways = FEWER_SLOTS.map((most) => {
    const own = { ...rules, slots: fewer(rules.slots, most) };
    const slower = most === 1 ? ONE_AFTER_THE_OTHER : 1;
    const tried = parts.map(({ count, least, trial, find }) => ({
      count,
      find,
      bytesOf: [
        () => least,
        once(() => trialBytes(swept, trial(), mostWindows(indexed, count), indexed, own)),
      ] as const,
      choicesOf: once(() => choicesOf(swept, find()!, indexed, own)),
    }));
    return { slower, tried };
  });
  return (room) => {
    let needed = Number.POSITIVE_INFINITY;
    let best: Choice | undefined;
    for (const { slower, tried } of ways) {
      for (const { count, bytesOf, find, choicesOf } of tried) {
        const costs = (bytes: number): number => slower * (bytes + count * BYTES_OF_A_TILE);
        if (best !== undefined && costs(0) >= best.cost) break;
        const tooMany = bytesOf.find((bytes) => bytes() > room);
        if (tooMany !== undefined) {
          needed = Math.min(needed, tooMany());
          continue;
        }
        const found = find();
        if (found === undefined) continue;
        if (best !== undefined && costs(found.bytes) >= best.cost) break;
        const choices = choicesOf();
        const least = firstWhere(0, choices.length, (k) => choices[k]!().byteLength <= room);
        if (least === choices.length) needed = Math.min(needed, choices.at(-1)!().byteLength);
        // With more windows there is less to wait for ahead of the first tile, then more to read again.
        for (let [k, before] = [least, Number.POSITIVE_INFINITY]; k < choices.length; k++) {
          const choice = choices[k]!();
          if (choice.cost >= before) break;
          before = choice.cost;
          if (best === undefined || slower * before < best.cost) best = { ...choice, cost: slower * before };
        }
      }
    }
    return best === undefined ? { needed, step } : sized(swept, best, indexed, rules);
  };
}

/**
 * Bytes that slots take at least, by the number of parts: the shares of windowed results, and the smallest windows. It asks
 * for no footprints.
 */
function leastBytes(
  { kernel, buffers }: KernelStep,
  indexed: Indexed,
  { isWindowed }: SlotRules,
): (count: number) => number {
  const elements = product(sizesOf(kernel));
  let written = 0;
  for (const { access } of kernel.stores)
    if (access.bounds.length === 0 && isWindowed(buffers[access.buffer]!))
      written += elements * byteLengthOf(kernel.buffers[access.buffer]!.dtype);
  return (count) => {
    let bytes = written / count;
    for (const [buffer, stride] of indexed.strides)
      if (isWindowed(buffer)) bytes += furtherIn(indexed, mostWindows(indexed, count), stride);
    return bytes;
  };
}

/** The most windows that come by for so many parts. */
const mostWindows = ({ size }: Indexed, parts: number): number =>
  Math.min(size, Math.floor(MOST_TILES / parts));

/** Bytes from the first index of the widest window to its last. */
const furtherIn = ({ size }: Indexed, windows: number, stride: number): number =>
  (Math.ceil(size / windows) - 1) * Math.abs(stride);

/** Some parts of so many: most numbers that do not fit fail by these. */
const trialParts = (count: number): ReadonlySet<number> => new Set([0, count >> 1, count - 1]);

/** Bytes that the slots of some parts take in the smallest windows: at most those of all parts. */
function trialBytes(
  swept: SweptTask,
  parts: Parts | undefined,
  windows: number,
  indexed: Indexed,
  rules: SlotRules,
): number {
  if (parts === undefined) return Number.POSITIVE_INFINITY;
  return slotBytes(slotsOf(swept, parts, windows, indexed, rules));
}

/** Some of `count` parts. `undefined`: windows of a result could not be copied out part by part. */
function partsOf(
  swept: SweptTask,
  count: number,
  some: Iterable<number>,
  indexed: Indexed,
  rules: SlotRules,
): Parts | undefined {
  const { size, strides, isBounded } = indexed;
  const { cut, writes } = swept.task;
  const isInOrder =
    count === 1 || writes.every((buffer) => !rules.isWindowed(buffer) || cut.inOrder?.has(buffer) === true);
  const widths = new Map<number, number>();
  const spans: Span[] = [];
  let [bytes, readBytes] = [0, 0];
  for (const r of some) {
    const span = partOf(swept, r, count);
    if (span === undefined) continue;
    spans.push(span);
    if (!isInOrder && !isDisjoint(cut, span, cut.touches(...span).writes, rules)) return undefined;
    const touchesIn = inWindowsOf(swept, span, indexed);
    // Where bounds leave less of the first or the last index, others tell.
    for (const at of isBounded ? [0, size >> 1, size - 1] : [0]) {
      for (const { buffer, first, last } of touchesIn([at, at + 1]).values())
        widths.set(buffer, Math.max(widths.get(buffer) ?? 0, last - first));
    }
    for (const { buffer, first, last } of touchesIn([0, size]).values()) {
      if (rules.isWindowed(buffer)) bytes += last - first;
      if (!strides.has(buffer)) readBytes += last - first;
    }
  }
  return { spans, widths, readBytes, bytes };
}

/** The footprint of a part by buffer: of those that are taken from, of some indices. */
function touchesOf({ task }: SweptTask, span: Span, window: Span): ReadonlyMap<number, Touch> {
  const { reads, writes } = task.cut.touches(...span, undefined, window);
  const found = new Map<number, Touch>();
  for (const touch of [...reads, ...writes]) {
    const known = found.get(touch.buffer);
    found.set(touch.buffer, known === undefined ? touch : aroundBoth(known, touch));
  }
  return found;
}

/** The footprint of a part by its window: that of one index, moved and widened, where no bounds cut it. */
function inWindowsOf(
  swept: SweptTask,
  span: Span,
  { strides, isBounded }: Indexed,
): (window: Span) => ReadonlyMap<number, Touch> {
  if (isBounded) return (window) => touchesOf(swept, span, window);
  const ofFirst = touchesOf(swept, span, [0, 1]);
  return ([first, last]) => {
    const touches = new Map(ofFirst);
    for (const [buffer, stride] of strides) {
      const touch = ofFirst.get(buffer);
      if (touch === undefined) continue;
      const [from, to] = [first * stride, (last - 1) * stride];
      touches.set(buffer, {
        buffer,
        first: touch.first + Math.min(from, to),
        last: touch.last + Math.max(from, to),
      });
    }
    return touches;
  };
}

/** By the number of windows, the fewest first; what they take is worked out when it is asked for. */
function choicesOf(
  swept: SweptTask,
  parts: Parts,
  indexed: Indexed,
  rules: SlotRules,
): readonly (() => Choice)[] {
  const count = parts.spans.length;
  return countsTo(mostWindows(indexed, count)).map((windows) =>
    once(() => {
      const slots = slotsOf(swept, parts, windows, indexed, rules);
      const first = slots.reduce((sum, slot) => sum + (slot.direction === 'in' ? slot.slotByteLength : 0), 0);
      const again = (parts.readBytes * windows) / MEMORY_SPEED;
      const cost = parts.bytes + first + again + count * windows * BYTES_OF_A_TILE;
      return { parts, windows, slots, byteLength: slotBytes(slots), cost };
    }),
  );
}

/** The i-th of `count` windows. */
const windowAt = ({ size }: Indexed, i: number, count: number): Span => [
  Math.floor((size * i) / count),
  Math.floor((size * (i + 1)) / count),
];

function slotsOf(
  swept: SweptTask,
  { spans, widths }: Parts,
  windows: number,
  indexed: Indexed,
  rules: SlotRules,
): SlotBlock[] {
  const { reads, writes } = swept.task;
  return [...new Set([...reads, ...writes])].filter(rules.isWindowed).map((buffer) => {
    const direction = rules.directionOf(buffer, [swept]);
    const stride = indexed.strides.get(buffer);
    const further = stride === undefined ? 0 : furtherIn(indexed, windows, stride);
    const distinct = spans.length * (stride === undefined ? 1 : windows);
    return {
      buffer,
      direction,
      slotByteLength: aligned((widths.get(buffer) ?? 0) + further + 255),
      slotPitch: 0,
      slots: Math.min(rules.slots[direction], distinct),
      first: 0,
      last: 0,
    };
  });
}

function sized(
  swept: SweptTask,
  { parts: { spans }, windows, slots }: Choice,
  indexed: Indexed,
  rules: SlotRules,
): SizedSweep {
  const { cut, writes } = swept.task;
  const touchesIn = lastOf((part: number) => inWindowsOf(swept, spans[part]!, indexed));
  const at = (t: number): Tile => {
    const [part, k] = [Math.floor(t / windows), t % windows];
    const span = spans[part]!;
    const window = windowAt(indexed, k, windows);
    return {
      spans: [span],
      windows: new Map([...touchesIn(part)(window)].map(([buffer, touch]) => [buffer, windowOf(touch)])),
      // A part of the result stays until its last window.
      unfinished: k < windows - 1 ? writes : [],
      ranges: [...cut.ranges(...span)[0]!, ...window],
    };
  };
  const tiles = { length: spans.length * windows, at };
  return { tasks: [swept], pitches: rules.pitches, tiles, slots, taken: { windows, parts: spans.length } };
}
