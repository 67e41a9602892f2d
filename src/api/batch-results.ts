/**
 * Results on their way to who reads them: in order or as they come, and no more of them than there is room
 * for. Called by `batch.ts`.
 */
export class ResultQueue<T> implements AsyncIterable<T> {
  readonly #inOrder: boolean;
  readonly #capacity: number;
  readonly #there = new Map<number, T>();
  /** Jobs that were begun and whose results were not taken. */
  #open = 0;
  #next = 0;
  #closed = false;
  #failure: { readonly error: unknown } | undefined;
  #changed: (() => void)[] = [];

  constructor(order: 'input' | 'completed', capacity: number) {
    this.#inOrder = order === 'input';
    this.#capacity = capacity;
  }

  /** Waits until another job may begin, and counts it; returns early when aborted. */
  async room(signal: AbortSignal): Promise<void> {
    const wake = (): void => this.#wake();
    signal.addEventListener('abort', wake, { once: true });
    while (this.#open >= this.#capacity && !signal.aborted) await this.#change();
    signal.removeEventListener('abort', wake);
    this.#open++;
  }

  put(index: number, result: T): void {
    this.#there.set(index, result);
    this.#wake();
  }

  /** No more come; `failure` is what reading ends with. The first call counts. */
  close(failure: { readonly error: unknown } | undefined): void {
    if (!this.#closed) this.#failure = failure;
    this.#closed = true;
    this.#wake();
  }

  /** Nobody reads any more. */
  stop(): void {
    this.#open = Number.NEGATIVE_INFINITY;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    for (;;) {
      const index = this.#inOrder ? this.#next : this.#there.keys().next().value;
      if (index !== undefined && this.#there.has(index)) {
        const result = this.#there.get(index)!;
        this.#there.delete(index);
        this.#next++;
        this.#open--;
        this.#wake();
        yield result;
      } else if (this.#closed) {
        if (this.#failure !== undefined) throw this.#failure.error;
        return;
      } else {
        await this.#change();
      }
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  #wake(): void {
    const waiting = this.#changed;
    this.#changed = [];
    for (const resolve of waiting) resolve();
  }
}
