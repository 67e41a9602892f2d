/** Singular values of matrices that are hard for the implicit QR method, by the CPU's own routine. */
import { describe, expect, it } from 'vitest';
import { linalg, random } from '../../src/index.js';

describe('singular values alone', () => {
  it('of rows of growing scales are found in more steps than others', async () => {
    const n = 193;
    const given = random.normal(random.foldIn(random.key(307_200_268), 1), [n, n], { dtype: 'float64' });
    const scales = Array.from({ length: n }, (_, k) => [10 ** ((8 * k) / n)]);
    const a = given.add(given.flip(-1).mul({ re: 0, im: 0.7 })).mul(scales);
    const alone = await linalg.svdvals(a).compute({ device: 'cpu' });
    const { data } = await linalg.svd(a).s.compute({ device: 'cpu' });
    const largest = Number(data[0]);
    for (const [k, value] of alone.data.entries())
      expect(Math.abs(Number(value) - Number(data[k]))).toBeLessThan(64 * 2 ** -52 * largest);
  });
});
