/**
 * Filters of arrays of any axes with the names and the meaning of SciPy's `ndimage`: nodes of the graph like all others,
 * so that what surrounds them is in their kernels, and what does not fit is cut into tiles.
 *
 * Results have the dtype of the array unless `dtype` says another. Sums are those of SciPy in float64, but of float32 in
 * float32, of halves in float32 and of complex numbers in their own dtype.
 */
import { finiteNumber } from '../graph/arguments.js';
import { type Border, type BorderOptions, borderOf } from '../graph/borders.js';
import { type DType, isComplex } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import {
  firstOffset,
  integersPerAxis,
  knownArray,
  type NestedNumbers,
  overAxes,
  type PerAxis,
  perAxis,
  WINDOW_OPTIONS,
  type Window,
  type WindowOptions,
  windowOf,
} from '../graph/filter-arguments.js';
import { formatValue } from '../graph/format.js';
import { gaussianWeights } from '../graph/gaussian.js';
import { cast, checkDType, map } from '../graph/infer.js';
import { binaryStructure, repeatedBinary, turned, withHeights } from '../graph/morphology.js';
import { extremum, ranked } from '../graph/rank-filters.js';
import { checkInteger, normalizeAxis } from '../graph/shape.js';
import { castBack, correlatedAlong, correlatedAround, meanAlong } from '../graph/stencils.js';
import { ArgumentError, DTypeError, expected, RangeArgumentError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** Options of every filter: the border, and the dtype of the result. */
export interface FilterOptions<D extends DType = DType> extends BorderOptions {
  /** The dtype of the result; that of the array by default. */
  readonly dtype?: D | undefined;
}

/** Options of `correlate1d` and `convolve1d`. */
export interface LineFilterOptions<D extends DType = DType> extends FilterOptions<D> {
  /** The axis along which elements are summed, the last by default. */
  readonly axis?: number | undefined;
  /** So many elements the weights lie further to the left; 0 by default. */
  readonly origin?: number | undefined;
}

/** Options of `correlate` and `convolve`. */
export interface AroundFilterOptions<D extends DType = DType> extends FilterOptions<D> {
  /** So many elements the weights lie further to the left along each axis; 0 by default. */
  readonly origin?: PerAxis | undefined;
}

/** Options of Gaussian filters. */
export interface GaussianOptions<D extends DType = DType> extends FilterOptions<D> {
  /** 0 by default; n is the filter by the n-th derivative of a Gaussian, one for all axes or one for each. */
  readonly order?: PerAxis | undefined;
  /** The weights end so many standard deviations from their middle; 4 by default. */
  readonly truncate?: number | undefined;
  /** The weights end so many elements from their middle, instead of `truncate`. */
  readonly radius?: PerAxis | undefined;
  /** The axes that are filtered, all by default; `sigma`, `order` and `radius` have a value for each. */
  readonly axes?: number | readonly number[] | undefined;
}

/** Options of filters by windows. */
export interface WindowFilterOptions<D extends DType = DType> extends FilterOptions<D>, WindowOptions {}

/** Options of `uniformFilter`. */
export interface UniformFilterOptions<D extends DType = DType>
  extends FilterOptions<D>,
    Pick<WindowOptions, 'size' | 'origin' | 'axes'> {}

/** Options of `greyErosion` and `greyDilation`. */
export interface GreyOptions<D extends DType = DType> extends WindowFilterOptions<D> {
  /** Heights that are taken off the elements of an erosion's window, and added to those of a dilation's. */
  readonly structure?: NestedNumbers | undefined;
}

/** Options of `binaryErosion` and `binaryDilation`. */
export interface BinaryOptions {
  /** Elements that are looked at where it is not 0; by default the element and its neighbours along each axis. */
  readonly structure?: NestedNumbers | undefined;
  /** How often it is done, once by default; 0: until nothing changes. */
  readonly iterations?: number | undefined;
  /** Where it is false, elements stay as they are. */
  readonly mask?: ArrayLike | undefined;
  /** What is outside of the array: false by default. */
  readonly borderValue?: boolean | undefined;
  /** So many elements the structure lies further to the left along each axis; 0 by default. */
  readonly origin?: PerAxis | undefined;
}

/** The dtype that options ask for. */
type Result<T extends ArrayLike, D extends DType | undefined> = Lazy<D extends DType ? D : DTypeOf<T>>;

const FILTER = ['dtype'] as const;

/** What every filter reads of its options. */
interface Filter {
  readonly x: Expr;
  readonly border: Border;
  readonly dtype: DType;
}

function filterOf(
  op: string,
  value: ArrayLike,
  options: FilterOptions | undefined,
  more: readonly string[] = [],
): Filter {
  const x = exprOf(op, value);
  needSizes(op, x);
  const border = borderOf(op, options, [...FILTER, ...more]);
  return { x, border, dtype: options?.dtype === undefined ? x.dtype : checkDType(op, options.dtype) };
}

/** The same of a filter that compares. */
function orderedFilter(
  op: string,
  value: ArrayLike,
  options: FilterOptions | undefined,
  more: readonly string[],
): Filter {
  const filter = filterOf(op, value, options, more);
  if (isComplex(filter.x.dtype))
    throw new DTypeError(expected(op, 'real numbers or booleans', filter.x.dtype));
  return filter;
}

const made = (expr: Expr): Lazy<never> => new Lazy(expr) as Lazy<never>;

// ---------------------------------------------------------------- weighted sums

/**
 * The sum of the elements around each element along an axis, times weights, as SciPy's `correlate1d`: the weight in the
 * middle is that of the element itself, of an even number the first one behind the middle. Throws an ArgumentError for
 * weights that are no list of numbers, a RangeArgumentError for an origin outside of them.
 *
 * @example
 * await ndimage.correlate1d([1, 2, 4, 8], [1, 2, 3]).compute()
 * //=> [ 9. 17. 34. 44.]
 */
function correlate1d<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  weights: NestedNumbers,
  options?: LineFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(correlate1d, () => alongLine('ndimage.correlate1d', x, weights, options, false));
}

/**
 * The convolution with weights along an axis, as SciPy's `convolve1d`: `correlate1d` with the weights from last to
 * first.
 *
 * @example
 * await ndimage.convolve1d([1, 2, 4, 8], [1, 2, 3], { mode: 'constant' }).compute()
 * //=> [ 4. 11. 22. 28.]
 */
function convolve1d<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  weights: NestedNumbers,
  options?: LineFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(convolve1d, () => alongLine('ndimage.convolve1d', x, weights, options, true));
}

function alongLine(
  op: string,
  value: ArrayLike,
  weights: NestedNumbers,
  options: LineFilterOptions | undefined,
  isConvolution: boolean,
): Lazy<never> {
  const { x, border, dtype } = filterOf(op, value, options, ['axis', 'origin']);
  const axis = normalizeAxis(op, options?.axis ?? -1, x.shape.length);
  const known = knownArray(op, 'weights', weights);
  if (known.shape.length !== 1 || known.values.length === 0)
    throw new ArgumentError(expected(op, 'a list of weights', formatValue(weights)));
  const size = known.values.length;
  const first = firstOffset(op, size, checkInteger(op, 'an origin', options?.origin ?? 0));
  const listed = isConvolution ? [...known.values].reverse() : known.values;
  return made(correlatedAlong(x, axis, listed, isConvolution ? 1 - first - size : first, border, dtype));
}

/**
 * The sum of the elements around each element, times weights of as many axes as the array, as SciPy's `correlate`: one
 * kernel, with a load for each weight that is not 0.
 *
 * @example
 * await ndimage.correlate([[1, 2], [3, 4]], [[0, 1], [1, 1]], { mode: 'nearest' }).compute()
 * //=> [[3. 5.]
 * //=>  [7. 9.]]
 */
function correlate<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  weights: NestedNumbers,
  options?: AroundFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(correlate, () => aroundElements('ndimage.correlate', x, weights, options, false));
}

/**
 * The convolution with weights of as many axes as the array, as SciPy's `convolve`: `correlate` with the weights turned
 * around.
 *
 * @example
 * await ndimage.convolve([[1, 2], [3, 4]], [[0, 1], [1, 1]], { mode: 'constant', cval: 10 }).compute()
 * //=> [[ 6. 16.]
 * //=>  [17. 24.]]
 */
function convolve<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  weights: NestedNumbers,
  options?: AroundFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(convolve, () => aroundElements('ndimage.convolve', x, weights, options, true));
}

function aroundElements(
  op: string,
  value: ArrayLike,
  weights: NestedNumbers,
  options: AroundFilterOptions | undefined,
  isConvolution: boolean,
): Lazy<never> {
  const { x, border, dtype } = filterOf(op, value, options, ['origin']);
  const known = knownArray(op, 'weights', weights);
  const shape = overAxes(op, 'weights', known.shape, x);
  const origin = integersPerAxis(op, 'origin', options?.origin ?? 0, x, undefined, 0);
  const first = shape.map((n, k) => firstOffset(op, n, origin[k]!));
  if (!isConvolution) return made(correlatedAround(x, { shape, values: known.values }, first, border, dtype));
  const reversed = { shape, values: [...known.values].reverse() };
  return made(
    correlatedAround(x, reversed, turned({ shape, first, footprint: undefined }).first, border, dtype),
  );
}

/**
 * The filter by a Gaussian of standard deviation `sigma`, or one for each axis, as SciPy's `gaussian_filter`: a kernel
 * for each axis. `ndimage.gaussianFilter(image, 2, { order: [0, 1], mode: 'nearest', truncate: 3 })`. Throws a
 * RangeArgumentError for a sigma below 0.
 *
 * @example
 * await ndimage.gaussianFilter([0, 0, 1, 0, 0], 1).compute()
 * //=> [0.05842299 0.24210528 0.39894347 0.24210528 0.05842299]
 */
function gaussianFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  sigma: PerAxis,
  options?: GaussianOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(gaussianFilter, () => {
    const op = 'ndimage.gaussianFilter';
    const filter = filterOf(op, x, options, ['order', 'truncate', 'radius', 'axes']);
    return made(gaussian(op, filter, sigma, options));
  });
}

/** Least standard deviation by which an axis is filtered, as SciPy's. */
const LEAST_SIGMA = 1e-15;

function gaussian(op: string, { x, border, dtype }: Filter, sigma: PerAxis, options?: GaussianOptions): Expr {
  const { axes, radius } = options ?? {};
  const sigmas = perAxis(op, 'sigma', sigma, x, axes, 0);
  const orders = integersPerAxis(op, 'order', options?.order ?? 0, x, axes, 0, 0);
  const radii = radius === undefined ? undefined : integersPerAxis(op, 'radius', radius, x, axes, 0, 0);
  const truncate = finiteNumber(op, 'truncate', options?.truncate ?? 4);
  for (const each of sigmas)
    if (each < 0) throw new RangeArgumentError(expected(op, 'sigma of at least 0', `${each}`));
  const result = sigmas.reduce((y, deviation, axis) => {
    if (deviation <= LEAST_SIGMA) return y;
    const reach = radii?.[axis] ?? Math.floor(truncate * deviation + 0.5);
    const weights = gaussianWeights(deviation, orders[axis]!, reach);
    return correlatedAlong(y, axis, weights, -reach, border, dtype);
  }, x);
  return cast(result, dtype);
}

/**
 * The mean of the elements in a box around each element, of 3 along each axis by default, as SciPy's `uniform_filter`: a
 * kernel for each axis.
 *
 * @example
 * await ndimage.uniformFilter([1, 2, 6, 3], { size: 3 }).compute()
 * //=> [1.33333333 3.         3.66666667 4.        ]
 */
function uniformFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options?: UniformFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(uniformFilter, () => {
    const op = 'ndimage.uniformFilter';
    const filter = filterOf(op, x, options, ['size', 'origin', 'axes']);
    const { shape, first } = windowOf(op, filter.x, options, 3);
    const result = shape.reduce(
      (y, size, axis) =>
        size === 1 && first[axis] === 0
          ? y
          : meanAlong(y, axis, size, first[axis]!, filter.border, filter.dtype),
      filter.x,
    );
    return made(cast(result, filter.dtype));
  });
}

// ---------------------------------------------------------------- derivatives

/** Options of filters that take a derivative along an axis. */
export interface DerivativeOptions<D extends DType = DType> extends FilterOptions<D> {
  /** The axis along which the derivative is taken, the last by default. */
  readonly axis?: number | undefined;
}

/**
 * The derivative along an axis by Sobel's filter, weights -1, 0, 1 along it and 1, 2, 1 along the others, as SciPy's
 * `sobel`.
 *
 * @example
 * await ndimage.sobel([[1, 2, 4], [1, 2, 4], [1, 2, 4]], { axis: 1 }).compute()
 * //=> [[ 4. 12.  8.]
 * //=>  [ 4. 12.  8.]
 * //=>  [ 4. 12.  8.]]
 */
function sobel<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options?: DerivativeOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(sobel, () => derivativeAlong('ndimage.sobel', x, options, [1, 2, 1]));
}

/**
 * The derivative along an axis by Prewitt's filter, weights -1, 0, 1 along it and 1, 1, 1 along the others, as SciPy's
 * `prewitt`.
 *
 * @example
 * await ndimage.prewitt([[1, 2, 4], [1, 2, 4], [1, 2, 4]], { axis: 1 }).compute()
 * //=> [[3. 9. 6.]
 * //=>  [3. 9. 6.]
 * //=>  [3. 9. 6.]]
 */
function prewitt<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options?: DerivativeOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(prewitt, () => derivativeAlong('ndimage.prewitt', x, options, [1, 1, 1]));
}

function derivativeAlong(
  op: string,
  value: ArrayLike,
  options: DerivativeOptions | undefined,
  smoothing: readonly number[],
): Lazy<never> {
  const { x, border, dtype } = filterOf(op, value, options, ['axis']);
  const axis = normalizeAxis(op, options?.axis ?? -1, x.shape.length);
  const slope = correlatedAlong(x, axis, [-1, 0, 1], -1, border, dtype);
  return made(
    x.shape.reduce(
      (y, _, k) => (k === axis ? y : correlatedAlong(y, k, smoothing, -1, border, dtype)),
      slope,
    ),
  );
}

/**
 * The sum of the second differences along all axes, as SciPy's `laplace`.
 *
 * @example
 * await ndimage.laplace([0, 0, 1, 4, 9]).compute()
 * //=> [ 0.  1.  2.  2. -5.]
 */
function laplace<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options?: FilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(laplace, () => {
    const filter = filterOf('ndimage.laplace', x, options);
    const second = (axis: number): Expr =>
      correlatedAlong(filter.x, axis, [1, -2, 1], -1, filter.border, filter.dtype);
    return made(summed(filter, second));
  });
}

/**
 * The sum of the second derivatives along all axes by Gaussian filters, as SciPy's `gaussian_laplace`.
 *
 * @example
 * await ndimage.gaussianLaplace([0, 0, 1, 0, 0], 1).compute()
 * //=> [ 0.19742828  0.00200746 -0.39894347  0.00200746  0.19742828]
 */
function gaussianLaplace<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  sigma: PerAxis,
  options?: Omit<GaussianOptions, 'order' | 'axes'> & { readonly dtype?: D },
): Result<T, D> {
  return called(gaussianLaplace, () => {
    const op = 'ndimage.gaussianLaplace';
    const filter = filterOf(op, x, options, ['truncate', 'radius']);
    return made(
      summed(filter, (axis) => gaussian(op, filter, sigma, derivedAlong(filter.x, axis, 2, options))),
    );
  });
}

/**
 * The root of the sum of the squared first derivatives along all axes by Gaussian filters, as SciPy's
 * `gaussian_gradient_magnitude`.
 *
 * @example
 * await ndimage.gaussianGradientMagnitude([0, 0, 1, 1, 1], 1).compute()
 * //=> [0.10798225 0.36324929 0.36378461 0.12181316 0.01329558]
 */
function gaussianGradientMagnitude<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  sigma: PerAxis,
  options?: Omit<GaussianOptions, 'order' | 'axes'> & { readonly dtype?: D },
): Result<T, D> {
  return called(gaussianGradientMagnitude, () => {
    const op = 'ndimage.gaussianGradientMagnitude';
    const filter = filterOf(op, x, options, ['truncate', 'radius']);
    const squares = summed(filter, (axis) =>
      map('square', [gaussian(op, filter, sigma, derivedAlong(filter.x, axis, 1, options))]),
    );
    return made(castBack(map('sqrt', [squares]), filter.dtype));
  });
}

const derivedAlong = (x: Expr, axis: number, order: number, options?: GaussianOptions): GaussianOptions => ({
  ...options,
  order: x.shape.map((_, k) => (k === axis ? order : 0)),
});

/** The sum over all axes; of an array without axes itself. */
const summed = ({ x, dtype }: Filter, along: (axis: number) => Expr): Expr =>
  x.shape.length === 0
    ? cast(x, dtype)
    : x.shape.map((_, axis) => along(axis)).reduce((sum, term) => map('add', [sum, term]));

// ---------------------------------------------------------------- ranks

/**
 * The least element of a window around each element, as SciPy's `minimum_filter`: `{ size: 3 }`, a size for each axis,
 * or a footprint. NaN where there is one in the window.
 *
 * @example
 * await ndimage.minimumFilter([4, 1, 3, 5, 2], { size: 3 }).compute()
 * //=> [1. 1. 1. 2. 2.]
 */
function minimumFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options: WindowFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(minimumFilter, () => extremes('ndimage.minimumFilter', x, options, 'minimum'));
}

/**
 * The greatest element of a window around each element, as SciPy's `maximum_filter`. NaN where there is one in the
 * window.
 *
 * @example
 * await ndimage.maximumFilter([4, 1, 3, 5, 2], { size: 3 }).compute()
 * //=> [4. 4. 5. 5. 5.]
 */
function maximumFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options: WindowFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(maximumFilter, () => extremes('ndimage.maximumFilter', x, options, 'maximum'));
}

function extremes(
  op: string,
  value: ArrayLike,
  options: WindowFilterOptions,
  choose: 'minimum' | 'maximum',
): Lazy<never> {
  const { x, border, dtype } = orderedFilter(op, value, options, WINDOW_OPTIONS);
  return made(extremum(x, windowOf(op, x, options, undefined), border, choose, dtype));
}

/**
 * The median of a window around each element, as SciPy's `median_filter`: of an even number of elements the larger of
 * both in the middle. Up to 64 elements go through a network of minima and maxima in one kernel, of 9 and 25 the
 * smallest known; of more, the windows are sorted.
 *
 * @example
 * await ndimage.medianFilter([1, 9, 2, 3, 8], { size: 3 }).compute()
 * //=> [1. 2. 3. 3. 8.]
 */
function medianFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options: WindowFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(medianFilter, () => byRank('ndimage.medianFilter', x, options, (n) => Math.floor(n / 2)));
}

/**
 * The element of a rank of a window around each element, as SciPy's `rank_filter`: 0 is the least, -1 the greatest.
 * Throws a RangeArgumentError for a rank that the window has not.
 *
 * @example
 * await ndimage.rankFilter([1, 9, 2, 3, 8], -2, { size: 3 }).compute()
 * //=> [1. 2. 3. 3. 8.]
 */
function rankFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  rank: number,
  options: WindowFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(rankFilter, () => {
    const op = 'ndimage.rankFilter';
    return byRank(op, x, options, (n) => {
      const asked = checkInteger(op, 'a rank', rank);
      if (asked < -n || asked >= n)
        throw new RangeArgumentError(expected(op, `a rank from ${-n} to ${n - 1}`, `${asked}`));
      return asked < 0 ? asked + n : asked;
    });
  });
}

/**
 * The percentile of a window around each element, as SciPy's `percentile_filter`: the element of rank ⌊n p / 100⌋ of n,
 * where negative percentiles count from 100. Throws a RangeArgumentError for a percentile outside of -100 … 100.
 *
 * @example
 * await ndimage.percentileFilter([1, 9, 2, 3, 8], 25, { size: 4 }).compute()
 * //=> [1. 1. 2. 3. 3.]
 */
function percentileFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  percentile: number,
  options: WindowFilterOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(percentileFilter, () => {
    const op = 'ndimage.percentileFilter';
    if (!(typeof percentile === 'number' && percentile >= -100 && percentile <= 100))
      throw new RangeArgumentError(expected(op, 'a percentile from -100 to 100', formatValue(percentile)));
    const p = percentile < 0 ? percentile + 100 : percentile;
    return byRank(op, x, options, (n) => (p === 100 ? n - 1 : Math.floor((n * p) / 100)));
  });
}

function byRank(
  op: string,
  value: ArrayLike,
  options: WindowFilterOptions,
  rankOf: (elements: number) => number,
): Lazy<never> {
  const { x, border, dtype } = orderedFilter(op, value, options, WINDOW_OPTIONS);
  const window = windowOf(op, x, options, undefined);
  const all = window.shape.reduce((count, n) => count * n, 1);
  const elements = window.footprint?.filter(Boolean).length ?? all;
  return made(ranked(x, window, rankOf(elements), border, dtype));
}

// ---------------------------------------------------------------- morphology

/**
 * The least element of a window, or with a structure the least of x minus its heights, as SciPy's `grey_erosion`.
 *
 * @example
 * await ndimage.greyErosion([4, 1, 3, 5, 2], { size: 3 }).compute()
 * //=> [1. 1. 1. 2. 2.]
 */
function greyErosion<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options: GreyOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(greyErosion, () => grey('ndimage.greyErosion', x, options, 'minimum'));
}

/**
 * The greatest element of a window turned around, or with a structure the greatest of x plus its heights, as SciPy's
 * `grey_dilation`.
 *
 * @example
 * await ndimage.greyDilation([4, 1, 3, 5, 2], { structure: [0, 1, 0] }).compute()
 * //=> [5. 4. 5. 6. 5.]
 */
function greyDilation<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  options: GreyOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(greyDilation, () => grey('ndimage.greyDilation', x, options, 'maximum'));
}

function grey(
  op: string,
  value: ArrayLike,
  options: GreyOptions,
  choose: 'minimum' | 'maximum',
): Lazy<never> {
  const { x, border, dtype } = orderedFilter(op, value, options, [...WINDOW_OPTIONS, 'structure']);
  const place = (window: Window): Window => (choose === 'minimum' ? window : turned(window));
  if (options.structure === undefined)
    return made(extremum(x, place(windowOf(op, x, options, undefined)), border, choose, dtype));
  const { shape, values } = knownArray(op, 'structure', options.structure);
  const { size: _, footprint, ...given } = options;
  const sizes = overAxes(op, 'a structure', shape, x, options.axes);
  const box = windowOf(
    op,
    x,
    footprint === undefined ? { ...given, size: sizes, axes: undefined } : options,
    undefined,
  );
  const window = place(box);
  const heights = choose === 'minimum' ? values : [...values].reverse();
  return made(withHeights(x, window, heights, border, choose, dtype));
}

/**
 * Whether all elements of a structure around each element are true, as SciPy's `binary_erosion`. `iterations` repeats
 * it on the device, 0 until nothing changes.
 *
 * @example
 * await ndimage.binaryErosion([0, 1, 1, 1, 0]).compute()
 * //=> [False False  True False False]
 */
function binaryErosion(x: ArrayLike, options?: BinaryOptions): Lazy<'bool'> {
  return called(binaryErosion, () => binary('ndimage.binaryErosion', x, options, 'logicalAnd'));
}

/**
 * Whether some element of a structure, turned around, is true around each element, as SciPy's `binary_dilation`.
 *
 * @example
 * await ndimage.binaryDilation([0, 0, 1, 0, 0], { iterations: 2 }).compute()
 * //=> [ True  True  True  True  True]
 */
function binaryDilation(x: ArrayLike, options?: BinaryOptions): Lazy<'bool'> {
  return called(binaryDilation, () => binary('ndimage.binaryDilation', x, options, 'logicalOr'));
}

function binary(
  op: string,
  value: ArrayLike,
  options: BinaryOptions | undefined,
  combine: 'logicalAnd' | 'logicalOr',
): Lazy<'bool'> {
  const { structure, iterations = 1, mask, borderValue = false, origin, ...rest } = options ?? {};
  const { x } = filterOf(op, value, rest);
  if (typeof borderValue !== 'boolean')
    throw new ArgumentError(expected(op, 'borderValue to be true or false', formatValue(borderValue)));
  const border: Border = { mode: 'constant', value: borderValue ? 1 : 0 };
  const footprint = structure ?? nestedStructure(x.shape.length);
  const window = windowOf(op, x, { footprint, origin }, undefined);
  const step = {
    window: combine === 'logicalAnd' ? window : turned(window),
    border,
    op: combine,
    mask: mask === undefined ? undefined : cast(exprOf(op, mask), 'bool'),
  };
  return new Lazy(repeatedBinary(x, step, checkInteger(op, 'iterations', iterations))) as Lazy<'bool'>;
}

/** `generateBinaryStructure(ndim, 1)` as lists. */
const nestedStructure = (ndim: number): NestedNumbers => {
  const { values } = binaryStructure(ndim, 1);
  const nest = (from: number, depth: number): NestedNumbers =>
    Array.from({ length: 3 }, (_, k) =>
      depth === 1 ? values[from + k]! : nest(from + k * 3 ** (depth - 1), depth - 1),
    );
  return nest(0, Math.max(1, ndim));
};

/** Filters of arrays with SciPy's names: `ndimage.gaussianFilter(x, 2)`. */
export const ndimage = {
  correlate1d,
  convolve1d,
  correlate,
  convolve,
  gaussianFilter,
  uniformFilter,
  sobel,
  prewitt,
  laplace,
  gaussianLaplace,
  gaussianGradientMagnitude,
  minimumFilter,
  maximumFilter,
  medianFilter,
  rankFilter,
  percentileFilter,
  greyErosion,
  greyDilation,
  binaryErosion,
  binaryDilation,
} as const;
