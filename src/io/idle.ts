/**
 * Lets go of what is kept between reads of one job, once no read has come for a while. Called by `bands.ts`
 * and `deflated.ts`.
 */

/** After this long without a read, a job is over, or busy elsewhere. */
const IDLE_MS = 2000;

export class Idle {
  readonly #letGo: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(letGo: () => void) {
    this.#letGo = letGo;
  }

  /** A read has come. The process does not wait for what follows. */
  touch(): void {
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#end(), IDLE_MS).unref();
    else this.#timer.refresh();
  }

  #end(): void {
    this.#timer = undefined;
    this.#letGo();
  }
}
