/**
 * Fourier transforms with NumPy's names: planned, cut into tiles and fused like everything else. Factors, windows and
 * magnitudes around a transform are part of the kernels beside it.
 */
import { checkOptions, finiteNumber, oneOf } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { convolved, type FftConvolveOptions } from '../graph/fft-convolve.js';
import { formatValue } from '../graph/format.js';
import * as fourier from '../graph/fourier.js';
import { cast, constant, iota, map } from '../graph/infer.js';
import { roll } from '../graph/masks.js';
import { type Axes, checkInteger, checkSize, normalizeAxes, normalizeAxis } from '../graph/shape.js';
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** Which direction of a transform has the factor 1/n: `'backward'`, `'ortho'` (both its root) or `'forward'`. */
export type FftNorm = fourier.Norm;

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
type Spectrum<D extends DType> = D extends Single ? 'complex64' : 'complex128';
type Signal<D extends DType> = D extends Single ? 'float32' : 'float64';

// ---------------------------------------------------------------- along one axis

/**
 * The discrete Fourier transform Σⱼ x[j] e^(-2πi jk/n) along an axis, as NumPy's `fft`: complex64 of float32,
 * complex64 and halves, else complex128. `fft.fft(x, { n: 1024, axis: 0, norm: 'ortho' })`. Throws a
 * RangeArgumentError for a length below 1, a ShapeError for an axis that is not there.
 *
 * @example
 * await fft.fft([1, 2, 3, 4]).compute()
 * //=> [10.+0.j -2.+2.j -2.+0.j -2.-2.j]
 */
function forward<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(forward, () => complexLine('fft.fft', x, options, false));
}

/**
 * The inverse of `fft.fft`, by default with the factor 1/n, as NumPy's `ifft`.
 *
 * @example
 * await fft.ifft(fft.fft([1, 2, 3, 4])).real().compute()
 * //=> [1. 2. 3. 4.]
 */
function ifft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(ifft, () => complexLine('fft.ifft', x, options, true));
}

/**
 * The first n/2 + 1 elements of the transform of real numbers, which say the others, as NumPy's `rfft`. Throws a
 * DTypeError for complex numbers.
 *
 * @example
 * await fft.rfft([1, 2, 1, 0]).compute()
 * //=> [4.+0.j 0.-2.j 0.+0.j]
 */
function rfft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(rfft, () => new Lazy(realLine('fft.rfft', exprOf('fft.rfft', x), options, false)));
}

/**
 * The n real numbers whose transform begins with the array, as NumPy's `irfft`: n is 2 (m - 1) for m elements by
 * default. Imaginary parts that real numbers cannot have are not looked at.
 *
 * @example
 * await fft.irfft(fft.rfft([1, 2, 3, 4])).compute()
 * //=> [1. 2. 3. 4.]
 */
function irfft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Signal<DTypeOf<T>>> {
  return called(irfft, () => new Lazy(realLineBack('fft.irfft', exprOf('fft.irfft', x), options, true)));
}

/**
 * The real transform of n numbers of which the second half mirrors the first, which is given: NumPy's `hfft`.
 *
 * @example
 * await fft.hfft([1, 2, 3]).compute()
 * //=> [ 8. -2.  0. -2.]
 */
function hfft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Signal<DTypeOf<T>>> {
  return called(hfft, () => {
    const given = fourier.complexInput(exprOf('fft.hfft', x));
    return new Lazy(realLineBack('fft.hfft', map('conj', [given]), options, false));
  });
}

/**
 * The inverse of `fft.hfft`: of n real numbers the first n/2 + 1 that they are the transform of.
 *
 * @example
 * await fft.ihfft([1, 2, 3, 2]).compute()
 * //=> [ 2. -0.j -0.5-0.j  0. -0.j]
 */
function ihfft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(ihfft, () => {
    const spectrum = realLine('fft.ihfft', exprOf('fft.ihfft', x), options, true);
    return new Lazy(map('conj', [spectrum]));
  });
}

function complexLine(
  op: string,
  x: ArrayLike,
  options: FftOptions | undefined,
  inverse: boolean,
): Lazy<never> {
  const given = exprOf(op, x);
  const { axis, n, norm } = line(op, given, options);
  const source = fourier.resized(fourier.transformed(given), [axis], [n]);
  return new Lazy(fourier.scaled(fourier.complexTransform(source, [axis], inverse), norm, n, inverse));
}

function realLine(op: string, x: Expr, options: FftOptions | undefined, inverse: boolean): Expr {
  const { axis, n, norm } = line(op, x, options);
  const source = fourier.resized(fourier.realInput(op, x), [axis], [n]);
  return fourier.scaled(fourier.realTransform(source, [axis]), norm, n, inverse);
}

function realLineBack(op: string, x: Expr, options: FftOptions | undefined, inverse: boolean): Expr {
  const { axis, n, norm } = line(op, x, options, true);
  const source = fourier.resized(fourier.complexInput(x), [axis], [Math.floor(n / 2) + 1]);
  return fourier.scaled(fourier.realInverse(source, [axis], n), norm, n, inverse);
}

// ---------------------------------------------------------------- along several axes

/**
 * The transform along the last two axes, or others, as NumPy's `fft2`.
 *
 * @example
 * await fft.fft2([[1, 2], [3, 4]]).compute()
 * //=> [[10.+0.j -2.+0.j]
 * //=>  [-4.+0.j  0.+0.j]]
 */
function fft2<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(fft2, () => complexPlane('fft.fft2', x, options, false, LAST_TWO));
}

/**
 * The inverse of `fft.fft2`.
 *
 * @example
 * await fft.ifft2(fft.fft2([[1, 2], [3, 4]])).real().compute()
 * //=> [[1. 2.]
 * //=>  [3. 4.]]
 */
function ifft2<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(ifft2, () => complexPlane('fft.ifft2', x, options, true, LAST_TWO));
}

/**
 * The real transform along the last of two axes, and the complex one along the other, as NumPy's `rfft2`.
 *
 * @example
 * await fft.rfft2([[1, 2], [3, 4]]).compute()
 * //=> [[10.+0.j -2.+0.j]
 * //=>  [-4.+0.j  0.+0.j]]
 */
function rfft2<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(rfft2, () => realPlane('fft.rfft2', x, options, LAST_TWO));
}

/**
 * The inverse of `fft.rfft2`.
 *
 * @example
 * await fft.irfft2(fft.rfft2([[1, 2], [3, 4]])).compute()
 * //=> [[1. 2.]
 * //=>  [3. 4.]]
 */
function irfft2<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Signal<DTypeOf<T>>> {
  return called(irfft2, () => realPlaneBack('fft.irfft2', x, options, LAST_TWO));
}

/**
 * The transform along all axes, or some, as NumPy's `fftn`: `fft.fftn(x, { axes: [0, 1], s: [64, -1] })`. NumPy
 * transforms along an axis twice where it is named twice; here each stands once. Throws a RangeArgumentError for a
 * length below 1, a ShapeError for other axes, or lengths that are not as many.
 *
 * @example
 * await fft.fftn([[1, 2], [3, 4]], { axes: [0] }).compute()
 * //=> [[ 4.+0.j  6.+0.j]
 * //=>  [-2.+0.j -2.+0.j]]
 */
function fftn<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(fftn, () => complexPlane('fft.fftn', x, options, false));
}

/**
 * The inverse of `fft.fftn`.
 *
 * @example
 * await fft.ifftn(fft.fftn([[1, 2], [3, 4]])).real().compute()
 * //=> [[1. 2.]
 * //=>  [3. 4.]]
 */
function ifftn<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(ifftn, () => complexPlane('fft.ifftn', x, options, true));
}

/**
 * The real transform along the last of the axes, and the complex one along the others, as NumPy's `rfftn`.
 *
 * @example
 * await fft.rfftn([[1, 2], [3, 4]]).compute()
 * //=> [[10.+0.j -2.+0.j]
 * //=>  [-4.+0.j  0.+0.j]]
 */
function rfftn<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(rfftn, () => realPlane('fft.rfftn', x, options));
}

/**
 * The inverse of `fft.rfftn`: the last length is 2 (m - 1) for m elements by default.
 *
 * @example
 * await fft.irfftn(fft.rfftn([[1, 2], [3, 4]])).compute()
 * //=> [[1. 2.]
 * //=>  [3. 4.]]
 */
function irfftn<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Signal<DTypeOf<T>>> {
  return called(irfftn, () => realPlaneBack('fft.irfftn', x, options));
}

const LAST_TWO = [-2, -1];

function complexPlane(
  op: string,
  x: ArrayLike,
  options: FftnOptions | undefined,
  inverse: boolean,
  usual?: readonly number[],
): Lazy<never> {
  const given = exprOf(op, x);
  const { axes, lengths, norm } = plane(op, given, options, usual);
  const source = fourier.resized(fourier.transformed(given), axes, lengths);
  const sorted = [...axes].sort((a, b) => a - b);
  const all = productOf(lengths);
  return new Lazy(fourier.scaled(fourier.complexTransform(source, sorted, inverse), norm, all, inverse));
}

function realPlane(
  op: string,
  x: ArrayLike,
  options: FftnOptions | undefined,
  usual?: readonly number[],
): Lazy<never> {
  const given = exprOf(op, x);
  const { axes, lengths, norm } = plane(op, given, options, usual);
  needAxis(op, axes);
  const source = fourier.resized(fourier.realInput(op, given), axes, lengths);
  return new Lazy(fourier.scaled(fourier.realTransform(source, axes), norm, productOf(lengths), false));
}

function realPlaneBack(
  op: string,
  x: ArrayLike,
  options: FftnOptions | undefined,
  usual?: readonly number[],
): Lazy<never> {
  const given = exprOf(op, x);
  const { axes, lengths, norm } = plane(op, given, options, usual, true);
  needAxis(op, axes);
  const n = lengths.at(-1)!;
  const halves = [...lengths.slice(0, -1), Math.floor(n / 2) + 1];
  const source = fourier.resized(fourier.complexInput(given), axes, halves);
  return new Lazy(fourier.scaled(fourier.realInverse(source, axes, n), norm, productOf(lengths), true));
}

// ---------------------------------------------------------------- frequencies, order, convolution

/**
 * The frequencies of the elements of a transform of n samples, `d` apart: 0, 1 … and then the negative ones, over n · d,
 * float64, as NumPy's `fftfreq`.
 *
 * @example
 * await fft.fftfreq(4).compute()
 * //=> [ 0.    0.25 -0.5  -0.25]
 */
function fftfreq(n: number, d = 1): Lazy<'float64'> {
  return called(fftfreq, () => {
    const size = lengthOf('fft.fftfreq', n);
    const places = iota(size);
    const signed = map('where', [
      map('less', [places, Math.ceil(size / 2)]),
      places,
      map('subtract', [places, size]),
    ]);
    return new Lazy(map('multiply', [cast(signed, 'float64'), spacing('fft.fftfreq', size, d)]));
  });
}

/**
 * The frequencies of the n/2 + 1 elements of a real transform, as NumPy's `rfftfreq`.
 *
 * @example
 * await fft.rfftfreq(4).compute()
 * //=> [0.   0.25 0.5 ]
 */
function rfftfreq(n: number, d = 1): Lazy<'float64'> {
  return called(rfftfreq, () => {
    const size = lengthOf('fft.rfftfreq', n);
    const places = cast(iota(Math.floor(size / 2) + 1), 'float64');
    return new Lazy(map('multiply', [places, spacing('fft.rfftfreq', size, d)]));
  });
}

/**
 * Frequency 0 in the middle, along all axes or some, as NumPy's `fftshift`.
 *
 * @example
 * await fft.fftshift(fft.fftfreq(4)).compute()
 * //=> [-0.5  -0.25  0.    0.25]
 */
function fftshift<T extends ArrayLike>(x: T, axes?: Axes): Lazy<DTypeOf<T>> {
  return called(fftshift, () => shifted('fft.fftshift', x, axes, (size) => Math.floor(size / 2)));
}

/**
 * The inverse of `fft.fftshift`.
 *
 * @example
 * await fft.ifftshift(fft.fftshift([1, 2, 3])).compute()
 * //=> [1. 2. 3.]
 */
function ifftshift<T extends ArrayLike>(x: T, axes?: Axes): Lazy<DTypeOf<T>> {
  return called(ifftshift, () => shifted('fft.ifftshift', x, axes, (size) => -Math.floor(size / 2)));
}

/**
 * The convolution of two arrays by transforms, along all axes or some, as SciPy's `fftconvolve`: n log n for what
 * `convolve` takes n · m products for, with errors in the size of the largest products. `fft.fftConvolve(image, kernel,
 * { mode: 'same' })`. Axes that are not convolved broadcast. The dtype is the float or complex one in which both meet;
 * halves are computed in float32, and stay float32. Throws a ShapeError for arrays of other numbers of axes, and
 * where neither lies within the other for `'valid'`.
 *
 * @example
 * await fft.fftConvolve([1, 2, 3], [0, 1]).round().compute()
 * //=> [0. 1. 2. 3.]
 */
function fftConvolve(a: ArrayLike, b: ArrayLike, options?: FftConvolveOptions): Lazy {
  return called(fftConvolve, () => {
    const op = 'fft.fftConvolve';
    return new Lazy(convolved(op, exprOf(op, a), exprOf(op, b), options));
  });
}

// ---------------------------------------------------------------- arguments

const productOf = (sizes: readonly number[]): number => sizes.reduce((product, n) => product * n, 1);

function lengthOf(op: string, n: unknown): number {
  const length = checkInteger(op, 'the length', n);
  if (length < 1) throw new RangeArgumentError(expected(op, 'a length of at least 1', `${length}`));
  return length;
}

const normOf = (op: string, norm: unknown): FftNorm =>
  norm === undefined || norm === null ? 'backward' : oneOf(op, 'a norm', fourier.NORMS, norm);

/** The axis, the length and the norm of a transform along one axis; `isHalf`: of the half of a real one's elements. */
function line(
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
function plane(
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

function needAxis(op: string, axes: readonly number[]): void {
  if (axes.length === 0) throw new ShapeError(expected(op, 'an axis', 'none'));
}

function spacing(op: string, n: number, d: unknown): Expr {
  const distance = finiteNumber(op, 'd', d);
  if (distance === 0) throw new RangeArgumentError(expected(op, 'a distance other than 0', '0'));
  return constant(1 / (n * distance), 'float64');
}

function shifted(
  op: string,
  x: ArrayLike,
  axes: Axes | undefined,
  by: (size: number) => number,
): Lazy<never> {
  const given = exprOf(op, x);
  const places = normalizeAxes(op, axes, given.shape.length).filter((axis) => given.shape[axis]! > 1);
  if (places.length === 0) return new Lazy(given);
  return new Lazy(
    roll(
      given,
      places.map((axis) => by(given.shape[axis]!)),
      places,
    ),
  );
}

/** Fourier transforms: `fft.rfft(x)`, `fft.ifft2(spectrum, { norm: 'ortho' })`. */
export const fft = {
  fft: forward,
  ifft,
  rfft,
  irfft,
  hfft,
  ihfft,
  fft2,
  ifft2,
  rfft2,
  irfft2,
  fftn,
  ifftn,
  rfftn,
  irfftn,
  fftfreq,
  rfftfreq,
  fftshift,
  ifftshift,
  fftConvolve,
} as const;
