/** Ranks of long rows on a GPU, which brackets narrow down, and of rows that are not like their sample. */
import { expect, it, vi } from 'vitest';
import { compute, type Lazy, lazy } from '../../src/index.js';
import { random } from '../support/summed-values.js';

// So that rows are long which are soon simulated.
vi.mock('../../src/codegen/cuda/routines/bracket.js', async (original) => ({
  ...(await original<object>()),
  LEAST_NARROWED: 2 ** 16,
  LEAST_NARROWED_BYTES: 0,
}));

const LENGTH = 65_601;
const STEP = Math.floor(LENGTH / 8192);

const ROWS: Readonly<Record<string, (k: number) => number>> = {
  'in no order': () => random() - 0.5,
  'in order': (k) => k,
  'of which most are equal': () => (random() < 0.7 ? 3 : random()),
  'of which equal ones are in two brackets': () => within(random()),
  'with NaN and infinities': () => (random() < 0.1 ? Number.NaN : random() < 0.1 ? -1 / 0 : random()),
  // The sample has the least values alone.
  'with a period': (k) => (k % STEP < 2 ? -random() : random()),
};

/** Those of the shares from 0.46 to 0.54 are equal, which brackets of the shares 0.47 and 0.545 have both. */
const within = (share: number): number => (share > 0.46 && share < 0.54 ? 0.5 : share);

const QUANTILES = [0.999, 0.5, 0.05];
const ranksOf = (x: Lazy): Lazy[] => [
  x.median(1),
  x.quantile(QUANTILES, 1),
  x.quantile([0.47, 0.545], 1),
  x.quantile([0, 1], 1),
];

it.each(Object.entries(ROWS))('rows %s have the ranks that the CPU finds', async (_, value) => {
  const rows = lazy(Float64Array.from({ length: 2 * LENGTH }, (_, k) => value(k))).reshape([2, LENGTH]);
  const results = [...ranksOf(rows.astype('float32')), ...ranksOf(rows)];
  const expected = await compute(results, { device: 'cpu' });
  const actual = await compute(results, { device: 'cuda' });
  for (const [k, { data }] of actual.entries()) expect(data).toEqual(expected[k]!.data);
});

it('integers of 32 bits have the ranks that the CPU finds', async () => {
  const x = lazy(Int32Array.from({ length: LENGTH }, () => Math.floor((random() - 0.5) * 2 ** 32)));
  const [expected] = await compute([x.median()], { device: 'cpu' });
  const [actual] = await compute([x.median()], { device: 'cuda' });
  expect(actual!.data).toEqual(expected!.data);
  expect((await x.median().explain({ device: 'cuda' })).toString()).toContain('between brackets');
});
