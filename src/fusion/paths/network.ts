/**
 * A contraction as the path search sees it: sets of labels as bits, and the volumes that they span.
 *
 *     ab,bcd,cde->ae   →   [a] [b] [cd] [e] are four indices; the operands 0011, 0110, 1100; the output 1001
 *
 * Labels of the same operands are one index, since no order tells them apart; labels of size 1 are none, and
 * labels of one operand alone, which are summed before any pair is formed, are left out. Called by the
 * searches beside this file.
 */

/** The labels of the operands and of the result; every label has one size. */
export interface Network {
  readonly operands: readonly (readonly number[])[];
  readonly output: readonly number[];
  readonly sizeOf: (label: number) => number;
}

export const BITS = 32;
const BYTE = 256;

/** Sets of indices, `words` numbers of 32 bits each; set k of a list begins at word `k · words`. */
export interface IndexSets {
  readonly words: number;
  /** A set for each operand. */
  readonly operands: Int32Array;
  readonly output: Int32Array;
  /** For each byte of a set the product of the sizes of its indices, by the byte's value. */
  readonly volumes: Float64Array;
}

/** The labels of an operand that neither the result nor another operand has. */
export function ownLabels({ operands, output }: Network): readonly (readonly number[])[] {
  const uses = new Map<number, number>();
  for (const labels of [...operands, output])
    for (const label of labels) uses.set(label, (uses.get(label) ?? 0) + 1);
  return operands.map((labels) => labels.filter((label) => uses.get(label) === 1));
}

export function indexSets(network: Network): IndexSets {
  const { operands, output, sizeOf } = network;
  const owners = new Map<number, number[]>();
  for (const [k, labels] of [...operands, output].entries())
    for (const label of labels) owners.set(label, [...(owners.get(label) ?? []), k]);
  const sizes = new Map<string, { readonly owners: readonly number[]; size: number }>();
  for (const [label, list] of owners) {
    const size = sizeOf(label);
    if (size === 1 || (list.length === 1 && list[0] !== operands.length)) continue;
    const key = list.join();
    const known = sizes.get(key);
    if (known === undefined) sizes.set(key, { owners: list, size });
    else known.size *= size;
  }
  const indices = [...sizes.values()];
  const words = Math.max(1, Math.ceil(indices.length / BITS));
  const sets = new Int32Array((operands.length + 1) * words);
  for (const [bit, index] of indices.entries())
    for (const k of index.owners) sets[k * words + Math.floor(bit / BITS)]! |= 1 << (bit % BITS);
  return {
    words,
    operands: sets.subarray(0, operands.length * words),
    output: sets.subarray(operands.length * words),
    volumes: volumeTable(
      indices.map(({ size }) => size),
      words,
    ),
  };
}

/** The products of sizes by the values of bytes; see `IndexSets`. */
export function volumeTable(sizes: readonly number[], words: number): Float64Array {
  const table = new Float64Array((words * BITS * BYTE) / 8).fill(1);
  for (let byte = 0; byte * 8 < sizes.length; byte++) {
    for (let value = 1; value < BYTE; value++) {
      const low = 31 - Math.clz32(value & -value);
      const size = sizes[byte * 8 + low] ?? 1;
      table[byte * BYTE + value] = size * table[byte * BYTE + (value & (value - 1))]!;
    }
  }
  return table;
}

/** The product of the sizes of a word's indices. */
export function wordVolume(volumes: Float64Array, word: number, bits: number): number {
  const at = word * 4 * BYTE;
  return (
    volumes[at + (bits & 255)]! *
    volumes[at + BYTE + ((bits >>> 8) & 255)]! *
    volumes[at + 2 * BYTE + ((bits >>> 16) & 255)]! *
    volumes[at + 3 * BYTE + (bits >>> 24)]!
  );
}

/** The elements of an array with the indices of set number `k` of a list. */
export function setVolume({ words, volumes }: IndexSets, list: Int32Array, k: number): number {
  let volume = 1;
  for (let w = 0; w < words; w++) volume *= wordVolume(volumes, w, list[k * words + w]!);
  return volume;
}
