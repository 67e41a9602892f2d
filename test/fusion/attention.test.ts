/** Attention without scores in memory: values on the CPU, tiles, and which programs it is recognized in. */
import { describe, expect, it } from 'vitest';
import { arange, compute, einsum, full, type Lazy, placeholder, where } from '../../src/index.js';
import { ATTENTION_JOBS, attentionCase, TOLERANCES, worstOf } from '../support/attention-jobs.js';

const device = 'cpu';
const p = (...shape: number[]): Lazy => placeholder(shape, 'float32');
const [Q, K, V] = [p(2, 40, 16), p(2, 50, 16), p(2, 50, 8)];
const scores = (): Lazy => Q!.matmul(K!.mT).div(4);
const attending = (weights: Lazy): Lazy => weights.matmul(V!);
const stepsOf = (output: Lazy, exact = false): string[] =>
  output.explain({ device, exact }).steps.map(({ name }) => name);
const textOf = (output: Lazy): string => String(output.explain({ device }));

describe('attention on the CPU', () => {
  it.each(ATTENTION_JOBS.map((job) => [job.name, job] as const))('has the values of: %s', async (_, job) => {
    const { output, expected } = attentionCase(job);
    const found = await output.astype('float64').compute({ device });
    expect(worstOf(found.data as Float64Array, expected)).toBeLessThan(TOLERANCES[job.dtype]!);
    expect(stepsOf(output).at(-1)).toBe('attention');
  });

  it('has the same bits in tiles', async () => {
    const { output } = attentionCase({ ...ATTENTION_JOBS[4]!, batch: 3, m: 300, n: 60, width: 32 });
    const [whole] = await compute([output], { device });
    const [tiled] = await compute([output], { device, memory: 100_000 });
    expect(tiled!.data).toEqual(whole!.data);
  });

  it('holds no scores', () => {
    const output = p(2048, 16).matmul(p(2048, 16).T).softmax(-1).matmul(p(2048, 16));
    expect(output.plan({ device }).peakBytes).toBeLessThan(2048 * 16 * 8);
    expect(textOf(output)).toContain('attention (1, 2048, 2048), rows of 16 and 16, by a kernel of Weft');
  });
});

describe('attention is recognized', () => {
  const rows = arange(40, { dtype: 'int64' }).reshape([40, 1]);
  const columns = arange(50, { dtype: 'int64' });
  const low = Number.NEGATIVE_INFINITY;

  it.each<[string, () => Lazy, string]>([
    [
      'of heads behind positions',
      () => {
        const [q, k, v] = [p(2, 40, 4, 16), p(2, 50, 4, 16), p(2, 50, 4, 16)];
        const weights = einsum('bqhd,bkhd->bhqk', q, k).mul(0.25).softmax(-1);
        return einsum('bhqk,bkhd->bqhd', weights, v);
      },
      '(0.25 0 0 1 1)',
    ],
    [
      'of heads that share keys and values',
      () => {
        const weights = einsum('hqd,kd->hqk', p(4, 40, 16), p(50, 16)).softmax(-1);
        return einsum('hqk,ke->hqe', weights, p(50, 8));
      },
      '(1 0 0 4)',
    ],
    [
      'of exponentials that are written out',
      () => {
        const powers = scores()
          .sub(scores().max(-1, { keepdims: true }))
          .exp();
        return attending(powers.div(powers.sum(-1, { keepdims: true })));
      },
      '(0.25 0 0 1)',
    ],
    [
      'with columns up to the row',
      () => attending(where(columns.lessEqual(rows), scores(), low).softmax(-1)),
      '(0.25 1 0 1)',
    ],
    [
      'with columns up to ten before the row',
      () => attending(where(rows.sub(10).less(columns), low, scores()).softmax(-1)),
      '(0.25 1 -10 1)',
    ],
    [
      'with -infinity added above a diagonal',
      () =>
        attending(
          scores()
            .add(full([40, 50], low, { dtype: 'float32' }).triu(3))
            .softmax(-1),
        ),
      '(0.25 1 2 1)',
    ],
    ['of long rows', () => p(8, 16).matmul(p(200_000, 16).T).softmax(-1).matmul(p(200_000, 8)), '(1 0 0 1)'],
    [
      'with any map of scores',
      () => attending(scores().div(30).tanh().mul(30).softmax(-1)),
      '(1 0 0 1) with map_divide',
    ],
    [
      'with a bias for each head',
      () =>
        p(2, 40, 16)
          .matmul(p(2, 512, 16).mT)
          .add(p(2, 1, 512))
          .softmax(-1)
          .matmul(p(2, 512, 8)),
      '(1 0 0 1) with map_add',
    ],
  ])('%s', (_, build, parameters) => {
    const output = build();
    expect(stepsOf(output).filter((name) => name !== 'map_copy')).toEqual(['attention']);
    expect(textOf(output)).toContain(parameters);
  });

  it.each<[string, () => Lazy]>([
    ['along another axis', () => attending(scores().softmax(-2))],
    [
      'of float64',
      () => {
        const [q, k, v] = [Q, K, V].map((x) => x!.astype('float64'));
        return q!.matmul(k!.mT).softmax(-1).matmul(v!);
      },
    ],
  ])('not %s', (_, build) => {
    expect(stepsOf(build())).not.toContain('attention');
  });

  it('also where weights are read elsewhere: bits do not depend on who reads them', () => {
    const weights = scores().softmax(-1);
    expect(stepsOf(attending(weights).add(weights.sum()))).toContain('attention');
  });

  it('not where results are to be exact', () => {
    expect(stepsOf(attending(scores().softmax(-1)), true)).not.toContain('attention');
  });
});
