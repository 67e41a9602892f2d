/**
 * Fourier transforms with NumPy's names: planned, cut into tiles and fused like everything else. Factors, windows and
 * magnitudes around a transform are part of the kernels beside it.
 */
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { convolved, type FftConvolveOptions } from '../graph/fft-convolve.js';
import * as fourier from '../graph/fourier.js';
import { map } from '../graph/infer.js';
import { expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import { type FftnOptions, type FftOptions, line, plane } from './fft-arguments.js';
import { fftfreq, fftshift, ifftshift, rfftfreq } from './fft-frequencies.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

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

const productOf = (sizes: readonly number[]): number => sizes.reduce((product, n) => product * n, 1);

function needAxis(op: string, axes: readonly number[]): void {
  if (axes.length === 0) throw new ShapeError(expected(op, 'an axis', 'none'));
}

// ---------------------------------------------------------------- convolution

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
