/** A digest of results' bytes, by which runs on different devices are held to the same bits. Called by `devices.ts`. */
import { createHash } from 'node:crypto';
import type { NDArray } from '../src/index.js';

export function checksumOf(results: readonly NDArray[]): string {
  const hash = createHash('sha256');
  for (const { data } of results) hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return hash.digest('hex');
}
