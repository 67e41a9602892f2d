/** Covariances on a GPU: two readings of the observations, of the centred ones nothing in memory. */
import { afterEach, describe, expect, it } from 'vitest';
import { clearPrograms } from '../../src/exec/run/program.js';
import { type Lazy, lazy, placeholder } from '../../src/index.js';
import { takeProblems } from './simulator.js';

const device = 'cuda';
afterEach(() => {
  clearPrograms();
  expect(takeProblems()).toEqual([]);
});

const stepsOf = (x: Lazy): readonly (readonly [string, number])[] =>
  x.explain({ device }).steps.map(({ name, bytesRead }) => [name, bytesRead]);

describe('a covariance of 64 variables', () => {
  const p = placeholder([100_000, 64], 'float32');
  const bytes = 100_000 * 64 * 4;
  const sums = ['reduce_sum', bytes] as const;
  const products = ['reduce_divide_subtract_term_product_sum', bytes + 256] as const;

  it('is two kernels, each of which reads them once', () => {
    expect(stepsOf(p.cov(null, { rowvar: false }))).toEqual([sums, products]);
    const centred = p.sub(p.mean(0));
    // Written out, the means are computed where they are summed.
    expect(stepsOf(centred.mT.matmul(centred).div(99_999))).toEqual([
      ['reduce_sum_divide', sums[1]],
      ['reduce_subtract_term_product_sum_divide', products[1]],
    ]);
    expect(stepsOf(p.corrcoef(null, { rowvar: false })).slice(0, 2)).toEqual([sums, products]);
  });

  it('computes what is on and above the diagonal', () => {
    const { steps } = p.cov(null, { rowvar: false }).explain({ device });
    expect(String(steps[1]!.source)).toContain('computes = threadIdx.x < 136');
    const scaled = p.mul(2).mT.matmul(p.add(1)).explain({ device }).steps;
    expect(scaled.map(({ source }) => String(source)).join()).not.toContain('computes');
  });
});

describe.each([8, 40])('a covariance of %i variables of 1,500 observations', (columns) => {
  const values = Float32Array.from(
    { length: 1500 * columns },
    (_, k) => 1000 + Math.sin(k * 0.7) * (1 + (k % columns)),
  );
  const x = lazy({ data: values, shape: [1500, columns], dtype: 'float32' });

  it('has the values of float64, the same on both sides of the diagonal, and within any budget', async () => {
    const { data } = await x.cov(null, { rowvar: false }).compute({ device });
    const exact = (await x.astype('float64').cov(null, { rowvar: false }).compute({ device: 'cpu' }))
      .data as Float64Array;
    const found = data as Float32Array;
    const at = (i: number, j: number): number => i * columns + j;
    for (let i = 0; i < columns; i++)
      for (let j = 0; j < columns; j++) {
        const scale = Math.sqrt(exact[at(i, i)]! * exact[at(j, j)]!);
        expect(Math.abs(found[at(i, j)]! - exact[at(i, j)]!) / scale).toBeLessThan(1e-5);
        expect(found[at(i, j)]).toBe(found[at(j, i)]);
      }
    if (columns < 40) return;
    const { peakBytes } = x.cov(null, { rowvar: false }).explain({ device });
    const memory = Math.floor(peakBytes * 0.75);
    expect((await x.cov(null, { rowvar: false }).compute({ device, memory })).data).toEqual(data);
  });
});

it('is in windows where its partial results wait, which the launch that leaves these does not touch', async () => {
  const waves = Float32Array.from({ length: 1500 * 64 }, (_, k) => Math.sin(k));
  const job = lazy(waves).reshape([1500, 64]).cov(null, { rowvar: false });
  const memory = 92_000;
  expect(String(job.plan({ device, memory }))).toMatch(
    /sweep of \d+ tiles(\n {2}b\d+ [^\n]*)+\n {2}\S+ finish/,
  );
  const whole = await job.compute({ device });
  expect((await job.compute({ device, memory })).data).toEqual(whole.data);
});
