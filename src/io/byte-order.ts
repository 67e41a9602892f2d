/** Byte order in memory, for what passes through JavaScript on its way from or to a file. */

/** Turns the bytes of every word round, in place. */
export function swapWords(bytes: Buffer, wordByteLength: number): void {
  if (wordByteLength === 2) bytes.swap16();
  else if (wordByteLength === 4) bytes.swap32();
  else if (wordByteLength === 8) bytes.swap64();
}
