/** The benchmark's workloads at small scale on the CPU, against float64 loops; its tables. */
import { describe, expect, it } from 'vitest';
import { finiteSum, weightedSum } from '../bench/checksum.js';
import { measureOnCpu } from '../bench/cpu-measure.js';
import { cpuWorkloads } from '../bench/cpu-workloads.js';
import { measureOnGpu } from '../bench/gpu-measure.js';
import { gpuWorkloads } from '../bench/gpu-workloads.js';
import { measureJob } from '../bench/out-of-core.js';
import { type Job, outOfCoreJobs } from '../bench/out-of-core-jobs.js';
import { comparisonTable } from '../bench/table.js';
import { uniform, type Workload } from '../bench/workload.js';
import { resultByLoop, uniformByLoop } from './support/bench-references.js';

/** Relative to the sum of magnitudes; a result in bfloat16 has 8 bits, one in float16 has 11. */
const TOLERANCE: Readonly<Record<string, number>> = {
  float32: 1e-5,
  float64: 1e-12,
  float16: 1e-4,
  bfloat16: 1e-3,
  int32: 1e-12,
  int64: 1e-12,
};

/** Short calls are warmed for times alone. */
const COLD = { warmSeconds: 0 };

const label = ({ name, dtype, shape }: Workload): string => `${name} ${dtype} ${shape.join('x')}`;

function expectClose(checksum: number, workload: Workload, sum: (values: ArrayLike<number>) => number): void {
  const values = resultByLoop(workload);
  const magnitude = weightedSum(values);
  expect(Math.abs(checksum - sum(values))).toBeLessThanOrEqual(
    TOLERANCE[workload.dtype]! * Math.abs(magnitude),
  );
}

describe('inputs', () => {
  it('are the numbers of the peers', async () => {
    const { data } = await uniform({ shape: [4], seed: 2, low: -10, high: 10 }).compute({ device: 'cpu' });
    // from the peers' benchmark
    expect([...data]).toEqual([
      -9.611566543579102, -4.705447196960449, 5.138763427734375, -9.079717636108398,
    ]);
  });

  it('are those of the plain loop', async () => {
    const input = { shape: [300, 7], seed: 1, low: -5, high: 5 };
    const { data } = await uniform(input).compute({ device: 'cpu' });
    expect([...data]).toEqual([...uniformByLoop(input)]);
  });
});

describe("the GPU peers' workloads", () => {
  it.each(gpuWorkloads('small').map((w) => [label(w), w] as const))('gives %s', async (_, workload) => {
    const line = await measureOnGpu(workload, 'cpu', 0, COLD);
    expect(line).toMatchObject({ workload: workload.name, peer: 'weft', shape: workload.shape });
    expect(line.ms_min).toBeGreaterThan(0);
    expect(line.ms_median).toBeGreaterThanOrEqual(line.ms_min);
    expectClose(line.checksum!, workload, finiteSum);
  });

  it('have the sizes of the peers at full scale', () => {
    const shapes = Object.fromEntries(gpuWorkloads('full').map(({ name, shape }) => [name, shape]));
    expect(shapes).toMatchObject({
      saxpy_trig: [2 ** 28],
      sum_axis1_mid: [256, 4096, 256],
      softmax_wide: [4096, 65536],
      gauss_kernel_sum: [50000, 50000, 3],
      matmul_sum_float64: [10000, 5000, 7000],
      batched_matmul: [1024, 512, 512, 512],
    });
  });

  it('run elementwise chains and their reductions as one kernel', async () => {
    for (const name of ['saxpy_trig', 'softplus', 'long_chain', 'abs_sum']) {
      const workload = gpuWorkloads('small').find((w) => w.name === name)!;
      expect(await measureOnGpu(workload, 'cpu', 0, COLD)).toMatchObject({ kernels: 1 });
    }
  });

  it('count resident inputs in the peak', async () => {
    const workload = gpuWorkloads('small').find(({ name }) => name === 'saxpy_trig')!;
    const { peak_bytes } = await measureOnGpu(workload, 'cpu', 0, COLD);
    // On the CPU a result is the user's memory, which a plan does not count.
    expect(peak_bytes).toBe(2 * 4 * 2 ** 20);
  });
});

describe("the CPU peers' workloads", () => {
  it.each(cpuWorkloads('small').map((w) => [label(w), w] as const))('gives %s', async (_, workload) => {
    const line = await measureOnCpu(workload, { budgetSeconds: 0, quietSeconds: 0 });
    expect(line).toMatchObject({ workload: workload.name, peer: 'weft', setup: 'installed' });
    expect(line.seconds_median).toBeGreaterThanOrEqual(line.seconds_min);
    expect(line.repeats).toBeGreaterThanOrEqual(5);
    expectClose(line.checksum, workload, weightedSum);
  });
});

describe('comparisonTable', () => {
  const line = { workload: 'sum_all', dtype: 'float32', shape: [8, 8] };

  it('sets Weft against the best of the others and leaves the limit out', () => {
    const table = comparisonTable([
      { ...line, peer: 'limit', ms_median: 0.5 },
      { ...line, peer: 'torch', ms_median: 4 },
      { ...line, peer: 'jax', ms_median: 2 },
      { ...line, peer: 'weft', ms_median: 1 },
    ]);
    expect(table).toContain('| workload | shape | weft | torch | jax | limit | weft / best other |');
    expect(table).toContain('| `sum_all` | 8×8 float32 | **1.00** | 4.00 | 2.00 | 0.500 | 0.50 |');
  });

  it('takes the best of repeated runs, and sizes apart', () => {
    const table = comparisonTable([
      { ...line, peer: 'weft', ms_median: 3 },
      { ...line, peer: 'weft', ms_median: 2 },
      { ...line, peer: 'weft', shape: [4], ms_median: 9 },
    ]);
    expect(table).toContain('| `sum_all` | 8×8 float32 | **2.00** | – |');
    expect(table).toContain('| `sum_all` | 4 float32 | **9.00** | – |');
  });

  it('reads seconds, and notes errors and checksums that differ', () => {
    const cpu = (peer: string, checksum: number) => ({ ...line, peer, seconds_median: 0.00005, checksum });
    const table = comparisonTable([
      cpu('weft', 100),
      cpu('numpy', 100),
      cpu('numexpr', 50),
      { ...line, peer: 'dask', error: 'Boom' },
    ]);
    expect(table).toContain('50.0 µs');
    expect(table).toContain('numexpr: checksum 50, median of all 100');
    expect(table).toContain('dask: Boom');
    expect(table).not.toContain('numpy: checksum');
  });
});

describe('the jobs larger than a budget', () => {
  const device = 'cpu';
  const jobs = outOfCoreJobs({ device, gib: 0.02, matrix: 200, points: 300 });
  // Pinned memory is a GPU's; a small product has no smaller tiles.
  const here = Object.entries(jobs).filter(([name]) => !/pinned|budget/.test(name));

  it.each(here)('give what they have to: %s', async (name, make) => {
    const line = await measureJob(name, await make(), { device, repeats: 1 });
    expect(line).toMatchObject({ name, GBs: expect.any(Number) });
  });

  it.each(here)('say so where results are wrong: %s', async (name, make) => {
    const job = await make();
    const spoiled: Job = {
      ...job,
      make: () => job.make().map((result) => result.mul(1.01).add(1)),
    };
    expect(await measureJob(name, spoiled, { device, repeats: 0 })).toMatchObject({
      error: expect.any(String),
    });
  });
});
