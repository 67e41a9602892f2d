/**
 * Short rows of which neighbouring threads have a chunk each: the sum of a thread's elements joins that of the threads before
 * it, element by element, so that the order is that of one thread (`schedules/in-turn.ts`). Called by `reduce-kernel.ts` and
 * `row-kernel.ts`.
 */
import { opRow } from '../../../graph/ops.js';
import type { Writer } from '../writer.js';
import { type Accumulator, squaredOf } from './block-reduce.js';

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
  for (const accumulator of accumulators) {
    const { name, monoid } = accumulator;
    const isSquared = squaredOf(accumulator) !== undefined;
    const dtype = monoid.components[0]!;
    /** Of squares, accumulators have what is squared. */
    const joined = (before: string, own: string): string =>
      isSquared ? opRow('multiplyAdd').cuda([own, own, before], dtype) : monoid.combine(before, own);
    out.unrolled('g', items, () => {
      const fold = (first: string): void => {
        out.line(`turn = ${first};`);
        for (let e = 1; e < width; e++) out.line(`turn = ${joined('turn', `${name}[g * ${width} + ${e}]`)};`);
      };
      const own = `${name}[g * ${width}]`;
      out.line(`${monoid.type} turn;`);
      fold(isSquared ? `${own} * ${own}` : own);
      for (let lane = 1; lane < count; lane++)
        out.block('', () => {
          out.line(`const ${monoid.type} kept = turn;`);
          out.line(`const ${monoid.type} before = weft_exchange(turn, ${lane ^ (lane - 1)});`);
          fold(joined('before', own));
          out.line(`if (tr != ${lane}) turn = kept;`);
        });
      out.line(`${name}[g] = ${count === 1 ? 'turn' : `weft_exchange(turn, tr ^ ${count - 1})`};`);
    });
  }
}
