/**
 * Binary search of a sorted line by look-ups, each of which says where the next one is: gathers, which fuse with
 * the arithmetic around them into one kernel. Called by `members.ts`, `middles-first.ts` and
 * `packed-places.ts`.
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
  const first = broadcast(constant(0, size <= MOST_INT32 ? 'int32' : 'int64'), shape);
  return positionsWithin({ sorted, first, length: size }, beforeValues(values, side));
}

/**
 * For each value a stretch of a sorted line, from `first` on: elements before it are before the value, those behind it are
 * not.
 */
export interface Stretches {
  readonly sorted: Expr;
  readonly first: Expr;
  readonly length: number;
}

/** Whether the element of a line at a place is before the value. */
export type IsBefore = (line: Expr, at: Expr) => Expr;

/** The counts of elements before each value, those before its stretch included. */
export function positionsWithin({ sorted, first, length }: Stretches, isBefore: IsBefore): Expr {
  let start = first;
  for (let left = length; left > 1; ) {
    const half = Math.floor(left / 2);
    const later = map('add', [start, half]);
    start = map('where', [isBefore(sorted, later), later, start]);
    left -= half;
  }
  return cast(map('add', [start, map('where', [isBefore(sorted, start), 1, 0])]), 'int64');
}

/** `IsBefore` of values, in arrays of their shape. */
export function beforeValues(values: Expr, side: Side): IsBefore {
  const isLast = isFloat(values.dtype) ? map('isnan', [values]) : undefined;
  return (line, at) => {
    const element = gather(line, cast(at, 'int64'), 0, 'inRange', values.shape);
    const plain = map(side === 'left' ? 'less' : 'lessEqual', [element, values]);
    if (isLast === undefined) return plain;
    if (side === 'right' || !isFloat(element.dtype)) return map('logicalOr', [plain, isLast]);
    // Before NaN on the left side: all numbers.
    return map('logicalOr', [plain, map('logicalAnd', [isLast, map('equal', [element, element])])]);
  };
}

/** The most elements whose counts are 32-bit integers, which GPUs add up faster. */
const MOST_INT32 = 2 ** 31 - 1;
