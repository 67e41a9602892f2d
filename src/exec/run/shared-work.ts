/**
 * Work that several computes wait for, each of which may be aborted by itself:
 *
 *     compute(x, { signal: a })  ─┐                 a aborted: the first rejects at once
 *     compute(x, { signal: b })  ─┴─ planning of x ─ b aborted too: planning stops
 *
 * Called by `program.ts`.
 */
export class SharedWork<T> {
  readonly result: Promise<T>;
  #isSettled = false;
  #value: T | undefined;
  #isStopped = false;
  /** Waiting computes that were not aborted; those without a signal never are. */
  #waiting = 0;

  /** `work` calls the function that it is given wherever it may stop, and ends by what that throws. */
  constructor(work: (check: () => void) => Promise<T>) {
    const settled = (): void => {
      this.#isSettled = true;
    };
    this.result = work(() => {
      if (this.#isStopped) throw new DOMException('nobody waits for this any more', 'AbortError');
    });
    this.result.then((value) => {
      this.#value = value;
      settled();
    }, settled);
  }

  /** The result, where it is there. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Whether nobody waits for it any more: it will not end. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The result; rejects with the signal's reason as soon as it is aborted. */
  wait(signal: AbortSignal | undefined): Promise<T> {
    if (this.#isSettled) return this.result;
    this.#waiting += 1;
    if (signal === undefined) return this.result;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting -= 1;
        this.#isStopped = this.#waiting === 0 && !this.#isSettled;
        reject(signal.reason as Error);
      };
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
      const end = (): void => signal.removeEventListener('abort', leave);
      this.result.then(resolve, reject).finally(end);
    });
  }
}
