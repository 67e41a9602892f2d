/**
 * The least budget that a refused job is planned with, for the message of its refusal: what one step or sweep
 * lacks at one budget says little of what the job needs. So other budgets are tried, in a few attempts: each
 * is a plan. Called by `plan-graph.ts` and `plan-shards.ts`.
 */

import { formattedUp } from '../../graph/format.js';
import { InternalError } from '../../host/errors.js';
import type { Slices } from '../../host/slices.js';

/** A budget that suffices is named where it is at most this many times one that does not. */
const NEAR = 1.05;
/**
 * Attempts between a budget that suffices and one that does not: as many as plan some 32,000 steps, half a
 * second of work. Counted, not timed: the budget that a refusal names does not depend on the machine's load.
 */
const FEWEST_ATTEMPTS = 8;
const MOST_ATTEMPTS = 16;
const PLANNED_STEPS = 32_000;

export interface LeastBudget<Why> {
  /** Bytes, as `formatBytes` says them: text of that size is the same budget. */
  readonly bytes: number;
  /** The refusal at the largest budget that was found not to suffice. */
  readonly why: Why;
}

/** The most bytes that a plan holds of a device. */
export interface Fit {
  readonly peakBytes: number;
}

/**
 * Finds the least budget above one that was refused. `planned`: what a plan within a budget holds, or what stands in its way,
 * with an estimate of what would do; a large enough one has to suffice. `guess`: bytes that are likely enough. `steps`: of
 * each plan, for the number of attempts. The bytes that the last plan holds are most often enough as well, and are the answer then.
 */
export function* leastBudget<Why extends { readonly needed: number }>(
  refused: number,
  first: Why,
  guess: number,
  steps: number,
  planned: (budget: number) => Slices<Why | Fit>,
): Slices<LeastBudget<Why>> {
  const most = Math.min(MOST_ATTEMPTS, Math.max(FEWEST_ATTEMPTS, Math.floor(PLANNED_STEPS / steps)));
  let [less, why] = [Math.max(1, refused), first];
  let fits = formattedUp(Math.max(guess, less + 1));
  let found = yield* planned(fits);
  while ('needed' in found) {
    if (fits === Number.POSITIVE_INFINITY)
      throw new InternalError('[plan] a job that no budget is enough for');
    [less, why] = [fits, found];
    fits = formattedUp(Math.max(2 * fits, Number.isFinite(found.needed) ? found.needed : 0));
    found = yield* planned(fits);
  }
  let held = found.peakBytes;
  for (let attempt = 0; attempt < most && fits / less > NEAR; attempt++) {
    // The estimates are near more often than not.
    const estimated = formattedUp(why.needed);
    const isNear = attempt % 2 === 0 && why.needed > less && estimated < fits;
    const tried = isNear ? estimated : formattedUp(Math.sqrt(less * fits));
    if (tried >= fits) break;
    const other = yield* planned(tried);
    if ('needed' in other) [less, why] = [tried, other];
    else [fits, held] = [tried, other.peakBytes];
  }
  const enough = formattedUp(held);
  if (enough > less && enough < fits && !('needed' in (yield* planned(enough)))) fits = enough;
  return { bytes: fits, why };
}
