/** Products that are only reduced, on the CPU: they pass through memory in panels, with the bits of stored ones. */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, placeholder, plan } from '../../src/index.js';
import { numbers, REDUCED_PRODUCTS, reducedProduct } from '../support/reduced-products.js';

process.env.WEFT_PANEL_BYTES = '131072';
process.env.WEFT_BLAS = 'none';

const device = 'cpu';
const p = (...shape: number[]): Lazy => placeholder(shape, 'float32');

describe('a product on the CPU that is only reduced', () => {
  it.each(REDUCED_PRODUCTS.map((job) => [job.name, job] as const))(
    'has the bits of one that is stored: %s',
    async (_, job) => {
      const { product, reduced } = reducedProduct(job);
      const panels = reduced.plan({ device });
      const stored = await compute([reduced, product], { device });
      expect(panels.sweeps.map(({ tiles }) => tiles > 1)).toEqual([true]);
      const found = await reduced.compute({ device });
      expect(found.data).toEqual(stored[0]!.data);
      expect(String(reduced.plan({ device, memory: panels.peakBytes }))).toBe(String(panels));
    },
  );

  it('has them within a budget below that of its panels, too', async () => {
    const { reduced } = reducedProduct(REDUCED_PRODUCTS[0]!);
    const { data } = await reduced.compute({ device });
    const memory = Math.ceil(reduced.plan({ device }).peakBytes * 0.9);
    expect((await reduced.compute({ device, memory })).data).toEqual(data);
  });

  it('holds a panel, and explains why', () => {
    const output = p(1000, 8).matmul(p(8, 1000)).max(1);
    expect(output.plan({ device }).peakBytes).toBeLessThan(400_000);
    const text = String(output.explain({ device }));
    expect(text).toContain('in panels of 250.25 KiB, not stored (3.81 MiB): WEFT_PANEL_BYTES is set');
  });
});

describe('a product is stored', () => {
  const product = p(500, 8).matmul(p(8, 500));
  it.each<[string, readonly Lazy[]]>([
    ['that is a result', [product, product.max(1)]],
    ['that is mapped to a result', [product.exp()]],
    ['that is read again when it is reduced', [product.sub(product.max()).exp().sum(1)]],
    ['that is small', [p(100, 8).matmul(p(8, 100)).max(1)]],
  ])('%s', (_, outputs) => {
    expect(plan(outputs, { device }).sweeps).toEqual([]);
  });
});

describe('random programs of reduced products', () => {
  const maps: readonly ((x: Lazy) => Lazy)[] = [
    (x) => x,
    (x) => x.abs(),
    (x) => x.mul(0.5).tanh(),
    (x) => x.greater(0.3),
    (x) => x.square().add(1),
  ];
  const reductions: readonly ((x: Lazy, axis: number | null) => Lazy)[] = [
    (x, axis) => x.max(axis),
    (x, axis) => x.argmin(axis),
    (x, axis) => x.sum(axis),
    (x, axis) => x.mean(axis),
    (x, axis) => x.std(axis),
  ];
  it.each(Array.from({ length: 12 }, (_, seed) => seed))('seed %i', async (seed) => {
    const pick = (n: number, salt: number): number =>
      Math.floor(Math.abs(Math.sin(seed * 7.3 + salt) * 1e4)) % n;
    const [m, n, k] = [380 + pick(300, 1), 380 + pick(300, 2), 1 + pick(20, 3)];
    const product = numbers([m, k], seed).matmul(numbers([k, n], seed + 1));
    const axis = [0, 1, null][pick(3, 4)]!;
    const some = [5, 6].map((salt) =>
      reductions[pick(5, salt)]!(maps[pick(5, salt + 2)]!(product).astype('float32'), axis),
    );
    const stored = await compute([...some, product], { device });
    const found = await compute(some, { device });
    expect(found.map(({ data }) => data)).toEqual(stored.slice(0, 2).map(({ data }) => data));
  });
});
