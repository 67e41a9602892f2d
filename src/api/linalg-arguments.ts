/** Arguments and dtypes that the functions of `linalg` have in common. */
import type { DType } from '../graph/dtype.js';
import type { Joined } from '../graph/dtype-types.js';
import { formatValue } from '../graph/format.js';
import type { Operand } from '../graph/infer.js';
import { ArgumentError, expected } from '../host/errors.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, type Lazy } from './lazy.js';

/** The dtype that matrices of a dtype are computed in: float32 of halves, float64 of integers and booleans. */
export type Linear<D extends DType> = [D] extends ['complex64' | 'complex128' | 'float32' | 'float64']
  ? D
  : [D] extends ['float16' | 'bfloat16']
    ? 'float32'
    : DType extends D
      ? DType
      : 'float64';
export type RealOf<D extends DType> = D extends 'complex64' | 'float32' | 'float16' | 'bfloat16'
  ? 'float32'
  : 'float64';
/** The dtype of complex numbers of the same precision. */
export type ComplexOf<D extends DType> = RealOf<D> extends 'float32' ? 'complex64' : 'complex128';
export type Solution<A, B> = Lazy<Linear<Joined<DTypeOf<A> | DTypeOf<B>>>>;

export const operandOf = (op: string, given: ArrayLike | undefined): Operand | undefined =>
  given === undefined ? undefined : exprOf(op, given);

export function flag(op: string, name: string, value: unknown): boolean {
  if (value !== undefined && typeof value !== 'boolean')
    throw new ArgumentError(expected(op, `${name} to be true or false`, formatValue(value)));
  return value ?? false;
}

/** Which norm: that of vectors, a number; of matrices also `'fro'` and `'nuc'`, the sum of singular values. */
export type LinalgNormOrder = number | 'fro' | 'nuc';
