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

describe('an operand that a kernel computes', () => {
  const [x, y] = [numbers([20_000, 10], 1), numbers([20_000, 10], 2)];
  const scores = (a: Lazy): Lazy => a.sub(a.mean(0)).div(a.std(0));
  const jobs: readonly [string, () => readonly [result: Lazy, ...operands: Lazy[]]][] = [
    ['a map of rows', () => [x.exp().matmul(numbers([10, 9], 3)), x.exp()]],
    ['a map of rows, of a product with several columns', () => [x.tanh().matmul(y.slice([0, 10])), x.tanh()]],
    ['standard scores, by themselves', () => [scores(x).T.matmul(scores(x)), scores(x)]],
    ['a map of rows that are summed', () => [y.T.matmul(x.exp()), x.exp()]],
    [
      'distances of all pairs',
      () => {
        const pairs = x.slice([0, 500], 'newaxis', [0, 3]).sub(y.slice('newaxis', [0, 400], [0, 3]));
        const near = pairs.square().sum(-1).neg().exp();
        return [near.matmul(numbers([400, 20], 4)), near];
      },
    ],
  ];

  it.each(jobs)('passes in panels, with the bits of one that is stored: %s', async (_, build) => {
    const [result, ...operands] = build();
    const { sweeps } = result.plan({ device });
    expect(sweeps.map(({ tiles }) => tiles > 1)).toEqual([true]);
    const stored = await compute([result, ...operands], { device });
    expect((await result.compute({ device })).data).toEqual(stored[0]!.data);
  });

  it('is not stored, and not counted as read twice', () => {
    const rows = p(20_000, 10);
    const { steps } = scores(rows).T.matmul(scores(rows)).explain({ device });
    const moved = steps.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);
    expect(moved).toBeLessThan(2.02 * 20_000 * 10 * 4);
    const mapped = rows.exp().matmul(p(10, 10)).explain({ device }).steps;
    const bytes = mapped.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);
    expect(bytes).toBeLessThan(1.01 * 2 * 20_000 * 10 * 4);
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
