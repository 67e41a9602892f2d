/** Options that filters share, and what every filter reads of them. */
import { type Border, type BorderOptions, borderOf } from '../graph/borders.js';
import { type DType, isComplex } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import type { NestedNumbers, PerAxis, WindowOptions } from '../graph/filter-arguments.js';
import { checkDType } from '../graph/infer.js';
import { DTypeError, expected } from '../host/errors.js';
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
  /** The elements outside of the array: false by default. */
  readonly borderValue?: boolean | undefined;
  /** So many elements the structure lies further to the left along each axis; 0 by default. */
  readonly origin?: PerAxis | undefined;
}

/** The dtype that options ask for. */
export type Result<T extends ArrayLike, D extends DType | undefined> = Lazy<D extends DType ? D : DTypeOf<T>>;

const FILTER = ['dtype'] as const;

/** The options that all filters have, checked. */
export interface Filter {
  readonly x: Expr;
  readonly border: Border;
  readonly dtype: DType;
}

export function filterOf(
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
export function orderedFilter(
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

export const made = (expr: Expr): Lazy<never> => new Lazy(expr) as Lazy<never>;
