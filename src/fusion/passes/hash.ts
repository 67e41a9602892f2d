/**
 * Finding equal things without writing them as text: integer hashes of numbers, names, scalars and affine
 * functions, and lists whose things all differ. Callers define equality: of instructions in
 * `kernel/tape-builder.ts`, of nodes in `node-table.ts`, of index maps in `emit-kernel.ts`.
 */
import type { Scalar } from '../../graph/dtype.js';
import { type ConstantValue, RuntimeScalar } from '../../graph/runtime-scalar.js';
import type { Affine, Bound } from '../kernel/kernel.js';

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

export function mixConstant(hash: number, value: ConstantValue): number {
  return value instanceof RuntimeScalar ? mix(mix(hash, 1), value.position) : mixScalar(hash, value);
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
  for (let k = 0; k < bounds.length; k++) {
    const { size, fold } = bounds[k]!;
    h = mix(mixAffine(h, bounds[k]!), size);
    if (fold !== undefined) h = mix(mix(h, numberOf(fold.mode)), fold.stride);
  }
  return h;
}

/** Hashes that are searched, which takes less time than chains of as few. */
const FEW_HASHES = 32;

/** Positions of a list that grows, by the hash of what stands there; -1 ends a chain. */
export class HashChains {
  /** By slot, a power of two of them: the newest position. None for few hashes. */
  #newest: number[] = [];
  readonly #older: number[] = [];
  readonly #hashes: number[] = [];

  /** The newest position that has this hash. */
  first(hash: number): number {
    const slots = this.#newest.length;
    if (slots === 0) return this.#search(this.#hashes.length - 1, hash);
    return this.#skip(this.#newest[hash & (slots - 1)]!, hash);
  }

  /** The next older position that has the hash of this one. */
  next(position: number): number {
    const hash = this.#hashes[position]!;
    return this.#newest.length === 0
      ? this.#search(position - 1, hash)
      : this.#skip(this.#older[position]!, hash);
  }

  #search(from: number, hash: number): number {
    let position = from;
    while (position >= 0 && this.#hashes[position] !== hash) position--;
    return position;
  }

  #skip(from: number, hash: number): number {
    let position = from;
    while (position >= 0 && this.#hashes[position] !== hash) position = this.#older[position]!;
    return position;
  }

  /** Notes the hash of the list's next position. A hash is an integer of at most 30 bits. */
  push(hash: number): void {
    const count = this.#hashes.push(hash);
    if (count <= FEW_HASHES) return;
    if (count > this.#newest.length) this.#grow();
    else this.#link(count - 1);
  }

  #link(position: number): void {
    const slot = this.#hashes[position]! & (this.#newest.length - 1);
    this.#older[position] = this.#newest[slot]!;
    this.#newest[slot] = position;
  }

  #grow(): void {
    this.#newest = new Array<number>(4 * Math.max(FEW_HASHES, this.#newest.length)).fill(-1);
    for (let position = 0; position < this.#hashes.length; position++) this.#link(position);
  }
}

/** Lists of up to so many things are searched, which takes less time and memory than chains. */
const SHORT = 16;

/** A list of things that all differ. */
export class DistinctList<T> {
  readonly all: T[];
  readonly #hashOf: (thing: T) => number;
  readonly #isSame: (a: T, b: T) => boolean;
  /** Of a list that is not short, made when something is looked for in it. */
  #chains: HashChains | undefined;

  /** Equal things have equal hashes, which are integers of at most 30 bits; `distinct`: the first things. */
  constructor(hashOf: (thing: T) => number, isSame: (a: T, b: T) => boolean, distinct: readonly T[] = []) {
    this.#hashOf = hashOf;
    this.#isSame = isSame;
    this.all = distinct.length === 0 ? [] : [...distinct];
  }

  /** The position of a thing that is equal, or of this one, which is then added. */
  add(thing: T): number {
    if (this.#chains === undefined && this.all.length > SHORT) this.#chain();
    const hash = this.#chains === undefined ? 0 : this.#hashOf(thing);
    const known = this.#find(thing, hash);
    if (known >= 0) return known;
    this.#chains?.push(hash);
    return this.all.push(thing) - 1;
  }

  #find(thing: T, hash: number): number {
    const chains = this.#chains;
    let at = chains === undefined ? this.all.length - 1 : chains.first(hash);
    while (at >= 0 && !this.#isSame(this.all[at]!, thing))
      at = chains === undefined ? at - 1 : chains.next(at);
    return at;
  }

  #chain(): void {
    this.#chains = new HashChains();
    for (const thing of this.all) this.#chains.push(this.#hashOf(thing));
  }
}
