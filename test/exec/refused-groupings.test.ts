/** Refusals: a job that does not fit is planned for several budgets, one of which its message names. */
import { expect, it, vi } from 'vitest';
import { placeholder } from '../../src/api/placeholder.js';
import { leastBudget } from '../../src/exec/plan/least-budget.js';
import { gpu } from '../../src/exec/targets/device.js';
import { groupTasks } from '../../src/exec/tiles/sweep-groups.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { MemoryError } from '../../src/host/errors.js';
import { completed } from '../../src/host/slices.js';
import { planOnDevice } from '../support/device-plan.js';

type LeastBudget = typeof import('../../src/exec/plan/least-budget.js');

vi.mock('../../src/exec/tiles/sweep-groups.js', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/exec/tiles/sweep-groups.js')>();
  return { ...original, groupTasks: vi.fn(original.groupTasks) };
});
vi.mock('../../src/exec/plan/least-budget.js', async (importOriginal) => ({
  ...(await importOriginal<LeastBudget>()),
  leastBudget: vi.fn(),
}));

it('a refusal tries several budgets, groups steps once, and only for choices that a budget has room for', async () => {
  const { leastBudget: search } = await vi.importActual<LeastBudget>('../../src/exec/plan/least-budget.js');
  const groupings = (): number => vi.mocked(groupTasks).mock.calls.length;
  const budgets: number[] = [];
  let [before, after, again] = [0, 0, 0];
  vi.mocked<LeastBudget['leastBudget']>(leastBudget).mockImplementation(
    function* (refused, first, guess, steps, planned) {
      before = groupings();
      const found = yield* search(refused, first, guess, steps, function* (budget) {
        const plan = yield* planned(budget);
        if ('needed' in plan) budgets.push(budget);
        return plan;
      });
      after = groupings();
      for (const budget of budgets) yield* planned(budget);
      again = groupings();
      return found;
    },
  );

  const x = placeholder([2 ** 16, 64], 'float32');
  const work = canonicalize([x.sub(x.mean(0)), x.exp().sum(1)].map(({ expr }) => expr));
  expect(() => planOnDevice(work, gpu(0), { budget: 1024 })).toThrow(MemoryError);
  expect(leastBudget).toHaveBeenCalledTimes(1);
  expect(budgets.length).toBeGreaterThan(2);
  expect(before).toBeGreaterThan(0);
  expect(after).toBeGreaterThan(before);
  expect(again).toBe(after);
});

it.each([8192, 100_000, 15 * 2 ** 20])(
  'a refusal names %i bytes where all that is known before is what the whole needs',
  async (needed) => {
    const { leastBudget: search } = await vi.importActual<LeastBudget>('../../src/exec/plan/least-budget.js');
    // Between two sizes that text can say.
    const whole = { needed: 16_416_768 };
    const found = completed(
      search(4096, whole, whole.needed, 3, function* (budget) {
        yield;
        return budget < needed ? whole : { peakBytes: budget };
      }),
    );
    expect(found.bytes).toBeGreaterThanOrEqual(needed);
    expect(found.bytes).toBeLessThan(1.06 * needed);
  },
);

it('a refusal names what the plan holds where that is less than the budget that was tried', async () => {
  const { leastBudget: search } = await vi.importActual<LeastBudget>('../../src/exec/plan/least-budget.js');
  const needed = 9_830;
  const found = completed(
    search(4096, { needed: 40_000 }, 40_000, 3, function* (budget) {
      yield;
      return budget < needed ? { needed: 40_000 } : { peakBytes: needed };
    }),
  );
  expect(found.bytes).toBe(9830);
});
