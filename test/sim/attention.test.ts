/** Attention on a GPU without scores in memory: values, and the same bits in tiles and on several devices. */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy } from '../../src/index.js';
import {
  ATTENTION_JOBS,
  type AttentionJob,
  attentionCase,
  TOLERANCES,
  worstOf,
} from '../support/attention-jobs.js';

const device = 'cuda:0';

describe('attention', () => {
  it.each(ATTENTION_JOBS.map((job) => [job.name, job] as const))('has the values of: %s', async (_, job) => {
    const { output, expected } = attentionCase(job);
    const found = await output.astype('float64').compute({ device });
    expect(worstOf(found.data as Float64Array, expected)).toBeLessThan(TOLERANCES[job.dtype]!);
    expect(String(output.explain({ device }))).toMatch(/^step \d+: attention/m);
  });

  it('of heads adds biases of any axes to scores, by the place of each', async () => {
    const [batches, heads, m, n, width] = [2, 3, 5, 7, 4];
    const numbers = (shape: readonly number[], seed: number): Lazy => {
      const elements = shape.reduce((a, b) => a * b, 1);
      return lazy(Float32Array.from({ length: elements }, (_, i) => ((i + seed) % 11) / 4 - 1)).reshape(
        shape,
      );
    };
    const [q, k, v] = [m, n, n].map((rows, i) => numbers([batches, heads, rows, width], i)) as [
      Lazy,
      Lazy,
      Lazy,
    ];
    const attention = (biases: readonly Lazy[]): Lazy =>
      biases
        .reduce((scores, bias) => scores.add(bias), q.matmul(k.mT))
        .softmax(-1)
        .matmul(v);
    const ofColumns = attention([numbers([batches, 1, 1, n], 3)]);
    const ofAll = attention([
      numbers([m, n], 3),
      numbers([heads, 1, 1], 4),
      numbers([batches, 1, m, 1], 5),
      numbers([batches, heads, m, n], 6),
    ]);
    for (const each of [ofColumns, ofAll]) {
      const wide = each.astype('float64');
      const [found, expected] = [await wide.compute({ device }), await wide.compute({ device: 'cpu' })];
      expect(worstOf(found.data as Float64Array, expected.data as Float64Array)).toBeLessThan(1e-5);
    }
  });

  it.each<[string, Partial<AttentionJob>]>([
    ['float32, causal', {}],
    ['float32, causal', { inner: 36, n: 150 }],
    ['float16, boolean mask', {}],
  ])('has the same bits in tiles and on two devices: %s, %o', async (name, changes) => {
    const job = ATTENTION_JOBS.find((each) => each.name === name)!;
    const { output } = attentionCase({ ...job, batch: 3, m: 150, n: 60, width: 32, ...changes });
    const [whole] = await compute([output], { device });
    const [shared] = await compute([output], { devices: 2 });
    expect(shared!.data).toEqual(whole!.data);
    const memory = Math.floor(output.plan({ device }).peakBytes * 0.75);
    const [tiled] = await compute([output], { device, memory });
    expect(tiled!.data).toEqual(whole!.data);
  });
});
