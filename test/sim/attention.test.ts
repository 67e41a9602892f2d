/** Attention on a GPU without scores in memory: values, and the same bits in tiles and on several devices. */
import { describe, expect, it } from 'vitest';
import { compute } from '../../src/index.js';
import { ATTENTION_JOBS, attentionCase, TOLERANCES, worstOf } from '../support/attention-jobs.js';

const device = 'cuda:0';

describe('attention', () => {
  it.each(ATTENTION_JOBS.map((job) => [job.name, job] as const))('has the values of: %s', async (_, job) => {
    const { output, expected } = attentionCase(job);
    const found = await output.astype('float64').compute({ device });
    expect(worstOf(found.data as Float64Array, expected)).toBeLessThan(TOLERANCES[job.dtype]!);
    expect(String(output.explain({ device }))).toMatch(/^step \d+: attention/m);
  });

  it.each(['float32, causal', 'float16, boolean mask'])(
    'has the same bits in tiles and on two devices: %s',
    async (name) => {
      const job = ATTENTION_JOBS.find((each) => each.name === name)!;
      const { output } = attentionCase({ ...job, batch: 3, m: 150, n: 60, width: 32 });
      const [whole] = await compute([output], { device });
      const [shared] = await compute([output], { devices: 2 });
      expect(shared!.data).toEqual(whole!.data);
      const memory = Math.floor(output.plan({ device }).peakBytes * 0.75);
      const [tiled] = await compute([output], { device, memory });
      expect(tiled!.data).toEqual(whole!.data);
    },
  );
});
