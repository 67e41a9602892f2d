/** Sizes that depend on data on several devices: the bits and the sizes are those of one. */
import { expect, it } from 'vitest';
import { compute, concat, persist } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';

it('selects on several devices what one selects', async () => {
  const x = toLazy(randomValues('float32', [200_001], 5)).reshape([3, 66_667]);
  const chosen = x.slice(x.greater(0));
  const outputs = [
    chosen.mul(2),
    chosen.sum(),
    concat([chosen, x.ravel(), chosen.neg()]),
    x.compress([true, false, true], 0).mean(0),
    x.compress(chosen.sum().reshape([1]).greater(0), 0),
  ];
  const one = await compute(outputs, { device: 'cuda:0' });
  const two = await compute(outputs, { devices: 2 });
  const held = await persist(outputs, { devices: 2 });
  for (const [k, result] of one.entries()) {
    expect([two[k]!.shape, held[k]!.shape]).toEqual([result.shape, result.shape]);
    expect(two[k]!.data).toEqual(result.data);
    expect((await held[k]!.compute()).data).toEqual(result.data);
  }
});
