/**
 * How far a backend may be from NumPy for each op: the row's ULP bound, with what follows from it for halves
 * and complex values. Used by the conformance suite and by the test of the reference interpreter.
 */
import { type DType, isComplex, isFloat, isHalf, type Scalar } from '../../src/graph/dtype.js';
import { type OpName, opRow } from '../../src/graph/ops.js';
import { isComplexValue } from './scalar.js';
import type { Tolerance } from './ulp.js';

/** Products and what is built on several roundings: an error of the norm in units of its last place. */
const COMPLEX_ULP: Partial<Record<OpName, number>> = {
  multiply: 2,
  square: 2,
  divide: 6,
  reciprocal: 6,
  pow: 64,
};

/** The tolerance of an op whose arguments have dtype `compute` and whose result has dtype `result`. */
export function opTolerance(op: OpName, compute: DType, result: DType): Tolerance {
  const { ulp } = opRow(op).sample;
  if (isComplex(compute)) return { ulp: COMPLEX_ULP[op] ?? (ulp === 0 ? 0 : 2 * ulp + 2) };
  if (!isFloat(result)) return { ulp: 0 };
  // Neither NumPy nor IEEE 754's older editions say which zero is larger.
  const anyZero = op === 'maximum' || op === 'minimum';
  // A float32 error of a few units moves a rounding to a half by at most one.
  if (isHalf(result)) return { ulp: Math.min(ulp, 1), anyZero };
  // Zeros of lgamma at 1, 2 and between the poles, digamma's and those of a cosine are not multiples of a small unit.
  return ['lgamma', 'digamma', 'philoxNormal'].includes(op) ? { ulp, floor: 1 } : { ulp, anyZero };
}

const finite = (value: Scalar): boolean =>
  isComplexValue(value) ? Number.isFinite(value.re) && Number.isFinite(value.im) : true;

const COMPONENTWISE: readonly OpName[] = [
  'add', 'subtract', 'negative', 'positive', 'conj', 'real', 'imag', 'abs', 'equal', 'notEqual', 'isnan', 'isinf',
  'isfinite', 'where',
]; // biome-ignore format: a list

/**
 * Whether an element of a complex case is compared. What complex arithmetic gives for infinities and NaN
 * differs between C99's Annex G, NumPy and CUDA, and Weft promises nothing: only what acts on each component
 * is held to NumPy.
 */
export const complexCompared = (op: OpName, args: readonly Scalar[]): boolean =>
  args.every(finite) || COMPONENTWISE.includes(op);
