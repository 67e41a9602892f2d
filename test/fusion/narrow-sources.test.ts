/** Reads of files and readers: the part that a graph uses, once. */
import { describe, expect, it } from 'vitest';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { verify } from '../../src/graph/verify.js';
import { compute, fromReader, type Lazy, lazy } from '../../src/index.js';

const device = 'cpu';
const [ROWS, COLUMNS, PLANES] = [5, 6, 7];
const whole = lazy(
  Float32Array.from({ length: ROWS * COLUMNS * PLANES }, (_, k) => k),
  { shape: [ROWS, COLUMNS, PLANES] },
);

/** The elements asked for, first and count, and whether the results are those of the array in memory. */
async function reads(job: (x: Lazy) => Lazy[]): Promise<number[][]> {
  const asked: number[][] = [];
  const read = (start: number, count: number): Float32Array => {
    asked.push([start, count]);
    return Float32Array.from({ length: count }, (_, i) => start + i);
  };
  const x = fromReader(read, { dtype: 'float32', shape: whole.shape });
  const built = job(x);
  const canonical = canonicalize(built.map(({ expr }) => expr));
  verify(canonical.graph);
  const found = await compute(built, { device });
  const expected = await compute(job(whole), { device });
  expect(found.map((result) => result.toArray())).toEqual(expected.map((result) => result.toArray()));
  return asked;
}

describe('a reader is asked for', () => {
  const row = COLUMNS * PLANES;
  it.each<[string, (x: Lazy) => Lazy[], number[][]]>([
    ['a row', (x) => [x.slice(2).mul(2)], [[2 * row, row]]],
    ['a slice itself', (x) => [x.slice([1, 3])], [[row, 2 * row]]],
    ['some rows backwards', (x) => [x.slice([4, 1, -2]).sum(0)], [[2 * row, 3 * row]]],
    [
      'a slice of a slice',
      (x) => [x.slice([1, null]).slice([1, 3], 2).exp()],
      [[2 * row + 2 * PLANES, row + PLANES]],
    ],
    ['a slice of a transpose', (x) => [x.transpose([2, 0, 1]).slice(3, 1)], [[row + 3, 5 * PLANES + 1]]],
    ['one element', (x) => [x.slice(4, 5, 6)], [[ROWS * row - 1, 1]]],
    ['all, once, for two slices', (x) => [x.slice([1, null]).sub(x.slice([0, -1]))], [[0, ROWS * row]]],
    ['all, once, for a slice and the whole', (x) => [x.slice(0).add(x.sum(0))], [[0, ROWS * row]]],
    ['all, once, for the whole as a result', (x) => [x, x.slice(0)], [[0, ROWS * row]]],
    ['a slice once, for two readers of it', (x) => [x.slice(1).sum(), x.slice(1).max()], [[row, row]]],
    ['nothing for no elements', (x) => [x.slice([2, 2]).mul(2)], []],
  ])('%s', async (_, job, asked) => {
    expect(await reads(job)).toEqual(asked);
  });
});
