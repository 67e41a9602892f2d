/**
 * Bins: what is gathered in them, which bin a key means, and the units that rows fall into. Used by the rows of
 * `routines.ts`, by the functions made of them and by `exec/calls/bins.ts`.
 */

/**
 * The values that a bin gathers of its rows. No order of them matters, so that all devices, tiles and threads give the same
 * bits: their number (`count`), the last one's place or -1 (`last`), the sum of integers, which wraps (`sum`),
 * the extremes (`min`, `max`; -0 is less than 0, NaN wins, of no rows the dtype's extreme), and for sums of
 * floats, which would depend on an order, what `fixed-sums.ts` makes them of (`scale`, `fixed`), or `exact-sums.ts`
 * (`exact`).
 */
export const BIN_OPS = ['count', 'last', 'sum', 'min', 'max', 'scale', 'fixed', 'exact'] as const;
export type BinOp = (typeof BIN_OPS)[number];

/**
 * The bin of a key k where there are n: k itself (`within`), from the end where negative (`fromEnd`), k modulo n
 * (`wrap`), the nearest (`clip`). Keys that mean none are left out; `raise` and `raiseFromEnd` are `within` and
 * `fromEnd` with an error for those, which is found before anything runs (`fusion/passes/index-check.ts`).
 */
export const BIN_MODES = ['within', 'fromEnd', 'wrap', 'clip', 'raise', 'raiseFromEnd'] as const;
export type BinMode = (typeof BIN_MODES)[number];

/**
 * Units that rows fall into at most, four for each multiprocessor of an H200, which has two at once, elements that a unit has at
 * least, and what its rows are a multiple of.
 */
const MOST_UNITS = 528;
const LEAST_UNIT = 2 ** 13;
const GRANULE = 256;
/** Elements that a unit has at least for each bin, so that partial results are few beside the rows. */
const LEAST_PER_BIN = 8;
/** The same of exact sums, of which a bin has some twenty numbers. */
const LEAST_PER_EXACT_BIN = 64;

/** Bins of fewer numbers are summed in the shared memory of a GPU's blocks, each for a part of the rows. */
const LEAST_SLOTS_AT_ONCE = 4097;
const LEAST_ELEMENTS_AT_ONCE = 2 ** 16;

/** Whether a GPU sums the floats of so many rows, of `width` elements each, at once (`exec/calls/bin-sums.ts`). */
export const isSummedAtOnce = (rows: number, bins: number, width: number): boolean =>
  bins * width >= LEAST_SLOTS_AT_ONCE && rows * width >= LEAST_ELEMENTS_AT_ONCE;

/** How rows of `width` elements fall into units: a function of the sizes alone. */
export function binUnits(
  rows: number,
  bins: number,
  width: number,
  op: BinOp,
): { readonly units: number; readonly unitRows: number } {
  const perBin = op === 'exact' ? LEAST_PER_EXACT_BIN : LEAST_PER_BIN;
  const least = Math.max(rows / MOST_UNITS, LEAST_UNIT / width, perBin * bins);
  const unitRows = GRANULE * Math.ceil(least / GRANULE);
  return { units: Math.max(1, Math.ceil(rows / unitRows)), unitRows };
}
