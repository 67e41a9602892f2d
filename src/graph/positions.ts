/**
 * Binary search of a sorted line by look-ups, each of which says where the next one is: gathers, which fuse with
 * the arithmetic around them into one kernel. Called by `searching.ts` and `packed-places.ts`.
 */
import { isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, map } from './infer.js';
import { broadcast, gather } from './view-nodes.js';

/** Before the elements equal to a value, or after them. */
export type Side = 'left' | 'right';

/**
 * The int64 counts of elements of a sorted line that are before each value: less than it on the left side,
 * not greater on the right one; NaN is greater than all else. The stretch that the last of them is in, or the
 * first element, is halved until it is one element: always in range, so that nothing but the element is
 * looked at.
 */
export function positions(sorted: Expr, values: Expr, side: Side): Expr {
  const size = sorted.shape[0]!;
  const { shape } = values;
  if (size === 0) return broadcast(constant(0, 'int64'), shape);
  const isLast = isFloat(values.dtype) ? map('isnan', [values]) : undefined;
  const isBefore = (at: Expr): Expr => {
    const element = gather(sorted, cast(at, 'int64'), 0, 'clip', shape);
    const plain = map(side === 'left' ? 'less' : 'lessEqual', [element, values]);
    if (isLast === undefined) return plain;
    if (side === 'right' || !isFloat(element.dtype)) return map('logicalOr', [plain, isLast]);
    // Before NaN on the left side: all numbers.
    return map('logicalOr', [plain, map('logicalAnd', [isLast, map('equal', [element, element])])]);
  };
  let start = broadcast(constant(0, size <= MOST_INT32 ? 'int32' : 'int64'), shape);
  let left = size;
  while (left > 1) {
    const half = Math.floor(left / 2);
    const later = map('add', [start, half]);
    start = map('where', [isBefore(later), later, start]);
    left -= half;
  }
  return cast(map('add', [start, map('where', [isBefore(start), 1, 0])]), 'int64');
}

/** The most elements whose counts are 32-bit integers, which GPUs add up faster. */
const MOST_INT32 = 2 ** 31 - 1;
