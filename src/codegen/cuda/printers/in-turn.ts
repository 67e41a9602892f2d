/**
 * Short rows of which neighbouring threads have a chunk each: the sum of a thread's elements joins that of the threads before
 * it, element by element, so that the order is that of one thread (`schedules/in-turn.ts`). Called by `reduce-kernel.ts` and
 * `row-kernel.ts`.
 */
import type { Writer } from '../writer.js';
import type { Accumulator } from './block-reduce.js';

/** How the elements of a row lie in the accumulators `a<position>[item * width …]` of its threads, one of a chunk in each. */
export interface Chunks {
  readonly width: number;
  /** Threads of a row that have one. */
  readonly count: number;
}

/** Combines the elements in turn, in all threads of a row: `a<position>[0 … items - 1]`. */
export function printInTurn(
  out: Writer,
  { width, count }: Chunks,
  accumulators: readonly Accumulator[],
  items: number,
): void {
  for (const { name, monoid } of accumulators)
    out.unrolled('g', items, () => {
      const fold = (first: string, from: number): void => {
        out.line(`turn = ${first};`);
        for (let e = from; e < width; e++)
          out.line(`turn = ${monoid.combine('turn', `${name}[g * ${width} + ${e}]`)};`);
      };
      const own = `${name}[g * ${width}]`;
      out.line(`${monoid.type} turn;`);
      fold(own, 1);
      for (let lane = 1; lane < count; lane++)
        out.block('', () => {
          out.line(`const ${monoid.type} kept = turn;`);
          out.line(`const ${monoid.type} before = weft_exchange(turn, ${lane ^ (lane - 1)});`);
          fold(monoid.combine('before', own), 1);
          out.line(`if (tr != ${lane}) turn = kept;`);
        });
      out.line(`${name}[g] = ${count === 1 ? 'turn' : `weft_exchange(turn, tr ^ ${count - 1})`};`);
    });
}
