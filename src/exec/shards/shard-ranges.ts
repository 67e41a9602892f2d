/**
 * The part of a phase's work for each device: a contiguous range of units for each device. Where a large
 * input lies in pieces on the devices, shares begin and end where pieces do, so that windows lie where they
 * are needed; else shares are as large as the devices' weights. Called by `sharding.ts`.
 */

import type { BytePitches, Task } from '../tiles/sweep-cuts.js';
import {
  firstWhere,
  lastWhere,
  type Span,
  type SweptTask,
  type Tile,
  tileOf,
  type Window,
} from '../tiles/sweep-windows.js';
import type { Piece } from './shard-device.js';

/** A part of the work of all tasks of a phase, in units of its reference task. */
export interface Share {
  /** Position among the devices. */
  readonly device: number;
  readonly span: Span;
}

export interface Sharding {
  /** Units of the reference task: those of the other tasks are in proportion. */
  readonly units: number;
  readonly shares: readonly Share[];
}

export interface ShareRules {
  readonly devices: readonly string[];
  /** The sum is 1. */
  readonly weights: readonly number[];
  /** Where a buffer's bytes are; none: not on devices. */
  readonly piecesOf: (buffer: number) => readonly Piece[];
  readonly byteLengthOf: (buffer: number) => number;
  /** Of the buffers whose windows are rows, bytes from row to row in the whole. */
  readonly pitches: BytePitches;
}

/** Shares are rounded to what is aligned well, by less than this part of them. */
const ROUNDING = 1 / 64;
/**
 * Bytes of inputs that are copied to where they are needed quite in less time than one more stretch takes.
 */
const SOONER_COPIED = 2 ** 25;
/** How far, as a part of the whole, shares may be from the pieces that they follow. */
const TOLERANCE = 0.05;

/** The units of a task that belong to a position among `of`. */
export const unitAt = (units: number, position: number, of: number): number => {
  if (units === of) return position;
  return position >= of ? units : Math.min(units, Math.floor((units * position) / of));
};

/** The tasks on a part of the work, in units of the reference task. */
export const onPart = (tasks: readonly SweptTask[], [from, to]: Span, of: number): SweptTask[] =>
  tasks.map(({ task, isKept }) => {
    const { units } = task.cut;
    return { task, isKept, share: [unitAt(units, from, of), unitAt(units, to, of)] };
  });

/**
 * The footprint of a part of the work, as one tile; `undefined`: it does not work out. `isShared`: whether
 * parts may write the same elements of a buffer.
 */
export const tileOn = (
  tasks: readonly SweptTask[],
  span: Span,
  of: number,
  pitches: BytePitches,
  isShared: (buffer: number) => boolean = () => false,
): Tile | undefined =>
  tileOf(onPart(tasks, span, of), 0, 1, { isWindowed: (buffer) => !isShared(buffer), pitches });

/** The end of a window in its buffer. */
export const endOf = ({ first, width, rows, pitch }: Window): number => first + (rows - 1) * pitch + width;

export const contains = (piece: Piece | undefined, window: Window): boolean =>
  piece !== undefined && window.first >= piece.first && endOf(window) <= piece.last;

const sizeOf = ({ width, rows }: Window): number => width * rows;

/** The largest piece that a device has. */
export const pieceOn = (pieces: readonly Piece[], device: string): Piece | undefined =>
  pieces
    .filter((piece) => piece.device === device)
    .reduce<Piece | undefined>(
      (most, piece) =>
        most === undefined || piece.last - piece.first > most.last - most.first ? piece : most,
      undefined,
    );

/** Whether a device has all of a buffer in one piece. */
export const isWholeOn = (pieces: readonly Piece[], device: string, byteLength: number): boolean =>
  contains(pieceOn(pieces, device), { first: 0, width: byteLength, rows: 1, pitch: 0 });

/** Shards the work of tasks that can be cut. */
export function shard(tasks: readonly SweptTask[], rules: ShareRules): Sharding {
  return alignedSharding(tasks, rules) ?? evenSharding(tasks, rules);
}

/** Those of the task that has most: the reference of a stage that follows no pieces. */
export const unitsOf = (tasks: readonly SweptTask[]): number =>
  Math.max(...tasks.map(({ task, isKept }) => (isKept ? task.cut.units : 1)));

/** Shares as large as the devices' weights. */
export function evenSharding(tasks: readonly SweptTask[], { weights }: ShareRules): Sharding {
  const units = unitsOf(tasks);
  const step = 2 ** Math.max(0, Math.floor(Math.log2((units * ROUNDING) / weights.length)));
  let sum = 0;
  const ends = weights.map((weight, d) => {
    sum += weight;
    if (d === weights.length - 1) return units;
    return Math.min(units, Math.round((units * sum) / step) * step);
  });
  return {
    units,
    shares: sharesOf(
      ends,
      weights.map((_, d) => d),
    ),
  };
}

function sharesOf(ends: readonly number[], order: readonly number[]): Share[] {
  return ends.flatMap((end, k): Share[] => {
    const span: Span = [k === 0 ? 0 : ends[k - 1]!, end];
    return span[1] > span[0] ? [{ device: order[k]!, span }] : [];
  });
}

/** Shares that follow the pieces of the largest input that lies on all the devices. */
function alignedSharding(tasks: readonly SweptTask[], rules: ShareRules): Sharding | undefined {
  const { devices, piecesOf, byteLengthOf } = rules;
  let best: { readonly task: SweptTask; readonly buffer: number } | undefined;
  for (const task of tasks) {
    if (!task.isKept) continue;
    for (const buffer of task.task.reads) {
      if (best !== undefined && byteLengthOf(buffer) <= byteLengthOf(best.buffer)) continue;
      if (devices.every((device) => pieceOn(piecesOf(buffer), device) !== undefined)) best = { task, buffer };
    }
  }
  if (best === undefined) return undefined;
  const { cut } = best.task.task;
  const { buffer } = best;
  const total = byteLengthOf(buffer);
  const pieces = devices.map((device) => pieceOn(piecesOf(buffer), device)!);
  const order = devices.map((_, d) => d).sort((a, b) => pieces[a]!.first - pieces[b]!.first);
  const startsAt = (unit: number): number => {
    if (unit >= cut.units) return Number.POSITIVE_INFINITY;
    const touch = cut.touches(unit, cut.units).reads.find((read) => read.buffer === buffer);
    return touch?.first ?? Number.POSITIVE_INFINITY;
  };
  const ends: number[] = [];
  for (const [k, d] of order.entries()) {
    const isLast = k === order.length - 1;
    const edge = pieces[d]!.last;
    const end = isLast
      ? cut.units
      : firstWhere(ends.at(-1) ?? 0, cut.units, (unit) => startsAt(unit) >= edge);
    if (!isLast && Math.abs(end / cut.units - edge / total) > TOLERANCE) return undefined;
    ends.push(end);
  }
  return { units: cut.units, shares: sharesOf(ends, order) };
}

/**
 * A share in up to three stretches, of which the middle one finds all inputs that lie on its device nearly as
 * it needs them quite there; at the ends some elements come from other devices.
 */
export function stretchesOf(
  tasks: readonly SweptTask[],
  { device, span }: Share,
  units: number,
  { devices, piecesOf, pitches }: ShareRules,
): readonly Span[] {
  const [from, to] = span;
  const middle = Math.floor((from + to) / 2);
  const whole = tileOn(tasks, span, units, pitches);
  const inside = tileOn(tasks, [middle, middle + 1], units, pitches);
  if (whole === undefined || inside === undefined) return [span];
  const here = (buffer: number): Piece | undefined => pieceOn(piecesOf(buffer), devices[device]!);
  const near = [...whole.windows.keys()].filter((buffer) => {
    const part = inside.windows.get(buffer);
    if (here(buffer) === undefined || part === undefined) return false;
    return !contains(here(buffer), whole.windows.get(buffer)!) && contains(here(buffer), part);
  });
  const bytes = near.reduce((sum, buffer) => sum + sizeOf(whole.windows.get(buffer)!), 0);
  if (bytes <= SOONER_COPIED) return [span];
  const holds = (part: Span, isHere: (piece: Piece, window: Window) => boolean): boolean => {
    const windows = tileOn(tasks, part, units, pitches)?.windows;
    return (
      windows !== undefined &&
      near.every((buffer) => !windows.has(buffer) || isHere(here(buffer)!, windows.get(buffer)!))
    );
  };
  const first = firstWhere(from, middle, (unit) => holds([unit, to], (piece, w) => w.first >= piece.first));
  const last = lastWhere(middle + 1, to, (unit) => holds([from, unit], (piece, w) => endOf(w) <= piece.last));
  if (!holds([first, last], contains)) return [span];
  const stretches: Span[] = [
    [from, first],
    [first, last],
    [last, to],
  ];
  return stretches.filter(([a, b]) => b > a);
}

/** The device that has most of what some tasks read; the first of those that have as much. */
export function leadOf(
  tasks: readonly Task[],
  devices: readonly string[],
  piecesOf: ShareRules['piecesOf'],
): number {
  const pieces = [...new Set(tasks.flatMap(({ reads }) => reads))].flatMap(piecesOf);
  const bytes = devices.map((name) =>
    pieces.reduce((sum, { device, first, last }) => (device === name ? sum + last - first : sum), 0),
  );
  return bytes.indexOf(Math.max(...bytes));
}
