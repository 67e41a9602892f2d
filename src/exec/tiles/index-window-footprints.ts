/**
 * Footprints and windows of parts of a result whose elements are taken in windows of indices (`index-windows.ts`). Where
 * bounds cut no footprint, that of one index is asked for, and moved and widened for all others:
 *
 *     table[k[i]] of a row of 16 bytes     index 0: bytes 0 … 15     indices 1000 … 1999: bytes 16000 … 31999
 *
 * Called by `index-window-sizer.ts`.
 */
import { aroundBoth } from '../../codegen/cuts/work.js';
import type { Indexed } from './index-windows.js';
import type { BytePitches, Touch } from './sweep-cuts.js';
import type { SlotRules } from './sweep-slots.js';
import { type Span, type SweptTask, type Window, windowOf } from './sweep-windows.js';

/** How elements are taken, and in which rows arrays have windows. */
export interface InRows extends Indexed {
  readonly pitches: BytePitches;
}

/** Units that are looked at for rows. */
const LOOKED = 16;

/**
 * Rows of the arrays whose elements at an index are far apart and both of one unit: as those of columns that lie one behind the
 * other. Where units have one of them each, parts of the result have, too. From index to index, windows move along their rows.
 */
export function pitchesOf(
  { task: { cut } }: SweptTask,
  { strides }: Indexed,
  { isWindowed }: SlotRules,
): BytePitches {
  const pitches = new Map<number, number>();
  const looked = Math.min(LOOKED, cut.units);
  const units = Array.from({ length: looked }, (_, k) => Math.floor((k * cut.units) / looked));
  for (const [buffer, stride] of strides) {
    if (!isWindowed(buffer)) continue;
    const most = (chosen: BytePitches): number =>
      Math.max(
        ...units.map((unit) => {
          const touch = cut
            .touches(unit, unit + 1, chosen, [0, 1])
            .reads.find((one) => one.buffer === buffer);
          return touch === undefined ? 0 : bytesOf(touch);
        }),
      );
    let least = most(NO_PITCHES) / MUCH_LESS;
    for (const pitch of cut.pitches(buffer)) {
      if (Math.abs(stride) >= pitch) continue;
      const bytes = most(new Map([[buffer, pitch]]));
      if (bytes < least) [least] = [bytes, pitches.set(buffer, pitch)];
    }
  }
  return pitches;
}
const NO_PITCHES: BytePitches = new Map();
/** So many times fewer bytes of a unit are worth rows. */
const MUCH_LESS = 8;

/** Bytes of the window of a footprint. */
export const bytesOf = (touch: Touch): number => {
  const { width, rows } = windowOf(touch);
  return width * rows;
};

/** The footprint of a part by buffer: of those that are taken from, of some indices. */
function touchesOf(
  { task }: SweptTask,
  span: Span,
  window: Span,
  { pitches }: InRows,
): ReadonlyMap<number, Touch> {
  const { reads, writes } = task.cut.touches(...span, pitches, window);
  const found = new Map<number, Touch>();
  for (const touch of [...reads, ...writes]) {
    const known = found.get(touch.buffer);
    found.set(touch.buffer, known === undefined ? touch : aroundBoth(known, touch));
  }
  return found;
}

/** The footprint of a part by its window: that of one index, moved and widened, where no bounds cut it. */
export function inWindowsOf(
  swept: SweptTask,
  span: Span,
  indexed: InRows,
): (window: Span) => ReadonlyMap<number, Touch> {
  const { strides, isBounded } = indexed;
  if (isBounded) return (window) => touchesOf(swept, span, window, indexed);
  const ofFirst = touchesOf(swept, span, [0, 1], indexed);
  return (window) => {
    const touches = new Map(ofFirst);
    for (const [buffer, stride] of strides) {
      const touch = ofFirst.get(buffer);
      if (touch !== undefined) touches.set(buffer, moved(touch, stride, window));
    }
    return touches;
  };
}

/** The footprint of one index, for those of a window. */
function moved(ofFirst: Touch, stride: number, [first, last]: Span): Touch {
  const [from, to] = [first * stride, (last - 1) * stride];
  const range = { first: ofFirst.first + Math.min(from, to), last: ofFirst.last + Math.max(from, to) };
  if (ofFirst.rows === undefined) return { ...ofFirst, ...range };
  return { ...ofFirst, ...range, rows: { ...ofFirst.rows, width: ofFirst.rows.width + Math.abs(to - from) } };
}

/** The windows of buffers for a part by its window of indices, of which there are tens of thousands. */
export function windowsOf(
  swept: SweptTask,
  span: Span,
  indexed: InRows,
): (window: Span) => ReadonlyMap<number, Window> {
  const { strides, isBounded } = indexed;
  if (isBounded)
    return (window) =>
      new Map(
        [...touchesOf(swept, span, window, indexed)].map(([buffer, touch]) => [buffer, windowOf(touch)]),
      );
  const whole: [number, Window][] = [];
  const taken: [number, Touch, number][] = [];
  for (const [buffer, touch] of touchesOf(swept, span, [0, 1], indexed)) {
    const stride = strides.get(buffer);
    if (stride === undefined) whole.push([buffer, windowOf(touch)]);
    else taken.push([buffer, touch, stride]);
  }
  return (window) => {
    const windows = new Map(whole);
    for (const [buffer, touch, stride] of taken) windows.set(buffer, windowOf(moved(touch, stride, window)));
    return windows;
  };
}
