/** Random programs of sparse matrices on the CPU, within budgets, against the interpreter. */
import { expect, it } from 'vitest';
import type { Lazy } from '../../src/api/lazy.js';
import { compute, explain } from '../../src/index.js';
import { referenceOf } from '../support/api.js';
import { randomSparseProgram } from '../support/random-sparse.js';

const cpu = { device: 'cpu' } as const;
const linesOf = async (outputs: readonly Lazy[], memory?: number) =>
  (await compute(outputs, memory === undefined ? cpu : { ...cpu, memory })).map(({ data }) => data);

/** Seeds, and bytes that are little more than the least ones that hold their arrays. */
const NARROW = [
  [1, 40_000],
  [2, 160_000],
  [3, 190_000],
  [4, 28_000],
  [5, 135_000],
  [7, 135_000],
  [8, 8_000],
  [10, 13_000],
] as const;

it('sparse matrices with maps, reductions and products give what the interpreter gives, in any budget', async () => {
  for (const [seed, memory] of NARROW) {
    const outputs = randomSparseProgram(seed);
    const whole = await linesOf(outputs);
    const expected = referenceOf(outputs).map(({ data }) => data);
    expect(whole, `seed ${seed}`).toEqual(expected);
    expect(await linesOf(outputs, memory), `seed ${seed}`).toEqual(whole);
  }
});

/** Seeds of larger programs, and half to seven tenths of the bytes that hold their arrays. */
const TILED = [
  [1, 460_000],
  [8, 9_500],
  [9, 32_000],
  [10, 260_000],
] as const;

it('larger ones give the same in tiles', async () => {
  for (const [seed, memory] of TILED) {
    const outputs = randomSparseProgram(seed, 200);
    const plan = (await explain(outputs, { ...cpu, memory })).toString();
    expect(plan, `seed ${seed}`).toMatch(/ in ([2-9]|\d\d+) tiles of sweep /);
    expect(await linesOf(outputs, memory), `seed ${seed}`).toEqual(await linesOf(outputs));
  }
});
