/**
 * How long sums of products in TF32 are computed in stretches, each by a call that adds to the result. A tensor core
 * truncates its sum at every step, so that the error grows with the length of a stretch; stretches that are added in
 * float32 have about √(their number) times that of one. `STRETCH · √k` keeps the whole below twice float32's error, as
 * measured on an H100 for k from 1,024 to 65,536. Called by `matmul.ts`.
 */

/** Sums of up to so many products are one stretch. */
const LEAST_LONG = 768;
const STRETCH = 31;
/** Stretches begin where rows of an operand are as aligned as their first element. */
const UNIT = 32;

/** The length of the stretches of a sum of k products, of which the last may be shorter. */
export function stretchOf(k: number): number {
  if (k <= LEAST_LONG) return k;
  const count = Math.max(2, Math.ceil(Math.sqrt(k) / STRETCH));
  return Math.ceil(k / count / UNIT) * UNIT;
}
