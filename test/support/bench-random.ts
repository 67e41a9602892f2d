/** Random numbers by plain loops, in float64: Philox 4x32-10 in 32-bit products, and quantiles of its words. */
import { ndtri } from './special-functions.js';

/** The high half of the product of two uint32. */
const highOf = (a: number, b: number): number => {
  const [al, ah, bl, bh] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle = ah * bl + ((al * bl) >>> 16);
  return (ah * bh + Math.floor(middle / 65536) + Math.floor(((middle % 65536) + al * bh) / 65536)) >>> 0;
};

type Block = readonly [number, number, number, number];

function philox(block: Block, key: readonly [number, number]): Block {
  let [x0, x1, x2, x3] = block;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const [a, b] = [highOf(0xd2511f53, x0), highOf(0xcd9e8d57, x2)];
    const [al, bl] = [Math.imul(0xd2511f53, x0) >>> 0, Math.imul(0xcd9e8d57, x2) >>> 0];
    [x0, x1, x2, x3] = [(b ^ x1 ^ k0) >>> 0, bl, (a ^ x3 ^ k1) >>> 0, al];
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return [x0, x1, x2, x3];
}

/** The first words of a key. */
export function wordsByLoop(count: number, key: readonly [low: number, high: number]): Float64Array {
  const result = new Float64Array(count);
  for (let k = 0; k < count; k += 4) {
    const block = philox([k / 4, 0, 0, 0], key);
    for (let w = 0; w < 4 && k + w < count; w++) result[k + w] = block[w]!;
  }
  return result;
}

/** The keys that a key is split into: words of the places from 2^63 on, two for each. */
export function splitByLoop(key: readonly [number, number], count: number): [number, number][] {
  return Array.from({ length: count }, (_, k) => {
    // Place 2^63 + 2 k lies in block 2^61 + ⌊k / 2⌋.
    const block = philox([Math.floor(k / 2), 2 ** 29, 0, 0], key);
    return [block[2 * (k % 2)]!, block[2 * (k % 2) + 1]!];
  });
}

export const uniformOfWord = (word: number): number => Math.floor(word / 256) * 2 ** -24;

/** The quantile of 31 bits of a word below 1/2, or above as its highest bit says. */
export function normalOfWord(word: number): number {
  const below = ndtri(((word % 2 ** 31) + 0.5) * 2 ** -32);
  return word < 2 ** 31 ? below : -below;
}
