/**
 * Functions of several results whose sizes depend on data: nonzero, uniqueAll, uniqueCounts, uniqueInverse. The
 * definition of distinct elements, and their order, stand in `graph/sets.ts`.
 */
import { refuseMore } from '../graph/arguments.js';
import { slice } from '../graph/basic-slicing.js';
import { firsts, isForTable, placesWhere, uniqueCountsIn, unraveled } from '../graph/compaction.js';
import type { Expr } from '../graph/expr.js';
import { throughBound, upToBound, withExtent } from '../graph/extent.js';
import { formatShape } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { constant, iota, map } from '../graph/infer.js';
import { padTo } from '../graph/joins.js';
import { inShapeOf } from '../graph/lines.js';
import { cumulativeSum } from '../graph/scans.js';
import { argsort, sort } from '../graph/sorting.js';
import { broadcast, gather } from '../graph/view-nodes.js';
import { flatten } from '../graph/views.js';
import { expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/**
 * The indices of the elements that are not 0, in C order, an int64 array for each axis, as NumPy's `nonzero`: their
 * size depends on data. Throws a ShapeError for an array without axes.
 *
 * @example
 * const [rows, columns] = nonzero([[0, 7], [5, 0]])
 * await columns!.compute()
 * //=> [1 0]
 */
export function nonzero(x: ArrayLike): Lazy<'int64'>[];
export function nonzero(x: ArrayLike, ...more: readonly unknown[]): Lazy[] {
  return called(nonzero, () => {
    refuseMore('nonzero', 1, [x, ...more]);
    const array = exprOf('nonzero', x);
    if (array.shape.length === 0)
      throw new ShapeError(expected('nonzero', 'an array with axes', formatShape(array.shape)));
    return unraveled(placesWhere(array), array.shape).map((index) => new Lazy(index));
  });
}

/** The distinct elements of an array, and how often each occurs. */
export interface UniqueCounts<T extends ArrayLike> {
  readonly values: Lazy<DTypeOf<T>>;
  readonly counts: Lazy<'int64'>;
}
/** The distinct elements of an array, and which of them each of its elements is. */
export interface UniqueInverse<T extends ArrayLike> {
  readonly values: Lazy<DTypeOf<T>>;
  readonly inverseIndices: Lazy<'int64'>;
}
/** The distinct elements of an array, where each occurs first, which of them each element is, and how often. */
export interface UniqueAll<T extends ArrayLike> extends UniqueCounts<T>, UniqueInverse<T> {
  readonly indices: Lazy<'int64'>;
}

/**
 * The distinct elements in ascending order and how often each occurs, as `unique_counts` of the array API standard:
 * each NaN by itself. Their size depends on data.
 *
 * @example
 * const { values, counts } = uniqueCounts([3, 1, 3])
 * await counts.compute()
 * //=> [1 2]
 */
export function uniqueCounts<T extends ArrayLike>(x: T): UniqueCounts<T>;
export function uniqueCounts(x: ArrayLike, ...more: readonly unknown[]): object {
  return called(uniqueCounts, () => {
    refuseMore('uniqueCounts', 1, [x, ...more]);
    const { values, counts } = uniqueOf(exprOf('uniqueCounts', x), { hasPlaces: false });
    return { values: new Lazy(values()), counts: new Lazy(counts()) };
  });
}

/**
 * The distinct elements in ascending order and, in the shape of the array, which of them each element is, as
 * `unique_inverse` of the array API standard: `values.take(inverseIndices)` is the array. The
 * size of `values` depends on data.
 *
 * @example
 * const { values, inverseIndices } = uniqueInverse([3, 1, 3])
 * await inverseIndices.compute()
 * //=> [1 0 1]
 */
export function uniqueInverse<T extends ArrayLike>(x: T): UniqueInverse<T>;
export function uniqueInverse(x: ArrayLike, ...more: readonly unknown[]): object {
  return called(uniqueInverse, () => {
    refuseMore('uniqueInverse', 1, [x, ...more]);
    const { values, inverse } = uniqueOf(exprOf('uniqueInverse', x));
    return { values: new Lazy(values()), inverseIndices: new Lazy(inverse()) };
  });
}

/**
 * The distinct elements in ascending order, the place of the first of each in C order, which of them each element is,
 * in the shape of the array, and how often each occurs, as `unique_all` of the array API standard. Sizes depend on
 * data, but for that of `inverseIndices`.
 *
 * @example
 * const { values, indices, inverseIndices, counts } = uniqueAll([3, 1, 3])
 * await inverseIndices.compute()
 * //=> [1 0 1]
 */
export function uniqueAll<T extends ArrayLike>(x: T): UniqueAll<T>;
export function uniqueAll(x: ArrayLike, ...more: readonly unknown[]): object {
  return called(uniqueAll, () => {
    refuseMore('uniqueAll', 1, [x, ...more]);
    const { values, indices, inverse, counts } = uniqueOf(exprOf('uniqueAll', x));
    return {
      values: new Lazy(values()),
      indices: new Lazy(indices()),
      inverseIndices: new Lazy(inverse()),
      counts: new Lazy(counts()),
    };
  });
}

type Made = Readonly<Record<'values' | 'indices' | 'inverse' | 'counts', () => Expr>>;

/**
 * Distinct elements as a sort finds them; where places in x are wanted, it is stable, so that the first of equals is the
 * first of all.
 */
function uniqueOf(x: Expr, { hasPlaces } = { hasPlaces: true }): Made {
  const size = sizeOfShape(x.shape);
  const none = (dtype: Expr['dtype'], shape: readonly number[]) => (): Expr =>
    broadcast(constant(0, dtype), shape);
  if (size === 0) {
    const empty = none('int64', [0]);
    const inverse = (): Expr => throughBound(x, none('int64', x.shape));
    return { values: none(x.dtype, [0]), indices: empty, inverse, counts: empty };
  }
  const line = flatten(x);
  const order = upToBound(argsort(line));
  const sorted = hasPlaces
    ? throughBound(line, (bound) => gather(bound, order, 0, 'clip', bound.shape))
    : sort(line);
  const isFirst = firsts(sorted);
  const places = placesWhere(isFirst);
  const at = (from: Expr): Expr => gather(upToBound(from), places, 0, 'clip', places.shape);
  const counts = (): Expr => {
    const { length } = places.extent!;
    const next = map('add', [iota(places.shape[0]!), 1]);
    const starts = padTo(slice(upToBound(places), [1, null]), [0], places.shape);
    const end = map('where', [map('less', [next, length]), starts, line.extent?.length ?? size]);
    return withExtent(map('subtract', [end, upToBound(places)]), 0, length);
  };
  const counted = hasPlaces || !isForTable(x) ? undefined : uniqueCountsIn(line, [at(sorted), counts()]);
  return {
    values: () => counted?.[0] ?? at(sorted),
    indices: () => at(order),
    inverse: () => {
      const rank = map('subtract', [cumulativeSum(isFirst), 1]);
      return inShapeOf(x, gather(rank, argsort(order), 0, 'clip', line.shape));
    },
    counts: () => counted?.[1] ?? counts(),
  };
}
