/**
 * Bands: an array that is read in parts, by what is decoded as one — rows of chunks, groups of rows. Each
 * band is read once while parts of it are asked for one after the other, and few of them are kept. Called by
 * `zarr.ts` and `parquet.ts`.
 */
import { typedArrayOver } from '../exec/native/host-memory.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { Idle } from './idle.js';
import type { ReadElements } from './reader.js';

/**
 * Bytes of bands that are kept, but at least two bands: parts that cross their border come in no certain
 * order.
 */
const KEPT_BYTES = 64 * 2 ** 20;
const KEPT_BANDS = 2;

interface Band {
  readonly start: number;
  readonly end: number;
  readonly elements: Promise<TypedArray>;
}

/** The band that an element is in. Elements are counted in C order. */
export type BandOf = (element: number) => { readonly start: number; readonly end: number };

/** Bands that end at some elements, ascending. */
export const bandsUpTo =
  (ends: readonly number[]): BandOf =>
  (element) => {
    const k = ends.findIndex((end) => element < end);
    return { start: k === 0 ? 0 : ends[k - 1]!, end: ends[k]! };
  };

/** Reads parts of an array of so many elements by bands. All of an array is read at once. */
export function inBands(
  read: ReadElements,
  dtype: DType,
  elementCount: number,
  rangeOf: BandOf,
): ReadElements {
  const kept: Band[] = [];
  const idle = new Idle(() => kept.splice(0));
  const bandOf = (at: number, signal: AbortSignal | undefined): Band => {
    const found = kept.findIndex(({ start, end }) => start <= at && at < end);
    const band = found < 0 ? readBand(at, signal) : kept.splice(found, 1)[0]!;
    kept.push(band);
    return band;
  };
  const readBand = (at: number, signal: AbortSignal | undefined): Band => {
    const { start, end } = rangeOf(at);
    const band: Band = { start, end, elements: Promise.resolve(read(start, end - start, signal)) };
    // A failed band is dropped, so that the next request reads it again.
    band.elements.catch(() => drop(band));
    const most = Math.max(KEPT_BANDS - 1, Math.floor(KEPT_BYTES / ((end - start) * byteLengthOf(dtype))) - 1);
    kept.splice(0, Math.max(0, kept.length - most));
    return band;
  };
  const drop = (band: Band): void => {
    const at = kept.indexOf(band);
    if (at >= 0) kept.splice(at, 1);
  };
  return async (start, count, signal) => {
    const end = start + count;
    if (start === 0 && end === elementCount) return read(start, count, signal);
    const size = byteLengthOf(dtype);
    const target = new Uint8Array(count * size);
    for (let at = start; at < end; ) {
      idle.touch();
      const band = bandOf(at, signal);
      const to = Math.min(end, band.end);
      const { buffer, byteOffset } = await band.elements;
      const from = byteOffset + (at - band.start) * size;
      target.set(new Uint8Array(buffer, from, (to - at) * size), (at - start) * size);
      at = to;
    }
    return typedArrayOver(target.buffer, dtype);
  };
}
