/**
 * Loops under budgets, as other jobs: the same bits, within the memory that the plan says. `LOOP_JOBS=40` for
 * all that are written and random ones, so many in all.
 */
import { describe, expect, it } from 'vitest';
import { backends, isSimulated } from '../support/backends.js';
import { checkBudgets, meterOf } from '../support/budget-corpus.js';
import { loopJob } from '../support/loop-jobs.js';

/**
 * One of each kind, and the scale of its arrays; on the CPU, where states have nowhere to wait, of those that
 * can be cut.
 */
const FEW = {
  cpu: [
    [2, 1],
    [3, 1],
    [23, 1],
  ],
  simulated: [
    [2, 1 / 4],
    [9, 1 / 8],
    [13, 1],
    [14, 1],
    [16, 1 / 4],
  ],
} as const;

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'budgets of loops on %s',
  (device) => {
    const simulated = isSimulated(device);
    const count = Number(process.env.LOOP_JOBS ?? 0);
    const all = Array.from({ length: count }, (_, k) => [k, 1] as const);
    const jobs = count > 0 ? all : FEW[simulated ? 'simulated' : 'cpu'];
    it(`change no bits and are kept, for ${jobs.length} jobs`, async () => {
      const meter = await meterOf(device, simulated);
      const wrong: string[] = [];
      const whole: string[] = [];
      for (const [k, scale] of jobs) {
        const job = loopJob(k, scale);
        const found = await checkBudgets(job, device, meter);
        wrong.push(...found.wrong);
        if (found.reports.every(({ tiles }) => tiles === 0)) whole.push(job.name);
      }
      expect(wrong).toEqual([]);
      if (count === 0) expect(whole).toEqual([]);
    }, 1_200_000);
  },
);
