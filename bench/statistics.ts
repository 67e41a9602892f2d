/** Small numbers helpers of the benchmarks: medians and rounding for print. */

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** `value` with that many digits after the point. */
export const toDigits = (value: number, digits: number): number => Number(value.toFixed(digits));

/** `value` with that many significant digits. */
export const toPrecision = (value: number, digits: number): number => Number(value.toPrecision(digits));

export const now = (): number => performance.now();
