/** Products of sparse matrices that are only reduced, on the CPU: in panels, with the bits of stored ones. */
import { describe, expect, it } from 'vitest';
import { compute } from '../../src/index.js';
import { REDUCED_SPARSE_PRODUCTS, reducedSparseProduct } from '../support/reduced-sparse-products.js';

process.env.WEFT_PANEL_BYTES = '262144';

const device = 'cpu';
const ELEMENTS = 280_000;

describe('a sparse product on the CPU that is only reduced', () => {
  it.each(REDUCED_SPARSE_PRODUCTS.map((job) => [job.name, job] as const))(
    'has the bits of one that is stored: %s',
    async (_, job) => {
      const { product, reduced } = reducedSparseProduct(job, ELEMENTS);
      const panels = reduced.plan({ device });
      expect(panels.sweeps.map(({ tiles }) => tiles > 1)).toEqual([true]);
      const [stored] = await compute([reduced, product], { device });
      expect((await reduced.compute({ device })).data).toEqual(stored!.data);
    },
  );

  it('holds a panel, and explains why', () => {
    const { product, reduced } = reducedSparseProduct(REDUCED_SPARSE_PRODUCTS[0]!, ELEMENTS);
    expect(reduced.plan({ device }).peakBytes).toBeLessThan((8 * product.shape[0]!) / 2);
    expect(String(reduced.explain({ device }))).toMatch(/in panels of .*: WEFT_PANEL_BYTES is set/);
  });
});
