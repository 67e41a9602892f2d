/** The form of the cookbook's programs, and the checks that they share. Nothing here is part of Weft. */

import type { NDArray } from '../../src/index.js';

/** How large a program runs, and where: `device` as `compute` takes it; without it Weft chooses. */
export interface Settings {
  readonly size: number;
  readonly device?: string | undefined;
}

/** A PNG file's bytes, or an SVG file's text. */
export type Picture = Uint8Array | string;

/** Prints a number beside the one it has to be, and fails where they differ by more than `within`. */
export function check(name: string, found: NDArray | number, expected: number, within: number): void {
  const value = numberOf(found);
  console.log(`  ${name}: ${short(value)}, expected ${short(expected)} within ${short(within)}`);
  if (!(Math.abs(value - expected) <= within)) throw new Error(`${name} is ${value}, not ${expected}`);
}

/** The number of a result of one element. */
export const numberOf = (value: NDArray | number): number =>
  typeof value === 'number' ? value : Number(value.item());

const short = (value: number): string => `${Number(value.toPrecision(6))}`;
