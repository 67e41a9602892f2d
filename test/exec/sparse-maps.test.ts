/** Maps behind products of sparse matrices on the CPU: what is joined, that bits are those of the maps by themselves. */
import { describe, expect, it } from 'vitest';
import type { Lazy } from '../../src/api/lazy.js';
import { iterate } from '../../src/api/loops.js';
import { sparse } from '../../src/api/sparse.js';
import { toLazy } from '../support/api.js';
import { dense, outputOf, SPARSE_MAP_JOBS } from '../support/sparse-map-jobs.js';

const device = 'cpu';
/** The names of the steps of a plan, and of the maps that are parts of them. */
const stepsOf = (output: Lazy): string[] =>
  output.explain({ device }).steps.map(({ kind, text }) => `${kind} ${text}`);
const computed = async (output: Lazy): Promise<Lazy> => toLazy(await output.compute({ device }));

describe('maps around a product of a sparse matrix on the CPU', () => {
  it.each(SPARSE_MAP_JOBS.map((job) => [job.name, job] as const))(
    'are computed with it behind, before it apart, of the bits of maps alone: %s',
    async (_, job) => {
      const output = outputOf(job);
      const steps = stepsOf(output);
      expect(steps.at(-1)).toMatch(/^call sparseProduct .*with epilogue/);
      const expected = job.behind(await computed(job.product(await computed(job.before()))));
      expect((await output.compute({ device })).data).toEqual((await expected.compute({ device })).data);
    },
  );

  it('hold no product: a residual reads the matrix, x and b, and writes one line', () => {
    const a = sparse.diags([-1, 2, -1], [-1, 0, 1], [1000, 1000]);
    const [x, b] = [dense([1000], 1), dense([1000], 2)];
    const plain = a.matmul(x).explain({ device });
    const residual = b.sub(a.matmul(x)).explain({ device });
    expect(residual.steps.length).toBe(plain.steps.length);
    expect(residual.bytesRead - plain.bytesRead).toBe(8000);
    expect(residual.bytesWritten).toBe(plain.bytesWritten);
  });

  it('stay apart where the product has another reader, and where they read neighbours', () => {
    const a = sparse.eye(100).add(sparse.eye(100));
    const y = a.matmul(dense([100], 1));
    const shifted = y.slice([1]).sub(y.slice([0, -1]));
    expect(stepsOf(shifted).join('\n')).not.toContain('with epilogue');
    expect(stepsOf(y.exp().add(y.sum())).join('\n')).not.toContain('with epilogue');
  });

  it('are joined in bodies of loops, whose states do not take the place of those that rows still read', async () => {
    const a = sparse.diags([0.25, 0.5, 0.25], [-1, 0, 1], [500, 500]);
    const b = dense([500], 3);
    const steps = iterate(4, dense([500], 4), (x) => a.matmul(x).mul(0.5).add(b));
    let expected = dense([500], 4);
    for (let k = 0; k < 4; k++)
      expected = await computed((await computed(a.matmul(expected))).mul(0.5).add(b));
    expect((await steps.compute({ device })).data).toEqual((await expected.compute({ device })).data);
    expect(`${steps.explain({ device })}`).toContain('with epilogue');
  });
});
