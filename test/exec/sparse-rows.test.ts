/** Two sparse matrices larger than a budget on the CPU, from files, in blocks of rows. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { compute, persist } from '../../src/api/compute.js';
import { exprOf, Lazy } from '../../src/api/lazy.js';
import { random } from '../../src/api/random.js';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { findStarts } from '../../src/exec/run/known-starts.js';
import { upToBound } from '../../src/graph/extent.js';
import { cast, iota, map } from '../../src/graph/infer.js';
import { reachOf } from '../../src/graph/row-reach.js';
import { toLazy } from '../support/api.js';
import { generator, randomValues } from '../support/random.js';

const SIZE = 600;

it('two sparse matrices in files are added, multiplied and compared within a part of what they hold', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weft-sparse-rows-'));
  const cpu = { device: 'cpu' } as const;
  const inFile = async (seed: number): Promise<SparseMatrix> => {
    const path = join(folder, `${seed}.npz`);
    await sparse.saveNpz(path, sparse.random(random.key(seed), [SIZE, SIZE], { density: 0.1 }), cpu);
    return sparse.loadNpz(path);
  };
  const [a, b] = await Promise.all([inFile(1), inFile(2)]);
  const few = sparse.diags([1, -2, 0.5], [-7, 0, 300], [SIZE, SIZE]);
  const jobs: readonly (readonly [SparseMatrix, memory: number])[] = [
    [a.subtract(b), 600_000],
    [a.multiply(b), 600_000],
    [a.matmul(few).add(a), 900_000],
    [a.notEqual(b), 600_000],
    [a.tril(5), 300_000],
  ];
  for (const [result, memory] of jobs) {
    const whole = await result.compute(cpu);
    const within = await result.compute({ ...cpu, memory });
    for (const name of ['indptr', 'indices', 'data'] as const)
      expect(within[name].data).toEqual(whole[name].data);
    expect(result.data.plan(cpu).peakBytes).toBeGreaterThan(1.5 * memory);
  }
  await rm(folder, { recursive: true });
});

/** Elements near the diagonal, at random places of it, and some rows without any. */
function banded(seed: number, rows: number): SparseMatrix {
  const next = generator(seed);
  const indptr = new Int32Array(rows + 1);
  const indices: number[] = [];
  for (let row = 0; row < rows; row++) {
    const from = Math.max(0, row - 40);
    for (let place = from; row % 7 !== 3 && place < Math.min(rows, row + 40); place++)
      if (next() < 0.15) indices.push(place);
    indptr[row + 1] = indices.length;
  }
  const data = toLazy(randomValues('float64', [indices.length], seed));
  return sparse.csr({ data, indices: Int32Array.from(indices), indptr }, [rows, rows]);
}

it('two sparse matrices in files are multiplied where neither fits, by the rows that blocks reach', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weft-sparse-rows-'));
  const cpu = { device: 'cpu' } as const;
  const inFile = async (seed: number): Promise<SparseMatrix> => {
    const path = join(folder, `${seed}.npz`);
    await sparse.saveNpz(path, banded(seed, 12_000), cpu);
    return (await sparse.loadNpz(path)).measure(cpu);
  };
  const [a, b] = [await inFile(3), await inFile(4)];
  const result = a.matmul(b);
  const stored = 12 * Number((await b.nnz.compute(cpu)).item());
  const whole = await result.compute(cpu);
  const memory = Math.floor(0.9 * stored);
  const within = await result.compute({ ...cpu, memory });
  for (const name of ['indptr', 'indices', 'data'] as const)
    expect(within[name].data).toEqual(whole[name].data);
  expect(result.data.plan({ ...cpu, memory }).peakBytes).toBeLessThanOrEqual(memory);
  await rm(folder, { recursive: true });
});

it('the rows that blocks reach are those of the matrix that has both the columns and the starts', async () => {
  const [places, others] = [exprOf('indices', Int32Array.of(0, 2, 1, 5, 7, 6)), iota(9)];
  const found = [Int32Array.of(0, 2, 3, 5, 6), Int32Array.of(0, 1, 1, 1, 6)].map(
    (starts) => new Lazy(reachOf({ starts: exprOf('indptr', starts), places, others }, 2)),
  );
  const [first, second] = await compute(found as [Lazy, Lazy], { device: 'cpu' });
  expect(first.toArray()).toEqual([0n, 5n, 3n, 8n, 0n, 5n, 3n, 8n]);
  expect(second.toArray()).toEqual([0n, 1n, 1n, 8n, 0n, 1n, 1n, 8n]);
});

it('starts of blocks of an array on a device are computed once, those of others each time', async () => {
  const [held] = await persist([new Lazy(iota(5))], { device: 'cpu' });
  const starts = held!.expr;
  const computed = map('add', [iota(5), 1n]);
  const compute = vi.fn(async (lines: readonly unknown[]) => lines.map((_, k) => [k, k + 1]));
  const first = new Map();
  await findStarts([starts, computed], { compute, found: first });
  const second = new Map();
  await findStarts([computed, cast(starts, 'int32')], { compute, found: second });
  expect(compute.mock.calls.map(([lines]) => lines.length)).toEqual([2, 1]);
  expect([first.size, second.size]).toEqual([2, 2]);
});

it('rows of a chain are counted once for each matrix, in the order in which they are computed', async () => {
  const a = sparse.eye(50).add(sparse.eye(50, 50, 1));
  const square = a.matmul(a);
  const lines = [square.add(a), square, a].map(({ parts }) => upToBound(parts.starts));
  const compute = vi.fn(async (lines: readonly unknown[]) => lines.map(() => [0]));
  const found = new Map();
  await findStarts(lines, { compute, found });
  expect(compute.mock.calls.map(([lines]) => lines.length)).toEqual([1, 1, 1]);
  await findStarts(lines.slice(0, 1), { compute, found });
  expect(compute).toHaveBeenCalledTimes(3);
});
