/** Two sparse matrices larger than a budget on the CPU, from files, in blocks of rows. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { random } from '../../src/api/random.js';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';

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
