/**
 * Products of values of pairs with few columns, which kernels add up (`fusion/passes/product-columns.ts`): against the graph as it
 * was built; their bits do not depend on what is computed beside them, or on budgets.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy } from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { PAIR_PROGRAMS } from '../support/pair-programs.js';
import { randomValues } from '../support/random.js';
import { sharedReferenceOf } from '../support/shared-reference.js';
import { mismatch } from '../support/ulp.js';

/** The program over a part of the rows, of random values, and its inputs. */
function over(part: number, name: string): { readonly inputs: Lazy[]; readonly results: Lazy[] } {
  const { inputs, build } = PAIR_PROGRAMS[name]!;
  const given = inputs.map(({ shape, dtype }, k) => {
    const sizes = shape.map((size) => (size >= 1000 ? size / part : size));
    return toLazy(randomValues(dtype, sizes, 40 + k, 0.25, 1.5));
  });
  return { inputs: given, results: [build(...given)].flat() };
}

const NAMES = Object.keys(PAIR_PROGRAMS);

describe.each(backends())('products of values of pairs on %s', (device) => {
  it.each(NAMES)('have the values of the graph as it was built: %s', async (name) => {
    const { results } = over(isSimulated(device) ? 10 : 4, name);
    const expected = sharedReferenceOf(device, results);
    const actual = device === 'reference' ? expected : await run(device, results);
    for (const [k, own] of actual.entries())
      expect(mismatch(own, expected[k]!, { ulp: 256, absolute: 1e-4 })).toBeUndefined();
  });
});

const compiled = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

describe.each(compiled)('products of values of pairs on %s', (device) => {
  it.each(NAMES)('have the same bits beside other results and within a budget: %s', async (name) => {
    const { inputs, results } = over(device === 'cpu' ? 1 : 10, name);
    const [points] = inputs as [Lazy];
    const pairs = points.expandDims(1).sub(points).square().sum(-1).mul(-2).exp();
    const others = [points.sum(1), points.sum(0), points.mul(2), pairs, pairs.sum(1)];
    const beside = await compute([...results, ...others], { device });
    for (const [k, result] of results.entries()) {
      const alone = await result.compute({ device });
      expect(beside[k]!.data).toEqual(alone.data);
      const tiled = await result.compute({ device, memory: 60_000 });
      expect(tiled.data).toEqual(alone.data);
    }
  });
});
