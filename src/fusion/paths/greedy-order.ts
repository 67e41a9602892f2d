/**
 * Orders pairs one by one: next is the pair whose result is smallest against its operands. Noise makes other
 * orders of it, from which `improve-order.ts` goes on. (Gray and Kourtis, "Hyper-optimized tensor network
 * contraction", 2021, have the score and the noise.)
 */
import type { Pair } from './exact-order.js';
import { type IndexSets, setVolume, wordVolume } from './network.js';

/** Numbers in [0, 1), the same for the same seed: Marsaglia's xorshift with 32 bits. */
export function randomFrom(seed: number): () => number {
  let state = (seed + 1) * 0x9e3779b1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** `temperature`: of the noise, in doublings of a result's size; 0: none. */
export function greedyPairs(sets: IndexSets, random: () => number, temperature: number): Pair[] {
  const count = sets.operands.length / sets.words;
  const search = new GreedySearch(sets, random, temperature);
  const pairs: Pair[] = [];
  while (pairs.length < count - 1) pairs.push(search.next());
  return pairs;
}

class GreedySearch {
  readonly #sets: IndexSets;
  readonly #noise: () => number;
  /** The sets of operands and results so far, and their volumes. */
  readonly #list: Int32Array;
  readonly #volumes: number[] = [];
  /** Those that no pair has taken, and the partner with which each scores best. */
  readonly #left: number[] = [];
  readonly #partner: number[] = [];
  readonly #score: number[] = [];
  /** By index: how many of those left have it. */
  readonly #uses: Int32Array;
  /** Indices that a pair of those that have them sums: of two, and not of the output. */
  readonly #ending: Int32Array;

  constructor(sets: IndexSets, random: () => number, temperature: number) {
    const { words, operands } = sets;
    const count = operands.length / words;
    this.#sets = sets;
    // Gumbel's distribution: the least of scores with such noise is a sample by their weights.
    this.#noise = temperature === 0 ? () => 0 : () => temperature * Math.log2(-Math.log(random() + 1e-12));
    this.#list = new Int32Array((2 * count - 1) * words);
    this.#list.set(operands);
    this.#uses = new Int32Array(words * 32);
    this.#ending = new Int32Array(words);
    for (let k = 0; k < count; k++) {
      this.#volumes.push(setVolume(sets, operands, k));
      this.#left.push(k);
      for (let bit = 0; bit < words * 32; bit++) if (this.#has(k, bit)) this.#uses[bit]!++;
    }
    for (let bit = 0; bit < words * 32; bit++) this.#note(bit);
    for (const k of this.#left) this.#findPartner(k);
  }

  #has(k: number, bit: number): boolean {
    return ((this.#list[k * this.#sets.words + (bit >> 5)]! >>> (bit & 31)) & 1) === 1;
  }

  /** Notes whether an index has come to be one that a pair sums. */
  #note(bit: number): void {
    const flag = 1 << (bit & 31);
    const word = bit >> 5;
    if (this.#uses[bit] === 2 && (this.#sets.output[word]! & flag) === 0) this.#ending[word]! |= flag;
    else this.#ending[word]! &= ~flag;
  }

  /** Takes the best pair. */
  next(): Pair {
    let i = this.#left[0]!;
    for (const k of this.#left) if (this.#score[k]! < this.#score[i]!) i = k;
    const j = this.#partner[i]!;
    const k = this.#volumes.length;
    this.#join(i, j, k);
    for (const other of this.#left) {
      if (this.#partner[other] === i || this.#partner[other] === j) this.#findPartner(other);
      else this.#offer(other, k);
    }
    this.#left.push(k);
    this.#findPartner(k);
    return [Math.min(i, j), Math.max(i, j)];
  }

  #join(i: number, j: number, k: number): void {
    const { words } = this.#sets;
    const list = this.#list;
    for (let w = 0; w < words; w++) {
      const both = list[i * words + w]! & list[j * words + w]!;
      list[k * words + w] = (list[i * words + w]! | list[j * words + w]!) & ~(both & this.#ending[w]!);
      for (let bits = both; bits !== 0; bits &= bits - 1) {
        const bit = w * 32 + 31 - Math.clz32(bits & -bits);
        this.#uses[bit]!--;
        this.#note(bit);
      }
    }
    this.#volumes.push(setVolume(this.#sets, list, k));
    this.#left.splice(this.#left.indexOf(i), 1);
    this.#left.splice(this.#left.indexOf(j), 1);
  }

  #findPartner(k: number): void {
    this.#score[k] = Number.POSITIVE_INFINITY;
    for (const other of this.#left) if (other !== k) this.#offer(k, other);
  }

  #offer(k: number, other: number): void {
    const { words, volumes } = this.#sets;
    const list = this.#list;
    let volume = 1;
    for (let w = 0; w < words; w++) {
      const [a, b] = [list[k * words + w]!, list[other * words + w]!];
      volume *= wordVolume(volumes, w, (a | b) & ~(a & b & this.#ending[w]!));
    }
    const grown = volume - this.#volumes[k]! - this.#volumes[other]!;
    const score = Math.sign(grown) * Math.log2(1 + Math.abs(grown)) + this.#noise();
    if (score < this.#score[k]!) {
      this.#score[k] = score;
      this.#partner[k] = other;
    }
  }
}
