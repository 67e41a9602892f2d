/** Filters by rank and morphology with the names and the meaning of SciPy's `ndimage`. */
import type { Border } from '../graph/borders.js';
import type { DType } from '../graph/dtype.js';
import {
  knownArray,
  type NestedNumbers,
  overAxes,
  WINDOW_OPTIONS,
  type Window,
  windowOf,
} from '../graph/filter-arguments.js';
import { formatValue } from '../graph/format.js';
import { cast } from '../graph/infer.js';
import { binaryStructure, repeatedBinary, turned, withHeights } from '../graph/morphology.js';
import { extremum, ranked } from '../graph/rank-filters.js';
import { checkInteger } from '../graph/shape.js';
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import { called } from '../host/site.js';
import {
  type BinaryOptions,
  filterOf,
  type GreyOptions,
  made,
  orderedFilter,
  type Result,
  type WindowFilterOptions,
} from './filter-options.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

// ---------------------------------------------------------------- ranks

/**
 * The least element of a window around each element, as SciPy's `minimum_filter`: `{ size: 3 }`, a size for each axis,
 * or a footprint. NaN where there is one in the window.
 *
 * @example
 * await ndimage.minimumFilter([4, 1, 3, 5, 2], { size: 3 }).compute()
 * //=> [1. 1. 1. 2. 2.]
 */
export function minimumFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function maximumFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function medianFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function rankFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function percentileFilter<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function greyErosion<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function greyDilation<T extends ArrayLike, D extends DType | undefined = undefined>(
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
export function binaryErosion(x: ArrayLike, options?: BinaryOptions): Lazy<'bool'> {
  return called(binaryErosion, () => binary('ndimage.binaryErosion', x, options, 'logicalAnd'));
}

/**
 * Whether some element of a structure, turned around, is true around each element, as SciPy's `binary_dilation`.
 *
 * @example
 * await ndimage.binaryDilation([0, 0, 1, 0, 0], { iterations: 2 }).compute()
 * //=> [ True  True  True  True  True]
 */
export function binaryDilation(x: ArrayLike, options?: BinaryOptions): Lazy<'bool'> {
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
