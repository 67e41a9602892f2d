/** Holds the shift of a work to what it says: ranges of units that are moved touch what is moved as far. */
import type { Region, Work } from '../../src/codegen/cuts/work.js';
import { generator } from './random.js';

/** Ranges that are tried of each work. */
const RANGES = 8;

/** Regions that differ from those that a work's shift gives, as text; nothing of a work without one. */
export function wrongShifts({ regions, shift }: Work, seed: number): string[] {
  if (shift === undefined) return [];
  const { period, from, to, by } = shift;
  const next = generator(seed);
  const upTo = (n: number): number => Math.floor(next() * (n + 1));
  const wrong: string[] = [];
  for (let k = 0; k < RANGES; k++) {
    const times = 1 + upTo((to - from) / period - 2);
    const room = to - from - times * period;
    const first = from + upTo(room - 1);
    const last = first + 1 + upTo(from + room - first - 1);
    const moved = (found: readonly Region[], times: number): string =>
      found
        .map((region) => ({
          ...region,
          first: region.first + times * (by.get(region.buffer) ?? 0),
          last: region.last + times * (by.get(region.buffer) ?? 0),
        }))
        .map((region) => JSON.stringify(region))
        .join();
    const [before, after] = [regions(first, last), regions(first + times * period, last + times * period)];
    for (const way of ['reads', 'writes'] as const)
      if (moved(before[way], times) !== moved(after[way], 0))
        wrong.push(`${way} of ${first} to ${last}, ${times} periods on`);
  }
  return wrong;
}
