/**
 * A digest of results' bytes, by which runs on different devices are held to the same bits. Called by
 * `devices.ts`.
 */
import { createHash } from 'node:crypto';
import type { NDArray } from '../src/index.js';

const PIECE = 2 ** 30;

export function checksumOf(results: readonly NDArray[]): string {
  const hash = createHash('sha256');
  for (const { data } of results) {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    // A hash takes less than 2 GiB at a time.
    for (let at = 0; at < bytes.length; at += PIECE) hash.update(bytes.subarray(at, at + PIECE));
  }
  return hash.digest('hex');
}
