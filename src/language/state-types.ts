/** The dtypes of variables: one that holds all that is assigned. */
import { type DType, promote } from '../graph/dtype.js';
import { isExpr } from '../graph/infer.js';
import { weakArrayDType, weakDType } from '../graph/scalar.js';
import type { Operand } from './value.js';

/** The dtype of a variable, and whether it meets arrays as a literal does. */
export interface StateType {
  readonly dtype: DType;
  readonly weak: boolean;
}

const NAME = 'elementwise';

export const typeOf = (value: Operand): StateType => {
  const dtype = isExpr(value) ? value.dtype : weakDType(NAME, value, undefined);
  return { dtype, weak: dtype !== 'bool' && (!isExpr(value) || value.weak) };
};

/** The type that holds values of both; booleans beside numbers are 0 and 1. */
export function joined(a: StateType | undefined, b: StateType): StateType {
  if (a === undefined) return b;
  if (a.dtype === 'bool' && b.dtype === 'bool') return a;
  const [x, y] = [a, b].map((type) =>
    type.dtype === 'bool' ? { dtype: 'int64' as const, weak: true } : type,
  ) as [StateType, StateType];
  if (x.weak === y.weak) return { dtype: promote(x.dtype, y.dtype), weak: x.weak };
  const [own, strong] = x.weak ? [x, y] : [y, x];
  return { dtype: promote(weakArrayDType(own.dtype, strong.dtype), strong.dtype), weak: false };
}
