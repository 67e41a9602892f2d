/** Monoids that users write as functions of scalars, as reductions and scans take them. */
import { checkOptions, reduceArguments, refuseMore } from '../graph/arguments.js';
import { type DType, promote } from '../graph/dtype.js';
import { hasLoop } from '../graph/element-loop.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import { formatShape, formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { broadcastLike, cast, constant } from '../graph/infer.js';
import type { UserMonoid } from '../graph/loop-step.js';
import { accumulatorOf } from '../graph/reductions.js';
import { isScalar } from '../graph/scalar.js';
import { type Axes, ascendingAxes, normalizeAxis } from '../graph/shape.js';
import { reduceByTree } from '../graph/tree-reduction.js';
import { inclusiveScan, type Scanning, shifted } from '../graph/tree-scan.js';
import {
  type Accumulator,
  type Combine,
  reduceByMonoid,
  scanByMonoid,
  userMonoid,
} from '../graph/user-monoid.js';
import { broadcast, reshape } from '../graph/view-nodes.js';
import { flatten, flip, moveaxis, permuteDims } from '../graph/views.js';
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import type { Captures } from '../language/names.js';
import type { ScalarFunction } from '../language/scalar-function.js';
import type { Operand } from '../language/value.js';
import { capturesOf, operandOf, type ScalarResult, tracedFunction } from './element-functions.js';
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

const FIELDS = ['identity', 'map', 'combine', 'finish', 'captures', 'name'];

/** The results of a function of arrays; a list where it returns one. */
type Apply = (args: readonly (Operand | readonly Expr[])[]) => Expr | readonly Expr[];

/** The functions of a monoid on arrays. */
export interface MonoidParts {
  /** In error messages. */
  readonly name: string;
  /** Arrays that `map` takes. */
  readonly count: number;
  readonly identity: readonly (number | bigint | boolean)[];
  /** Whether accumulators are lists. */
  readonly isList: boolean;
  readonly map: Apply;
  readonly combine: Apply;
  readonly finish: Apply | undefined;
}

/** The parts of a monoid in the language of `elementwise`. `op`: the function that it was given to. */
export function monoidParts(op: string, monoid: Monoid<ScalarResult, ScalarResult>): MonoidParts {
  if (!isRecord(monoid))
    throw new ArgumentError(expected(op, '{ identity, map, combine, finish }', formatValue(monoid)));
  const unknown = Object.keys(monoid).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw new ArgumentError(expected(op, `fields ${FIELDS.join(', ')}`, unknown));
  const { identity: given, name = op } = monoid;
  const isList = Array.isArray(given);
  const identity: MonoidParts['identity'] = Array.isArray(given) ? [...given] : [given as number];
  if (identity.length === 0 || !identity.every(isScalar))
    throw new ArgumentError(expected(op, 'an identity of numbers', formatValue(given)));
  const captures = capturesOf(op, monoid.captures);
  const traced = (fn: CallableFunction): ScalarFunction => tracedFunction(op, name, fn, captures);
  const map = traced(monoid.map ?? ((x: number) => x));
  const combine = traced(monoid.combine);
  const finish = monoid.finish === undefined ? undefined : traced(monoid.finish);
  map.check();
  const length = isList ? identity.length : undefined;
  combine.check([length, length]);
  finish?.check([length]);
  return {
    name,
    count: map.callable.most,
    identity,
    isList,
    map: (args) => map.apply(args),
    combine: (args) => combine.apply(args),
    finish: finish === undefined ? undefined : (args) => finish.apply(args),
  };
}

export class MonoidFunctions {
  readonly #name: string;
  readonly #parts: MonoidParts;
  readonly #identity: readonly (number | bigint | boolean)[];
  readonly #isList: boolean;
  /** By the dtypes of their accumulators. */
  readonly #monoids = new Map<string, UserMonoid>();

  constructor(parts: MonoidParts) {
    this.#parts = parts;
    this.#name = parts.name;
    this.#isList = parts.isList;
    this.#identity = parts.identity;
  }

  /** The reduction of arrays over the axes that the last argument says. */
  reduce(args: readonly unknown[]): Expr | readonly Expr[] {
    const { count: most } = this.#parts;
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
    return isList(finished) ? finished.map(shaped) : shaped(finished);
  }

  /** The scan of arrays along the axis that the last argument says. */
  scan(args: readonly unknown[]): Expr | readonly Expr[] {
    const { count: most } = this.#parts;
    refuseMore(this.#name, most + 1, args);
    const { axis, exclusive, reverse } = scanArguments(this.#name, args[most]);
    const mapped = this.#mapped(args.slice(0, most));
    const { shape } = mapped[0]!;
    if (axis === undefined && shape.length !== 1)
      throw new ArgumentError(
        expected(this.#name, 'an axis, or null for all elements', `the shape ${formatShape(shape)}`),
      );
    const source = axis === null ? mapped.map(flatten) : mapped;
    const last = source[0]!.shape.length - 1;
    const at = normalizeAxis(this.#name, axis ?? 0, last + 1);
    const wide = source.map((x) => cast(x, accumulatorOf(x.dtype)));
    const monoid = this.#monoidOf(wide.map(({ dtype }) => dtype));
    const builtIn = scanByMonoid(monoid, wide, at, { exclusive, reverse });
    if (builtIn !== undefined) return this.#finished(builtIn.map((x, k) => cast(x, source[k]!.dtype)));
    const lines = source.map((x) => directed(moveaxis(x, at, last), reverse));
    const scanned = this.#scanned(lines, exclusive).map((x) => moveaxis(directed(x, reverse), last, at));
    return this.#finished(scanned);
  }

  /** The accumulators of the elements, in one shape. */
  #mapped(args: readonly unknown[]): Accumulator {
    const operands = args.map((arg) => operandOf(this.#name, arg));
    const made = this.#parts.map(operands);
    const list = asList(made);
    for (const each of list) needSizes(this.#name, each);
    if (list.length !== this.#identity.length || isList(made) !== this.#isList)
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
    const made = this.#parts.combine(this.#isList ? [a, b] : [a[0]!, b[0]!]);
    const list = asList(made);
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

  #scanned(values: Accumulator, exclusive: boolean): Accumulator {
    if (sizeOfShape(values[0]!.shape) === 0) return values;
    const wide = values.map((x) => cast(x, accumulatorOf(x.dtype)));
    const last = values[0]!.shape.length;
    const scanning: Scanning = {
      identity: this.#identity,
      combine: this.#combined,
      totals: (groups) => this.#reduced(groups, [last]).map((x) => reshape(x, x.shape.slice(0, last))),
    };
    const inclusive = inclusiveScan(wide, scanning);
    const scanned = exclusive ? shifted(inclusive, scanning) : inclusive;
    return scanned.map((x, k) => cast(x, values[k]!.dtype));
  }

  #monoidOf(dtypes: readonly DType[]): UserMonoid {
    const key = dtypes.join();
    const made = this.#monoids.get(key) ?? userMonoid(dtypes, this.#identity, this.#combined);
    this.#monoids.set(key, made);
    return made;
  }

  #finished(reduced: Accumulator): Expr | readonly Expr[] {
    const { finish } = this.#parts;
    if (finish === undefined) return this.#isList ? reduced : reduced[0]!;
    return finish(this.#isList ? [reduced] : [reduced[0]!]);
  }
}

const isList = (made: Expr | readonly Expr[]): made is readonly Expr[] => Array.isArray(made);
const asList = (made: Expr | readonly Expr[]): readonly Expr[] => (isList(made) ? made : [made]);

/** Options of scans by monoids. */
export interface UserScanOptions {
  /** The axis, or null for all elements as one line; it may be left out where there is one. */
  readonly axis?: number | null | undefined;
  /** Each value is of the elements before its place, and not of that one itself. */
  readonly exclusive?: boolean | undefined;
  /** From the end of the axis to its beginning. */
  readonly reverse?: boolean | undefined;
}

function scanArguments(
  op: string,
  given: unknown,
): { axis: number | null | undefined; exclusive: boolean; reverse: boolean } {
  const options = (isRecord(given) ? given : { axis: given }) as UserScanOptions;
  checkOptions(op, options, ['axis', 'exclusive', 'reverse']);
  const { axis, exclusive = false, reverse = false } = options;
  for (const each of [exclusive, reverse])
    if (typeof each !== 'boolean')
      throw new ArgumentError(expected(op, 'exclusive and reverse to be true or false', formatValue(each)));
  return { axis, exclusive, reverse };
}

const directed = (x: Expr, reverse: boolean): Expr => (reverse ? flip(x, -1) : x);
