/**
 * Whatever the budget: the same bits, or a refusal before anything runs. On the simulated CUDA, whose kernels take long to
 * compile, there are fewer graphs.
 */
import { describe, expect, it } from 'vitest';
import { compute, MemoryError, type NDArray, plan } from '../../src/index.js';
import { backends } from '../support/backends.js';
import { largeGraph } from '../support/large-graph.js';

const SHARES = [0.9, 0.7, 0.5, 0.3, 0.15, 0.05];

const bitsOf = ({ data }: NDArray): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'budgets on %s',
  (device) => {
    const simulated = process.env.WEFT_TEST_ONLY === 'cuda' && device !== 'cpu';
    const GRAPHS = simulated ? Number(process.env.BUDGET_GRAPHS ?? 6) : 40;
    it(`give the bits of the whole, for ${GRAPHS} graphs and ${SHARES.length} budgets each`, async () => {
      let tiles = 0;
      for (let seed = 0; seed < GRAPHS; seed++) {
        const { results, steps } = largeGraph(seed);
        // cuBLAS orders the sums of a part of a product by what suits its shape.
        const vendor = !simulated && device !== 'cpu' && steps.some((step) => /matrix/.test(step));
        const whole = await compute(results, { device });
        const { peakBytes } = plan(results, { device });
        for (const share of SHARES) {
          const memory = Math.floor(peakBytes * share);
          if (memory === 0) continue;
          try {
            const planned = plan(results, { device, memory });
            expect(planned.peakBytes).toBeLessThanOrEqual(memory);
            for (const sweep of planned.sweeps) tiles += sweep.tiles;
          } catch (error) {
            if (!(error instanceof MemoryError)) throw error;
            continue;
          }
          const parts = await compute(results, { device, memory });
          for (const [k, part] of parts.entries()) {
            const same = vendor || Buffer.compare(bitsOf(part), bitsOf(whole[k]!)) === 0;
            expect(same, `seed ${seed}, ${share}: ${steps.join(', ')}, result ${k}`).toBe(true);
          }
        }
      }
      expect(tiles).toBeGreaterThan(GRAPHS);
    }, 600_000);
  },
);
