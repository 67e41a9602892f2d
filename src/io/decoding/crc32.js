/**
 * CRC-32, as ZIP, PNG and Parquet have it: zlib's. It is looked up where it is called, since Electrons whose Node.js is
 * older than 20.15 have none: Weft loads there all the same.
 */
import zlib from 'node:zlib';

/**
 * The checksum of bytes behind those whose checksum is `before`.
 * @param {Uint8Array} bytes
 */
export const crc32 = (bytes, before = 0) => zlib.crc32(bytes, before);
