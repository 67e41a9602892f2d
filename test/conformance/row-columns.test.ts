/**
 * Reductions of rows and of their few columns, which one kernel reads at once (`fusion/passes/unroll-reductions.ts`): against the
 * graph as it was built; their bits do not depend on what is computed beside them, or on budgets.
 */
import { describe, expect, it } from 'vitest';
import { arange, compute, type Lazy, lazy } from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends, isSimulated, runsOthers, whyNotOthers } from '../support/backends.js';
import { randomValues } from '../support/random.js';
import { ROW_COLUMN_PROGRAMS } from '../support/row-column-programs.js';
import { sharedReferenceOf } from '../support/shared-reference.js';
import { mismatch } from '../support/ulp.js';

/** The program over so many rows of random values, and its inputs. */
function over(
  rows: number,
  name: string,
): { readonly inputs: readonly Lazy[]; readonly results: readonly Lazy[] } {
  const { inputs, build } = ROW_COLUMN_PROGRAMS[name]!;
  const given = inputs.map(({ shape, dtype }, k) => {
    const sizes = shape.map((size) => (size === 65_536 ? rows : size));
    return toLazy(randomValues(dtype, sizes, 40 + k, 0.25, 1.5));
  });
  return { inputs: given, results: [build(...given)].flat() };
}

const NAMES = Object.keys(ROW_COLUMN_PROGRAMS);

describe.each(backends())('rows and their columns on %s', (device) => {
  it.each(NAMES)('have the values of the graph as it was built: %s', async (name) => {
    for (const rows of isSimulated(device) ? [1030] : [1030, 5000]) {
      const { results } = over(rows, name);
      const expected = sharedReferenceOf(device, results);
      const actual = device === 'reference' ? expected : await run(device, results);
      for (const [k, own] of actual.entries())
        expect(mismatch(own, expected[k]!, { ulp: 256, absolute: 1e-5 })).toBeUndefined();
    }
  });
});

/** Scores with NaNs, equal numbers and infinities: several in a row, and at each place of it. */
function scoresOf(rows: number, columns: number): Lazy {
  const some = [1, Number.NaN, Number.POSITIVE_INFINITY, -1, 1, Number.NEGATIVE_INFINITY, 0, -0];
  const of = (row: number, column: number): number =>
    some[(row * 7 + column * column * (1 + (row % 5))) % 8]!;
  return lazy(
    Float32Array.from({ length: rows * columns }, (_, k) => of(Math.floor(k / columns), k % columns)),
    { shape: [rows, columns] },
  ) as Lazy;
}

describe.each(backends())('places in rows on %s', (device) => {
  it.each(['argmin', 'argmax'] as const)(
    'are those of %s alone, also of NaNs and equal numbers',
    async (place) => {
      const scores = scoresOf(2048, 6);
      const labels = scores[place](1);
      const isOne = labels.slice(null, 'newaxis').equal(arange(6, 'int64'));
      const weights = lazy(Float32Array.from({ length: 2048 }, (_, k) => k % 11)) as Lazy;
      const sums = isOne.astype('float32').mul(weights.slice(null, 'newaxis')).sum(0);
      const [own, added] = await run(device, [labels, sums]);
      const [alone] = await run(device, [labels]);
      expect(own!.data).toEqual(alone!.data);
      const expected = new Float32Array(6);
      for (let row = 0; row < 2048; row++) expected[Number(alone!.data[row])]! += row % 11;
      expect(added!.data).toEqual(expected);
    },
  );
});

it.runIf(runsOthers).each(NAMES)(
  `have the same bits beside other results and within a budget: %s${whyNotOthers}`,
  async (name) => {
    const { inputs, results } = over(30_000, name);
    const [rows] = inputs as [Lazy];
    const last = rows.ndim - 1;
    const others = [rows.sum(last), rows.sum(0), rows.mul(2), rows.norm({ axis: last })];
    const beside = await compute([...results, ...others], { device: 'cpu' });
    for (const [k, result] of results.entries()) {
      const alone = await result.compute({ device: 'cpu' });
      expect(beside[k]!.data).toEqual(alone.data);
      const tiled = await result.compute({ device: 'cpu', memory: 100_000 });
      expect(tiled.data).toEqual(alone.data);
    }
  },
);
