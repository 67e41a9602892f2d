/**
 * CRC-32 of parts joined: the checksum of `ab` from those of `a` and `b`, so that parts may be written in any order.
 *
 * Appending n bytes multiplies a checksum by x^(8n) modulo the polynomial; powers are made by squaring (zlib's
 * crc32_combine works so too). Called by `zip-layout.ts`.
 */

/** The polynomial of zip and PNG, bits reversed: bit 31 is x^0. */
const POLYNOMIAL = 0xedb88320;

/** a·b modulo the polynomial. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1;
  }
  return product >>> 0;
}

/** x^(2^k); the powers repeat after 32. */
const SQUARES = [1 << 30];
for (let k = 1; k < 32; k++) SQUARES.push(multiply(SQUARES[k - 1]!, SQUARES[k - 1]!));

/** The CRC-32 of two parts one after the other; `byteLength` is the second's. */
export function combineChecksums(first: number, second: number, byteLength: number): number {
  let shift = 0x80000000; // x^0
  let bytes = byteLength;
  for (let k = 3; bytes > 0; k++) {
    if (bytes % 2 === 1) shift = multiply(SQUARES[k % 32]!, shift);
    bytes = Math.floor(bytes / 2);
  }
  return (multiply(shift, first) ^ second) >>> 0;
}
