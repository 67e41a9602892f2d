/**
 * Orders pairs one by one: next is, of those that share an index, the pair whose result is smallest against its
 * operands. Noise makes other orders of it, from which `improve-order.ts` goes on. (Gray and Kourtis, "Hyper-optimized tensor network
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

const NONE = -1;

class GreedySearch {
  readonly #sets: IndexSets;
  readonly #noise: () => number;
  /** The sets of operands and results so far, and their volumes. */
  readonly #list: Int32Array;
  readonly #volumes: number[] = [];
  /** Those that no pair has taken, and the partner with which each scores best; NONE: it shares no index. */
  readonly #left = new Set<number>();
  readonly #partner: number[] = [];
  readonly #score: number[] = [];
  /** By index: those left that have it. */
  readonly #owners: Set<number>[];
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
    this.#owners = Array.from({ length: words * 32 }, () => new Set());
    this.#ending = new Int32Array(words);
    for (let k = 0; k < count; k++) {
      this.#volumes.push(setVolume(sets, operands, k));
      this.#left.add(k);
      for (const bit of this.#indicesOf(k)) this.#owners[bit]!.add(k);
    }
    for (let bit = 0; bit < words * 32; bit++) this.#note(bit);
    for (const k of this.#left) this.#findPartner(k);
  }

  #indicesOf(k: number): number[] {
    const { words } = this.#sets;
    const found: number[] = [];
    for (let w = 0; w < words; w++)
      for (let bits = this.#list[k * words + w]!; bits !== 0; bits &= bits - 1)
        found.push(w * 32 + 31 - Math.clz32(bits & -bits));
    return found;
  }

  /** Notes whether an index has come to be one that a pair sums. */
  #note(bit: number): void {
    const flag = 1 << (bit & 31);
    const word = bit >> 5;
    if (this.#owners[bit]!.size === 2 && (this.#sets.output[word]! & flag) === 0) this.#ending[word]! |= flag;
    else this.#ending[word]! &= ~flag;
  }

  /** Takes the best pair. */
  next(): Pair {
    let i = NONE;
    for (const k of this.#left)
      if (this.#partner[k] !== NONE && (i === NONE || this.#score[k]! < this.#score[i]!)) i = k;
    const [a, b] = i === NONE ? this.#smallest() : [i, this.#partner[i]!];
    const k = this.#volumes.length;
    this.#join(a, b, k);
    for (const other of this.#left)
      if (this.#partner[other] === a || this.#partner[other] === b) this.#findPartner(other);
    this.#left.add(k);
    this.#findPartner(k);
    for (const other of this.#neighbours(k)) this.#offer(other, k);
    return [Math.min(a, b), Math.max(a, b)];
  }

  /** Of those that share nothing the two smallest. */
  #smallest(): Pair {
    const [a, b] = [...this.#left].sort((x, y) => this.#volumes[x]! - this.#volumes[y]!);
    return [a!, b!];
  }

  #join(i: number, j: number, k: number): void {
    const { words } = this.#sets;
    const list = this.#list;
    this.#left.delete(i);
    this.#left.delete(j);
    for (let w = 0; w < words; w++) {
      const both = list[i * words + w]! & list[j * words + w]!;
      list[k * words + w] = (list[i * words + w]! | list[j * words + w]!) & ~(both & this.#ending[w]!);
    }
    const touched = [...this.#indicesOf(i), ...this.#indicesOf(j)];
    for (const bit of touched) {
      this.#owners[bit]!.delete(i);
      this.#owners[bit]!.delete(j);
    }
    for (const bit of this.#indicesOf(k)) this.#owners[bit]!.add(k);
    for (const bit of touched) this.#note(bit);
    this.#volumes.push(setVolume(this.#sets, list, k));
  }

  #neighbours(k: number): Set<number> {
    const found = new Set<number>();
    for (const bit of this.#indicesOf(k)) for (const other of this.#owners[bit]!) found.add(other);
    found.delete(k);
    return found;
  }

  #findPartner(k: number): void {
    this.#score[k] = Number.POSITIVE_INFINITY;
    this.#partner[k] = NONE;
    for (const other of this.#neighbours(k)) this.#offer(k, other);
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
    if (score < this.#score[k]! || this.#partner[k] === NONE) {
      this.#score[k] = score;
      this.#partner[k] = other;
    }
  }
}
