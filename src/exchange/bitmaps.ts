/**
 * Bitmaps as libraries of tables have them, an element a bit, the lowest bit of a byte first: read by kernels where they
 * lie, and made by kernels.
 */
import { chunked } from '../api/chunked.js';
import { Lazy } from '../api/lazy.js';
import { slice } from '../graph/basic-slicing.js';
import type { Expr } from '../graph/expr.js';
import { cast, iota, map, reduce } from '../graph/infer.js';
import { padTo } from '../graph/joins.js';
import { reshape } from '../graph/view-nodes.js';

/** So many bits of some bytes, from a bit on. */
export interface Bits {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly length: number;
}

/** Bits that are all set. */
export const setBits = (length: number): Bits => ({
  bytes: new Uint8Array(Math.ceil(length / 8)).fill(255),
  offset: 0,
  length,
});

const BITS = 8;

/** The bits of several bitmaps, one after the other, as an array of bool. */
export function booleansOf(parts: readonly Bits[]): Lazy<'bool'> {
  const fits = parts.slice(0, -1).every(({ offset, length }) => (offset + length) % BITS === 0);
  const isJoint = fits && parts.slice(1).every(({ offset }) => offset === 0);
  const pieces = isJoint ? parts.map(wholeBytes) : [repacked(parts)];
  const first = isJoint ? (parts[0]?.offset ?? 0) : 0;
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  const bytes = chunked(pieces.length === 0 ? [new Uint8Array(0)] : pieces).expr;
  const column = reshape(bytes, [bytes.shape[0]!, 1]);
  const shift = cast(reshape(iota(BITS), [1, BITS]), 'uint8');
  const bits = cast(map('bitwiseAnd', [map('bitwiseRightShift', [column, shift]), 1]), 'bool');
  return new Lazy(slice(reshape(bits, [bytes.shape[0]! * BITS]), [first, first + total]));
}

const wholeBytes = ({ bytes, offset, length }: Bits): Uint8Array =>
  bytes.subarray(0, Math.ceil((offset + length) / BITS));

/** Bitmaps that do not end with a byte, in one: a copy of an eighth of a byte for each row. */
function repacked(parts: readonly Bits[]): Uint8Array {
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  const joint = new Uint8Array(Math.ceil(total / BITS) + 1);
  let at = 0;
  for (const { bytes, offset, length } of parts) {
    const skip = offset % BITS;
    const begin = (offset - skip) / BITS;
    for (let done = 0; done < length; done += BITS) {
      const place = begin + done / BITS;
      const held = ((bytes[place]! >> skip) | ((bytes[place + 1] ?? 0) << (BITS - skip))) & 255;
      const byte = held & (255 >> Math.max(0, BITS - (length - done)));
      const to = at + done;
      const by = to % BITS;
      joint[(to - by) / BITS]! |= byte << by;
      joint[(to - by) / BITS + 1]! |= byte >> (BITS - by);
    }
    at += length;
  }
  return joint.subarray(0, Math.ceil(total / BITS));
}

/** Set bits of each byte. */
const COUNTS = new Uint8Array(256);
for (let byte = 1; byte < COUNTS.length; byte++) COUNTS[byte] = COUNTS[byte >> 1]! + (byte & 1);

/** The number of bits that are not set. */
export function unsetOf({ bytes, offset, length }: Bits): number {
  const [first, end] = [Math.floor(offset / BITS), offset + length];
  let set = 0;
  for (let place = first; place * BITS < end; place++) {
    const above = 255 << Math.max(0, offset - place * BITS);
    const below = 255 >> Math.max(0, (place + 1) * BITS - end);
    set += COUNTS[bytes[place]! & above & below]!;
  }
  return length - set;
}

/** An array of bool of one axis as a bitmap, in uint8. */
export function bitmapOf(x: Expr): Expr {
  const bytes = Math.ceil(x.shape[0]! / BITS);
  const rows = reshape(padTo(x, [0], [bytes * BITS]), [bytes, BITS]);
  const shift = cast(reshape(iota(BITS), [1, BITS]), 'uint8');
  return cast(reduce('sum', map('bitwiseLeftShift', [cast(rows, 'uint8'), shift]), [1]), 'uint8');
}
