/**
 * Networks of minima and maxima that select one of a few values by rank: what a rank filter computes in one kernel.
 * The comparisons that a rank needs are in it alone, since others are read by nothing.
 */
import type { Expr } from './expr.js';
import { map } from './infer.js';

/** Positions whose values are exchanged so that the smaller one comes first. */
type Comparators = readonly (readonly [number, number])[];

/** Pairs written one after the other. */
const pairs = (text: string): Comparators =>
  text.split(' ').map((pair) => pair.split(',').map(Number) as unknown as readonly [number, number]);

/**
 * Medians of 9 and of 25 values with the fewest exchanges known, 19 and 99: J. L. Smith, "Implementing median filters
 * in XC4000E FPGAs", XCell 23 (1996); N. Devillard, "Fast median search: an ANSI C implementation" (1998).
 */
const MEDIANS: Readonly<Record<number, Comparators>> = {
  9: pairs('1,2 4,5 7,8 0,1 3,4 6,7 1,2 4,5 7,8 0,3 5,8 4,7 3,6 1,4 2,5 4,7 4,2 6,4 4,2'),
  25: pairs(
    '0,1 3,4 2,4 2,3 6,7 5,7 5,6 9,10 8,10 8,9 12,13 11,13 11,12 15,16 14,16 14,15 18,19 17,19 17,18 21,22 20,22 ' +
      '20,21 23,24 2,5 3,6 0,6 0,3 4,7 1,7 1,4 11,14 8,14 8,11 12,15 9,15 9,12 13,16 10,16 10,13 20,23 17,23 17,20 ' +
      '21,24 18,24 18,21 19,22 8,17 9,18 0,18 0,9 10,19 1,19 1,10 11,20 2,20 2,11 12,21 3,21 3,12 13,22 4,22 4,13 ' +
      '14,23 5,23 5,14 15,24 6,24 6,15 7,16 7,19 13,21 15,23 7,13 7,15 1,9 3,11 5,17 11,17 9,17 4,10 6,12 7,14 4,6 ' +
      '4,7 12,14 10,14 6,7 10,12 6,10 6,17 12,17 7,17 7,10 12,18 7,12 10,18 12,20 10,20 10,12',
  ),
};

/** Merge exchange (K. E. Batcher; D. E. Knuth, "The Art of Computer Programming" 3, 5.2.2 M): sorts n values. */
function mergeExchange(n: number): Comparators {
  const comparators: [number, number][] = [];
  const top = 2 ** (Math.ceil(Math.log2(n)) - 1);
  for (let p = top; p >= 1; p = Math.floor(p / 2)) {
    let [q, r, d] = [top, 0, p];
    for (;;) {
      for (let i = 0; i < n - d; i++) if ((i & p) === r) comparators.push([i, i + d]);
      if (q === p) break;
      [d, q, r] = [q - p, q / 2, p];
    }
  }
  return comparators;
}

/** The network by which the value of a rank is found, and its position in the end. */
export const networkFor = (n: number, rank: number): Comparators =>
  (rank === Math.floor(n / 2) ? MEDIANS[n] : undefined) ?? (n < 2 ? [] : mergeExchange(n));

/** The value of a rank among values of one dtype and shape, from 0 for the least. NaN where the network meets one. */
export function selected(values: readonly Expr[], rank: number): Expr {
  const wires = [...values];
  for (const [a, b] of networkFor(values.length, rank)) {
    const both = [wires[a]!, wires[b]!];
    wires[a] = map('minimum', both);
    wires[b] = map('maximum', both);
  }
  return wires[rank]!;
}
