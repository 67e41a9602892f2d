/**
 * Pitches: buffers as rows, so that a tile that needs some columns of an array has a window of those alone.
 *
 * A window of rows has its own distance from row to row. The code for it is that of the whole with other
 * strides: an access that walks rows and columns apart walks them as far apart as they lie in the window.
 * Strides are arguments of generated functions and words of tapes, which schedules and orders of sums do not
 * depend on.
 *
 *     y.T[i, j] = y[j + 16384 i] with windows of 64 columns   →   y[j + 64 i]
 *
 * Regions in rows are `work.ts`'; the code generators apply what sweeps chose just ahead of printing.
 */
import {
  accessesOf,
  loadsOf,
  mapAccesses,
  mapLoads,
  sizesOf,
  withoutDead,
} from '../../fusion/kernel/algebra.js';
import { type Box, insideOf, rangeIn } from '../../fusion/kernel/boxes.js';
import {
  type Access,
  type Affine,
  isZeroOutside,
  type Kernel,
  placedAccess,
} from '../../fusion/kernel/kernel.js';

/** The first `width` elements of each `pitch`. */
export interface Rows {
  readonly pitch: number;
  readonly width: number;
}

/** For some buffers of a kernel, elements from row to row. */
export type Pitches = ReadonlyMap<number, number>;

/**
 * An affine function as row and column: `rows * pitch + columns`, with 0 <= columns < pitch on the whole
 * domain. Of an access by an index, that has the last stride.
 */
export interface Split {
  readonly rows: Affine;
  readonly columns: Affine;
}

const wholeBox = (kernel: Kernel): Box => sizesOf(kernel).map((size) => [0, Math.max(1, size)] as const);

/**
 * `undefined`: some step goes from one row into another, or the access reaches nothing or folds.
 */
function split(load: Access, domain: Box, pitch: number): Split | undefined {
  const { offset, strides, bounds, index } = placedAccess(load);
  const inside = bounds.every(isZeroOutside) ? insideOf(bounds, domain) : undefined;
  if (inside === undefined || index === undefined)
    return inside && splitInRows({ offset, strides }, inside, pitch);
  return splitInRows({ offset, strides: [...strides, index.stride] }, withIndices(load, inside), pitch);
}

/** A box, and the indices that an access reads at. */
function withIndices(load: Access, box: Box, window?: readonly [first: number, last: number]): Box {
  const { index } = placedAccess(load);
  return index === undefined ? box : [...box, window ?? [0, index.size]];
}

/** The access with its rows elsewhere. */
function moved(access: Access, parts: Split, pitch: number): Access {
  const { offset, strides } = joinRows(parts, pitch);
  const axes = strides.slice(0, access.strides.length);
  const { index } = access;
  if (index === undefined) return { ...access, offset, strides: axes };
  return { ...access, offset, strides: axes, index: { ...index, stride: strides[axes.length]! } };
}

/** An affine function of a box as row and column; `undefined`: some step goes from one row into another. */
export function splitInRows({ offset, strides }: Affine, box: Box, pitch: number): Split | undefined {
  const downs = strides.map((stride) => Math.trunc(stride / pitch));
  const along = strides.map((stride, k) => stride - downs[k]! * pitch);
  const [low, high] = rangeIn({ offset, strides: along }, box);
  const row = Math.floor(low / pitch);
  if (high >= (row + 1) * pitch) return undefined;
  return {
    rows: { offset: row, strides: downs },
    columns: { offset: offset - row * pitch, strides: along },
  };
}

/** The range of an access from the part of a box within its bounds, at the indices of a window, as rows. */
export function reachInRows(
  kernel: Kernel,
  access: Access,
  inside: Box,
  pitch: number,
  window?: readonly [first: number, last: number],
): { readonly first: number; readonly last: number; readonly rows: Rows } {
  return rowsIn(split(access, wholeBox(kernel), pitch)!, withIndices(access, inside, window), pitch);
}

/** The range of a split function over a box. */
export function rowsIn(
  { rows, columns }: Split,
  box: Box,
  pitch: number,
): { readonly first: number; readonly last: number; readonly rows: Rows } {
  const [top, bottom] = rangeIn(rows, box);
  const [left, right] = rangeIn(columns, box);
  const width = right + 1 - left;
  return { first: top * pitch + left, last: bottom * pitch + right + 1, rows: { pitch, width } };
}

/** A split function where rows are `pitch` apart. */
export function joinRows({ rows, columns }: Split, pitch: number): Affine {
  return {
    offset: rows.offset * pitch + columns.offset,
    strides: rows.strides.map((down, k) => down * pitch + columns.strides[k]!),
  };
}

/** The accesses of each buffer that are not known to reach nothing. */
function accessesByBuffer(kernel: Kernel): Map<number, Access[]> {
  const found = new Map<number, Access[]>();
  const add = (access: Access): void => {
    if (insideOf(access.bounds, wholeBox(kernel)) === undefined) return;
    const known = found.get(access.buffer);
    if (known === undefined) found.set(access.buffer, [access]);
    else known.push(access);
  };
  for (const access of accessesOf(withoutDead(kernel))) add(placedAccess(access));
  return found;
}

/** Elements that rows are further apart in a trial. */
const FURTHER = 4096;

/**
 * The pitches by which all accesses of a buffer can be split, for each buffer that has any. `keeps`: whether
 * code that was chosen for an access will do for one with rows elsewhere.
 */
export function pitchesOf(
  kernel: Kernel,
  keeps: (whole: Affine, inRows: Affine) => boolean = () => true,
): ReadonlyMap<number, readonly number[]> {
  const domain = wholeBox(kernel);
  const found = new Map<number, readonly number[]>();
  for (const [buffer, accesses] of accessesByBuffer(kernel)) {
    const { elementCount, isTakenInWindows } = kernel.buffers[buffer]!;
    if (isTakenInWindows !== true && accesses.some(({ index }) => index !== undefined)) continue;
    const strides = accesses.flatMap((access) => access.strides.filter((_, k) => domain[k]![1] > 1));
    // Bounds may leave a stride that is longer than the buffer: there is one row then.
    const candidates = [...new Set(strides.map(Math.abs))].filter(
      (pitch) => pitch > 1 && pitch <= elementCount,
    );
    const fits = (pitch: number): boolean => {
      const isSplit = accesses.every((access) => {
        const parts = split(access, domain, pitch);
        return parts !== undefined && keeps(access, moved(access, parts, pitch + FURTHER));
      });
      if (!isSplit) return false;
      const reaches = accesses.map((access) =>
        reachInRows(kernel, access, insideOf(access.bounds, domain)!, pitch),
      );
      const bottom = Math.max(...reaches.map(({ last }) => Math.floor((last - 1) / pitch)));
      const right = Math.max(...reaches.map(({ first, rows }) => (first % pitch) + rows.width));
      return bottom * pitch + right <= elementCount;
    };
    const pitches = [...new Set([...candidates, ...distancesOf(accesses, elementCount)])].filter(fits);
    if (pitches.length > 0) found.set(buffer, pitches);
  }
  return found;
}

/** How far accesses are apart that start at different places: those of the rows of an array that is in parts. */
function distancesOf([first, ...others]: readonly Access[], elementCount: number): number[] {
  const distances = others.map(({ offset }) => Math.abs(offset - first!.offset));
  return [...new Set(distances)].filter((distance) => distance > 1 && distance <= elementCount);
}

/**
 * A kernel in the domain that it is printed or encoded for, with strides as its buffers' windows have them, and elements
 * that were taken before read where they are.
 */
export function inWindows(source: Kernel): Kernel {
  const isPlaced = loadsOf(source).some(({ access }) => access.place !== undefined);
  const kernel = isPlaced ? mapLoads(source, placedAccess) : source;
  if (kernel.buffers.every(({ pitch }) => pitch === undefined)) return kernel;
  const domain = wholeBox(kernel);
  return mapAccesses(kernel, (access) => {
    const pitch = kernel.buffers[access.buffer]!.pitch;
    const parts = pitch && split(access, domain, pitch.from);
    return parts === undefined ? access : moved(access, parts, pitch!.to);
  });
}
