/**
 * Chunks in shards: files of several chunks, with an index that says where each lies. The index's checksum is
 * checked, and every range against its file.
 *
 * Format: Zarr's codec `sharding_indexed`, version 1. Called by `zarr.js`.
 */
import { crc32c } from './crc32c.js';
import { refuse } from './refusal.js';

/**
 * @typedef {import('./zarr-metadata.js').Shards} Shards
 * @typedef {import('./worker.js').Context} Context
 * @typedef {{ entries: DataView, first: number, end: number }} Index `first`, `end`: the bytes of the file that chunks may be in
 */

const ENTRY = 16;
const CHECKSUM = 4;
/** Of a chunk that is all fill values. */
const NOWHERE = 2n ** 64n - 1n;

/**
 * Indices that are kept: parts of an array are read one after the other, most of them from the same shard.
 */
const KEPT = 16;
/** @type {Map<string, Promise<Index | undefined>>} */
const kept = new Map();

/**
 * The bytes of a chunk, undefined where it is all fill values.
 * @param {Context} context
 * @param {Shards} shards
 * @param {string} id of the array
 * @param {number[]} coordinates of the chunk in the array
 * @param {number} most bytes that it may have
 */
export async function readFromShard(context, shards, id, coordinates, most) {
  const { counts, prefix, separator } = shards;
  const shard = coordinates.map((at, axis) => Math.floor(at / /** @type {number} */ (counts[axis])));
  const name = [...(prefix === '' ? [] : [prefix]), ...shard].join(separator) || '0';
  const index = await indexOf(context, shards, id, name);
  if (index === undefined) return undefined;
  const at = counts.reduce((sum, count, axis) => {
    const coordinate = /** @type {number} */ (coordinates[axis]);
    return sum * count + (coordinate % count);
  }, 0);
  const offset = index.entries.getBigUint64(at * ENTRY, !shards.bigEndian);
  const length = index.entries.getBigUint64(at * ENTRY + 8, !shards.bigEndian);
  if (offset === NOWHERE && length === NOWHERE) return undefined;
  if (offset < index.first || offset + length > index.end) {
    const range = `${offset} to ${offset + length}`;
    refuse(`a chunk in bytes ${index.first} to ${index.end} of the shard`, range, { name });
  }
  if (length > most) refuse(`a chunk of at most ${most} bytes`, `${length}`, { name });
  const file = await context.read({ name, offset: Number(offset), length: Number(length) });
  return file?.bytes;
}

/** @param {Context} context @param {Shards} shards @param {string} id @param {string} name */
function indexOf(context, shards, id, name) {
  const key = `${id} ${name}`;
  const found = kept.get(key) ?? readIndex(context, shards, name);
  kept.delete(key);
  kept.set(key, found);
  found.catch(() => kept.delete(key));
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT) break;
    kept.delete(oldest);
  }
  return found;
}

/**
 * @param {Context} context
 * @param {Shards} shards
 * @param {string} name
 * @returns {Promise<Index | undefined>} undefined: there is no such shard
 */
async function readIndex(context, { counts, checksum, atStart }, name) {
  const count = counts.reduce((product, size) => product * size, 1);
  const length = count * ENTRY + (checksum ? CHECKSUM : 0);
  if (!Number.isSafeInteger(length)) refuse('an index of at most 2^53 bytes', `${length}`, { name });
  const file = await context.read({ name, offset: atStart ? 0 : -length, length });
  if (file === undefined) return undefined;
  const { bytes, byteLength } = file;
  const entries = new DataView(bytes.buffer, bytes.byteOffset, count * ENTRY);
  if (checksum) {
    const wanted = new DataView(bytes.buffer, bytes.byteOffset + count * ENTRY).getUint32(0, true);
    const sum = crc32c(bytes.subarray(0, count * ENTRY));
    if (sum !== wanted) {
      const about = /** @type {const} */ ({ name, code: 'ERR_FILE_CHECKSUM' });
      refuse(`the checksum ${wanted.toString(16)} of the shard's index`, sum.toString(16), about);
    }
  }
  return atStart
    ? { entries, first: length, end: byteLength }
    : { entries, first: 0, end: byteLength - length };
}
