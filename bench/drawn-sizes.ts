/** Sizes of arrays at random, as text: small ones are as many as large ones. Called by `call-corpus.ts`. */

/** A size by random numbers from 0 up to below 1. */
export type Draw = (next: () => number) => string;

/** An integer between two others, whose logarithm is uniform. */
const between = (least: number, most: number, next: () => number): number =>
  Math.round(least * (most / least) ** next());

export const drawnLengths =
  (least: number, most: number): Draw =>
  (next) =>
    String(between(least, most, next));

/** Of 1,000 to 6,000,000 elements, in rows of at least ten. */
export const drawnRows: Draw = (next) => {
  const elements = between(1000, 6e6, next);
  const length = between(10, elements, next);
  return `${Math.max(1, Math.round(elements / length))}x${length}`;
};

/** Matrices of few rows, of many columns, or of both. */
export const drawnPlanes: Draw = (next) => `${between(16, 1600, next)}x${between(16, 1600, next)}`;

/** Matrices of one that a library has a call for each of: there are few. */
const MOST_OF_LIBRARY = 8;
const ROWS_OF_BLOCKS = 128;
const ELEMENTS_OF_STACK = 3e6;

/** One matrix of up to so many rows, or a stack of smaller ones; tall: there may be more rows than columns. */
export const drawnMatrices =
  (most: number, isTall: boolean): Draw =>
  (next) => {
    const isOne = next() < 0.5;
    const n = between(isOne ? 4 : 3, isOne ? most : Math.min(most, 160), next);
    const ratio = isTall && next() < 0.4 ? 4 ** next() : 1;
    const m = Math.round(n * ratio);
    if (isOne) return `${m}x${n}`;
    const isOfBlocks = n <= ROWS_OF_BLOCKS;
    const count = between(2, isOfBlocks ? ELEMENTS_OF_STACK / (m * n) : MOST_OF_LIBRARY, next);
    return `${Math.min(20_000, count)}x${m}x${n}`;
  };

/** Rows of transforms of small factors, of powers of two and of primes; `stored`: elements of one of n. */
export const drawnTransforms =
  (stored: (n: number) => number): Draw =>
  (next) => {
    const kind = next();
    const wanted = between(16, 3e5, next);
    const n = kind < 0.4 ? 2 ** Math.round(Math.log2(wanted)) : kind < 0.85 ? smooth(wanted) : prime(wanted);
    return `${between(1, Math.max(1, 4e6 / n), next)}x${stored(n)}`;
  };

/** The first number from n on without a prime factor above 7. */
function smooth(n: number): number {
  for (let m = n; ; m++) {
    let rest = m;
    for (const factor of [2, 3, 5, 7]) while (rest % factor === 0) rest /= factor;
    if (rest === 1) return m;
  }
}

/** The first prime number from n on. */
function prime(n: number): number {
  for (let m = n; ; m++) {
    let factor = 2;
    while (factor * factor <= m && m % factor !== 0) factor++;
    if (factor * factor > m) return m;
  }
}
