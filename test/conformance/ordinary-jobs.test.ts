/**
 * Ordinary jobs within parts of what they hold without a budget: nearly all are planned, and those that were
 * hardest to plan have the bits of the whole. `npm run test:coverage` prints which are refused, and why.
 */
import { describe, expect, it } from 'vitest';
import { compute, type DType, explain, type Lazy, lazy, npy, placeholder, plan } from '../../src/index.js';
import { backends, isSimulated } from '../support/backends.js';
import { bitsOf, hasVendorProducts, leastBudgetOf } from '../support/budget-corpus.js';
import { coverageOf, type MakeArray, type OrdinaryJob, ordinaryJobs } from '../support/ordinary-jobs.js';
import { generator } from '../support/random.js';

/** The share of jobs and parts that has to be planned: on the CPU, to files, and on a GPU. */
const LEAST = { memory: 1, files: 0.98, device: 0.96 };
/** Of the parts of what jobs hold, those that are counted: planning them all takes half a minute. */
const COUNTED = [8];

/** Of a small job, which has few parts. */
const LEAST_PART = 0.7;

/** Computed as well, of smaller arrays. */
const COMPUTED = ['nearest of all pairs', 'a trace', 'sums up to each place of columns'];
/** The simulated CUDA takes long for these. */
const COMPUTED_ON_CPU = ['nearest of both sides', 'medians of columns', 'standardized under a mask'];

const random = generator(1);
const randomArray: MakeArray = (shape, dtype) => {
  const count = shape.reduce((a, b) => a * b, 1);
  const values = new Float32Array(count).map(() => random() * 4 - 2);
  return lazy(values, { shape }).astype(dtype);
};

const planned = (shape: readonly number[], dtype: DType): Lazy => placeholder(shape, { dtype });

function shareOf(device: string, toFiles: boolean): number {
  const jobs = ordinaryJobs(planned);
  const refusals = jobs.flatMap((job) => coverageOf(job, device, toFiles, COUNTED).refusals);
  return refusals.filter((why) => why === undefined).length / refusals.length;
}

/** Jobs that differ from the whole, or are refused, within parts. */
async function wrongOf({ name, results }: OrdinaryJob, device: string): Promise<string[]> {
  if (hasVendorProducts(results, device)) return [`${name}: a library orders its sums`];
  const whole = await compute(results, { device });
  const { peakBytes } = plan(results, { device });
  const wrong: string[] = [];
  const least = leastBudgetOf(results, { device });
  // Next to nothing is held beside arrays and results.
  if (peakBytes < 2 ** 16) return [];
  if (least > LEAST_PART * peakBytes) wrong.push(`${name}: needs ${least} of ${peakBytes}`);
  for (const memory of [Math.ceil((least + peakBytes) / 2), least]) {
    const found = await compute(results, { device, memory });
    if (!found.every((array, k) => bitsOf(array).equals(bitsOf(whole[k]!))))
      wrong.push(`${name}: other bits in ${memory}`);
  }
  return wrong;
}

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'ordinary jobs on %s',
  (device) => {
    const simulated = isSimulated(device);
    it('are planned within parts of what they hold', () => {
      if (device !== 'cpu') expect(shareOf(device, false)).toBeGreaterThan(LEAST.device);
      else {
        expect(shareOf(device, false)).toBe(LEAST.memory);
        expect(shareOf(device, true)).toBeGreaterThan(LEAST.files);
      }
    }, 300_000);

    it('take a sweep each where one is enough', () => {
      const pairs = planned([40_000, 3], 'float32')
        .expandDims(1)
        .sub(planned([40_000, 3], 'float32').expandDims(0));
      const nearest = plan([pairs.square().sum(-1).min(1)], { device, memory: '2MiB' });
      expect(nearest.sweeps.length).toBe(device === 'cpu' ? 0 : 1);
      const turned = plan([planned([10_000_000, 16], 'float32').transpose().mul(2)], {
        device,
        memory: '16MiB',
        to: [npy('turned.npy')],
      });
      expect(turned.sweeps).toHaveLength(1);
      // Totals; columns up to each place, which wait; their transpose.
      const scanned = plan([planned([10_000, 5000], 'float32').cumulativeSum(0)], {
        device,
        memory: '96MiB',
      });
      expect(scanned.sweeps.length).toBeLessThanOrEqual(device === 'cpu' ? 4 : 3);
    });

    it('read nothing but the diagonal of what is computed', async () => {
      const x = randomArray([64, 64], 'float32');
      const line = x.exp().reshape([-1]);
      const [down, up] = [line.slice([null, null, 65]), line.slice([63, 64 * 64 - 1, 63])];
      const { steps } = explain([down], { device });
      expect(steps.map(({ bytesRead }) => bytesRead)).toEqual([256]);
      const [whole, found, other] = await compute([x.exp(), down, up], { device });
      const data = whole!.data as Float32Array;
      expect([...(found!.data as Float32Array)]).toEqual(Array.from({ length: 64 }, (_, k) => data[65 * k]));
      expect([...(other!.data as Float32Array)]).toEqual(
        Array.from({ length: 64 }, (_, k) => data[63 * (k + 1)]),
      );
      expect(explain([up], { device }).steps.map(({ bytesRead }) => bytesRead)).toEqual([256]);
    });

    it('have the bits of the whole', async () => {
      const jobs = ordinaryJobs(randomArray, simulated ? 1 / 256 : 1 / 128);
      for (const name of [...COMPUTED, ...(simulated ? [] : COMPUTED_ON_CPU)])
        expect(await wrongOf(jobs.find((job) => job.name === name)!, device)).toEqual([]);
    }, 300_000);
  },
);
