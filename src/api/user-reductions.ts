/** Reductions and scans that users write as functions of scalars: `reduction`, `scan`. */
import { type ReduceOptions, refuseMore } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import type { Axes } from '../graph/shape.js';
import { called } from '../host/site.js';
import type { ScalarResult } from './element-functions.js';
import type { ArrayLike } from './fluent-types.js';
import { Lazy } from './lazy.js';
import { type Monoid, MonoidFunctions, monoidParts, type UserScanOptions } from './monoid-functions.js';

/** An array for each number that a function of scalars returns. */
type ArraysOf<R extends ScalarResult> = R extends infer List extends readonly unknown[]
  ? { -readonly [K in keyof List]: Lazy }
  : Lazy;

/** A reduction of arrays, which broadcast: over all axes, or those that the last argument says. */
export type UserReduction<R extends ScalarResult> = (
  ...args: [...arrays: ArrayLike[], axis: ArrayLike | Axes | null | (ReduceOptions & { axis?: Axes | null })]
) => ArraysOf<R>;

/** A scan of arrays, which broadcast, along the axis that the last argument says. */
export type UserScan<R extends ScalarResult> = (
  ...args: [...arrays: ArrayLike[], axis: ArrayLike | number | null | UserScanOptions]
) => ArraysOf<R>;

/**
 * A reduction from functions of scalars, in the language of `elementwise`: `map` makes an accumulator of each
 * element, `combine` joins two, `finish` gives the result. Accumulators may be lists, and so may results, which are
 * several arrays then. It takes as many arrays as `map` has parameters, then the axes or `{ axis, keepdims }`.
 *
 * It is one kernel, with maps before and after it. The order is a tree of neighbours that follows from the shape alone, so
 * the bits are the same whatever the tiles, and `combine` need not commute. `identity` has to change no accumulator: it
 * may be combined any number of times. No elements give the identity, finished. Halves are combined in float32. A
 * `combine` with loops that depend on data runs in passes, over a sixteenth of the elements each.
 *
 * Throws an ArgumentError for functions that are not in the language, a DTypeError where `combine` gives another
 * dtype each time.
 *
 * @example
 * const norm = reduction({
 *   identity: 0,
 *   map: (x: number) => x * x,
 *   combine: (a: number, b: number) => a + b,
 *   finish: (a: number) => Math.sqrt(a),
 * });
 * console.log(await norm(lazy([[3, 4], [6, 8]]), 1).compute());
 * //=> [ 5. 10.]
 */
export function reduction<A extends ScalarResult, R extends ScalarResult = A>(
  monoid: Monoid<A, R>,
): UserReduction<R>;
export function reduction(monoid: Monoid<ScalarResult, ScalarResult>, ...more: readonly unknown[]): unknown {
  return called(reduction, () => {
    refuseMore('reduction', 1, [monoid, ...more]);
    const made = new MonoidFunctions(monoidParts('reduction', monoid));
    const apply = (...args: readonly unknown[]): Lazy | Lazy[] =>
      called(apply, () => {
        const results = made.reduce(args);
        return Array.isArray(results) ? results.map((expr) => new Lazy(expr)) : new Lazy(results as Expr);
      });
    return apply;
  });
}

/**
 * A scan from functions of scalars, in the language of `elementwise`: the accumulators of the elements along an axis up to
 * each place, by `map`, `combine` and `finish` as for `reduction`. It takes as many arrays as `map` has parameters, then
 * the axis, or `{ axis, exclusive, reverse }`; the axis may be left out where there is only one, and null takes all
 * elements as one line.
 *
 * The order is a tree that follows from the length of the axis alone, so the bits are the same whatever the tiles;
 * `combine` has to be associative, and need not commute. Totals of eight neighbours are scanned first, so that elements
 * are read twice and written once; where `combine` adds, multiplies or takes the least or largest, it is Weft's own scan, which
 * reads them once.
 *
 * Throws an ArgumentError for functions that are not in the language, or where the axis has to be named, a DTypeError where
 * `combine` gives another dtype each time.
 *
 * @example
 * // A linear recurrence: y[i] = a[i] * y[i - 1] + b[i].
 * const recurrence = scan({
 *   identity: [1, 0],
 *   map: (a: number, b: number): [number, number] => [a, b],
 *   combine: ([a, b]: [number, number], [c, d]: [number, number]): [number, number] => [a * c, b * c + d],
 *   finish: ([, y]: [number, number]) => y,
 * });
 * console.log(await recurrence(lazy([0.5, 0.5, 2]), lazy([1, 1, 1])).compute());
 * //=> [1.  1.5 4. ]
 */
export function scan<A extends ScalarResult, R extends ScalarResult = A>(monoid: Monoid<A, R>): UserScan<R>;
export function scan(monoid: Monoid<ScalarResult, ScalarResult>, ...more: readonly unknown[]): unknown {
  return called(scan, () => {
    refuseMore('scan', 1, [monoid, ...more]);
    const made = new MonoidFunctions(monoidParts('scan', monoid));
    const apply = (...args: readonly unknown[]): Lazy | Lazy[] =>
      called(apply, () => {
        const results = made.scan(args);
        return Array.isArray(results) ? results.map((expr) => new Lazy(expr)) : new Lazy(results as Expr);
      });
    return apply;
  });
}
