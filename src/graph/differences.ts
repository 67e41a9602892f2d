/**
 * Differences of neighbours: diff, the gradient, the trapezoidal rule. Every export is also a method of Lazy
 * and a free function (`fluent.ts`).
 */
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { checkOptions, finiteNumber } from './arguments.js';
import { slice } from './basic-slicing.js';
import { taps } from './borders.js';
import { isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { cast, constant, map, type Operand, reduce, toExpr } from './infer.js';
import { indexAlong, padTo } from './joins.js';
import { alongAxes, meetingMeanDType, throughFloat32 } from './reducing.js';
import { checkInteger, normalizeAxis } from './shape.js';

/**
 * Differences of neighbours along an axis (the last), `n` times (once): each time the axis is one shorter.
 * Booleans give whether neighbours differ. Throws a ShapeError for an array without axes or a negative count.
 *
 * @example
 * await lazy([1, 2, 4, 7]).diff().compute()
 * //=> [1. 2. 3.]
 */
export function diff(x: Expr, options?: { readonly n?: number; readonly axis?: number }): Expr {
  checkOptions('diff', options, ['n', 'axis']);
  const axis = normalizeAxis('diff', options?.axis ?? -1, x.shape.length);
  const times = checkInteger('diff', 'a count', options?.n ?? 1);
  if (times < 0) throw new ShapeError(expected('diff', 'a count of 0 or more', `${times}`));
  let result = x;
  for (let k = 0; k < times && result.shape[axis]! > 0; k++)
    result = map(x.dtype === 'bool' ? 'notEqual' : 'subtract', neighbours(result, axis));
  return result;
}

/**
 * The integral by the trapezoidal rule along an axis (the last): the sum of the means of neighbours, times how
 * far apart they are. `at` has the places of the elements, of one axis or of the shape of x; without them,
 * neighbours are `dx` (1) apart. Integers in float64. `y.trapezoid(x)`, `y.trapezoid(null, { dx: 0.1, axis: 0
 * })`. Throws a ShapeError for an array without axes and for places of other sizes, an ArgumentError for places
 * beside `dx`.
 *
 * @example
 * await lazy([1, 2, 3]).trapezoid().compute()
 * //=> 4.0
 */
export function trapezoid(
  x: Expr,
  at?: Operand | null,
  options?: { readonly dx?: number; readonly axis?: number },
): Expr {
  checkOptions('trapezoid', options, ['dx', 'axis']);
  const axis = normalizeAxis('trapezoid', options?.axis ?? -1, x.shape.length);
  if (at !== undefined && at !== null && options?.dx !== undefined)
    throw new ArgumentError(expected('trapezoid', 'places or dx', 'both'));
  const places =
    at === undefined || at === null
      ? undefined
      : alongAxes('trapezoid', 'places', toExpr('trapezoid', at), x, [axis]);
  const dx = finiteNumber('trapezoid', 'dx', options?.dx ?? 1);
  const dtype = meetingMeanDType('trapezoid', places === undefined ? [x] : [x, places]);
  return throughFloat32(cast(x, dtype), (values) => {
    const [later, earlier] = neighbours(values, axis);
    const means = map('divide', [map('add', [later, earlier]), 2]);
    const width = places === undefined ? dx : map('subtract', neighbours(cast(places, values.dtype), axis));
    return reduce('sum', map('multiply', [means, width]), [axis]);
  });
}

/** Options of `gradient`. */
export interface GradientOptions {
  /** The axis along which the derivative is taken; arrays of several axes need one. */
  readonly axis?: number | undefined;
  /** The order of the differences at both ends: 1 (the default) or 2. */
  readonly edgeOrder?: 1 | 2 | undefined;
}

/**
 * The derivative along an axis, in the shape of the array, as NumPy's `gradient`: central differences of second
 * order, one-sided ones at the ends. `spacing` is the distance of neighbours (1) or has the places of the
 * elements, an array of one axis; then interior values are the slopes of the parabola through three neighbours
 * (B. Fornberg, Mathematics of Computation 51, 1988). Integers in float64. `y.gradient(0.1)`,
 * `z.gradient(heights, { axis: 0, edgeOrder: 2 })`. Throws a ShapeError for fewer elements than the
 * differences need and for places of another size, an ArgumentError for an array of several axes without
 * `axis`, where NumPy gives a list.
 *
 * @example
 * await lazy([1, 2, 4, 7]).gradient().compute()
 * //=> [1.  1.5 2.5 3. ]
 * await lazy([0, 1, 9]).gradient(lazy([0, 1, 3])).compute()
 * //=> [1. 2. 4.]
 */
export function gradient(x: Expr, spacing?: Operand | null, options?: GradientOptions): Expr {
  const op = 'gradient';
  checkOptions(op, options, ['axis', 'edgeOrder']);
  const edgeOrder = options?.edgeOrder ?? 1;
  if (edgeOrder !== 1 && edgeOrder !== 2)
    throw new RangeArgumentError(expected(op, 'an edgeOrder of 1 or 2', formatValue(edgeOrder)));
  if (options?.axis === undefined && x.shape.length > 1)
    throw new ArgumentError(
      expected(op, 'an axis', formatShape(x.shape), 'of several axes, one derivative each'),
    );
  const axis = normalizeAxis(op, options?.axis ?? -1, x.shape.length);
  if (x.shape[axis]! <= edgeOrder) {
    const wanted = `${edgeOrder + 1} elements or more along axis ${axis}`;
    throw new ShapeError(expected(op, wanted, formatShape(x.shape)));
  }
  const distance =
    typeof (spacing ?? 1) === 'number'
      ? finiteNumber(op, 'a distance', (spacing ?? 1) as number)
      : toExpr(op, spacing as Operand);
  const given = typeof distance === 'number' ? [x] : [x, distance];
  const places =
    typeof distance === 'number' || distance.shape.length === 0
      ? undefined
      : alongAxes(op, 'places', lineOf(op, distance), x, [axis]);
  return throughFloat32(cast(x, meetingMeanDType(op, given)), (values) => {
    const part = partsAlong(axis);
    const even =
      typeof distance === 'number' ? constant(distance, values.dtype) : cast(distance, values.dtype);
    if (places === undefined && edgeOrder === 1) return evenSlopes(values, axis, distance);
    const steps = places === undefined ? even : map('subtract', neighbours(cast(places, values.dtype), axis));
    const slopes = map('divide', [map('subtract', neighbours(values, axis)), steps]);
    // (a · p + b · q) / (p + q): the slope of a parabola in the middle, where its chords have slopes a and b.
    const between = (a: Expr, p: Expr, b: Expr, q: Expr): Expr =>
      map('divide', [map('add', [map('multiply', [a, p]), map('multiply', [b, q])]), map('add', [p, q])]);
    // The slope of that parabola at its end.
    const beyond = (near: Expr, far: Expr, nearStep: Expr, farStep: Expr): Expr => {
      const bend = map('divide', [map('subtract', [near, far]), map('add', [nearStep, farStep])]);
      return map('add', [near, map('multiply', [bend, nearStep])]);
    };
    const inside =
      places === undefined
        ? map('divide', [
            map('subtract', [part(values, 2), part(values, 0, -2)]),
            map('multiply', [steps, 2]),
          ])
        : between(part(slopes, 0, -1), part(steps, 1), part(slopes, 1), part(steps, 0, -1));
    // Each where it belongs, so that an element needs its neighbours alone, in tiles, too.
    const size = x.shape[axis]!;
    const moved = (array: Expr, by: number): Expr => movedAlong(array, axis, by, size);
    const stepAt = (by: number): Expr => (places === undefined ? steps : moved(steps, by));
    const [first, last] = [moved(slopes, 0), moved(slopes, 1)];
    const ends =
      edgeOrder === 1
        ? [first, last]
        : [
            beyond(first, moved(slopes, -1), stepAt(0), stepAt(-1)),
            beyond(last, moved(slopes, 2), stepAt(1), stepAt(2)),
          ];
    const index = indexAlong(axis, size, x.shape.length);
    const upper = map('where', [map('equal', [index, size - 1]), ends[1]!, moved(inside, 1)]);
    return map('where', [map('equal', [index, 0]), ends[0]!, upper]);
  });
}

/**
 * Differences over both neighbours, at the ends over the element and one neighbour, which the nearest element in the place of
 * the missing one gives, too: two reads for each element, where three differences and a choice among them would be six.
 */
function evenSlopes(x: Expr, axis: number, step: number | Expr): Expr {
  const { dtype, shape } = x;
  const size = shape[axis]!;
  const offset = (by: number): number[] => shape.map((_, k) => (k === axis ? by : 0));
  const around = taps(x, [offset(1), offset(-1)], { mode: 'nearest', value: 0 }, dtype);
  const index = indexAlong(axis, size, shape.length);
  const isEnd = map('logicalOr', [map('equal', [index, 0]), map('equal', [index, size - 1])]);
  const difference = map('subtract', around);
  const either = (atEnd: Expr, inside: Expr): Expr => map('where', [isEnd, atEnd, inside]);
  // The inverse of a power of two is exact, and so has the product the bits of the quotient.
  if (typeof step === 'number' && hasExactInverse(step) && !isComplex(dtype))
    return map('multiply', [difference, either(constant(1 / step, dtype), constant(0.5 / step, dtype))]);
  const one = typeof step === 'number' ? constant(step, dtype) : cast(step, dtype);
  return map('divide', [difference, either(one, map('multiply', [one, 2]))]);
}

/** Whether a distance is a power of two whose inverse, and half of it, is a normal number of every dtype of floats. */
const hasExactInverse = (distance: number): boolean => {
  const exponent = Math.log2(distance);
  return Number.isInteger(exponent) && Math.abs(exponent) < 13;
};

/** The elements of an array `by` places further along an axis of `size`, with zeros around them. */
function movedAlong(x: Expr, axis: number, by: number, size: number): Expr {
  const part = partsAlong(axis);
  const there = by < 0 ? part(x, -by) : part(x, 0, Math.min(x.shape[axis]!, size - by));
  return padTo(
    there,
    there.shape.map((_, k) => (k === axis ? Math.max(by, 0) : 0)),
    there.shape.map((length, k) => (k === axis ? size : length)),
  );
}

function lineOf(op: string, places: Expr): Expr {
  if (places.shape.length === 1) return places;
  throw new ShapeError(expected(op, 'a distance or places of one axis', formatShape(places.shape)));
}

/** The elements `from` to `to` along an axis. */
const partsAlong =
  (axis: number) =>
  (x: Expr, from: number, to?: number): Expr =>
    slice(x, ...Array<null>(axis).fill(null), to === undefined ? [from] : [from, to]);

/** The elements after the first along an axis, and those before the last. */
function neighbours(x: Expr, axis: number): [later: Expr, earlier: Expr] {
  const part = partsAlong(axis);
  return [part(x, 1), part(x, 0, -1)];
}
