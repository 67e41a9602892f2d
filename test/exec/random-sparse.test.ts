/** Random programs of sparse matrices on the CPU, within budgets, against the interpreter. */
import { expect, it } from 'vitest';
import { compute } from '../../src/api/compute.js';
import { MemoryError } from '../../src/host/errors.js';
import { referenceOf } from '../support/api.js';
import { randomSparseProgram } from '../support/random-sparse.js';

it('sparse matrices with maps, reductions and products give what the interpreter gives, in any budget', async () => {
  let tiled = 0;
  for (const seed of [3, 4, 7, 8, 10]) {
    const outputs = randomSparseProgram(seed);
    const whole = await compute(outputs, { device: 'cpu' });
    const expected = referenceOf(outputs);
    for (const [k, { data }] of whole.entries()) expect(data, `seed ${seed}`).toEqual(expected[k]!.data);
    const within = await compute(outputs, { device: 'cpu', memory: 12_288 }).catch((error: unknown) => {
      expect(error).toBeInstanceOf(MemoryError);
    });
    tiled += within === undefined ? 0 : 1;
    for (const [k, { data }] of (within ?? []).entries())
      expect(data, `seed ${seed}`).toEqual(whole[k]!.data);
  }
  expect(tiled).toBeGreaterThan(0);
});
