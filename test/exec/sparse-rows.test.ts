/** Two sparse matrices larger than a budget on the CPU, from files, in blocks of rows. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { Lazy, persist } from '../../src/api/lazy.js';
import { random } from '../../src/api/random.js';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { startsOfLines } from '../../src/exec/run/known-starts.js';
import { cast, iota, map } from '../../src/graph/infer.js';

const SIZE = 3000;

it('two sparse matrices in files are added and multiplied within a part of what they hold', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weft-sparse-rows-'));
  const cpu = { device: 'cpu' } as const;
  const inFile = async (seed: number): Promise<SparseMatrix> => {
    const path = join(folder, `${seed}.npz`);
    await sparse.saveNpz(path, sparse.random(random.key(seed), [SIZE, SIZE], { density: 0.01 }), cpu);
    return sparse.loadNpz(path);
  };
  const [a, b] = await Promise.all([inFile(1), inFile(2)]);
  const few = sparse.diags([1, -2, 0.5], [-7, 0, 300], [SIZE, SIZE]);
  const jobs: readonly (readonly [SparseMatrix, memory: number])[] = [
    [a.subtract(b), 900_000],
    [a.multiply(b), 900_000],
    [a.matmul(few).add(a), 1_500_000],
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

it('starts of blocks of an array on a device are computed once, those of others each time', async () => {
  const [held] = await persist([new Lazy(iota(5))], { device: 'cpu' });
  const starts = held!.expr;
  const computed = map('add', [iota(5), 1n]);
  const startsOf = vi.fn(async (lines: readonly unknown[]) => lines.map((_, k) => [k, k + 1]));
  const first = await startsOfLines([starts, computed], startsOf);
  const second = await startsOfLines([computed, cast(starts, 'int32')], startsOf);
  expect(startsOf.mock.calls.map(([lines]) => lines.length)).toEqual([2, 1]);
  expect([...first.values(), ...second.values()]).toHaveLength(4);
});
