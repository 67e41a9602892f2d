/**
 * Reductions of rows and of their few columns, which one kernel reads at once (`fusion/passes/unroll-reductions.ts`): against the
 * graph as it was built; their bits do not depend on what is computed beside them, or on budgets.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy } from '../../src/index.js';
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

it.runIf(runsOthers).each(NAMES)(
  `have the same bits beside other results and within a budget: %s${whyNotOthers}`,
  async (name) => {
    const { inputs, results } = over(30_000, name);
    const [rows] = inputs as [Lazy];
    const others = [rows.sum(1), rows.sum(0), rows.mul(2), rows.norm({ axis: 1 })];
    const beside = await compute([...results, ...others], { device: 'cpu' });
    for (const [k, result] of results.entries()) {
      const alone = await result.compute({ device: 'cpu' });
      expect(beside[k]!.data).toEqual(alone.data);
      const tiled = await result.compute({ device: 'cpu', memory: 100_000 });
      expect(tiled.data).toEqual(alone.data);
    }
  },
);
