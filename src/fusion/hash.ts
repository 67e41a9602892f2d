/**
 * Finding equal things without writing them as text: integer hashes of numbers, names, scalars and affine functions, and
 * chains of the positions of a list that share a slot. The lists and what equal means are the callers': instructions in
 * `tape-builder.ts`, nodes in `node-table.ts`, places in `build-kernel.ts`.
 */
import type { Scalar } from '../graph/dtype.js';
import type { Affine, Bound } from './kernel.js';

/** A number for each name that stands in a hash. */
const numbers = new Map<string, number>();
export function numberOf(name: string): number {
  let number = numbers.get(name);
  if (number === undefined) {
    number = numbers.size + 1;
    numbers.set(name, number);
  }
  return number;
}

/** Adds an integer to a hash; the bits above the lowest 32 do not count. */
export const mix = (hash: number, value: number): number => {
  const h = Math.imul(hash ^ value, 0x9e3779b1);
  return h ^ (h >>> 15);
};

export function mixAll(hash: number, values: readonly number[]): number {
  let h = hash;
  for (let k = 0; k < values.length; k++) h = mix(h, values[k]!);
  return h;
}

export function mixScalar(hash: number, value: Scalar): number {
  switch (typeof value) {
    case 'number':
      return mix(mix(hash, value), (value % 1) * 0x40000000);
    case 'bigint':
      return mix(hash, Number(BigInt.asIntN(32, value)));
    case 'boolean':
      return mix(hash, value ? 1 : 0);
    default:
      return mixScalar(mixScalar(hash, value.re), value.im);
  }
}

export function mixAffine(hash: number, { offset, strides }: Affine): number {
  return mixAll(mix(hash, offset), strides);
}

export function mixBounds(hash: number, bounds: readonly Bound[]): number {
  let h = hash;
  for (let k = 0; k < bounds.length; k++) h = mix(mixAffine(h, bounds[k]!), bounds[k]!.size);
  return h;
}

/** Zeros of either sign differ, and a NaN is itself. */
export function sameScalar(a: Scalar, b: Scalar): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return Object.is(a, b);
  return Object.is(a.re, b.re) && Object.is(a.im, b.im);
}

/** Lists of up to so many positions are walked, which takes less time and memory than slots. */
const SHORT = 8;

/** Positions of a list that grows, by the hash of what stands there; -1 ends a chain. */
export class HashChains {
  readonly #hashes: number[] = [];
  /** Of a list that is not short, by slot, a power of two of them: the newest position. */
  #newest: number[] | undefined;
  /** By position: the next older one of its slot. */
  #older: number[] | undefined;

  /** The newest position that has this hash. */
  first(hash: number): number {
    const newest = this.#newest;
    const from = newest === undefined ? this.#hashes.length - 1 : newest[hash & (newest.length - 1)]!;
    return this.#skip(from, hash);
  }

  /** The next older position that has the hash of this one. */
  next(position: number): number {
    return this.#skip(this.#olderThan(position), this.#hashes[position]!);
  }

  #olderThan(position: number): number {
    return this.#older === undefined ? position - 1 : this.#older[position]!;
  }

  #skip(from: number, hash: number): number {
    let position = from;
    while (position >= 0 && this.#hashes[position] !== hash) position = this.#olderThan(position);
    return position;
  }

  /** Notes the hash of the list's next position. A hash is an integer of at most 30 bits. */
  push(hash: number): void {
    const count = this.#hashes.push(hash);
    if (count <= SHORT) return;
    if (this.#newest === undefined || count > this.#newest.length) this.#makeSlots(4 * (count - 1));
    else this.#link(count - 1);
  }

  #makeSlots(count: number): void {
    this.#newest = new Array<number>(count).fill(-1);
    this.#older = [];
    for (let position = 0; position < this.#hashes.length; position++) this.#link(position);
  }

  #link(position: number): void {
    const newest = this.#newest!;
    const slot = this.#hashes[position]! & (newest.length - 1);
    this.#older![position] = newest[slot]!;
    newest[slot] = position;
  }
}
