/**
 * Discrete Fourier transforms as nodes: arrays cut or filled to the lengths that are asked for, the calls that
 * transform (`routines.ts`), and factors. Work before and after a call is maps, which fuse with their neighbours.
 *
 *     fft of real x   →   rfft, and the conjugates of what it leaves out
 *     axes 0, 1 of 3  →   one call over [1, n0, n1, n2]; where it would be slow, the axes are moved last
 *     irfftn          →   fft along all axes but the last, irfft along that
 *     a long axis     →   transforms of short rows, and maps (`fourier-steps.ts`)
 *
 * Called by `api/fft-line.ts` and `fft-plane.ts`.
 */
import { DTypeError, expected } from '../host/errors.js';
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { byteLengthOf, type DType, isComplex, isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { fromHalfSpectra, halfSpectra, inSteps, MOST_AT_ONCE, stepsOf } from './fourier-steps.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, map } from './infer.js';
import { concat, padTo } from './joins.js';
import { halfOf } from './routines.js';
import { broadcast, reshape } from './view-nodes.js';
import { flip, moveaxis } from './views.js';

/** Which direction has the factor 1/n: the inverse, both (its root), or the forward one. */
export const NORMS = ['backward', 'ortho', 'forward'] as const;
export type Norm = (typeof NORMS)[number];

/** Axes that one call transforms at most. */
const MOST_AXES = 3;
/**
 * Axes that are not the last are transformed where they lie in arrays of at most so many bytes, which are cut for
 * smaller budgets along the axes before them alone, and of few batches before them, each of which is a library's call.
 */
const MOST_STRIDED_BYTES = 2 ** 28;
const MOST_STRIDED_OUTER = 16;

/** The dtype that an array is transformed in: float64 of integers, float32 of halves. */
export function transformed(x: Expr): Expr {
  if (isComplex(x.dtype) || x.dtype === 'float32' || x.dtype === 'float64') return x;
  return cast(x, isHalf(x.dtype) ? 'float32' : 'float64');
}

/** The same as a real or as a complex array. */
export function realInput(op: string, x: Expr): Expr {
  if (isComplex(x.dtype)) throw new DTypeError(expected(op, 'a real array', x.dtype));
  return transformed(x);
}
export function complexInput(x: Expr): Expr {
  const own = transformed(x);
  return isComplex(own.dtype) ? own : cast(own, complexOf(own.dtype));
}
const complexOf = (dtype: DType): DType => (dtype === 'float64' ? 'complex128' : 'complex64');

/** The array cut, or filled with zeros at the end, to lengths along axes. */
export function resized(x: Expr, axes: readonly number[], lengths: readonly number[]): Expr {
  const shape = [...x.shape];
  for (const [k, axis] of axes.entries()) shape[axis] = lengths[k]!;
  if (sizeOfShape(x.shape) === 0) return broadcast(constant(0, x.dtype), shape);
  const cut = slice(x, ...x.shape.map((size, k) => [0, Math.min(size, shape[k]!)] as const));
  return padTo(
    cut,
    shape.map(() => 0),
    shape,
  );
}

/** Times the factor of a norm over n elements; `inverse` says which direction it is for. */
export function scaled(x: Expr, norm: Norm, n: number, inverse: boolean): Expr {
  if (n === 1 || norm === (inverse ? 'forward' : 'backward')) return x;
  return map('multiply', [x, norm === 'ortho' ? 1 / Math.sqrt(n) : 1 / n]);
}

/** The transform along distinct axes, of complex numbers or real ones; without a factor. */
export function complexTransform(x: Expr, axes: readonly number[], inverse: boolean): Expr {
  if (isComplex(x.dtype)) return alongAxes(x, axes, inverse);
  const last = axes.at(-1);
  if (last === undefined || x.shape[last] === 1 || sizeOfShape(x.shape) === 0 || isLong(x.shape[last]!))
    return alongAxes(cast(x, complexOf(x.dtype)), axes, inverse);
  const half = alongAxes(rowsFromReal(x, last), axes.slice(0, -1), false);
  const whole = mirrored(half, axes, x.shape[last]!);
  return inverse ? map('conj', [whole]) : whole;
}

/** The first half of the transforms of a real array along the last of these axes, all of those along the others. */
export function realTransform(x: Expr, axes: readonly number[]): Expr {
  const last = axes.at(-1)!;
  if (sizeOfShape(x.shape) === 0) {
    const shape = x.shape.map((size, k) => (k === last ? halfOf(size) : size));
    return broadcast(constant(0, complexOf(x.dtype)), shape);
  }
  return alongAxes(rowsFromReal(x, last), axes.slice(0, -1), false);
}

/** The real array, times its transformed elements, whose transform begins with these; n along the last axis. */
export function realInverse(x: Expr, axes: readonly number[], n: number): Expr {
  const last = axes.at(-1)!;
  const dtype: DType = x.dtype === 'complex128' ? 'float64' : 'float32';
  if (sizeOfShape(x.shape) === 0) {
    const shape = x.shape.map((size, k) => (k === last ? n : size));
    return broadcast(constant(0, dtype), shape);
  }
  const half = alongAxes(x, axes.slice(0, -1), true);
  if (!isLong(n)) return alongRows(half, last, (rows) => call('irfft', [n], [rows])[0]!);
  if (n % 2 === 0)
    return alongRows(half, last, (rows) => fromHalfSpectra(rows, (z) => alongAxes(z, [1], true)));
  // Imaginary parts that real numbers cannot have are in imaginary parts of the result.
  return map('real', [alongAxes(mirrored(half, [last], n), [last], true)]);
}

function rowsFromReal(x: Expr, axis: number): Expr {
  const n = x.shape[axis]!;
  if (!isLong(n)) return alongRows(x, axis, (rows) => call('rfft', [], [rows])[0]!);
  if (n % 2 === 0) return alongRows(x, axis, (rows) => halfSpectra(rows, (z) => alongAxes(z, [1], false)));
  const whole = alongAxes(cast(x, complexOf(x.dtype)), [axis], false);
  return slice(whole, ...whole.shape.map((size, k) => [0, k === axis ? halfOf(n) : size] as const));
}

/** Whether sequences of a length are transformed in steps. */
const isLong = (n: number): boolean => n > MOST_AT_ONCE && stepsOf(n) !== undefined;

/** A function of the rows [outer, n] along an axis. */
function alongRows(x: Expr, axis: number, transform: (rows: Expr) => Expr): Expr {
  const last = x.shape.length - 1;
  const moved = moveaxis(x, axis, last);
  const rows = transform(reshape(moved, [sizeOfShape(moved.shape.slice(0, -1)), moved.shape[last]!]));
  return moveaxis(reshape(rows, [...moved.shape.slice(0, -1), rows.shape[1]!]), last, axis);
}

/** All of a transform of real numbers: element -k is the conjugate of element k, along all axes. */
function mirrored(half: Expr, axes: readonly number[], n: number): Expr {
  const last = axes.at(-1)!;
  const kept = half.shape.map((size) => [0, size] as [number, number]);
  // Elements 1 … of what is left out, from its end.
  kept[last] = [1, n - half.shape[last]! + 1];
  const rest = axes.slice(0, -1).reduce(negated, flip(slice(half, ...kept), last));
  return concat([half, map('conj', [rest])], last);
}

/** Element -k at k along an axis: the first stays. */
function negated(x: Expr, axis: number): Expr {
  const size = x.shape[axis]!;
  if (size <= 2) return x;
  const part = (first: number, last: number): Expr =>
    slice(x, ...x.shape.map((all, k) => (k === axis ? ([first, last] as const) : ([0, all] as const))));
  return concat([part(0, 1), flip(part(1, size), axis)], axis);
}

/** The complex transform along axes, by calls over neighbouring ones: a call's transforms cannot be cut. */
function alongAxes(x: Expr, axes: readonly number[], inverse: boolean): Expr {
  if (sizeOfShape(x.shape) === 0) return x;
  const moving = axes.filter((axis) => x.shape[axis] !== 1).sort((a, b) => a - b);
  const groups: number[][] = [];
  for (const axis of moving.reverse()) {
    const group = groups.at(-1);
    const isNext = group !== undefined && group[0] === axis + 1 && group.length < MOST_AXES;
    const size = (group ?? []).reduce((product, other) => product * x.shape[other]!, x.shape[axis]!);
    if (isNext && size <= MOST_AT_ONCE) group.unshift(axis);
    else groups.push([axis]);
  }
  return groups.reduce((sum, group) => alongGroup(sum, group, inverse), x);
}

function alongGroup(x: Expr, group: readonly number[], inverse: boolean): Expr {
  const steps = x.shape[group[0]!]! > MOST_AT_ONCE ? stepsOf(x.shape[group[0]!]!) : undefined;
  if (steps !== undefined)
    return alongRows(x, group[0]!, (rows) =>
      inSteps(rows, steps, inverse, (short) => alongAxes(short, [1], inverse)),
    );
  const outer = sizeOfShape(x.shape.slice(0, group[0]));
  const inner = sizeOfShape(x.shape.slice(group.at(-1)! + 1));
  const bytes = sizeOfShape(x.shape) * byteLengthOf(x.dtype);
  if (inner > 1 && (bytes > MOST_STRIDED_BYTES || outer > MOST_STRIDED_OUTER)) {
    const ends = group.map((_, k) => x.shape.length - group.length + k);
    return moveaxis(alongGroup(moveaxis(x, group, ends), ends, inverse), ends, group);
  }
  const dims = group.map((axis) => x.shape[axis]!);
  const [result] = call('fft', [inverse ? 1 : 0], [reshape(x, [outer, ...dims, inner])]);
  return reshape(result!, x.shape);
}
