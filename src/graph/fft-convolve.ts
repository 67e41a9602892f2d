/** Convolution by Fourier transforms: products of spectra of a length of small factors. Called by `api/fft.ts`. */
import { expected, ShapeError } from '../host/errors.js';
import { checkOptions, oneOf } from './arguments.js';
import { slice } from './basic-slicing.js';
import { CONVOLVE_MODES, type ConvolveMode } from './convolve-modes.js';
import { isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { complexTransform, realInverse, realTransform, resized, scaled, transformed } from './fourier.js';
import { cast, map, meetingDType } from './infer.js';
import { broadcastShapes, normalizeAxes } from './shape.js';

/** Options of `fft.fftConvolve`. */
export interface FftConvolveOptions {
  /**
   * All places where the arrays meet (`'full'`, the default), as many as the first array has, in the middle of those
   * (`'same'`), or those where one lies within the other (`'valid'`).
   */
  readonly mode?: ConvolveMode | undefined;
  /** The axes that are convolved, all by default; the others broadcast. */
  readonly axes?: number | readonly number[] | undefined;
}

/** The convolution of two arrays of as many axes. */
export function convolved(op: string, a: Expr, b: Expr, options: FftConvolveOptions = {}): Expr {
  checkOptions(op, options, ['mode', 'axes']);
  const mode = oneOf(op, 'a mode', CONVOLVE_MODES, options.mode ?? 'full');
  const shapes = `${formatShape(a.shape)} and ${formatShape(b.shape)}`;
  if (a.shape.length !== b.shape.length || a.shape.length === 0)
    throw new ShapeError(expected(op, 'arrays of as many axes, at least one', shapes));
  const axes = normalizeAxes(op, options.axes, a.shape.length);
  const others = ({ shape }: Expr): number[] => shape.map((size, k) => (axes.includes(k) ? 1 : size));
  broadcastShapes(op, [others(a), others(b)]);
  if (axes.some((axis) => a.shape[axis] === 0 || b.shape[axis] === 0))
    throw new ShapeError(expected(op, 'elements along the axes that are convolved', shapes));
  const isWithin = (inner: Expr, outer: Expr): boolean =>
    axes.every((axis) => inner.shape[axis]! <= outer.shape[axis]!);
  if (mode === 'valid' && !isWithin(a, b) && !isWithin(b, a))
    throw new ShapeError(expected(op, 'one array within the other along all axes', shapes));
  const dtype = transformed(cast(a, meetingDType(op, [a, b]))).dtype;
  const full = product(cast(a, dtype), cast(b, dtype), axes);
  return middle(full, mode, a, b, axes);
}

/** All places, of arrays of one float or complex dtype. */
function product(a: Expr, b: Expr, axes: readonly number[]): Expr {
  if (axes.length === 0) return map('multiply', [a, b]);
  const isReal = !isComplex(a.dtype);
  const sizes = axes.map((axis) => a.shape[axis]! + b.shape[axis]! - 1);
  const lengths = sizes.map((size, k) => smoothLength(size, isReal && k === axes.length - 1));
  const spectrum = (x: Expr): Expr => {
    const filled = resized(x, axes, lengths);
    return isReal ? realTransform(filled, axes) : complexTransform(filled, axes, false);
  };
  const both = map('multiply', [spectrum(a), spectrum(b)]);
  const back = isReal ? realInverse(both, axes, lengths.at(-1)!) : complexTransform(both, axes, true);
  const all = lengths.reduce((count, n) => count * n, 1);
  return resized(scaled(back, 'backward', all, true), axes, sizes);
}

function middle(full: Expr, mode: ConvolveMode, a: Expr, b: Expr, axes: readonly number[]): Expr {
  if (mode === 'full') return full;
  const ranges = full.shape.map((size, axis): readonly [number, number] => {
    if (!axes.includes(axis)) return [0, size];
    const [m, n] = [a.shape[axis]!, b.shape[axis]!];
    const kept = mode === 'same' ? m : Math.max(m, n) - Math.min(m, n) + 1;
    const first = Math.floor((size - kept) / 2);
    return [first, first + kept];
  });
  return slice(full, ...ranges);
}

/** The least length from `least` on of factors 2, 3, 5 and 7, even where asked for. */
function smoothLength(least: number, isEven: boolean): number {
  const even = isEven && least > 1 ? 2 : 1;
  let best = Number.POSITIVE_INFINITY;
  for (let seven = even; seven < best; seven *= 7)
    for (let five = seven; five < best; five *= 5)
      for (let three = five; three < best; three *= 3) {
        let n = three;
        while (n < least) n *= 2;
        best = Math.min(best, n);
      }
  return best;
}
