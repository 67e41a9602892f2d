/** Functions of order that take or give several arrays: topK, lexsort. */
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { needingPlace, placesIn } from '../graph/checked-places.js';
import type { Expr } from '../graph/expr.js';
import { meetingExtent, upToBound, withExtent } from '../graph/extent.js';
import { formatShape, formatValue } from '../graph/format.js';
import { iota, withinLength } from '../graph/infer.js';
import { firstOf, inOrder } from '../graph/selection.js';
import { checkInteger, normalizeAxis, sameShape } from '../graph/shape.js';
import { lastInOrder } from '../graph/sort-order.js';
import { argsort } from '../graph/sorting.js';
import { gather, reshape } from '../graph/view-nodes.js';
import { moveaxis } from '../graph/views.js';
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** Options of `topK`. */
export interface TopKOptions {
  /** The last one by default. */
  readonly axis?: number | undefined;
  /** The largest elements (the default), or the least. */
  readonly largest?: boolean | undefined;
  /** Whether they have to be in order, as they are in any case. */
  readonly sorted?: boolean | undefined;
}

/**
 * The `k` largest elements along an axis (the last one), the largest first, and their int64 indices: `const {
 * values, indices } = topK(x, 5)`. `{ largest: false }` gives the least, the least first. Of equal elements
 * the one with the lowest index comes first, and NaN is last in either case: so results are those of a stable
 * `argsort`, of which long rows need no sort. Throws a RangeArgumentError for a `k` that is negative or
 * beyond the axis, where its size depends on data when it is computed.
 *
 * @example
 * const { values, indices } = topK([30, 10, 20], 2)
 * await values.compute()
 * //=> [30. 20.]
 * await indices.compute()
 * //=> [0 2]
 */
export function topK<T extends ArrayLike>(
  x: T,
  k: number,
  options?: TopKOptions,
): { readonly values: Lazy<DTypeOf<T>>; readonly indices: Lazy<'int64'> };
export function topK(
  x: ArrayLike,
  k: number,
  options: TopKOptions = {},
  ...more: readonly unknown[]
): { readonly values: Lazy; readonly indices: Lazy<'int64'> } {
  return called(topK, () => {
    refuseMore('topK', 3, [x, k, options, ...more]);
    checkOptions('topK', options, ['axis', 'largest', 'sorted']);
    const { axis = -1, largest = true, sorted = true } = options;
    for (const [name, value] of Object.entries({ largest, sorted })) {
      if (typeof value !== 'boolean')
        throw new ArgumentError(expected('topK', `${name} to be true or false`, formatValue(value)));
    }
    const source = exprOf('topK', x);
    const at = normalizeAxis('topK', axis, source.shape.length);
    const size = source.shape[at]!;
    const count = checkInteger('topK', 'k', k);
    if (count < 0 || count > size)
      throw new RangeArgumentError(expected('topK', `k from 0 to ${size}, the axis' size`, String(count)));
    const [values, indices] = firstAlong(source, at, count, largest);
    return { values: new Lazy(values), indices: new Lazy(indices) };
  });
}

/** The first elements along an axis in the order of `argsort`, and their indices. */
function firstAlong(x: Expr, axis: number, count: number, descending: boolean): readonly [Expr, Expr] {
  const last = x.shape.length - 1;
  const isWithin = x.extent?.axis === axis;
  const source = isWithin ? withinLength(x, lastInOrder(x.dtype, descending)) : upToBound(x);
  const [values, indices] = firstOf(moveaxis(source, axis, last), count, descending);
  const needed = isWithin && count > 0 ? reshape(placesIn('topK', x, [count - 1]), []) : undefined;
  const placed = (found: Expr): Expr => {
    const checked =
      needed === undefined
        ? found
        : gather(found, needingPlace(iota(count), needed), last, 'clip', found.shape);
    const moved = moveaxis(checked, last, axis);
    return isWithin || x.extent === undefined ? moved : withExtent(moved, x.extent.axis, x.extent.length);
  };
  return [placed(values), placed(indices)];
}

/**
 * The int64 positions along an axis (the last one) that sort by several keys, the last one first, as NumPy's
 * `lexsort`: `lexsort([firstNames, surnames])` sorts by surnames, equal ones by first names. Keys are arrays
 * of one shape; elements that are equal in all keep their order, NaN is last. Throws an ArgumentError for no
 * keys, a ShapeError for keys of other shapes.
 *
 * @example
 * const surnames = [2, 1, 2]
 * const firstNames = [5, 9, 4]
 * await lexsort([firstNames, surnames]).compute()
 * //=> [1 2 0]
 */
export function lexsort(keys: readonly ArrayLike[], axis?: number): Lazy<'int64'>;
export function lexsort(keys: readonly ArrayLike[], axis = -1, ...more: readonly unknown[]): Lazy<'int64'> {
  return called(lexsort, () => {
    refuseMore('lexsort', 2, [keys, axis, ...more]);
    if (!Array.isArray(keys) || keys.length === 0)
      throw new ArgumentError(expected('lexsort', 'a list of keys', formatValue(keys)));
    const exprs = Array.from(keys as readonly ArrayLike[], (key) => exprOf('lexsort', key));
    const [first] = exprs;
    const other = exprs.find(({ shape }) => !sameShape(shape, first!.shape));
    if (other !== undefined) {
      const wanted = `keys of the shape of the first, ${formatShape(first!.shape)}`;
      throw new ShapeError(expected('lexsort', wanted, formatShape(other.shape)));
    }
    const at = normalizeAxis('lexsort', axis, first!.shape.length);
    meetingExtent('lexsort', exprs, first!.shape);
    const order = exprs
      .slice(1)
      .reduce(
        (before, key) => inOrder(before, argsort(inOrder(key, before, at), at), at),
        argsort(first!, at),
      );
    return new Lazy(order);
  });
}
