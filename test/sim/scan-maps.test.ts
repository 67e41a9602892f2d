/** Maps in the kernels of scans: what is joined, that bits are those of the maps by themselves, and what stays apart. */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, random } from '../../src/index.js';
import { outputOf, rows, SCAN_MAP_JOBS } from '../support/scan-map-jobs.js';

const device = 'cuda:0';
/** The texts of the steps of a plan. */
const stepsOf = (output: Lazy): string[] =>
  output.explain({ device }).steps.map(({ kind, text }) => `${kind} ${text}`);

/** Rows of running sums of normal numbers. */
const walks = (shape: readonly [number, number]): Lazy =>
  random
    .normal(random.key(3), [...shape], { dtype: 'float32' })
    .mul(0.05)
    .cumulativeSum(1);

describe('maps before and behind a scan', () => {
  it.each(SCAN_MAP_JOBS.map((job) => [job.name, job] as const))(
    'are one step with it, of the same bits in parts: %s',
    async (_, job) => {
      const output = outputOf(job);
      const steps = stepsOf(output);
      expect(steps).toHaveLength(1);
      expect(steps[0]).toMatch(/^call scan .*with prologue and epilogue/);
      const [whole] = await compute([output], { device });
      const [shared] = await compute([output], { devices: 2 });
      expect(shared!.data).toEqual(whole!.data);
      const memory = Math.floor(output.plan({ device }).peakBytes * 0.9);
      try {
        const [tiled] = await compute([output], { device, memory });
        expect(tiled!.data).toEqual(whole!.data);
      } catch (error) {
        expect(String(error)).toMatch(/MemoryError/);
      }
    },
  );

  it('are parts of the scan in tiles and on several devices, too', () => {
    const output = rows([300_001], 1)
      .mul(rows([300_001], 2))
      .cumulativeSum()
      .exp();
    const memory = Math.floor(output.plan({ device }).peakBytes * 0.5);
    const tiled = output.plan({ device, memory });
    expect(tiled.sweeps.length).toBeGreaterThan(0);
    expect(String(tiled)).not.toMatch(/(?<!of|then) map_/);
    const { phases } = output.plan({ devices: 2 });
    expect(phases.flatMap((phase) => phase.steps).filter((step) => step !== 'map_copy')).toEqual([
      'scanTotals',
      'scanBefore',
      'scan',
    ]);
  });

  it('hold neither what is scanned nor what the scan gives', () => {
    const x = rows([100_000], 1);
    const { peakBytes } = x.mul(2).cumulativeSum().exp().plan({ device });
    expect(peakBytes).toBeLessThan(2.2 * 400_000);
  });

  it.each([
    ['sums of exponentials of random walks', walks([4096, 132]).exp().mean(1).mul(3)],
    [
      'greatest elements, times a factor of the row',
      walks([600, 128])
        .max(1)
        .mul(rows([600], 3)),
    ],
    [
      'products of scaled elements',
      // In range: where products overflow on the way is a matter of their order.
      walks([530, 128])
        .add(1)
        .mul(random.normal(random.key(4), [530, 128], { dtype: 'float32' }).mul(0.1).add(1))
        .prod(1),
    ],
    [
      'integers',
      rows([600, 128], 1).mul(100).astype('int32').cumulativeMax(1).sub(7).min(1).astype('float64'),
    ],
  ] as const)('have rows reduced in the same kernel, with the bits of two: %s', async (_, output) => {
    const steps = stepsOf(output);
    expect(steps.filter((step) => /^call scan .*fold of rows/.test(step))).toHaveLength(1);
    expect(steps.filter((step) => step.startsWith('kernel reduce'))).toHaveLength(0);
    const [whole, shared] = [await compute([output], { device }), await compute([output], { devices: 2 })];
    expect(shared[0]!.data).toEqual(whole[0]!.data);
    const exact = await compute([output], { device: 'cpu' });
    for (const [k, value] of [...exact[0]!.data].map(Number).entries()) {
      const found = Number(whole[0]!.data[k]);
      if (!Object.is(found, value)) expect(Math.abs(found - value)).toBeLessThan(1e-4 * Math.abs(value));
    }
  });

  it('have rows reduced in a kernel of its own where a warp would read them in another order', () => {
    const twoSteps = [
      walks([600, 126]).sum(1),
      walks([600, 1400]).sum(1),
      walks([600, 128]).cumulativeSum(1, { reverse: true }).sum(1),
      walks([600, 128]).sum(0),
    ];
    for (const output of twoSteps) expect(stepsOf(output).join()).not.toContain('fold of rows');
    const both = walks([600, 128]);
    expect(stepsOf(both.sum(1).add(both.slice([], 0))).join()).not.toContain('fold of rows');
  });

  it('stay apart where others read them, or neighbours', () => {
    const x = rows([30_000], 1);
    const exponentials = x.exp();
    expect(stepsOf(exponentials.cumulativeSum().add(exponentials))[0]).toMatch(/^kernel/);
    const sums = x.cumulativeSum();
    expect(stepsOf(sums.slice([8, null]).sub(sums.slice([0, -8])))).toHaveLength(2);
    expect(stepsOf(x.reshape([100, 300]).T.exp().cumulativeSum(1))).toHaveLength(2);
    expect(stepsOf(sums.add(x.sum()))).toHaveLength(2);
  });
});
