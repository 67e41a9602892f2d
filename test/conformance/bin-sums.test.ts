/**
 * Sums of floats by bin on the CPU: in one pass over rows that fit, and by units of rows where they pass from files, with
 * the same bits.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Lazy, lazy, saveNpy, zeros } from '../../src/index.js';
import { fill, random, SUMMED } from '../support/summed-values.js';

const ROWS = 2 ** 16;
/** Keys and values do not fit, bins by units do. */
const MEMORY = 2 ** 19;
const DEVICE = { device: 'cpu' } as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weft-bins-'));
});
afterAll(() => rm(folder, { recursive: true }));

const inFile = (array: Float32Array | Float64Array | Int32Array, name: string): Promise<Lazy> =>
  saveNpy(join(folder, `${name}.npy`), lazy(array), DEVICE);

const sumsOf = (keys: Lazy, x: Lazy, bins: number, signed: Lazy): Lazy[] => [
  keys.bincount(bins, x),
  x.segmentMean(keys, bins),
  signed.at(keys).add(x),
  zeros([bins], x.dtype).at(keys).subtract(x),
  // Keys that are no bins.
  x.segmentSum(keys.sub(2), bins, { mode: 'clip' }),
];

/** Values in the order of their sizes, from 1 up to 2^(32 · by): a thread's first ones say little of its others. */
const grows = (by: number): (() => number) => {
  let row = 0;
  return () => (random() - 0.5) * 2 ** (by * ((row++ % ROWS) >> 11));
};
const VALUES = { ...SUMMED, 'that grow': grows(1), 'that grow far': grows(3) };

it.each(Object.entries(VALUES))('sums values %s in one pass and by units alike', async (name, value) => {
  for (const dtype of ['float32', 'float64'] as const) {
    const bins = 90;
    // Some bins have no rows.
    const keys = Int32Array.from({ length: ROWS }, () => Math.floor(random() * (bins - 5)));
    const array = dtype === 'float32' ? Float32Array : Float64Array;
    const values = fill(new array(ROWS), value);
    const signed = fill(new array(bins), () => (random() < 0.5 ? -0 : 0));
    const whole = sumsOf(lazy(keys), lazy(values), bins, lazy(signed));
    const label = `${dtype} ${name.length}`;
    const cut = sumsOf(
      await inFile(keys, `keys ${label}`),
      await inFile(values, `values ${label}`),
      bins,
      lazy(signed),
    );
    for (const [k, sums] of whole.entries()) {
      const actual = await sums.compute(DEVICE);
      const expected = await cut[k]!.compute({ ...DEVICE, memory: MEMORY });
      expect(actual.data).toEqual(expected.data);
      if (k === 3) expect(actual.data.some((sum) => Object.is(sum, -0))).toBe(false);
    }
  }
});

it.each([20_000, 60_000])('rounds each small value where row %d has a larger one', async (row) => {
  for (const array of [Float32Array, Float64Array]) {
    const [keys, values] = [new Int32Array(ROWS), new array(ROWS)];
    // Each is rounded to 0 beside 1, while their sum would be a part that 1 + 2^-53 is rounded up by.
    values.fill(2 ** -93, 0, 4);
    values.set([1, 2 ** -53], row);
    const label = `${row} ${array.name}`;
    const cut = (await inFile(keys, `keys ${label}`)).bincount(9, await inFile(values, `values ${label}`));
    const expected = new Float64Array(9).fill(1, 0, 1);
    expect((await lazy(keys).bincount(9, lazy(values)).compute(DEVICE)).data).toEqual(expected);
    expect((await cut.compute({ ...DEVICE, memory: MEMORY })).data).toEqual(expected);
  }
});

it('sums exactly in both ways where bins are many', async () => {
  const [rows, bins] = [2 ** 18, 5000];
  const keys = Int32Array.from({ length: rows }, () => Math.floor(random() * bins));
  for (const name of ['between 0 and 1', 'of all exponents', 'that are 0, -0, 1 or -1']) {
    const values = fill(new Float32Array(rows), SUMMED[name]!);
    const sums = new Float64Array(bins);
    for (const [k, key] of keys.entries()) sums[key]! += values[k]!;
    const { data } = await lazy(values).segmentSum(lazy(keys), bins).compute(DEVICE);
    const scale = values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    for (const [k, sum] of sums.entries())
      expect(Math.abs(Number(data[k]) - sum)).toBeLessThanOrEqual(
        Math.abs(sum) * 2 ** -23 + scale * 2 ** -45,
      );
  }
});

it('reads rows once where they fit, and by units where they do not', async () => {
  const [keys, values] = [new Int32Array(ROWS), fill(new Float32Array(ROWS), random)];
  const [fileKeys, fileValues] = [await inFile(keys, 'keys'), await inFile(values, 'values')];
  const steps = async (sums: Lazy, memory?: number): Promise<string> =>
    (await sums.explain(memory === undefined ? DEVICE : { ...DEVICE, memory }))
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('step'))
      .join('\n');
  // The weights are read as they are, without a copy in float64.
  expect(await steps(lazy(keys).bincount(9, lazy(values)))).toMatch(/^step 0: binSums, .*$/);
  // Nothing is added to elements that are 0.
  const updated = zeros([9], 'float32').at(keys).add(lazy(values));
  expect(await steps(updated)).toMatch(/^step 0: binSums, .*$/);
  const cut = await steps(fileKeys.bincount(9, fileValues), MEMORY);
  expect(cut).toMatch(/bins, in \d+ tiles/);
  expect(cut).not.toContain('binSums');
});
