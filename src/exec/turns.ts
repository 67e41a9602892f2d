/**
 * Turns of the event loop, for runs that are short: those that give their results at once must not keep the loop from
 * turning, and the end of those that do not is looked for, for a moment, because to be woken takes longer. Called by `native.ts`.
 */
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers';

/** Results that are handed over at once before the loop turns: about a third of a millisecond. */
const MOST_IN_A_TURN = 64;
/**
 * How long the loop is kept awake for a run, in milliseconds: as long as the thread that waits for the GPU looks without a
 * pause, where there are processors for both.
 */
const LOOK_FOR = availableParallelism() < 4 ? 0.1 : 2;

let inThisTurn = 0;

/** A result that is there, as a promise. Now and then one that the event loop turns for. */
export function handedOver<T>(result: T): Promise<T> {
  if (inThisTurn === 0) {
    setImmediate(() => {
      inThisTurn = 0;
    });
  }
  inThisTurn += 1;
  if (inThisTurn < MOST_IN_A_TURN) return Promise.resolve(result);
  return new Promise((resolve) => setImmediate(resolve, result));
}

/** Looks in every turn of the event loop whether tasks have ended, as long as a short one may be under way. */
export class Lookout {
  readonly #settle: (looksAgain: boolean) => number;
  #until = 0;
  #isLooking = false;

  /** `settle` settles what has ended and gives the number of tasks that are under way. */
  constructor(settle: (looksAgain: boolean) => number) {
    this.#settle = settle;
  }

  /** A run has begun. */
  watch(): void {
    this.#until = performance.now() + LOOK_FOR;
    if (this.#isLooking || availableParallelism() < 2) return;
    this.#isLooking = true;
    setImmediate(this.#look);
  }

  readonly #look = (): void => {
    const looksAgain = performance.now() < this.#until;
    this.#isLooking = this.#settle(looksAgain) > 0 && looksAgain;
    if (this.#isLooking) setImmediate(this.#look);
    else if (looksAgain) this.#settle(false);
  };
}
