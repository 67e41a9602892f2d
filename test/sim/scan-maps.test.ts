/** Maps in the kernels of scans: what is joined, that bits are those of the maps by themselves, and what stays apart. */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy } from '../../src/index.js';
import { outputOf, rows, SCAN_MAP_JOBS } from '../support/scan-map-jobs.js';

const device = 'cuda:0';
/** The texts of the steps of a plan. */
const stepsOf = (output: Lazy): string[] =>
  output.explain({ device }).steps.map(({ kind, text }) => `${kind} ${text}`);

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

  it('stay apart where others read them, or neighbours', () => {
    const x = rows([30_000], 1);
    const doubled = x.mul(x);
    expect(stepsOf(doubled.cumulativeSum().add(doubled))[0]).toMatch(/^kernel/);
    const sums = x.cumulativeSum();
    expect(stepsOf(sums.slice([8, null]).sub(sums.slice([0, -8])))).toHaveLength(2);
    expect(stepsOf(x.reshape([100, 300]).T.exp().cumulativeSum(1))).toHaveLength(2);
    expect(stepsOf(sums.add(x.sum()))).toHaveLength(2);
  });
});
