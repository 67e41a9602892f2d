/** Maps in products of sparse matrices on a GPU: what is joined, and that bits are those of the maps by themselves. */
import { describe, expect, it } from 'vitest';
import type { Lazy } from '../../src/api/lazy.js';
import { iterate } from '../../src/api/loops.js';
import { sparse } from '../../src/api/sparse.js';
import { toLazy } from '../support/api.js';
import { dense, outputOf, SPARSE_MAP_JOBS } from '../support/sparse-map-jobs.js';

const device = 'cuda:0';
const stepsOf = (output: Lazy): string[] =>
  output.explain({ device }).steps.map(({ kind, text }) => `${kind} ${text}`);
const computed = async (output: Lazy): Promise<Lazy> => toLazy(await output.compute({ device }));

describe('maps around a product of a sparse matrix on a GPU', () => {
  it.each(SPARSE_MAP_JOBS.map((job) => [job.name, job] as const))(
    'are one step with it, of the bits of maps alone: %s',
    async (_, job) => {
      const output = outputOf(job);
      const steps = stepsOf(output);
      expect(steps.at(-1)).toMatch(/^call sparseProduct .*with prologue and epilogue/);
      const expected = job.behind(await computed(job.product(await computed(job.before()))));
      expect((await output.compute({ device })).data).toEqual((await expected.compute({ device })).data);
    },
  );

  it('read what the maps read, and write what they write', () => {
    const a = sparse.csr(
      {
        data: dense([3000], 1),
        indices: new Int32Array(3000),
        indptr: Int32Array.from({ length: 1001 }, (_, k) => 3 * k),
      },
      [1000, 1000],
    );
    const [x, y] = [dense([1000], 2), dense([1000], 3)];
    const { steps, bytesRead, bytesWritten } = a.matmul(x.exp()).mul(2).add(y).explain({ device });
    expect(steps).toHaveLength(1);
    expect(bytesRead).toBe(3000 * 12 + 1001 * 4 + 2 * 8000);
    expect(bytesWritten).toBe(8000);
    const sums = a.sum(1).explain({ device });
    expect(sums.steps).toHaveLength(1);
  });

  it('stay apart where they cost more for every product of elements than once', () => {
    const wide = sparse.csr(
      { data: dense([4000], 1), indices: new Int32Array(4000), indptr: Int32Array.of(0, 2000, 4000) },
      [2, 10],
    );
    const product = wide.matmul(dense([10], 2).exp());
    expect(stepsOf(product)).toHaveLength(2);
  });

  it('are joined in bodies of loops and in shares of devices', async () => {
    const a = sparse.diags([0.25, 0.5, 0.25], [-1, 0, 1], [500, 500]);
    const steps = iterate(4, dense([500], 4), (x) => a.matmul(x.mul(2)).mul(0.25).add(1));
    let expected = dense([500], 4);
    for (let k = 0; k < 4; k++)
      expected = await computed((await computed(a.matmul(await computed(expected.mul(2))))).mul(0.25).add(1));
    expect((await steps.compute({ device })).data).toEqual((await expected.compute({ device })).data);
    expect((await steps.compute({ devices: 2 })).data).toEqual((await expected.compute({ device })).data);
    expect(`${steps.explain({ device })}`).toContain('with prologue and epilogue');
  });
});
