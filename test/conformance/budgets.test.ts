/**
 * Whatever the budget: the same bits, in no more memory than the plan says, which is no more than the budget;
 * and what a plan says is near what is held. `BUDGET_JOBS=200 BUDGET_SEED=0` for all there are; `npm run
 * test:budgets` prints what each takes.
 */
import { describe, expect, it } from 'vitest';
import { backends, isSimulated } from '../support/backends.js';
import { BUDGET_JOBS, budgetJob, checkBudgets, meterOf, WRITTEN_JOBS } from '../support/budget-corpus.js';
import { generator } from '../support/random.js';

const SEED = Number(process.env.BUDGET_SEED ?? 1);

/** Where a result is computed again by a sweep after the one that it leaves in. */
const ALWAYS = [132];

/**
 * Some of the jobs, half of them hand-written: on the simulated CUDA, whose kernels take long to compile and
 * to run, fewer of them and smaller.
 */
function someJobs(count: number): number[] {
  if (count >= BUDGET_JOBS) return Array.from({ length: BUDGET_JOBS }, (_, k) => k);
  const random = generator(SEED);
  const pick = (from: number, to: number): number => from + Math.floor(random() * (to - from));
  const picked = Array.from({ length: count }, (_, k) =>
    k % 2 === 0 ? pick(0, WRITTEN_JOBS) : pick(WRITTEN_JOBS, BUDGET_JOBS),
  );
  return [...ALWAYS, ...picked];
}

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'budgets on %s',
  (device) => {
    const simulated = isSimulated(device);
    const jobs = someJobs(Number(process.env.BUDGET_JOBS ?? (simulated ? 8 : 40)));
    it(`change no bits and are kept, for ${jobs.length} jobs of seed ${SEED}`, async () => {
      const meter = await meterOf(device, simulated);
      let tiles = 0;
      const wrong: string[] = [];
      for (const k of jobs) {
        const found = await checkBudgets(budgetJob(k, simulated ? 1 / 4 : 1), device, meter);
        wrong.push(...found.wrong);
        for (const report of found.reports) tiles += report.tiles;
      }
      expect(wrong).toEqual([]);
      expect(tiles).toBeGreaterThan(jobs.length);
    }, 1_200_000);
  },
);
