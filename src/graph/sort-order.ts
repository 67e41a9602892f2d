/** The order of sorts, as a value that stands behind all others. */
import { type DType, isComplex, isInteger, type Scalar } from './dtype.js';
import { integerRange } from './scalar.js';

/** A value that no other one comes after. */
export function lastInOrder(dtype: DType, descending: boolean): Scalar {
  if (dtype === 'bool') return !descending;
  if (isComplex(dtype)) return { re: Number.NaN, im: Number.NaN };
  if (!isInteger(dtype)) return Number.NaN;
  const { min, max } = integerRange(dtype);
  return descending ? min : max;
}
