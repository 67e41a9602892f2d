/**
 * Slices: long work of the JavaScript thread as a generator, which yields wherever it may pause. The same code is run
 * at once (`completed`), or in turns of the event loop (`inTurns` of `exec/native/turns.ts`):
 *
 *     function* passes(graph): Slices<Graph> { for (…) { pass(graph); yield; } return graph; }
 *     const graph = completed(passes(original));          plan(), explain(), tests
 *     const graph = await inTurns(passes(original));      compute()
 */

/** Work that gives a `T`; it pauses at each `yield`, with all that it changes in a state that others may see. */
export type Slices<T> = Generator<undefined, T, undefined>;

/** Counts the work since the last pause, where its parts take too little time for a pause after each. */
export class Pace {
  readonly #most: number;
  #done = 0;

  /** `most`: work between pauses, in the unit that the work is counted in. */
  constructor(most: number) {
    this.#most = most;
  }

  add(work: number): void {
    this.#done += work;
  }

  /** Whether it is time for a pause, from which on work is counted again. */
  isDue(): boolean {
    if (this.#done < this.#most) return false;
    this.#done = 0;
    return true;
  }
}

/** Does all of the work now. */
export function completed<T>(work: Slices<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
