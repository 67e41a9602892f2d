/**
 * Reads elements of a file into memory, when a graph runs: part of a region, in the host's byte order. The file must still
 * be the one whose header was read. Called by `exec/evaluate.ts`.
 */
import { typedArrayOver } from '../exec/host-memory.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import type { FileRegion, TypedArray } from '../graph/expr.js';
import { withFile } from './data-file.js';
import { wordByteLength } from './layout.js';

/** Bytes that are read and swapped at once. */
const CHUNK = 1 << 22;

/**
 * `count` elements from `start` on. Rejects with a FileError for a file that cannot be read or is another one, with the
 * signal's reason when aborted.
 */
export async function readRegion(
  region: FileRegion,
  dtype: DType,
  start: number,
  count: number,
  signal?: AbortSignal,
): Promise<TypedArray> {
  const size = byteLengthOf(dtype);
  const buffer = new ArrayBuffer(count * size);
  await withFile('compute', region.path, async (file) => {
    await file.checkStamp(region.stamp);
    for (let at = 0; at < buffer.byteLength; at += CHUNK) {
      signal?.throwIfAborted();
      const chunk = Buffer.from(buffer, at, Math.min(CHUNK, buffer.byteLength - at));
      await file.readInto(chunk, region.byteOffset + start * size + at);
      if (region.swapped) swapWords(chunk, wordByteLength(dtype));
    }
    await file.checkStamp(region.stamp);
  });
  return typedArrayOver(buffer, dtype);
}

/** Turns the bytes of every word round, in place. */
export function swapWords(bytes: Buffer, wordByteLength: number): void {
  if (wordByteLength === 2) bytes.swap16();
  else if (wordByteLength === 4) bytes.swap32();
  else if (wordByteLength === 8) bytes.swap64();
}
