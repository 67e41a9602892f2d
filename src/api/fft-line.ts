/** Fourier transforms along one axis, with NumPy's names. */
import type { Expr } from '../graph/expr.js';
import * as fourier from '../graph/fourier.js';
import { map } from '../graph/infer.js';
import { called } from '../host/site.js';
import { type FftOptions, line, type Signal, type Spectrum } from './fft-arguments.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/**
 * The discrete Fourier transform Σⱼ x[j] e^(-2πi jk/n) along an axis, as NumPy's `fft`: complex64 of float32,
 * complex64 and halves, else complex128. `fft.fft(x, { n: 1024, axis: 0, norm: 'ortho' })`. Throws a
 * RangeArgumentError for a length below 1, a ShapeError for an axis that is not there.
 *
 * @example
 * await fft.fft([1, 2, 3, 4]).compute()
 * //=> [10.+0.j -2.+2.j -2.+0.j -2.-2.j]
 */
export function forward<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Spectrum<DTypeOf<T>>> {
  return called(forward, () => complexLine('fft.fft', x, options, false));
}

/**
 * The inverse of `fft.fft`, by default with the factor 1/n, as NumPy's `ifft`.
 *
 * @example
 * await fft.ifft(fft.fft([1, 2, 3, 4])).real().compute()
 * //=> [1. 2. 3. 4.]
 */
export function ifft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
export function rfft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
export function irfft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Signal<DTypeOf<T>>> {
  return called(irfft, () => new Lazy(realLineBack('fft.irfft', exprOf('fft.irfft', x), options, true)));
}

/**
 * The real transform of n numbers of which the second half mirrors the first, which is given: NumPy's `hfft`.
 *
 * @example
 * await fft.hfft([1, 2, 3]).compute()
 * //=> [ 8. -2.  0. -2.]
 */
export function hfft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Signal<DTypeOf<T>>> {
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
export function ihfft<T extends ArrayLike>(x: T, options?: FftOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
