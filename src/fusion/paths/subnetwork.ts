/**
 * A few sets of a large network as a network of its own: indices that the same sets have are one, so that it has few
 * words however many indices the whole has. Called by `improve-order.ts`.
 *
 *     sets of 1,500 indices in 47 words, of which 7 are taken   →   some 20 indices in one word
 */
import { BITS, type IndexSets, volumeTable } from './network.js';

export interface Subnetwork {
  readonly sets: IndexSets;
  /** The indices of the whole that a set of the part has. */
  readonly expand: (part: Int32Array, into: Int32Array, at: number) => void;
}

/** `tops`: places of the sets in `list`; `root`: that of the output. */
export function subnetworkOf(
  whole: IndexSets,
  list: Int32Array,
  tops: readonly number[],
  root: number,
): Subnetwork {
  const { words, volumes } = whole;
  if (words === 1) {
    const operands = Int32Array.from(tops, (top) => list[top]!);
    const expand = (part: Int32Array, into: Int32Array, at: number): void => into.set(part, at);
    return { sets: { ...whole, operands, output: list.subarray(root, root + 1) }, expand };
  }
  /** By the sets that have an index, as bits, the last one for the output: its number, its indices and their volume. */
  const groups = new Map<number, { readonly bits: Int32Array; volume: number }>();
  for (let w = 0; w < words; w++) {
    let left = 0;
    for (const top of tops) left |= list[top * words + w]!;
    for (; left !== 0; left &= left - 1) {
      const flag = left & -left;
      let owners = (list[root * words + w]! & flag) === 0 ? 0 : 1 << tops.length;
      for (const [k, top] of tops.entries()) if ((list[top * words + w]! & flag) !== 0) owners |= 1 << k;
      const bit = 31 - Math.clz32(flag);
      const size = volumes[w * 4 * 256 + (bit >> 3) * 256 + (1 << (bit & 7))]!;
      const group = groups.get(owners);
      if (group === undefined) {
        const bits = new Int32Array(words);
        bits[w] = flag;
        groups.set(owners, { bits, volume: size });
      } else {
        group.bits[w]! |= flag;
        group.volume *= size;
      }
    }
  }
  const members = [...groups];
  const own = Math.max(1, Math.ceil(members.length / BITS));
  const part = new Int32Array((tops.length + 1) * own);
  for (const [bit, [owners]] of members.entries())
    for (let k = 0; k <= tops.length; k++)
      if (((owners >> k) & 1) === 1) part[k * own + Math.floor(bit / BITS)]! |= 1 << (bit % BITS);
  const sizes = members.map(([, { volume }]) => volume);
  return {
    sets: {
      words: own,
      operands: part.subarray(0, tops.length * own),
      output: part.subarray(tops.length * own),
      volumes: volumeTable(sizes, own),
    },
    expand: (set, into, at) => {
      into.fill(0, at, at + words);
      for (const [bit, [, { bits }]] of members.entries())
        if (((set[Math.floor(bit / BITS)]! >>> (bit % BITS)) & 1) === 1)
          for (let w = 0; w < words; w++) into[at + w]! |= bits[w]!;
    },
  };
}
