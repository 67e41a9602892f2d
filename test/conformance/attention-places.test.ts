/**
 * Attention reads parts of arrays where they lie, and stores its result as it is wanted: on the CPU and the GPU a call
 * that moves inputs plus results, with the bits of copies.
 */
import { describe, expect, it } from 'vitest';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { compute, type Lazy, lazy, placeholder } from '../../src/index.js';
import { backends } from '../support/backends.js';
import { attentionOf, operandsOf, PLACED_JOBS } from '../support/placed-attention-jobs.js';

const JOBS = PLACED_JOBS.map((job) => [job.name, job] as const);
const bytesOf = (arrays: readonly Lazy[]): number =>
  arrays.reduce((sum, { size, dtype }) => sum + size * byteLengthOf(dtype), 0);

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'attention on %s',
  (device) => {
    const inMemory = async (x: Lazy): Promise<Lazy> => lazy(await x.compute({ device }));

    it.each(JOBS)('has the bits of copies: %s', async (_, job) => {
      const [q, k, v] = await Promise.all(operandsOf(job).map(inMemory));
      const expected = job.wanted(await inMemory(attentionOf(job, [q!, k!, v!])));
      const found = job.wanted(attentionOf(job, operandsOf(job)));
      expect(await found.compute({ device })).toEqual(await expected.compute({ device }));
    });

    it.each(JOBS)('moves inputs plus results: %s', (_, job) => {
      const inputs = job.inputs.map((shape) => placeholder(shape, { dtype: job.dtype }));
      const output = job.wanted(attentionOf(job, job.operands(inputs)));
      const { steps } = output.explain({ device });
      expect(steps.map(({ name }) => name)).toEqual(job.steps);
      const moved = steps.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);
      if (job.steps.length === 1) expect(moved).toBeLessThanOrEqual(bytesOf([...inputs, output]));
    });

    it('has the same bits within a budget, for which parts are copied', async () => {
      const job = PLACED_JOBS[4]!;
      const output = job.wanted(attentionOf(job, operandsOf(job)));
      const [whole] = await compute([output], { device });
      // On the CPU arrays of the user's are in no budget.
      const memory = device === 'cpu' ? 100_000 : 240_000;
      expect(output.explain({ device, memory }).steps.map(({ name }) => name)).toContain('map_copy');
      const [tiled] = await compute([output], { device, memory });
      expect(tiled!.data).toEqual(whole!.data);
    });
  },
);
