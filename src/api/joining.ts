/**
 * Functions that take or give several arrays: concat, append, stack, unstack, split, select, meshgrid, broadcastArrays,
 * resultType.
 */

import { checkOptions, refuseMore } from '../graph/arguments.js';
import { slice } from '../graph/basic-slicing.js';
import type { DType } from '../graph/dtype.js';
import type { Joined } from '../graph/dtype-types.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import { formatShape, formatValue } from '../graph/format.js';
import { besideArray, cast, checkDType, constant, map, meetingDType } from '../graph/infer.js';
import { concat as concatOf, stack as stackOf } from '../graph/joins.js';
import { isScalar } from '../graph/scalar.js';
import { broadcastShapes, checkInteger, normalizeAxis } from '../graph/shape.js';
import { broadcast, reshape } from '../graph/view-nodes.js';
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

const LISTED = 'arrays are one list: [x, y]';

/** Options of `meshgrid`. */
export interface MeshgridOptions {
  /**
   * `'xy'` (the default): the first array runs along the second axis, as in plots; `'ij'`: array k along axis
   * k.
   */
  readonly indexing?: 'xy' | 'ij' | undefined;
}

/**
 * Coordinate arrays of a grid: of n lines, n arrays of n axes, each line spread over the others.
 *
 * @example
 * const [x, y] = meshgrid([arange(3), arange(2)])
 * await x!.add(y!.mul(10)).compute()
 * //=> [[ 0.  1.  2.]
 * //=>  [10. 11. 12.]]
 */
export function meshgrid<T extends ArrayLike>(
  arrays: readonly T[],
  options?: MeshgridOptions,
): Lazy<DTypeOf<T>>[];
export function meshgrid(
  arrays: readonly ArrayLike[],
  options?: MeshgridOptions,
  ...more: readonly unknown[]
): Lazy[] {
  return called(meshgrid, () => {
    refuseMore('meshgrid', 2, [arrays, options, ...more], LISTED);
    const lines = listOf('meshgrid', arrays);
    checkOptions('meshgrid', options, ['indexing']);
    const indexing = options?.indexing ?? 'xy';
    if (indexing !== 'xy' && indexing !== 'ij') {
      throw new ArgumentError(expected('meshgrid', "indexing 'xy' or 'ij'", formatValue(indexing)));
    }
    const wrong = lines.find((line) => line.shape.length > 1);
    if (wrong !== undefined) {
      throw new ShapeError(expected('meshgrid', 'arrays of one axis', formatShape(wrong.shape)));
    }
    const ndim = lines.length;
    const axisOf = (k: number): number => (indexing === 'xy' && ndim > 1 && k < 2 ? 1 - k : k);
    const spread = lines.map((line, k) =>
      reshape(
        line,
        Array.from({ length: ndim }, (_, axis) => (axis === axisOf(k) ? (line.shape[0] ?? 1) : 1)),
      ),
    );
    const shape = broadcastShapes(
      'meshgrid',
      spread.map((line) => line.shape),
    );
    return spread.map((line) => new Lazy(broadcast(line, shape)));
  });
}

function listOf(op: string, arrays: unknown): Expr[] {
  if (!Array.isArray(arrays))
    throw new ArgumentError(expected(op, 'a list of arrays', formatValue(arrays), LISTED));
  return Array.from(arrays, (array) => exprOf(op, array)); // holes of a list are not skipped
}

/**
 * Arrays one after the other along an axis (0) that they have; `null` flattens them first. Other sizes must
 * agree (else a ShapeError); dtypes are promoted. Sizes along the axis may depend on data: so does the result's then.
 *
 * @example
 * await concat([lazy([1, 2]), lazy([3])]).compute()
 * //=> [1. 2. 3.]
 */
export function concat<T extends ArrayLike>(
  arrays: readonly T[],
  axis?: number | null,
): Lazy<Joined<DTypeOf<T>>>;
export function concat(
  arrays: readonly ArrayLike[],
  axis: number | null = 0,
  ...more: readonly unknown[]
): Lazy {
  return called(concat, () => {
    refuseMore('concat', 2, [arrays, axis, ...more], LISTED);
    return new Lazy(concatOf(listOf('concat', arrays), axis));
  });
}

/**
 * The values behind the elements of an array, as NumPy's `append`: along an axis that both have, or, without one, as
 * one line of all elements. `append(x.slice(x.greater(0)), [0])`. It gives a new array, whose dtype is promoted, as
 * `concat([x, values], axis)` does. Throws a ShapeError where other sizes differ.
 *
 * @example
 * await append([1, 2], [3]).compute()
 * //=> [1. 2. 3.]
 */
export function append<T extends ArrayLike, V extends ArrayLike>(
  x: T,
  values: V,
  axis?: number | null,
): Lazy<Joined<DTypeOf<T> | DTypeOf<V>>>;
export function append(
  x: ArrayLike,
  values: ArrayLike,
  axis: number | null = null,
  ...more: readonly unknown[]
): Lazy {
  return called(append, () => {
    refuseMore('append', 3, [x, values, axis, ...more]);
    return new Lazy(concatOf([exprOf('append', x), exprOf('append', values)], axis, 'append'));
  });
}

/**
 * Arrays of one shape (else a ShapeError) along a new axis, which stands at place `axis` (0) of the result.
 *
 * @example
 * await stack([lazy([1, 2]), lazy([3, 4])], 1).compute()
 * //=> [[1. 3.]
 * //=>  [2. 4.]]
 */
export function stack<T extends ArrayLike>(arrays: readonly T[], axis?: number): Lazy<Joined<DTypeOf<T>>>;
export function stack(arrays: readonly ArrayLike[], axis = 0, ...more: readonly unknown[]): Lazy {
  return called(stack, () => {
    refuseMore('stack', 2, [arrays, axis, ...more], LISTED);
    return new Lazy(stackOf(listOf('stack', arrays), axis));
  });
}

/**
 * The parts of an array along an axis (the first), each without that axis: what `stack` puts together.
 *
 * @example
 * const [first, second] = unstack([[1, 2], [3, 4]])
 * await second!.compute()
 * //=> [3. 4.]
 */
export function unstack<T extends ArrayLike>(x: T, axis?: number): Lazy<DTypeOf<T>>[];
export function unstack(x: ArrayLike, axis = 0, ...more: readonly unknown[]): Lazy[] {
  return called(unstack, () => {
    refuseMore('unstack', 2, [x, axis, ...more]);
    const whole = exprOf('unstack', x);
    const along = normalizeAxis('unstack', axis, whole.shape.length);
    if (whole.extent?.axis === along) needSizes('unstack', whole);
    const before = Array<null>(along).fill(null);
    return Array.from({ length: whole.shape[along]! }, (_, k) => new Lazy(slice(whole, ...before, k)));
  });
}

/**
 * The parts of an array along an axis (the first): so many of one size, or those that begin at the places of a list,
 * as NumPy's `split`: `split(x, [2, 5])` gives elements 0 and 1, 2 to 4, and the rest. Places are those of slices:
 * negative ones count from the end. Throws a ShapeError where an axis is not a multiple of the number of parts.
 *
 * @example
 * const [head, tail] = split(arange(5), [2])
 * await tail!.compute()
 * //=> [2. 3. 4.]
 */
export function split<T extends ArrayLike>(
  x: T,
  parts: number | readonly number[],
  axis?: number,
): Lazy<DTypeOf<T>>[];
export function split(
  x: ArrayLike,
  parts: number | readonly number[],
  axis = 0,
  ...more: readonly unknown[]
): Lazy[] {
  return called(split, () => {
    refuseMore('split', 3, [x, parts, axis, ...more]);
    const whole = exprOf('split', x);
    const along = normalizeAxis('split', axis, whole.shape.length);
    if (whole.extent?.axis === along && typeof parts === 'number') needSizes('split', whole);
    const places = placesOf(parts, whole.shape[along]!);
    const before = Array<null>(along).fill(null);
    return [...places, null].map(
      (end, k) => new Lazy(slice(whole, ...before, [k === 0 ? 0 : places[k - 1]!, end])),
    );
  });
}

/** Where all parts but the first begin. */
function placesOf(parts: unknown, size: number): readonly number[] {
  if (Array.isArray(parts)) return parts.map((place) => checkInteger('split', 'a place', place));
  const count = checkInteger('split', 'a number of parts', parts);
  if (count < 1) throw new ShapeError(expected('split', 'one part or more', `${count}`));
  if (size % count !== 0) {
    const hint = 'a list of places gives parts of different sizes';
    throw new ShapeError(expected('split', `an axis that ${count} divides`, `${size} elements`, hint));
  }
  return Array.from({ length: count - 1 }, (_, k) => ((k + 1) * size) / count);
}

/**
 * Of several choices that of the first condition that is true, element by element, as NumPy's `select`: `otherwise`
 * (0) where none is. `select([x.less(0), x.greater(9)], [x.neg(), 9], x)`. Conditions are booleans; all broadcast.
 * Throws an ArgumentError for lists of different lengths and for empty ones, a DTypeError for other conditions.
 *
 * @example
 * const x = lazy([-2, 0, 5])
 * await select([x.less(0), x.greater(3)], [0, 3], x).compute()
 * //=> [0. 0. 3.]
 */
export function select(
  conditions: readonly ArrayLike[],
  choices: readonly ArrayLike[],
  otherwise: ArrayLike = 0,
  ...more: readonly unknown[]
): Lazy {
  return called(select, () => {
    refuseMore('select', 3, [conditions, choices, otherwise, ...more]);
    const tests = listOf('select', conditions);
    if (!Array.isArray(choices) || choices.length !== tests.length || tests.length === 0)
      throw new ArgumentError(
        expected('select', `a choice for each of ${tests.length} conditions`, formatValue(choices)),
      );
    for (const { dtype } of tests)
      if (dtype !== 'bool') throw new DTypeError(expected('select', 'conditions of dtype bool', dtype));
    // All values meet in one dtype, as if they were chosen at once.
    const values = [...choices, otherwise].map((value) =>
      isScalar(value) ? value : exprOf('select', value),
    );
    const dtype = meetingDType('select', values);
    const [last, ...rest] = values.map((value) => besideArray('select', value, dtype)).reverse();
    const chosen = rest.reduce(
      (found, value, k) => map('where', [tests.at(-1 - k)!, value, found], 'select'),
      last!,
    );
    return new Lazy(cast(chosen, dtype));
  });
}

/**
 * The dtype in which arrays, dtypes and scalars meet, as NumPy's `result_type`: scalars are weak. Throws an
 * ArgumentError where none is given.
 *
 * @example
 * resultType('int32', 'float32')
 * //=> float64
 * resultType('float32', 2.5)
 * //=> float32
 */
export function resultType(...operands: readonly (ArrayLike | DType)[]): DType {
  if (operands.length === 0) throw new ArgumentError(expected('resultType', 'at least one argument', 'none'));
  return called(resultType, () =>
    meetingDType(
      'resultType',
      operands.map((operand) => {
        if (typeof operand === 'string') return constant(0, checkDType('resultType', operand));
        return isScalar(operand) ? operand : exprOf('resultType', operand);
      }),
    ),
  );
}

/**
 * The arrays broadcast against each other. Throws a ShapeError where their shapes do not broadcast.
 *
 * @example
 * const [a, b] = broadcastArrays([lazy([1, 2]), lazy([[10], [20]])])
 * await a!.add(b!).compute()
 * //=> [[11. 12.]
 * //=>  [21. 22.]]
 */
export function broadcastArrays<T extends ArrayLike>(arrays: readonly T[]): Lazy<DTypeOf<T>>[];
export function broadcastArrays(arrays: readonly ArrayLike[], ...more: readonly unknown[]): Lazy[] {
  return called(broadcastArrays, () => {
    refuseMore('broadcastArrays', 1, [arrays, ...more], LISTED);
    const exprs = listOf('broadcastArrays', arrays);
    const shape = broadcastShapes(
      'broadcastArrays',
      exprs.map((x) => x.shape),
    );
    return exprs.map((x) => new Lazy(broadcast(x, shape)));
  });
}
