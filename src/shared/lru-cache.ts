/** A map that keeps the most recently used entries: so many, and of so much weight together. */
export class LruCache<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly weight: number }>();
  readonly #capacity: number;
  readonly #mostWeight: number;
  #weight = 0;
  /** The key that was used last. */
  #newest: string | undefined;

  constructor(capacity: number, mostWeight = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
    this.#mostWeight = mostWeight;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (key !== this.#newest) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      this.#newest = key;
    }
    return entry.value;
  }

  /** The newest entry is kept however heavy it is. */
  set(key: string, value: V, weight = 0): void {
    this.delete(key);
    this.#entries.set(key, { value, weight });
    this.#newest = key;
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
    if (key === this.#newest) this.#newest = undefined;
    this.#weight -= entry.weight;
  }

  clear(): void {
    this.#entries.clear();
    this.#newest = undefined;
    this.#weight = 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  get weight(): number {
    return this.#weight;
  }
}
