/**
 * Sorting: rows in order, and the positions that sort them. Every export is also a method of Lazy and a free
 * function (`fluent.ts`).
 */
import { ArgumentError, expected } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { throughBound, withinAxis } from './extent.js';
import { formatValue } from './format.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, withinLength } from './infer.js';
import type { RoutineName } from './routines.js';
import { normalizeAxis } from './shape.js';
import { lastInOrder } from './sort-order.js';
import { broadcast } from './view-nodes.js';
import { flatten, moveaxis } from './views.js';

/** Options of `sort` and `argsort`. */
export interface SortOptions {
  /** Largest first; NaN stays last. */
  readonly descending?: boolean | undefined;
}

/**
 * The elements along an axis (the last one by default; null: all, as one line) in ascending order, NaN last,
 * as NumPy's `sort`. Complex numbers are in the order of their real, then their imaginary parts. `{ descending:
 * true }` gives the largest first. Of equal elements, -0 is less than 0. Throws a RangeArgumentError for an
 * axis that is not there.
 *
 * @example
 * await lazy([[3, 1, 2], [9, 7, 8]]).sort().compute()
 * //=> [[1. 2. 3.]
 * //=>  [7. 8. 9.]]
 * await lazy([3, NaN, 1]).sort(-1, { descending: true }).compute()
 * //=> [ 3.  1. nan]
 */
export function sort(x: Expr, axis?: number | null, options?: SortOptions): Expr {
  return along('sort', x, axis, options);
}

/**
 * The int64 positions along an axis (the last one by default; null: in all, as one line) of the elements in
 * ascending order, as NumPy's `argsort` with `stable=True`: equal elements keep their order, NaN is last.
 * `{ descending: true }` gives the largest first, equal elements in their order still. Throws a
 * RangeArgumentError for an axis that is not there.
 *
 * @example
 * await lazy([30, 10, 20]).argsort().compute()
 * //=> [1 2 0]
 */
export function argsort(x: Expr, axis?: number | null, options?: SortOptions): Expr {
  return along('argsort', x, axis, options);
}

function along(op: RoutineName, x: Expr, axis: number | null = -1, options: SortOptions = {}): Expr {
  checkOptions(op, options, ['descending']);
  const { descending = false } = options;
  if (typeof descending !== 'boolean')
    throw new ArgumentError(expected(op, 'descending to be true or false', formatValue(descending)));
  const source = axis === null ? flatten(x) : x;
  const at = normalizeAxis(op, axis ?? 0, source.shape.length);
  if (sizeOfShape(source.shape) === 0 || source.shape[at] === 1)
    return op === 'sort'
      ? source
      : throughBound(source, ({ shape }) => broadcast(constant(0, 'int64'), shape));
  // Elements behind a length come last, and after all that is equal to it.
  const isWithin = source.extent?.axis === at;
  const sorted = throughBound(source, (bound) => {
    const x = isWithin ? withinLength(source, lastInOrder(source.dtype, descending)) : bound;
    const last = x.shape.length - 1;
    const rows = moveaxis(x, at, last);
    // As of ranks, `x.argsort().argsort()`: 32 bits are sorted in less than half the time.
    const keys = op === 'argsort' && isOrder(rows) ? cast(rows, 'int32') : rows;
    const [result] = call(op, [descending ? 1 : 0], [keys]);
    return moveaxis(result!, last, at);
  });
  return isWithin && op === 'argsort' ? withinAxis(sorted, source.extent.length) : sorted;
}

/** Whether elements are positions that `argsort` gave, and fit an int32. */
function isOrder(x: Expr): boolean {
  let node = x;
  while (node.kind === 'view') node = node.inputs[0]!;
  return node.kind === 'call' && node.routine === 'argsort' && node.shape.at(-1)! <= 2 ** 31;
}
