/** Maps in scans on the CPU: what is joined, that bits are those of the maps by themselves, in any budget. */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy } from '../../src/index.js';
import { outputOf, rows, SCAN_MAP_JOBS } from '../support/scan-map-jobs.js';

const device = 'cpu';
const stepsOf = (output: Lazy): string[] =>
  output.explain({ device }).steps.map(({ kind, text }) => `${kind} ${text}`);

describe('maps before and behind a scan on the CPU', () => {
  it.each(SCAN_MAP_JOBS.map((job) => [job.name, job] as const))(
    'are computed with it, of the same bits as alone: %s',
    async (_, job) => {
      const output = outputOf(job);
      const steps = stepsOf(output);
      expect(steps).toHaveLength(1);
      expect(steps[0]).toMatch(/^call scan .*with prologue and epilogue/);
      const [before] = await compute([job.before()], { device });
      const [scanned] = await compute([job.scan(lazy(before!))], { device });
      const [expected] = await compute([job.behind(lazy(scanned!))], { device });
      const [whole] = await compute([output], { device });
      expect(whole!.data).toEqual(expected!.data);
      const { peakBytes } = output.plan({ device });
      if (peakBytes < 200) return;
      try {
        const [tiled] = await compute([output], { device, memory: Math.floor(peakBytes * 0.6) });
        expect(tiled!.data).toEqual(expected!.data);
      } catch (error) {
        expect(String(error)).toMatch(/MemoryError/);
      }
    },
  );

  it('hold neither what is scanned nor what the scan gives', () => {
    const x = rows([100_000], 1);
    expect(x.mul(2).cumulativeSum().exp().plan({ device }).peakBytes).toBeLessThan(1024);
  });

  it.each<[string, (x: Lazy) => Lazy, (x: Lazy) => Lazy]>([
    ['between two scans', (x) => x.cumulativeSum(0).mul(2), (y) => y.cumulativeSum(1)],
    ['between scans along one axis', (x) => x.cumulativeSum(1).mul(2), (y) => y.cumulativeSum(1)],
  ])('belong to one of them: %s', async (_, first, second) => {
    const x = rows([2100, 40], 1);
    const [between] = await compute([first(x)], { device });
    const [expected] = await compute([second(lazy(between!))], { device });
    const [whole] = await compute([second(first(x))], { device });
    expect(whole!.data).toEqual(expected!.data);
  });

  it('belong to the first of two scans that they read', async () => {
    const x = rows([2100, 40], 1);
    const [a, b] = await compute([x.cumulativeSum(0), x.cumulativeSum(1)], { device });
    const [expected] = await compute([lazy(a!).add(lazy(b!))], { device });
    const sum = x.cumulativeSum(0).add(x.cumulativeSum(1));
    expect(stepsOf(sum).filter((step) => step.startsWith('kernel'))).toHaveLength(0);
    expect((await sum.compute({ device })).data).toEqual(expected!.data);
  });

  it('stay apart where others read them, or where tiles would compute what is costly twice', () => {
    const x = rows([30_000], 1);
    const kernelsOf = (output: Lazy): number =>
      stepsOf(output).filter((step) => step.startsWith('kernel')).length;
    const doubled = x.mul(x);
    expect(kernelsOf(doubled.cumulativeSum().add(doubled))).toBe(1);
    expect(kernelsOf(x.exp().cumulativeSum())).toBe(0);
    const summed = x.exp().cumulativeSum().sum();
    const memory = Math.floor(0.7 * summed.plan({ device }).peakBytes);
    expect(String(summed.plan({ device, memory }))).toMatch(/map_exp/);
  });
});
