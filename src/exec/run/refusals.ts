/** Refusals of graphs that one job consists of, joined into one that names what is enough for all of them. */
import { formatBytes } from '../../graph/format.js';
import { MemoryError } from '../../host/errors.js';
import type { Slices } from '../../host/slices.js';

export class Refusals {
  readonly #refused: MemoryError[] = [];

  /** The plan that is made; `undefined`: it was refused. */
  *collect<T>(making: Slices<T>): Slices<T | undefined> {
    try {
      return yield* making;
    } catch (error) {
      this.add(error);
      return undefined;
    }
  }

  /** Adds a refusal; throws what is none. */
  add(error: unknown): void {
    if (!(error instanceof MemoryError)) throw error;
    this.#refused.push(error);
  }

  /** Throws the refusal of the graph that needs most, with the most host memory that any of them needs. */
  throwAny(): void {
    const most = (budget: 'memory' | 'hostMemory'): MemoryError | undefined => {
      const having = this.#refused.filter(({ needed }) => needed[budget] !== undefined);
      return having.reduce<MemoryError | undefined>(
        (found, one) => (found === undefined || one.needed[budget]! > found.needed[budget]! ? one : found),
        undefined,
      );
    };
    const first = most('memory') ?? most('hostMemory') ?? this.#refused[0];
    if (first === undefined) return;
    const host = most('hostMemory')?.needed.hostMemory;
    if (host === undefined || host === first.needed.hostMemory) throw first;
    const also = `; what is computed before needs ${formatBytes(host)} of host memory`;
    const [line, ...rest] = first.message.split('\n');
    throw new MemoryError([`${line}${also}`, ...rest].join('\n'), first.status, {
      ...first.needed,
      hostMemory: host,
    });
  }
}
