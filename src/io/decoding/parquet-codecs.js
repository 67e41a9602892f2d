/**
 * Parquet's compressions: Node's own where it has them, else those of the optional packages hyparquet and
 * hyparquet-compressors. No page is given more memory than its header says, and no header is believed that
 * says more than its codec can hold.
 */
import * as zlib from 'node:zlib';
import { allocate, MissingPackage, OutOfMemory, refuse } from './refusal.js';

/** @typedef {(bytes: Uint8Array, byteLength: number) => Uint8Array} Decompress */

const CODECS = ['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'LZO', 'BROTLI', 'LZ4', 'ZSTD', 'LZ4_RAW'];

/** Inflated bytes for a compressed one, at most; those of Brotli and Zstandard have no bound to speak of. */
const RATIOS = new Map([
  ['SNAPPY', 64],
  ['GZIP', 1032],
  ['LZ4', 256],
  ['LZ4_RAW', 256],
]);

/**
 * @param {number} codec as the footer has it
 * @returns {Promise<Decompress>}
 */
export async function decompressorOf(codec) {
  const name = CODECS[codec] ?? `codec ${codec}`;
  const decompress = await find(name);
  return (bytes, byteLength) => {
    const most = RATIOS.get(name);
    if (most !== undefined && byteLength > bytes.length * most + 64)
      refuse(`at most ${most} times ${bytes.length} compressed bytes`, `${byteLength}`);
    const page = inflate(decompress, bytes, byteLength);
    return page.length === byteLength ? page : refuse(`a page of ${byteLength} bytes`, `${page.length}`);
  };
}

/** @param {Decompress} decompress @param {Uint8Array} bytes @param {number} byteLength */
function inflate(decompress, bytes, byteLength) {
  try {
    return decompress(bytes, byteLength);
  } catch (error) {
    if (error instanceof OutOfMemory) throw error;
    return refuse('compressed bytes', error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} name @returns {Promise<Decompress>} */
async function find(name) {
  if (name === 'UNCOMPRESSED') return (bytes) => bytes;
  if (name === 'GZIP') return limited(zlib.gunzipSync);
  if (name === 'BROTLI') return limited(zlib.brotliDecompressSync);
  // Node has it from 22.15 on.
  const { zstdDecompressSync: zstd } = /** @type {{ zstdDecompressSync?: typeof zlib.gunzipSync }} */ (zlib);
  if (name === 'ZSTD' && zstd !== undefined) return limited(zstd);
  if (name !== 'SNAPPY' && name !== 'ZSTD' && !name.startsWith('LZ4'))
    return refuse('a compression that is known', name);
  const packed = await import('hyparquet-compressors').catch(() => undefined);
  const found = packed?.compressors[/** @type {'SNAPPY'} */ (name)];
  if (found !== undefined) return found;
  if (name !== 'SNAPPY') throw new MissingPackage('hyparquet-compressors');
  const { snappyUncompress } = await import('hyparquet').catch(() => {
    throw new MissingPackage('hyparquet');
  });
  return (bytes, byteLength) => {
    const page = new Uint8Array(allocate(byteLength));
    snappyUncompress(bytes, page);
    return page;
  };
}

/**
 * @param {(bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer} decompress
 * @returns {Decompress}
 */
const limited = (decompress) => (bytes, byteLength) =>
  byteLength === 0 ? new Uint8Array(0) : decompress(bytes, { maxOutputLength: byteLength });
