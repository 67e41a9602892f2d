/**
 * Turns of the event loop: computes that are asked for together are planned in several turns, and short runs
 * that give their results at once must not keep the loop from turning; the end of those that do not is looked
 * for, for a moment, because to be woken takes longer. Called by what plans and by `native-run.ts`.
 */
import { availableParallelism } from 'node:os';
import { setImmediate, setTimeout } from 'node:timers';
import type { Slices } from '../../host/slices.js';

/**
 * How long graphs are traced and planned in one turn before the next one waits for another turn, in
 * milliseconds.
 */
const PLANNING_IN_A_TURN = 2;

/** When planning began in this turn. */
let planningSince: number | undefined;
/** Work waiting for a turn, in order of arrival: planning under way, then planning that has not begun. */
const goingOn: (() => void)[] = [];
const toBegin: (() => void)[] = [];

/**
 * A promise to wait for before a graph is traced or planned where this turn has had its share; undefined
 * where that may begin now, before anything else is waited for. Planning under way goes first.
 */
export function turnToPlan(isUnderWay = false): Promise<void> | undefined {
  const ahead = goingOn.length + (isUnderWay ? 0 : toBegin.length);
  if (ahead === 0 && !isTurnSpent()) return undefined;
  return new Promise((resolve) => {
    if (goingOn.length + toBegin.length === 0) setImmediate(planNext);
    (isUnderWay ? goingOn : toBegin).push(resolve);
  });
}

/**
 * Does work in as many turns as it takes; at once where this turn has time for all of it. `check` is called between
 * turns, and stops the work by what it throws.
 */
export async function inTurns<T>(work: Slices<T>, check?: () => void): Promise<T> {
  return inTurnsOrNow(work, check);
}

/** As `inTurns`; not a promise where it is done in this turn, so that what follows begins in it. */
export function inTurnsOrNow<T>(work: Slices<T>, check?: () => void): T | Promise<T> {
  const begun = untilTurn(work);
  return begun.turn === undefined ? begun.result : finish(work, begun.turn, check);
}

/** Work done up to its end, or to the next turn that it has to wait for. */
type UntilTurn<T> = { readonly turn: undefined; readonly result: T } | { readonly turn: Promise<void> };

function untilTurn<T>(work: Slices<T>): UntilTurn<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return { turn: undefined, result: step.value };
    const turn = turnToPlan(true);
    if (turn !== undefined) return { turn };
  }
}

async function finish<T>(work: Slices<T>, first: Promise<void>, check?: () => void): Promise<T> {
  for (let turn = first; ; ) {
    await turn;
    check?.();
    const next = untilTurn(work);
    if (next.turn === undefined) return next.result;
    turn = next.turn;
  }
}

function isTurnSpent(): boolean {
  const time = performance.now();
  if (planningSince === undefined) {
    planningSince = time;
    setImmediate(() => {
      planningSince = undefined;
    });
  }
  return time - planningSince >= PLANNING_IN_A_TURN;
}

function planNext(): void {
  if (isTurnSpent()) {
    setImmediate(planNext);
    return;
  }
  const next = goingOn.shift() ?? toBegin.shift();
  next!();
  // Waiting work plans in a microtask ahead of this one.
  if (goingOn.length + toBegin.length > 0) queueMicrotask(planNext);
}

/** Results that are handed over at once before the clock is looked at. */
const RESULTS_AT_ONCE = 64;
/** How long results are handed over at once before the loop turns, in milliseconds: a turn takes as long as a few of them. */
const HANDED_OVER_IN_A_TURN = 0.3;
/**
 * How long the loop is kept awake for a run, in milliseconds: as long as the thread that waits for the GPU
 * looks without a pause, where there are processors for both.
 */
const LOOK_FOR = availableParallelism() < 4 ? 0.1 : 2;

let inThisTurn = 0;
/** Results of this turn from which on the clock is looked at, and when the first of them was handed over. */
let lookFrom = RESULTS_AT_ONCE;
let handingSince = 0;

/** A result that is there, as a promise. Now and then one that the event loop turns for. */
export function handedOver<T>(result: T): Promise<T> {
  const turn = turnToHandOver();
  return turn === undefined ? Promise.resolve(result) : turn.then(() => result);
}

/** A turn to wait for before a result that is there is handed over; undefined: it may be now, as most are. */
export function turnToHandOver(): Promise<void> | undefined {
  if (inThisTurn === 0) {
    handingSince = performance.now();
    setImmediate(() => {
      inThisTurn = 0;
      lookFrom = RESULTS_AT_ONCE;
    });
  }
  inThisTurn += 1;
  if (inThisTurn < lookFrom) return undefined;
  if (performance.now() - handingSince >= HANDED_OVER_IN_A_TURN)
    return new Promise((resolve) => setImmediate(resolve));
  lookFrom += RESULTS_AT_ONCE;
  return undefined;
}

/**
 * How much sooner or later than usual a run may end, in milliseconds at least, and as a share of what it
 * takes.
 */
const LEAST_SLACK = 0.75 * LOOK_FOR;
const SLACK_SHARE = 1 / 16;
/** Runs that usually take longer, in milliseconds, do not feel how long it takes to be woken. */
const MOST_USUAL = 200;
/** A turn of the loop in which nothing else ran takes no longer, in milliseconds. */
const EMPTY_TURN = 0.005;

/**
 * Looks in every turn of the event loop whether tasks have ended, as long as a short one may be under way,
 * and again when a longer one usually ends.
 */
export class CompletionPoller {
  readonly #settle: (pollsAgain: boolean, spins: boolean) => number;
  #until = 0;
  /** When it looked last. */
  #polled = 0;
  #isPolling = false;
  #again: NodeJS.Timeout | undefined;

  /**
   * `settle` settles what has ended and gives the number of tasks that are under way. It may spin, for the
   * loop has nothing else to do.
   */
  constructor(settle: (pollsAgain: boolean, spins: boolean) => number) {
    this.#settle = settle;
  }

  /** A run has begun that took `usual` milliseconds the last time, or has never ended. */
  watch(usual = 0): void {
    const slack = Math.max(LEAST_SLACK, usual * SLACK_SHARE);
    const isSoon = usual - slack <= LOOK_FOR;
    this.#lookFor(isSoon ? Math.max(LOOK_FOR, usual + slack) : LOOK_FOR);
    // Timers count milliseconds.
    if (isSoon || usual - slack < 1 || usual > MOST_USUAL || this.#again !== undefined) return;
    this.#again = setTimeout(() => {
      this.#again = undefined;
      this.#lookFor(2 * slack);
    }, usual - slack).unref();
  }

  #lookFor(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    if (this.#isPolling || availableParallelism() < 2) return;
    this.#isPolling = true;
    setImmediate(this.#look);
  }

  readonly #look = (): void => {
    const begin = performance.now();
    const pollsAgain = begin < this.#until;
    const spins = pollsAgain && begin - this.#polled < EMPTY_TURN;
    this.#isPolling = this.#settle(pollsAgain, spins) > 0 && pollsAgain;
    this.#polled = performance.now();
    if (this.#isPolling) setImmediate(this.#look);
    else if (pollsAgain) this.#settle(false, false);
  };
}
