/**
 * RecordTable: records that differ (`records.ts`), by number in the order in which they were closed. `node-table.ts` finds nodes
 * by it, `recurring-kernels.ts` kernels.
 */
import { HashChains } from './hash.js';
import { Records } from './records.js';

export class RecordTable {
  /** With an open record, which callers write. */
  readonly records = new Records();
  readonly #chains = new HashChains();
  #count = 0;

  /** The number of the open record, or of an equal one. */
  close(): number {
    const { records } = this;
    const hash = records.hash();
    for (let at = this.#chains.first(hash); at >= 0; at = this.#chains.next(at)) {
      if (!records.repeats(at)) continue;
      records.drop();
      return at;
    }
    records.keep();
    this.#chains.push(hash);
    return this.#count++;
  }
}
