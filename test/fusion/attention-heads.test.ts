/**
 * Attention in heads of 64 and 128, which GPUs of compute capability 9.0 compute by warpgroups: values beside those in
 * float64, on the CPU and on a GPU where there is one, and the same bits in tiles there.
 */
import { describe, expect, it } from 'vitest';
import { compute } from '../../src/index.js';
import { attentionCase, HEAD_JOBS, TOLERANCES, worstOf } from '../support/attention-jobs.js';
import { backends } from '../support/backends.js';

const gpus = backends().filter((device) => device.startsWith('cuda'));

describe.each(['cpu', ...gpus])('attention on %s', (device) => {
  it.each(HEAD_JOBS.map((job) => [job.name, job] as const))('has the values of: %s', async (_, job) => {
    const { output, expected } = attentionCase(job);
    const found = await output.astype('float64').compute({ device });
    expect(worstOf(found.data as Float64Array, expected)).toBeLessThan(TOLERANCES[job.dtype]!);
  });
});

/** The simulated GPU has no warpgroups: there `test/sim/attention.test.ts` tests tiles of the kernel by warps. */
const why = gpus.length > 0 ? '' : ' (skipped: no GPU)';

describe.skipIf(gpus.length === 0)(`attention on a GPU${why}`, () => {
  it.each(HEAD_JOBS.slice(0, 4).map((job) => [job.name, job] as const))(
    'has the same bits in tiles: %s',
    async (_, job) => {
      const { output } = attentionCase({ ...job, batch: Math.max(4, job.batch), m: 300 });
      const [device] = gpus;
      const memory = Math.floor(output.plan({ device: device! }).peakBytes * 0.75);
      const [whole] = await compute([output], { device: device! });
      const [tiled] = await compute([output], { device: device!, memory });
      expect(tiled!.data).toEqual(whole!.data);
    },
  );
});
