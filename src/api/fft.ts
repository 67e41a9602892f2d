/**
 * Fourier transforms with NumPy's names: planned, cut into tiles and fused like everything else. Factors, windows and
 * magnitudes around a transform are part of the kernels beside it.
 */
import { convolved, type FftConvolveOptions } from '../graph/fft-convolve.js';
import { called } from '../host/site.js';
import { fftfreq, fftshift, ifftshift, rfftfreq } from './fft-frequencies.js';
import { forward, hfft, ifft, ihfft, irfft, rfft } from './fft-line.js';
import { fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn } from './fft-plane.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

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
