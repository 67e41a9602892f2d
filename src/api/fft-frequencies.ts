/** The frequencies of the elements of Fourier transforms, and their order. */
import { finiteNumber } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import { cast, constant, iota, map } from '../graph/infer.js';
import { roll } from '../graph/masks.js';
import { type Axes, normalizeAxes } from '../graph/shape.js';
import { expected, RangeArgumentError } from '../host/errors.js';
import { called } from '../host/site.js';
import { lengthOf } from './fft-arguments.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/**
 * The frequencies of the elements of a transform of n samples, `d` apart: 0, 1 … and then the negative ones, over n · d,
 * float64, as NumPy's `fftfreq`.
 *
 * @example
 * await fft.fftfreq(4).compute()
 * //=> [ 0.    0.25 -0.5  -0.25]
 */
export function fftfreq(n: number, d = 1): Lazy<'float64'> {
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
export function rfftfreq(n: number, d = 1): Lazy<'float64'> {
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
export function fftshift<T extends ArrayLike>(x: T, axes?: Axes): Lazy<DTypeOf<T>> {
  return called(fftshift, () => shifted('fft.fftshift', x, axes, (size) => Math.floor(size / 2)));
}

/**
 * The inverse of `fft.fftshift`.
 *
 * @example
 * await fft.ifftshift(fft.fftshift([1, 2, 3])).compute()
 * //=> [1. 2. 3.]
 */
export function ifftshift<T extends ArrayLike>(x: T, axes?: Axes): Lazy<DTypeOf<T>> {
  return called(ifftshift, () => shifted('fft.ifftshift', x, axes, (size) => -Math.floor(size / 2)));
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
