/**
 * Interpolation by B-splines between the elements of an array, as SciPy's `ndimage` does it. Called by
 * `api/ndimage-interpolation.ts`.
 *
 * An array is filtered to coefficients first, where splines of order 2 to 5 need it: the recursive filter of SciPy as
 * a sum over neighbours, whose weights z^|k| end where a dtype no longer sees them, so that it is a stencil like others
 * (M. Unser, "Splines: a perfect fit for signal and image processing", IEEE Signal Processing Magazine 16, 1999). Where
 * each coordinate depends on one axis alone, the array is interpolated along one axis after the other.
 */
import { bordered } from './borders.js';
import { type DType, isComplex, isInteger } from './dtype.js';
import type { Expr, Fold } from './expr.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { cast, constant, map } from './infer.js';
import { combined, correlatedAlong, sumDType } from './stencils.js';
import { broadcast, gather, reshape } from './view-nodes.js';

/**
 * The elements outside of an array: `'constant'` is one value wherever a coordinate is outside, `'grid-constant'` takes
 * elements of that value to go on without end; `'wrap'` puts the last element upon the first, `'grid-wrap'` beside it.
 */
export type InterpolationMode =
  | 'constant'
  | 'grid-constant'
  | 'nearest'
  | 'mirror'
  | 'reflect'
  | 'grid-mirror'
  | 'grid-wrap'
  | 'wrap';
export const INTERPOLATION_MODES = [
  'constant',
  'grid-constant',
  'nearest',
  'mirror',
  'reflect',
  'grid-mirror',
  'grid-wrap',
  'wrap',
] as const;

export interface Interpolation {
  readonly order: 0 | 1 | 2 | 3 | 4 | 5;
  readonly mode: InterpolationMode;
  readonly value: number;
  readonly prefilter: boolean;
}

/** An array to interpolate: coefficients of splines, and how many there are in front of its first element. */
interface Coefficients {
  readonly array: Expr;
  readonly before: number;
}

/** Poles of the filters that give the coefficients of splines. */
const POLES: Readonly<Record<number, readonly number[]>> = {
  2: [Math.sqrt(8) - 3],
  3: [Math.sqrt(3) - 2],
  4: [-1, 1].map((sign) => Math.sqrt(664 + sign * Math.sqrt(438976)) - sign * Math.sqrt(304) - 19),
  5: [-1, 1].map((sign) => Math.sqrt(67.5 + sign * Math.sqrt(4436.25)) - sign * Math.sqrt(26.25) - 6.5),
};

/** The coefficients of splines along all axes whose values are the elements. */
export function splineCoefficients(x: Expr, order: number, fold: Fold, dtype: DType): Expr {
  const poles = POLES[order];
  if (poles === undefined || x.shape.includes(0)) return cast(x, dtype);
  const least = sumDType(dtype) === 'float32' || dtype === 'complex64' ? 1e-9 : 1e-17;
  const border = { mode: fold, value: 0 } as const;
  const filtered = (y: Expr, axis: number, pole: number): Expr => {
    const reach = Math.ceil(Math.log(least) / Math.log(-pole));
    const factor = (1 - pole) / (1 + pole);
    const weights = Array.from({ length: 2 * reach + 1 }, (_, k) => factor * pole ** Math.abs(k - reach));
    return correlatedAlong(y, axis, weights, -reach, border, dtype);
  };
  return x.shape.reduce(
    (y, size, axis) => (size === 1 ? y : poles.reduce((part, pole) => filtered(part, axis, pole), y)),
    cast(x, dtype),
  );
}

/** The border with which coefficients are computed, and elements of it that are laid around the array first. */
const FILTERED: Readonly<Record<InterpolationMode, readonly [fold: Fold, padded: number]>> = {
  constant: ['mirror', 0],
  mirror: ['mirror', 0],
  wrap: ['mirror', 0],
  'grid-constant': ['mirror', 12],
  nearest: ['reflect', 12],
  reflect: ['reflect', 0],
  'grid-mirror': ['reflect', 0],
  'grid-wrap': ['wrap', 0],
};

function coefficientsOf(x: Expr, { order, mode, value, prefilter }: Interpolation): Coefficients {
  const dtype = sumDType(x.dtype);
  if (order < 2 || !prefilter) return { array: x, before: 0 };
  const [fold, padded] = FILTERED[mode];
  const around = x.shape.map(() => padded);
  const border = { mode: mode === 'nearest' ? mode : 'constant', value } as const;
  const source = padded === 0 ? x : bordered(x, around, around, border, dtype);
  return { array: splineCoefficients(source, order, fold, dtype), before: padded };
}

/** The elements that a coordinate along an axis lies between, with their weights. */
interface Taps {
  /** Indices in range, and the weight of each. */
  readonly taps: readonly {
    readonly index: Expr;
    readonly weight: Expr | undefined;
    readonly isThere: Expr | undefined;
  }[];
  /** Whether the coordinate is not outside of a constant border; undefined: it never is. */
  readonly isInside: Expr | undefined;
}

/** How taps outside of the array are folded back, by mode. */
const TAP_FOLDS: Readonly<Record<InterpolationMode, Fold>> = {
  constant: 'mirror',
  wrap: 'mirror',
  mirror: 'mirror',
  'grid-constant': 'nearest',
  nearest: 'nearest',
  reflect: 'reflect',
  'grid-mirror': 'reflect',
  'grid-wrap': 'wrap',
};

/** The taps of float64 coordinates along an axis of so many elements, with weights in a dtype. */
function tapsAt(
  coordinate: Expr,
  size: number,
  { order, mode }: Interpolation,
  dtype: DType,
  isNarrow: boolean,
): Taps {
  const last = size - 1;
  let at = coordinate;
  if (mode === 'nearest') at = map('minimum', [map('maximum', [at, 0]), last]);
  if (mode === 'wrap') at = last === 0 ? map('multiply', [at, 0]) : wrapped(at, last);
  const isInside =
    mode === 'constant'
      ? map('logicalAnd', [map('greaterEqual', [at, 0]), map('lessEqual', [at, last])])
      : undefined;
  const low = map('floor', [order % 2 === 1 ? at : map('add', [at, 0.5])]);
  // Where the array has no place beyond int32, indices are clipped first; those outside are not used, or are none.
  const clipped = (): Expr => map('minimum', [map('maximum', [low, -1]), size]);
  const place =
    isNarrow && (mode === 'constant' || mode === 'nearest') ? cast(clipped(), 'int32') : cast(low, 'int64');
  const first = map('subtract', [place, Math.floor(order / 2)]);
  const weights = weightsOf(cast(map('subtract', [at, low]), dtype), order);
  const taps = weights.map((weight, k) => {
    const index = k === 0 ? first : map('add', [first, k]);
    const isThere =
      mode === 'grid-constant'
        ? map('logicalAnd', [map('greaterEqual', [index, 0]), map('less', [index, size])])
        : undefined;
    return { index: foldedAnywhere(index, size, TAP_FOLDS[mode], isInside !== undefined), weight, isThere };
  });
  return { taps, isInside };
}

/** Coordinates modulo the last index, for those outside; from below a multiple of it is the last one. */
function wrapped(at: Expr, last: number): Expr {
  const below = map('subtract', [last, map('remainder', [map('negative', [at]), last])]);
  const above = map('where', [map('greater', [at, last]), map('remainder', [at, last]), at]);
  return map('where', [map('less', [at, 0]), below, above]);
}

/** The values of the B-splines of an order around a fraction; of order 0 none but 1. */
function weightsOf(t: Expr, order: number): (Expr | undefined)[] {
  if (order === 0) return [undefined];
  const rest = map('subtract', [1, t]);
  if (order === 1) return [rest, t];
  if (order === 2) {
    const centre = map('subtract', [0.75, map('square', [t])]);
    const left = map('multiply', [map('square', [map('subtract', [0.5, t])]), 0.5]);
    return [left, centre, map('subtract', [map('subtract', [1, left]), centre])];
  }
  if (order > 3) return order === 4 ? quarticWeights(t) : quinticWeights(t, rest);
  // (t² (t - 2) · 3 + 4) / 6 of the element at a distance t below 1.
  const near = (d: Expr): Expr => {
    const cubic = map('multiply', [map('square', [d]), map('subtract', [d, 2])]);
    return map('divide', [map('add', [map('multiply', [cubic, 3]), 4]), 6]);
  };
  const far = map('divide', [map('multiply', [map('square', [rest]), rest]), 6]);
  const [second, third] = [near(t), near(rest)];
  const sum = map('add', [map('add', [far, second]), third]);
  return [far, second, third, map('subtract', [1, sum])];
}

/** Σ coefficients[k] x^k, by Horner's rule. */
const polynomial = (x: Expr, coefficients: readonly number[]): Expr =>
  coefficients
    .slice(0, -1)
    .reduceRight<Expr>(
      (sum, coefficient) => map('add', [map('multiply', [sum, x]), coefficient]),
      constant(coefficients.at(-1)!, x.dtype),
    );

/** All weights, whose sum is 1, by all but the last. */
const withLast = (weights: readonly Expr[]): Expr[] => [
  ...weights,
  map('subtract', [1, combined('add', weights)]),
];

/** Of elements 2 before to 2 behind the nearest one, which is t away. */
function quarticWeights(t: Expr): Expr[] {
  const near = (d: Expr): Expr => polynomial(d, [55 / 96, 5 / 24, -5 / 4, 5 / 6, -1 / 6]);
  const far = map('multiply', [map('square', [map('square', [map('subtract', [0.5, t])])]), 1 / 24]);
  const centre = polynomial(map('square', [t]), [115 / 192, -5 / 8, 1 / 4]);
  return withLast([far, near(map('add', [t, 1])), centre, near(map('subtract', [1, t]))]);
}

/** Of elements 2 before to 3 behind the one that is t before. */
function quinticWeights(t: Expr, rest: Expr): Expr[] {
  const centre = (d: Expr): Expr => polynomial(d, [11 / 20, 0, -1 / 2, 0, 1 / 4, -1 / 12]);
  const near = (d: Expr): Expr => polynomial(d, [17 / 40, 5 / 8, -7 / 4, 5 / 4, -3 / 8, 1 / 24]);
  const far = map('multiply', [map('multiply', [map('square', [map('square', [rest])]), rest]), 1 / 120]);
  const [second, fifth] = [near(map('add', [t, 1])), near(map('subtract', [2, t]))];
  return withLast([far, second, centre(t), centre(rest), fifth]);
}

/** Indices folded back from anywhere; `isNear`: from at most three elements outside, or of values that are not used. */
function foldedAnywhere(index: Expr, n: number, fold: Fold, isNear: boolean): Expr {
  const clipped = (i: Expr): Expr => map('minimum', [map('maximum', [i, 0]), n - 1]);
  if (fold === 'nearest' || n === 1) return clipped(index);
  if (fold === 'wrap') return map('remainder', [index, n]);
  const edge = fold === 'reflect' ? 1 : 0;
  const left = map('maximum', [index, map('subtract', [-edge, index])]);
  const period = 2 * (n - 1 + edge);
  if (isNear && n > 3) return clipped(map('minimum', [left, map('subtract', [period - edge, left])]));
  const within = map('remainder', [left, period]);
  return map('minimum', [within, map('subtract', [period - edge, within])]);
}

/** The values at coordinates along each axis, float64 arrays that broadcast to a shape, in a dtype. */
export function interpolated(
  x: Expr,
  coordinates: readonly Expr[],
  shape: readonly number[],
  how: Interpolation,
  dtype: DType,
): Expr {
  const work = sumDType(x.dtype);
  const { array, before } = coefficientsOf(x, how);
  const real = isComplex(work) ? (work === 'complex64' ? 'float32' : 'float64') : work;
  const moved = coordinates.map((at) => (before === 0 ? at : map('add', [at, before])));
  const isNarrow = sizeOfShape(array.shape) < 2 ** 31;
  const axes = moved.map((at, axis) => tapsAt(at, array.shape[axis]!, how, real, isNarrow));
  const outside = cast(constant(how.value, 'float64'), work);
  const isSeparable = moved.every((at, axis) => at.shape.every((n, k) => n === 1 || k === axis));
  const value = isSeparable
    ? alongAxes(array, axes, shape, outside, work)
    : aroundPoints(array, axes, shape, outside, work);
  const tests = axes.flatMap(({ isInside }) => isInside ?? []);
  const all = tests.reduce<Expr | undefined>(
    (test, each) => (test === undefined ? each : map('logicalAnd', [test, each])),
    undefined,
  );
  const result = all === undefined ? value : map('where', [all, value, outside]);
  return broadcast(roundedTo(result, dtype), shape);
}

/** Σ weight · value of taps, whose values are read by index. */
function weighted(taps: Taps['taps'], read: (index: Expr) => Expr, outside: Expr): Expr {
  const terms = taps.map(({ index, weight, isThere }) => {
    const found = read(index);
    const value = isThere === undefined ? found : map('where', [isThere, found, outside]);
    return weight === undefined ? value : map('multiply', [value, weight]);
  });
  return combined('add', terms);
}

/** One axis after the other, each by indices along it. */
function alongAxes(
  array: Expr,
  axes: readonly Taps[],
  shape: readonly number[],
  outside: Expr,
  dtype: DType,
): Expr {
  return axes.reduce((y, { taps }, axis) => {
    const size = shape[axis]!;
    const own = y.shape.with(axis, size);
    const line = (index: Expr): Expr =>
      reshape(
        broadcast(
          cast(index, 'int64'),
          own.map((_, k) => (k === axis ? size : 1)),
        ),
        [size],
      );
    return weighted(taps, (index) => cast(gather(y, line(index), axis, 'clip', own), dtype), outside);
  }, array);
}

/** The taps of all axes at each point, by their place in the array as a line. */
function aroundPoints(
  array: Expr,
  axes: readonly Taps[],
  shape: readonly number[],
  outside: Expr,
  dtype: DType,
): Expr {
  const strides = denseStrides(array.shape);
  const line = reshape(array, [sizeOfShape(array.shape)]);
  const placeOf = (place: Expr): Expr => broadcast(cast(place, 'int64'), shape);
  const around = (axis: number, place: Expr | undefined): Expr => {
    if (axis === axes.length)
      return cast(gather(line, placeOf(place ?? constant(0n, 'int64')), 0, 'clip', shape), dtype);
    return weighted(
      axes[axis]!.taps,
      (index) => {
        const step = strides[axis] === 1 ? index : map('multiply', [index, strides[axis]!]);
        return around(axis + 1, place === undefined ? step : map('add', [place, step]));
      },
      outside,
    );
  };
  return around(0, undefined);
}

/** Values in the dtype of a result, as SciPy's: the nearest integer, halves away from 0, within the dtype's range. */
function roundedTo(value: Expr, dtype: DType): Expr {
  if (dtype === 'bool') return cast(cast(value, 'int64'), dtype);
  if (!isInteger(dtype) || isInteger(value.dtype)) return cast(value, dtype);
  const half = map('where', [map('greater', [value, 0]), 0.5, -0.5]);
  return cast(map('add', [value, half]), dtype);
}
