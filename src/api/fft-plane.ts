/** Fourier transforms along several axes, with NumPy's names. */
import * as fourier from '../graph/fourier.js';
import { expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import { type FftnOptions, plane, type Signal, type Spectrum } from './fft-arguments.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/**
 * The transform along the last two axes, or others, as NumPy's `fft2`.
 *
 * @example
 * await fft.fft2([[1, 2], [3, 4]]).compute()
 * //=> [[10.+0.j -2.+0.j]
 * //=>  [-4.+0.j  0.+0.j]]
 */
export function fft2<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
export function ifft2<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
export function rfft2<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
export function irfft2<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Signal<DTypeOf<T>>> {
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
export function fftn<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
export function ifftn<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
export function rfftn<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Spectrum<DTypeOf<T>>> {
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
export function irfftn<T extends ArrayLike>(x: T, options?: FftnOptions): Lazy<Signal<DTypeOf<T>>> {
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
