/**
 * Budgets that refusals name: each is enough, given as a number or as the text of the message, and not much
 * less would be. Plans alone: nothing is computed. `BUDGET_JOBS=200` for all jobs.
 */
import { describe, expect, it } from 'vitest';
import { withLevels } from '../../src/graph/depth.js';
import {
  type ComputeOptions,
  iterate,
  type Lazy,
  MemoryError,
  npy,
  type PlanSummary,
  plan,
  topK,
} from '../../src/index.js';
import { backends } from '../support/backends.js';
import { BUDGET_JOBS, type BudgetJob, budgetJob, randomMatrix } from '../support/budget-corpus.js';

/** How far from the least a named budget may be: it is searched for in a few attempts, and rounded up. */
const NEAR_LEAST = 1.15;

type Budget = 'memory' | 'hostMemory';

function refusalOf(results: readonly Lazy[], options: ComputeOptions): MemoryError | undefined {
  try {
    plan(results, options);
    return undefined;
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
}

/** The fault of the refusal of a budget, if it is refused. */
function wrongOf(
  { name, results }: BudgetJob,
  options: ComputeOptions,
  budgets: readonly Budget[],
): string[] {
  const refused = refusalOf(results, options);
  if (refused === undefined) return [];
  const [message] = refused.message.split('\n');
  const at = `${name}, ${JSON.stringify(options)}: ${message}`;
  const [, size] = /need[s:]? (\d[\d.]* [KMGT]?i?B)/.exec(message!) ?? [];
  const { needed } = refused;
  const given: ComputeOptions = { ...options, ...needed };
  const wrong: string[] = [];
  if (!budgets.some((budget) => needed[budget] !== undefined)) return [`${at}: names none`];
  const again = refusalOf(results, given);
  if (again !== undefined) wrong.push(`${at}: then ${again.message.split('\n')[0]}`);
  if (needed.memory === undefined) return wrong;
  const named = refusalOf(results, { ...given, memory: size ?? 'nothing' });
  if (named !== undefined) wrong.push(`${at}: then ${named.message.split('\n')[0]}`);
  const less = { ...given, memory: Math.max(1, Math.floor(needed.memory / NEAR_LEAST)) };
  if (refusalOf(results, less) === undefined) wrong.push(`${at}: ${less.memory} is planned`);
  return wrong;
}

function selected(x: Lazy): Lazy {
  return x.extract(x.greater(0));
}

const clusters = (): Lazy[] => {
  const [points, centers] = [randomMatrix(8000, 8, 1), randomMatrix(16, 8, 2)];
  const distances = points.expandDims(1).sub(centers.expandDims(0)).square().sum(2);
  const labels = Array.from({ length: 16 }, (_, k) => k);
  const isIn = distances.argmin(1).expandDims(1).equal(labels).astype('float32');
  return [isIn.transpose().matmul(points).div(isIn.sum(0).expandDims(1)), distances.min(1).sum()];
};
/** Values of several graphs, computed one after the other; the first needs most. */
const segmented = (): Lazy =>
  withLevels(8, () => {
    let x = randomMatrix(192, 192, 1)
      .transpose()
      .matmul(randomMatrix(192, 192, 2));
    for (let k = 0; k < 20; k++)
      x = x
        .slice([0, 96])
        .sum(0)
        .mul(0.5)
        .add(randomMatrix(110, 192, k).mean(0))
        .add(x);
    return x.sum();
  });
/** Indices of a column are checked before: the ends of the indices need far less than the rows. */
const lookedUp = (): Lazy =>
  randomMatrix(1000, 40, 1)
    .take(randomMatrix(1500, 1, 2).flatten().abs().mul(100).astype('int32').clip(0, 999), 0)
    .transpose()
    .mul(2);
/** Jobs that are planned in other ways where they do not fit, some of which need more than the whole. */
const WAYS: readonly BudgetJob[] = [
  { name: 'the first of a line', results: Object.values(topK(randomMatrix(1, 10_000, 1).flatten(), 3)) },
  { name: 'what a mask selects', results: [selected(randomMatrix(1, 5000, 1).flatten())] },
  { name: 'medians of few rows', results: [randomMatrix(64, 4096, 1).median(1)] },
  { name: 'distinct values', results: [randomMatrix(1, 8192, 1).flatten().mul(100).floor().uniqueValues()] },
];
const OTHERS: readonly BudgetJob[] = [
  { name: 'a segmented graph', results: [segmented()] },
  { name: 'rows by computed indices', results: [lookedUp()] },
  { name: 'a step of k-means', results: clusters() },
  { name: 'a transpose', results: [randomMatrix(1024, 2048, 1).transpose().mul(2)] },
  { name: 'a loop of products', results: [iterate(4, randomMatrix(256, 256, 1), (x) => x.matmul(x).tanh())] },
];

const count = Number(process.env.BUDGET_JOBS ?? 12);
/** Of a few, most are hand-written. */
const every = count > BUDGET_JOBS / 3 ? 1 : 3;
const JOBS = [...OTHERS, ...Array.from({ length: count }, (_, k) => budgetJob(every * k, 1 / 4))];

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'a budget that a refusal names on %s',
  (device) => {
    it(`is enough, and not much less is, for ${JOBS.length + WAYS.length} jobs`, () => {
      const wrong = [...JOBS, ...WAYS].flatMap((job) => {
        const whole = plan(job.results, { device }).peakBytes;
        return [1, Math.ceil(whole / 8) + 1].flatMap((memory) =>
          wrongOf(job, { device, memory }, ['memory']),
        );
      });
      expect(wrong).toEqual([]);
    }, 300_000);

    it('is no more than the job takes as a whole', () => {
      for (const { name, results } of WAYS) {
        const whole = plan(results, { device }).peakBytes;
        for (const part of [2, 16, 64])
          expect(
            refusalOf(results, { device, memory: Math.ceil(whole / part) })?.needed.memory ?? 0,
            name,
          ).toBeLessThanOrEqual(1.01 * whole);
      }
    });

    it('is the same when the job is computed', async () => {
      for (const result of [segmented(), lookedUp()]) {
        const options = { device, memory: 1, to: npy('never-written.npy') };
        const planned = refusalOf([result], { ...options, to: [options.to] } as ComputeOptions);
        const refused = await result.compute(options).catch((error: unknown) => error);
        expect(planned?.needed.memory).toBeGreaterThan(1);
        expect(refused).toMatchObject({ name: 'MemoryError', needed: planned!.needed });
      }
    });

    it('is enough for results that go to files', () => {
      const wrong = JOBS.flatMap((job) => {
        const to = job.results.map((_, k) => npy(`result-${k}.npy`));
        return wrongOf(job, { device, memory: 1000, to } as ComputeOptions, ['memory']);
      });
      expect(wrong).toEqual([]);
    }, 300_000);

    it("is enough of the host's memory as well", () => {
      const wrong = JOBS.flatMap((job) => {
        const whole: PlanSummary = plan(job.results, { device });
        const memory = Math.ceil(whole.peakBytes / 2) + 1;
        return [
          ...wrongOf(job, { device, hostMemory: 1 }, ['hostMemory']),
          ...wrongOf(job, { device, memory, hostMemory: 1 }, ['memory', 'hostMemory']),
          ...wrongOf(job, { device, memory: 1, hostMemory: 1 }, ['memory', 'hostMemory']),
        ];
      });
      expect(wrong).toEqual([]);
    }, 300_000);
  },
);
