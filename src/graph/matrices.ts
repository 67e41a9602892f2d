/** Stacks of matrices as the arguments of linear algebra: checked, in a float dtype, as [count, rows, columns]. */
import { expected, ShapeError } from '../host/errors.js';
import { DTYPE_INFO, type DType, isComplex, isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, map, meetingDType } from './infer.js';
import { indexAlong } from './joins.js';
import { broadcastShapes } from './shape.js';
import { broadcast, reshape } from './view-nodes.js';
import { swapaxes } from './views.js';

/** The dtype that linear algebra is computed in: float64 of integers and booleans, float32 of halves. */
export function linearDType(dtype: DType): DType {
  if (isComplex(dtype) || dtype === 'float32' || dtype === 'float64') return dtype;
  return isHalf(dtype) ? 'float32' : 'float64';
}

/** The dtype of real numbers beside it: singular values, norms. */
export const realDType = (dtype: DType): DType => DTYPE_INFO[dtype].component;

/** The array in the dtype of linear algebra; throws a ShapeError for less than two axes. */
export function matrices(op: string, x: Expr): Expr {
  if (x.shape.length < 2)
    throw new ShapeError(expected(op, 'matrices, along the last two axes', formatShape(x.shape)));
  return cast(x, linearDType(x.dtype));
}

/** The same of square matrices. */
export function squares(op: string, x: Expr): Expr {
  const given = matrices(op, x);
  if (given.shape.at(-1) !== given.shape.at(-2))
    throw new ShapeError(expected(op, 'square matrices', formatShape(x.shape)));
  return given;
}

/** Both in the dtype in which they meet. */
export function met(op: string, a: Expr, b: Expr): readonly [Expr, Expr] {
  const dtype = linearDType(meetingDType(op, [a, b]));
  return [cast(a, dtype), cast(b, dtype)];
}

export const leadOf = ({ shape }: Expr): readonly number[] => shape.slice(0, -2);
export const isEmpty = ({ shape }: Expr): boolean => sizeOfShape(shape) === 0;
export const zerosOf = (dtype: DType, shape: readonly number[]): Expr => broadcast(constant(0, dtype), shape);

/** [count, rows, columns] of all axes before the last two. */
export const stacked = (x: Expr): Expr =>
  reshape(x, [sizeOfShape(leadOf(x)), x.shape.at(-2)!, x.shape.at(-1)!]);

/** A stack's results with the axes before again. */
export const unstacked = (lead: readonly number[], x: Expr): Expr =>
  reshape(x, [...lead, ...x.shape.slice(1)]);

/** Of one row or column in another shape, which is no copy. */
export function transposed(x: Expr): Expr {
  const [rows, columns] = [x.shape.at(-2)!, x.shape.at(-1)!];
  const isLine = (rows === 1 || columns === 1) && x.extent === undefined;
  return isLine ? reshape(x, [...leadOf(x), columns, rows]) : swapaxes(x, -1, -2);
}

/** The conjugate transpose. */
export const adjoint = (x: Expr): Expr => {
  const turned = transposed(x);
  return isComplex(x.dtype) ? map('conj', [turned]) : turned;
};

/** The identity of n rows for each matrix of a stack. */
export function identities(dtype: DType, lead: readonly number[], n: number): Expr {
  const isOn = map('equal', [indexAlong(0, n, 2), indexAlong(1, n, 2)]);
  const one = map('where', [isOn, constant(1, dtype), constant(0, dtype)]);
  return broadcast(one, [...lead, n, n]);
}

/** Both with the leading axes in which they meet. */
export function besideStacks(op: string, a: Expr, b: Expr): readonly [Expr, Expr] {
  const lead = broadcastShapes(op, [leadOf(a), leadOf(b)]);
  const spread = (x: Expr): Expr => broadcast(x, [...lead, ...x.shape.slice(-2)]);
  return [spread(a), spread(b)];
}
