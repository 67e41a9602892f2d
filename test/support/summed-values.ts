/** Values whose sums by bin are hard to make the same in several ways. */
let seed = 20261126;
export const random = (): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

/** Values with one exponent or many, which cancel out, or are no numbers. */
export const SUMMED: Readonly<Record<string, () => number>> = {
  'between 0 and 1': random,
  'of many exponents': () => (random() - 0.5) * 2 ** Math.floor(random() * 80 - 40),
  'of all exponents': () => (random() - 0.5) * 2 ** Math.floor(random() * 250 - 125),
  'that cancel out': () => (random() < 0.5 ? 1e8 : -1e8),
  'that are 0, -0, 1 or -1': () => (random() < 0.5 ? -0 : Math.round(random() * 2 - 1)),
  'that are -0': () => -0,
  'with infinities and NaN': () => (random() < 0.9999 ? random() : random() < 0.5 ? Number.NaN : -1 / 0),
};

export function fill<T extends Float32Array | Float64Array>(array: T, value: () => number): T {
  for (let k = 0; k < array.length; k++) array[k] = value();
  return array;
}
