/** Attention on a GPU without scores in memory: values, decisions, tiles and devices. */
import { describe, expect, it } from 'vitest';
import { compute } from '../../src/index.js';
import { ATTENTION_JOBS, attentionCase } from '../support/attention-jobs.js';

const device = 'cuda:0';

describe('attention', () => {
  it.each(ATTENTION_JOBS.map((job) => [job.name, job] as const))('is one kernel: %s', async (_, job) => {
    const { output, expected } = attentionCase(job);
    const found = await output.astype('float64').compute({ device });
    const tolerance = job.dtype === 'float32' ? 1e-5 : job.dtype === 'float16' ? 4e-3 : 3e-2;
    let worst = 0;
    expected.forEach((value, at) => {
      const other = (found.data as Float64Array)[at]!;
      expect(Number.isNaN(other)).toBe(Number.isNaN(value));
      if (!Number.isNaN(value)) worst = Math.max(worst, Math.abs(other - value));
    });
    expect(worst).toBeLessThan(tolerance);
    console.log(job.name, worst, output.explain({ device }).steps.map(({ text }) => text.slice(0,300)));
  });
});
