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
 * Attempts between a budget that suffices and one that does not; milliseconds after which no more than the
 * sure ones begin.
 */
const SURE_ATTEMPTS = 8;
const MOST_ATTEMPTS = 16;
const MOST_MS = 500;

export interface LeastBudget<Why> {
  /** Bytes, as `formatBytes` says them: text of that size is the same budget. */
  readonly bytes: number;
  /** The refusal at the largest budget that was found not to suffice. */
  readonly why: Why;
}

/**
 * Finds the least budget above one that was refused. `whyNot`: what stands in the way of a budget, if
 * anything does, with an estimate of what would do; a large enough one has to suffice. `guess`: bytes that
 * are likely enough.
 */
export function* leastBudget<Why extends { readonly needed: number }>(
  refused: number,
  first: Why,
  guess: number,
  whyNot: (budget: number) => Slices<Why | undefined>,
): Slices<LeastBudget<Why>> {
  const end = performance.now() + MOST_MS;
  let [less, why] = [Math.max(1, refused), first];
  let fits = formattedUp(Math.max(guess, less + 1));
  for (let found = yield* whyNot(fits); found !== undefined; found = yield* whyNot(fits)) {
    if (fits === Number.POSITIVE_INFINITY)
      throw new InternalError('[plan] a job that no budget is enough for');
    [less, why] = [fits, found];
    fits = formattedUp(Math.max(2 * fits, Number.isFinite(found.needed) ? found.needed : 0));
  }
  for (let attempt = 0; attempt < MOST_ATTEMPTS && fits / less > NEAR; attempt++) {
    if (attempt >= SURE_ATTEMPTS && performance.now() > end) break;
    // The estimates are near more often than not.
    const isNear = attempt % 2 === 0 && why.needed > less && why.needed < fits;
    const tried = formattedUp(isNear ? why.needed : Math.sqrt(less * fits));
    if (tried >= fits) break;
    const found = yield* whyNot(tried);
    if (found === undefined) fits = tried;
    else [less, why] = [tried, found];
  }
  return { bytes: fits, why };
}
