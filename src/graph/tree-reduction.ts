/**
 * Reductions by a function of nodes, in a tree that the number of elements alone decides: neighbours are combined
 * sixteen at a time, so that a pass reads its elements once and writes a sixteenth as many. The function has to be
 * associative; elements keep their order, so it need not commute.
 *
 *     n = 40:   (0 … 15) (16 … 31)   →   pairwise, then with (32 … 39)
 */
import { slice } from './basic-slicing.js';
import type { Accumulator, Combine } from './user-monoid.js';

/** Elements that are combined by one kernel. */
const WIDTH = 16;

/** The last axis, of at least one element, reduced to one element. */
export function reduceByTree(values: Accumulator, combine: Combine): Accumulator {
  const ends: Accumulator[] = [];
  let head = values;
  let count = values[0]!.shape.at(-1)!;
  while (count > WIDTH) {
    const whole = count - (count % WIDTH);
    if (whole < count) ends.push(combinedPairwise(elementsOf(head, whole, count), combine));
    const parts = Array.from({ length: WIDTH }, (_, first) => strided(head, first, whole, WIDTH));
    head = combinedPairwise(parts, combine);
    count = whole / WIDTH;
  }
  const result = combinedPairwise(elementsOf(head, 0, count), combine);
  return ends.reduceRight((before, end) => combine(before, end), result);
}

const strided = (values: Accumulator, first: number, stop: number, step: number): Accumulator =>
  values.map((x) => slice(x, '...', [first, stop, step]));

/** Elements along the last axis, one by one. */
const elementsOf = (values: Accumulator, first: number, stop: number): Accumulator[] =>
  Array.from({ length: stop - first }, (_, k) => strided(values, first + k, first + k + 1, 1));

function combinedPairwise(list: readonly Accumulator[], combine: Combine): Accumulator {
  let level = list;
  while (level.length > 1) {
    const next: Accumulator[] = [];
    for (let k = 0; k + 1 < level.length; k += 2) next.push(combine(level[k]!, level[k + 1]!));
    if (level.length % 2 === 1) next.push(level.at(-1)!);
    level = next;
  }
  return level[0]!;
}
