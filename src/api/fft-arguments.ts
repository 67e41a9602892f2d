/** Options of Fourier transforms, and the axes and lengths that they are for. */
import { checkOptions, oneOf } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { NORMS, type Norm } from '../graph/fourier.js';
import { checkInteger, checkSize, normalizeAxes, normalizeAxis } from '../graph/shape.js';
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';

/** Which direction of a transform has the factor 1/n: `'backward'`, `'ortho'` (both its root) or `'forward'`. */
export type FftNorm = Norm;

/** Options of transforms along one axis. */
export interface FftOptions {
  /**
   * The length: the array is cut or filled with zeros at the end. That of the axis by default; where the result is
   * real, 2 (m - 1) for m elements.
   */
  readonly n?: number | undefined;
  /** The last one by default. */
  readonly axis?: number | undefined;
  /** `'backward'` by default: the inverse has the factor 1/n. */
  readonly norm?: FftNorm | undefined;
}

/** Options of transforms along several axes. */
export interface FftnOptions {
  /** The lengths along the axes, -1 for that of the axis; without `axes` of the last ones. */
  readonly s?: readonly number[] | undefined;
  /** All axes by default, the last two of `fft2` and the like; each once. Real transforms are along the last of them. */
  readonly axes?: readonly number[] | undefined;
  /** `'backward'` by default: the inverse has the factor 1/n of all lengths. */
  readonly norm?: FftNorm | undefined;
}

/** The dtypes of transforms: of single precision where the array is of float32, complex64 or a half. */
type Single = 'float32' | 'complex64' | 'float16' | 'bfloat16';
export type Spectrum<D extends DType> = D extends Single ? 'complex64' : 'complex128';
export type Signal<D extends DType> = D extends Single ? 'float32' : 'float64';

export function lengthOf(op: string, n: unknown): number {
  const length = checkInteger(op, 'the length', n);
  if (length < 1) throw new RangeArgumentError(expected(op, 'a length of at least 1', `${length}`));
  return length;
}

const normOf = (op: string, norm: unknown): FftNorm =>
  norm === undefined || norm === null ? 'backward' : oneOf(op, 'a norm', NORMS, norm);

/** The axis, the length and the norm of a transform along one axis; `isHalf`: of the half of a real one's elements. */
export function line(
  op: string,
  { shape }: Expr,
  options: FftOptions | undefined,
  isHalf = false,
): { readonly axis: number; readonly n: number; readonly norm: FftNorm } {
  checkOptions(op, options, ['n', 'axis', 'norm']);
  const { n, axis = -1, norm } = options ?? {};
  const at = normalizeAxis(op, axis, shape.length);
  const usual = isHalf ? 2 * (shape[at]! - 1) : shape[at]!;
  return { axis: at, n: sized(op, shape, [at], [lengthOf(op, n ?? usual)])[0]!, norm: normOf(op, norm) };
}

/** The same of one along several axes, the last of which is a half one. */
export function plane(
  op: string,
  { shape }: Expr,
  options: FftnOptions | undefined,
  usual: readonly number[] | undefined,
  isHalf = false,
): { readonly axes: readonly number[]; readonly lengths: readonly number[]; readonly norm: FftNorm } {
  checkOptions(op, options, ['s', 'axes', 'norm']);
  const { s, axes, norm } = options ?? {};
  for (const [name, list] of Object.entries({ s, axes })) {
    if (list !== undefined && !Array.isArray(list))
      throw new ArgumentError(expected(op, `${name} to be a list of numbers`, formatValue(list)));
  }
  const lastOnes = s === undefined ? undefined : s.map((_, k) => k - s.length);
  const places = normalizeAxes(op, axes ?? usual ?? lastOnes, shape.length);
  if (s !== undefined && s.length !== places.length)
    throw new ShapeError(expected(op, `a length for each of ${places.length} axes`, `${s.length}`));
  const lengths = places.map((axis, k) => {
    const isLast = isHalf && k === places.length - 1;
    const own = isLast ? 2 * (shape[axis]! - 1) : shape[axis]!;
    return lengthOf(op, s === undefined || s[k] === -1 ? own : s[k]);
  });
  return { axes: places, lengths: sized(op, shape, places, lengths), norm: normOf(op, norm) };
}

/** The lengths, where arrays of them are not too large. */
function sized(
  op: string,
  shape: readonly number[],
  axes: readonly number[],
  lengths: readonly number[],
): readonly number[] {
  checkSize(
    op,
    shape.map((size, k) => (axes.includes(k) ? lengths[axes.indexOf(k)]! : size)),
  );
  return lengths;
}
