/** Random numbers by plain loops, in float64: Philox 4x32-10 in 32-bit products, and normal numbers of its words. */
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

/** Box and Muller's numbers of pairs of words: the size of a word gives the radius, the other an angle in half a circle. */
export function normalsOfWords(words: Float64Array): Float64Array {
  return words.map((_, k) => {
    const [a, b] = [words[k & ~1]! | 0, words[k | 1]! | 0];
    const u = Math.fround(Math.abs(Math.fround(a)) * Math.fround(4.656612e-10) + 2 ** -33);
    const angle = ((b / 2 ** 31) * Math.PI) / 2;
    const radius = Math.sqrt(-2 * Math.log(u));
    if (k & 1) return radius * Math.sin(angle);
    return a < 0 ? -radius * Math.cos(angle) : radius * Math.cos(angle);
  });
}
