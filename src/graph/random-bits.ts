/**
 * Random words as a pure function of a key and a place: word k of a key is the same in whatever shape, tile,
 * device or order it is computed, and is never in memory unless it is asked for.
 *
 *     words(key, [2, 3], 32)  →  philox4x32(index 0 … 5, key), as uint32
 */
import type { Expr, Shape } from './expr.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, iota, map } from './infer.js';
import { reshape } from './view-nodes.js';

/** The generators: a block cipher of few rounds over a counter. */
export const GENERATORS = ['philox4x32', 'threefry2x32'] as const;
export type Generator = (typeof GENERATORS)[number];

/** A key: 64 bits, and the generator that takes them. */
export interface KeyBits {
  readonly impl: Generator;
  /** A uint64 of shape (). */
  readonly words: Expr;
}

const uint64 = (value: bigint): Expr => constant(value, 'uint64');

/** The place of each element of a shape, in C order, as uint64. */
export const placesOf = (shape: Shape): Expr => cast(reshape(iota(sizeOfShape(shape)), shape), 'uint64');

/** Places of a Philox stream from here on give keys, and none of them is one of an array's elements. */
const DERIVED = 2n ** 63n;

/** Two uint32 words as one uint64. */
const joined = (high: Expr, low: Expr): Expr =>
  map('add', [map('multiply', [cast(high, 'uint64'), uint64(2n ** 32n)]), cast(low, 'uint64')]);

/** Words 2 · place and 2 · place + 1 of a Philox stream as one, the second above the first. */
function philoxPair(place: Expr, key: Expr): Expr {
  const first = map('multiply', [place, uint64(2n)]);
  const second = map('add', [first, uint64(1n)]);
  return joined(map('philox4x32', [second, key]), map('philox4x32', [first, key]));
}

/** The 64 random bits of each place. */
function bits64({ impl, words }: KeyBits, places: Expr): Expr {
  return impl === 'philox4x32' ? philoxPair(places, words) : map('threefry2x32', [places, words]);
}

/** The 32 random bits of each place. */
function bits32({ impl, words }: KeyBits, places: Expr): Expr {
  if (impl === 'philox4x32') return map('philox4x32', [places, words]);
  const both = map('threefry2x32', [places, words]);
  return cast(map('bitwiseXor', [map('bitwiseRightShift', [both, uint64(32n)]), both]), 'uint32');
}

/** Random words of a shape: uint32 or uint64. */
export function words(key: KeyBits, shape: Shape, width: 32 | 64): Expr {
  const places = placesOf(shape);
  return width === 32 ? bits32(key, places) : bits64(key, places);
}

/** Keys made of a key and numbers, a uint64 each: other numbers give keys that share nothing. */
export function derived({ impl, words: key }: KeyBits, numbers: Expr): Expr {
  if (impl === 'threefry2x32') return map('threefry2x32', [numbers, key]);
  return philoxPair(map('bitwiseOr', [numbers, uint64(DERIVED / 2n)]), key);
}
