/** Random programs of sparse matrices on simulated GPUs: within budgets and shared, as on the CPU. */
import { expect, it } from 'vitest';
import { compute } from '../../src/api/compute.js';
import { MemoryError } from '../../src/host/errors.js';
import { randomSparseProgram } from '../support/random-sparse.js';

it('sparse matrices with maps, reductions and products give what the CPU gives, in any budget, on several devices', async () => {
  let found = 0;
  for (const seed of [2]) {
    const outputs = randomSparseProgram(seed);
    const expected = await compute(outputs, { device: 'cpu' });
    const ways = [
      { device: 'cuda:0' },
      { device: 'cuda:0', memory: 60_000 },
      { devices: 2 },
      { devices: 2, memory: 60_000 },
    ];
    for (const options of ways) {
      const results = await compute(outputs, options).catch((error: unknown) => {
        expect(error).toBeInstanceOf(MemoryError);
      });
      found += results === undefined ? 0 : 1;
      for (const [k, { data }] of (results ?? []).entries())
        expect(data, `seed ${seed}`).toEqual(expected[k]!.data);
    }
  }
  expect(found).toBeGreaterThan(2);
});
