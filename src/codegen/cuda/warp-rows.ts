/**
 * Memory that the threads of a warp, or a few of them together, own one piece after the other, of equal packs each: it moves 512
 * bytes a warp at once, and the packs change hands in shared memory (`weft_store_in_rows` and its like in `prelude/prelude.ts`).
 *
 *     rows of 15 float32, a thread each     →   4 accesses of 16 bytes a thread for 15 of 4, all of a warp's in a row
 *     rows of 65 float32, two threads each  →   9 accesses for 33: a thread has every second element
 *
 * Called by `interleaved.ts`, whose threads have the channels of some elements, and by `printers/row-whole.ts`.
 */
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import { ACCESS_BYTES } from './chunks.js';
import { WARP } from './schedules/limits.js';
import type { Writer } from './writer.js';

/** Bytes that threads apart by a multiple of two packs leave free, so that they meet in different banks (`weft_turned_place`). */
const PADDED = { every: 2 * ACCESS_BYTES, by: 9 / 8 };

/** Bytes of shared memory of a warp whose pieces, of a thread or of a few, have so many each. */
export const turnedBytes = (bytes: number, pieces = WARP): number =>
  pieces * bytes * (bytes % PADDED.every === 0 ? PADDED.by : 1);

/** Packs of 16 bytes that a thread of a warp moves whose pieces have so many bytes each, at most. */
export const fetchedPacks = (bytes: number, pieces = WARP): number =>
  Math.ceil((pieces * bytes) / (WARP * ACCESS_BYTES));

/** Elements of a pack of 16 bytes. */
export const elementsOfAccess = (dtype: DType): number => ACCESS_BYTES / byteLengthOf(dtype);

/** Declares `turned`, shared memory of so many bytes for each warp of a block. */
export function printTurned(out: Writer, threads: number, bytes: number): void {
  const packs = bytes / ACCESS_BYTES;
  out.line(`__shared__ weft_pack<unsigned int, 4> turned_all[${(threads / WARP) * packs}];`);
  out.line(`weft_pack<unsigned int, 4>* const turned = turned_all + threadIdx.x / ${WARP} * ${packs};`);
}
