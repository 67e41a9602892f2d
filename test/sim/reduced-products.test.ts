/**
 * Products that are only reduced, on the simulated CUDA: panels in one slot, one after the other whatever the order of
 * the device's work, and as a CUDA graph once a program is repeated.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { compile, compute, type Lazy, placeholder, plan } from '../../src/index.js';
import { numbers, REDUCED_PRODUCTS, reducedProduct } from '../support/reduced-products.js';
import { REDUCED_SPARSE_PRODUCTS, reducedSparseProduct } from '../support/reduced-sparse-products.js';
import { describeSimulator, setDevices, setFaults, setSchedule } from './simulator.js';

process.env.WEFT_PANEL_BYTES = '131072';
setDevices([{}, {}]);

const device = 'cuda:0';
afterEach(() => setSchedule({ timing: 'late', seed: 1 }));

/** Where memory is watched, there are no graphs; the project of graphs need not do the rest again. */
const isWatched = process.env.WEFT_POISON === '1';
const why = isWatched ? '' : ' (skipped: once, where memory is watched)';
/** One of each way to cut and to finish; all of them run on the CPU. */
const JOBS = REDUCED_PRODUCTS.filter(({ isSimulated }) => isSimulated);

describe('a product on a GPU that is only reduced', () => {
  it.runIf(isWatched).each(JOBS.map((job) => [job.name, job] as const))(
    `has the bits of one that is stored: %s${why}`,
    async (_, job) => {
      const { product, reduced } = reducedProduct(job);
      expect(reduced.plan({ device }).sweeps.map(({ tiles }) => tiles > 1)).toEqual([true]);
      const [stored] = await compute([reduced, product], { device });
      setSchedule({ timing: 'random', seed: 3 });
      const { data } = await reduced.compute({ device });
      expect(data).toEqual(stored!.data);
    },
  );

  it.runIf(isWatched)(`takes a call and a launch for each panel, and memory for one${why}`, async () => {
    const [x, y] = [numbers([512, 8], 1), numbers([8, 512], 2)];
    const product = x.matmul(y);
    const inPanels = product.max(1).plan({ device });
    expect(inPanels.sweeps.map(({ tiles }) => tiles)).toEqual([8]);
    expect(plan([product.max(1), product], { device }).peakBytes - inPanels.peakBytes).toBeGreaterThan(
      0.85 * 512 * 512 * 4,
    );
    setFaults([]);
    await x.matmul(y).max(1).compute({ device });
    const { counts } = describeSimulator();
    expect([counts.cublasGemmEx, counts.cuLaunchKernel]).toEqual([8, 8]);
  });

  it.runIf(isWatched)(`is stored where what finishes its reduction reads it again${why}`, async () => {
    const product = numbers([2000, 20], 1).matmul(numbers([20, 100], 2));
    const reduced = product.max(0).sub(product.flatten().slice([10, 110]));
    expect(reduced.plan({ device }).sweeps).toEqual([]);
    const [stored] = await compute([reduced, product], { device });
    expect((await reduced.compute({ device })).data).toEqual(stored!.data);
    expect(product.max(0).plan({ device }).sweeps).toHaveLength(1);
  });

  it('has the same bits on two devices, and where it is repeated as a graph', async () => {
    const [x, y] = [numbers([512, 8], 1), numbers([8, 512], 2)];
    const rows = (a: Lazy, b: Lazy): Lazy => a.matmul(b).abs().max(1);
    const { data } = await rows(x, y).compute({ device });
    expect((await rows(x, y).compute({ devices: 2 })).data).toEqual(data);
    const repeated = compile(rows, { device });
    for (let run = 0; run < 6; run++) {
      if (run === 5) setFaults([]);
      expect((await repeated(x, y)).data).toEqual(data);
    }
    const { counts } = describeSimulator();
    if (!isWatched) expect([counts.cuGraphLaunch, counts.cublasGemmEx ?? 0]).toEqual([1, 0]);
  });
});

describe('a sparse product on a GPU that is only reduced', () => {
  const jobs = REDUCED_SPARSE_PRODUCTS.filter(({ isSimulated }) => isSimulated);
  it.runIf(isWatched).each(jobs.map((job) => [job.name, job] as const))(
    `has the bits of one that is stored: %s${why}`,
    async (_, job) => {
      const { product, reduced } = reducedSparseProduct(job, 70_000);
      expect(reduced.plan({ device }).sweeps.map(({ tiles }) => tiles > 1)).toEqual([true]);
      const [stored] = await compute([reduced, product], { device });
      expect((await reduced.compute({ device })).data).toEqual(stored!.data);
    },
  );
});

describe('the choice of panels', () => {
  it('is printed with its times and bytes', () => {
    const [x, y] = [placeholder([512, 8], 'float32'), placeholder([8, 512], 'float32')];
    const explained = x.matmul(y).max(1).explain({ device });
    expect(String(explained)).toContain(
      'in panels of 128.25 KiB, not stored (1.00 MiB): WEFT_PANEL_BYTES is set',
    );
    expect(explained.bytesWritten).toBe(512 * 4);
    expect(explained.edges).toEqual([]);
  });
});
