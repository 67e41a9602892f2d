/**
 * CRC-32C, the checksum of Zarr's shards. Polynomial of Castagnoli with its bits in reverse: RFC 3720,
 * appendix B.4.
 */
const CASTAGNOLI = 0x82f63b78;

/** Bytes that are looked up at once. */
const STEP = 8;

/** TABLES[256 k + b]: what byte b followed by k zero bytes adds. */
const TABLES = new Uint32Array(256 * STEP);
for (let byte = 0; byte < 256; byte++) {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? CASTAGNOLI : 0);
  TABLES[byte] = sum;
}
for (let at = 256; at < TABLES.length; at++) {
  const before = /** @type {number} */ (TABLES[at - 256]);
  TABLES[at] = (before >>> 8) ^ /** @type {number} */ (TABLES[before & 255]);
}

/** @param {number} k zero bytes that follow @param {number} byte */
const added = (k, byte) => /** @type {number} */ (TABLES[256 * k + (byte & 255)]);

/**
 * @param {Uint8Array} bytes
 * @returns {number} an unsigned integer
 */
export function crc32c(bytes) {
  const { buffer, byteOffset, byteLength } = bytes;
  const view = new DataView(buffer, byteOffset, byteLength);
  let sum = -1;
  let at = 0;
  for (; at + STEP <= byteLength; at += STEP) {
    const low = sum ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    sum = added(7, low) ^ added(6, low >>> 8) ^ added(5, low >>> 16) ^ added(4, low >>> 24);
    sum ^= added(3, high) ^ added(2, high >>> 8) ^ added(1, high >>> 16) ^ added(0, high >>> 24);
  }
  for (; at < byteLength; at++) sum = (sum >>> 8) ^ added(0, sum ^ view.getUint8(at));
  return (sum ^ -1) >>> 0;
}
