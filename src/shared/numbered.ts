/** Numbers of objects, from 0 on. Few are searched, which takes less time than a table of them is made in. */

const FEW = 16;

export class Numbered<K extends object> {
  readonly #few: K[] = [];
  readonly #numbers: number[] = [];
  /** Of more than a few. */
  #many: Map<K, number> | undefined;

  /** The number of an object; -1: it has none. */
  of(object: K): number {
    if (this.#many !== undefined) return this.#many.get(object) ?? -1;
    const few = this.#few;
    for (let k = few.length - 1; k >= 0; k--) if (few[k] === object) return this.#numbers[k]!;
    return -1;
  }

  has(object: K): boolean {
    return this.of(object) >= 0;
  }

  /** Gives a number to an object that has none. */
  set(object: K, number: number): void {
    if (this.#many === undefined) {
      if (this.#few.push(object) <= FEW) {
        this.#numbers.push(number);
        return;
      }
      this.#many = new Map(this.#numbers.map((each, k) => [this.#few[k]!, each]));
    }
    this.#many.set(object, number);
  }

  get size(): number {
    return this.#many?.size ?? this.#numbers.length;
  }
}
