/** Reductions that users write as functions of scalars: `reduction`. */
import { type ReduceOptions, reduceArguments, refuseMore } from '../graph/arguments.js';
import { type DType, promote } from '../graph/dtype.js';
import { hasLoop } from '../graph/element-loop.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import { formatValue } from '../graph/format.js';
import { broadcastLike, cast, constant } from '../graph/infer.js';
import type { UserMonoid } from '../graph/loop-step.js';
import { accumulatorOf } from '../graph/reductions.js';
import { isScalar } from '../graph/scalar.js';
import { type Axes, ascendingAxes } from '../graph/shape.js';
import { reduceByTree } from '../graph/tree-reduction.js';
import { type Accumulator, type Combine, reduceByMonoid, userMonoid } from '../graph/user-monoid.js';
import { broadcast, reshape } from '../graph/view-nodes.js';
import { permuteDims } from '../graph/views.js';
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import type { Captures } from '../language/names.js';
import type { ScalarFunction } from '../language/scalar-function.js';
import { capturesOf, operandOf, type ScalarResult, tracedFunction } from './element-functions.js';
import type { ArrayLike } from './fluent-types.js';
import { Lazy } from './lazy.js';
import { isRecord } from './structure.js';

/** The functions of a reduction. An accumulator A is a number, or a list of numbers. */
export interface Monoid<A extends ScalarResult, R extends ScalarResult> {
  /** The accumulator that changes no other, however often it is combined: the result of no elements. */
  readonly identity: ScalarResult;
  /** The accumulator of an element of each array; without it, the element itself. */
  readonly map?: ((...elements: never[]) => A) | undefined;
  /** Two accumulators as one. It has to be associative; elements keep their order. */
  readonly combine: (a: A, b: A) => A;
  /** The result; without it, the accumulator. */
  readonly finish?: ((a: A) => R) | undefined;
  /** As for `elementwise`, for all of them. */
  readonly captures?: Captures | undefined;
  /** The name in error messages. */
  readonly name?: string | undefined;
}

/** A reduction of arrays, which broadcast: over all axes, or those that the last argument says. */
export type UserReduction<R extends ScalarResult> = (
  ...args: [...arrays: ArrayLike[], axis: ArrayLike | Axes | null | (ReduceOptions & { axis?: Axes | null })]
) => R extends infer List extends readonly unknown[] ? { -readonly [K in keyof List]: Lazy } : Lazy;

const FIELDS = ['identity', 'map', 'combine', 'finish', 'captures', 'name'];

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
    const made = new MonoidFunctions(monoid);
    const apply = (...args: readonly unknown[]): Lazy | Lazy[] =>
      called(apply, () => {
        const results = made.apply(args);
        return Array.isArray(results) ? results.map((expr) => new Lazy(expr)) : new Lazy(results as Expr);
      });
    return apply;
  });
}

class MonoidFunctions {
  readonly #name: string;
  readonly #identity: readonly (number | bigint | boolean)[];
  readonly #isList: boolean;
  readonly #map: ScalarFunction;
  readonly #combine: ScalarFunction;
  readonly #finish: ScalarFunction | undefined;
  /** By the dtypes of their accumulators. */
  readonly #monoids = new Map<string, UserMonoid>();

  constructor(monoid: Monoid<ScalarResult, ScalarResult>) {
    if (!isRecord(monoid))
      throw new ArgumentError(
        expected('reduction', '{ identity, map, combine, finish }', formatValue(monoid)),
      );
    const unknown = Object.keys(monoid).find((field) => !FIELDS.includes(field));
    if (unknown !== undefined)
      throw new ArgumentError(expected('reduction', `fields ${FIELDS.join(', ')}`, unknown));
    const { identity, map = (x: number) => x, combine, finish, name = 'reduction' } = monoid;
    this.#name = name;
    this.#isList = Array.isArray(identity);
    this.#identity = Array.isArray(identity) ? [...identity] : [identity as number];
    if (this.#identity.length === 0 || !this.#identity.every(isScalar))
      throw new ArgumentError(expected('reduction', 'an identity of numbers', formatValue(identity)));
    const captures = capturesOf('reduction', monoid.captures);
    const traced = (fn: CallableFunction): ScalarFunction => tracedFunction('reduction', name, fn, captures);
    this.#map = traced(map);
    this.#combine = traced(combine);
    this.#finish = finish === undefined ? undefined : traced(finish);
    this.#map.check();
    const length = this.#isList ? this.#identity.length : undefined;
    this.#combine.check([length, length]);
    this.#finish?.check([length]);
  }

  apply(args: readonly unknown[]): Expr | readonly Expr[] {
    const { most } = this.#map.callable;
    refuseMore(this.#name, most + 1, args);
    const { axis, keepdims } = reduceArguments(this.#name, args[most] as Axes | undefined, undefined, []);
    const mapped = this.#mapped(args.slice(0, most));
    const { shape } = mapped[0]!;
    const axes = ascendingAxes(this.#name, axis, shape.length);
    const kept = shape.map((size, k) => (axes.includes(k) ? 1 : size));
    const reduced = this.#reduced(mapped, axes).map((x) => reshape(x, kept));
    const finished = this.#finished(reduced);
    const withoutAxes = kept.filter((_, k) => !axes.includes(k));
    const shaped = (x: Expr): Expr => (keepdims === true ? x : reshape(x, withoutAxes));
    return Array.isArray(finished) ? finished.map(shaped) : shaped(finished as Expr);
  }

  /** The accumulators of the elements, in one shape. */
  #mapped(args: readonly unknown[]): Accumulator {
    const operands = args.map((arg) => operandOf(this.#name, arg));
    const made = this.#map.apply(operands);
    const list = Array.isArray(made) ? made : [made];
    for (const each of list) needSizes(this.#name, each);
    if (list.length !== this.#identity.length || Array.isArray(made) !== this.#isList)
      throw new ArgumentError(
        expected(
          this.#name,
          `${this.#identity.length} numbers from map, as the identity has`,
          `${list.length}`,
        ),
      );
    return this.#stable(list.map((each) => broadcastLike(this.#name, each, list)));
  }

  /** Accumulators in dtypes that `combine` keeps. */
  #stable(list: Accumulator): Accumulator {
    const next = this.#combined(list, list);
    const wide = list.map((x, k) => cast(x, promote(x.dtype, next[k]!.dtype)));
    const again = this.#combined(wide, wide);
    const changed = again.findIndex((x, k) => x.dtype !== wide[k]!.dtype);
    if (changed < 0) return wide;
    const { dtype } = wide[changed]!;
    throw new DTypeError(expected(this.#name, `combine to keep ${dtype}`, again[changed]!.dtype));
  }

  readonly #combined: Combine = (a, b) => {
    const made = this.#combine.apply(this.#isList ? [a, b] : [a[0]!, b[0]!]);
    const list = Array.isArray(made) ? made : [made];
    if (list.length === this.#identity.length) return list;
    throw new ArgumentError(
      expected(
        this.#name,
        `${this.#identity.length} numbers from combine, as the identity has`,
        `${list.length}`,
      ),
    );
  };

  #reduced(values: Accumulator, axes: readonly number[]): Accumulator {
    const { shape } = values[0]!;
    const others = shape.flatMap((_, k) => (axes.includes(k) ? [] : [k]));
    const count = axes.reduce((n, axis) => n * shape[axis]!, 1);
    const sizes = others.map((axis) => shape[axis]!);
    if (count === 0)
      return values.map((x, k) => broadcast(constant(this.#identity[k]!, x.dtype), [...sizes, 1]));
    if (axes.length === 0) return values;
    // Halves are combined in float32, and the result is rounded.
    const wide = values.map((x) => cast(x, accumulatorOf(x.dtype)));
    const monoid = this.#monoidOf(wide.map(({ dtype }) => dtype));
    if (!hasLoop(monoid.combine))
      return reduceByMonoid(monoid, wide, axes).map((x, k) => cast(x, values[k]!.dtype));
    const lines = values.map((x) => reshape(permuteDims(x, [...others, ...axes]), [...sizes, count]));
    return reduceByTree(lines, this.#combined);
  }

  #monoidOf(dtypes: readonly DType[]): UserMonoid {
    const key = dtypes.join();
    const made = this.#monoids.get(key) ?? userMonoid(dtypes, this.#identity, this.#combined);
    this.#monoids.set(key, made);
    return made;
  }

  #finished(reduced: Accumulator): Expr | readonly Expr[] {
    if (this.#finish === undefined) return this.#isList ? reduced : reduced[0]!;
    return this.#finish.apply(this.#isList ? [reduced] : [reduced[0]!]);
  }
}
