/**
 * zarrita's codecs with their lengths and checksums checked: those of this thread's registry, which nobody
 * else uses. Chunks must decode to exactly their elements, and nothing may claim to hold much more. Called by
 * `zarr.js`.
 */
import { gunzipSync, inflateSync } from 'node:zlib';
import { crc32c } from './crc32c.js';
import { refuse } from './refusal.js';

/**
 * A codec, and the class of it, as zarrita has them.
 * @typedef {{ kind: string, decode: (chunk: never) => unknown, encode?: unknown }} Codec
 * @typedef {{ dataType: string, shape: number[] }} ChunkMetadata
 * @typedef {{ fromConfig: (configuration: unknown, metadata: ChunkMetadata) => Codec }} CodecClass
 * @typedef {Map<string, () => Promise<CodecClass> | CodecClass>} Registry
 */

/**
 * Encoded bytes may be more than the elements: headers of frames, checksums, bytes that do not get shorter.
 */
export const mostEncoded = (/** @type {number} */ byteLength) => 2 * byteLength + 65536;

const BITS = /(\d+)$/;

/** Bytes of an element by zarrita's name of the type. @param {string} type */
export const elementByteLength = (type) => (type === 'bool' ? 1 : Number(BITS.exec(type)?.[1] ?? 8) / 8);

/** @param {ChunkMetadata} metadata */
const byteLengthOf = ({ dataType, shape }) =>
  shape.reduce((product, size) => product * size, elementByteLength(dataType));

/** @param {Registry} registry */
export function checkCodecs(registry) {
  checkBytes(/** @type {CodecClass} */ (registry.get('bytes')?.()));
  wrap(registry, ['blosc', 'numcodecs.blosc'], checkBlosc);
  wrap(registry, ['lz4', 'numcodecs.lz4'], checkLz4);
  wrap(registry, ['zstd', 'numcodecs.zstd'], checkZstd);
  for (const name of ['gzip', 'numcodecs.gzip']) registry.set(name, () => inflating(gunzipSync));
  for (const name of ['zlib', 'numcodecs.zlib']) registry.set(name, () => inflating(inflateSync));
  registry.set('crc32c', () => CHECKSUM);
}

/**
 * Checks the lengths of chunks, in the class itself: where metadata names no such codec, zarrita takes it
 * from there.
 * @param {CodecClass} type
 */
function checkBytes(type) {
  const make = type.fromConfig;
  type.fromConfig = (configuration, metadata) => {
    const codec = make(configuration, metadata);
    const wanted = byteLengthOf(metadata);
    return {
      kind: codec.kind,
      /** @param {never} chunk */
      decode(chunk) {
        const { byteLength } = /** @type {Uint8Array} */ (chunk);
        return byteLength === wanted
          ? codec.decode(chunk)
          : refuse(`a chunk of ${wanted} bytes`, `${byteLength}`);
      },
    };
  };
}

/**
 * Checks the encoded bytes of a codec before it decodes them.
 * @param {Registry} registry
 * @param {readonly string[]} names
 * @param {(most: number, bytes: Uint8Array) => void} check
 */
function wrap(registry, names, check) {
  for (const name of names) {
    const original = registry.get(name);
    if (original === undefined) continue;
    registry.set(name, async () => {
      const type = await original();
      return {
        fromConfig(configuration, metadata) {
          const codec = type.fromConfig(configuration, metadata);
          const most = mostEncoded(byteLengthOf(metadata));
          return {
            kind: codec.kind,
            /** @param {never} bytes */
            decode(bytes) {
              check(most, bytes);
              return codec.decode(bytes);
            },
          };
        },
      };
    });
  }
}

/** @param {string} codec @param {number | bigint} claimed @param {number} most */
function checkClaim(codec, claimed, most) {
  if (claimed < 0 || claimed > most) refuse(`at most ${most} bytes from ${codec}`, `${claimed}`);
}

/** @param {Uint8Array} bytes @param {number} length @param {string} codec */
function headerOf(bytes, length, codec) {
  if (bytes.byteLength < length) refuse(`a header of ${length} bytes of ${codec}`, `${bytes.byteLength}`);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** @param {number} most @param {Uint8Array} bytes */
function checkBlosc(most, bytes) {
  const header = headerOf(bytes, 16, 'blosc');
  checkClaim('blosc', header.getUint32(4, true), most);
  const length = header.getUint32(12, true);
  if (length !== bytes.byteLength) refuse(`${length} bytes of blosc`, `${bytes.byteLength}`);
}

/** @param {number} most @param {Uint8Array} bytes */
function checkLz4(most, bytes) {
  checkClaim('lz4', headerOf(bytes, 4, 'lz4').getUint32(0, true), most);
}

/** The length in a frame's header: RFC 8878, 3.1.1.1. @param {number} most @param {Uint8Array} bytes */
function checkZstd(most, bytes) {
  const header = headerOf(bytes, 6, 'zstd');
  const flags = header.getUint8(4);
  const isSingle = (flags & 0x20) !== 0;
  const size = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0;
  const at = 5 + (isSingle ? 0 : 1) + ([0, 1, 2, 4][flags & 3] ?? 0);
  headerOf(bytes, at + size, 'zstd');
  if (size === 1) checkClaim('zstd', header.getUint8(at), most);
  if (size === 2) checkClaim('zstd', header.getUint16(at, true) + 256, most);
  if (size === 4) checkClaim('zstd', header.getUint32(at, true), most);
  if (size === 8) checkClaim('zstd', header.getBigUint64(at, true), most);
}

/**
 * Node's own, which is faster and stops at the given length.
 * @param {(bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer} inflate
 * @returns {CodecClass}
 */
const inflating = (inflate) => ({
  fromConfig: (_, metadata) => ({
    kind: 'bytes_to_bytes',
    /** @param {never} bytes */
    decode: (bytes) => inflate(bytes, { maxOutputLength: mostEncoded(byteLengthOf(metadata)) }),
  }),
});

/** @type {CodecClass} */
const CHECKSUM = {
  fromConfig: () => ({
    kind: 'bytes_to_bytes',
    /** @param {never} encoded */
    decode(encoded) {
      const bytes = /** @type {Uint8Array} */ (encoded);
      const end = bytes.byteLength - 4;
      if (end < 0) refuse('a checksum of 4 bytes', `${bytes.byteLength} bytes`);
      const wanted = new DataView(bytes.buffer, bytes.byteOffset + end).getUint32(0, true);
      const sum = crc32c(bytes.subarray(0, end));
      if (sum !== wanted)
        refuse(`the checksum ${wanted.toString(16)} of a chunk`, sum.toString(16), {
          code: 'ERR_FILE_CHECKSUM',
        });
      return bytes.subarray(0, end);
    },
  }),
};
