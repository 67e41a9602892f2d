/**
 * Filters by weights with the names and the meaning of SciPy's `ndimage`. Results have the dtype of the array unless
 * `dtype` says another. Sums are those of SciPy in float64, but of float32 in float32, of halves in float32 and of
 * complex numbers in their own dtype.
 */
import { finiteNumber } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import {
  firstOffset,
  integersPerAxis,
  knownArray,
  type NestedNumbers,
  overAxes,
  type PerAxis,
  perAxis,
  windowOf,
} from '../graph/filter-arguments.js';
import { formatValue } from '../graph/format.js';
import { gaussianWeights } from '../graph/gaussian.js';
import { cast, map } from '../graph/infer.js';
import { turned } from '../graph/morphology.js';
import { checkInteger, normalizeAxis } from '../graph/shape.js';
import { castBack, correlatedAlong, correlatedAround, meanAlong } from '../graph/stencils.js';
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import { called } from '../host/site.js';
import {
  type AroundFilterOptions,
  type Filter,
  type FilterOptions,
  filterOf,
  type GaussianOptions,
  type LineFilterOptions,
  made,
  type Result,
  type UniformFilterOptions,
} from './filter-options.js';
import type { ArrayLike } from './fluent-types.js';
import type { Lazy } from './lazy.js';

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
export function correlate1d<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function convolve1d<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function correlate<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function convolve<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function gaussianFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function uniformFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function sobel<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function prewitt<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function laplace<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function gaussianLaplace<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function gaussianGradientMagnitude<T extends ArrayLike, D extends DType | undefined = undefined>(
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
