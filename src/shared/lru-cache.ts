/** A map that keeps the most recently used entries: so many, and of so much weight together. */
export class LruCache<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly weight: number }>();
  readonly #capacity: number;
  readonly #mostWeight: number;
  #weight = 0;

  constructor(capacity: number, mostWeight = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
    this.#mostWeight = mostWeight;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** The newest entry is kept however heavy it is. */
  set(key: string, value: V, weight = 0): void {
    this.delete(key);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (oldest === key) return;
      if (this.#entries.size <= this.#capacity && this.#weight <= this.#mostWeight) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  get weight(): number {
    return this.#weight;
  }
}
