/** dtype rules of elementwise ops: the dtypes that arguments are cast to, and that of the result. */
import { DTYPE_INFO, type DType, isComplex, isFloat, isHalf, isInteger, kindOf, promote } from './dtype.js';
import type { DTypeRule, Signature } from './op-row.js';

const all = (dtypes: readonly DType[]): DType => dtypes.reduce(promote);
const same = (n: number, dtype: DType, result: DType = dtype): Signature => ({
  args: Array<DType>(n).fill(dtype),
  result,
});
const component = (dtype: DType): DType => DTYPE_INFO[dtype].component;
const isReal = (dtype: DType): boolean => isFloat(dtype) || isInteger(dtype);

/** Any dtype, in the promoted one. */
export const anything: DTypeRule<'same'> = (a) => same(a.length, all(a));
/** Numbers, not booleans. */
export const numeric: DTypeRule<'same'> = (a) => (all(a) === 'bool' ? undefined : same(a.length, all(a)));
/** Booleans and real numbers: what has an order. */
export const ordered: DTypeRule<'same'> = (a) => (isComplex(all(a)) ? undefined : same(a.length, all(a)));
/** Real numbers; booleans count as int8, as in NumPy. */
export const realOrInt8: DTypeRule<'ofNumbers'> = (a) => {
  const d = all(a);
  return isComplex(d) ? undefined : same(a.length, d === 'bool' ? 'int8' : d);
};
export const numericOrInt8: DTypeRule<'ofNumbers'> = (a) =>
  same(a.length, all(a) === 'bool' ? 'int8' : all(a));
/**
 * Floats and complex; integers go to the smallest float that NumPy takes (int8 to float16, int64 to float64).
 */
export const toFloat: DTypeRule<'float'> = (a) =>
  same(a.length, promote(all(a), 'float16') === 'bfloat16' ? 'bfloat16' : floatOf(all(a)));
/**
 * Floats only; integers in the smallest that holds each argument, as NumPy takes (int16 with uint16:
 * float32).
 */
export const toRealFloat: DTypeRule<'floatEach'> = (a) => {
  const d = isInteger(all(a)) ? all(a.map(floatOf)) : floatOf(all(a));
  return isComplex(d) ? undefined : same(a.length, d);
};
/** float32 and float64: for what float32 arithmetic and a rounding cannot give the halves. */
export const toFullFloat: DTypeRule<'floatEach'> = (a) => {
  const signature = toRealFloat(a);
  return signature === undefined || isHalf(signature.result) ? undefined : signature;
};
/** True division: integers go to float64. */
export const toQuotient: DTypeRule<'quotient'> = (a) =>
  same(a.length, isReal(all(a)) && !isFloat(all(a)) ? 'float64' : all(a) === 'bool' ? 'float64' : all(a));
export const comparison: DTypeRule<'bool'> = (a) => same(a.length, all(a), 'bool');
export const orderedComparison: DTypeRule<'bool'> = (a) =>
  isComplex(all(a)) ? undefined : same(a.length, all(a), 'bool');
export const logical: DTypeRule<'bool'> = (a) => same(a.length, 'bool');
export const bits: DTypeRule<'same'> = (a) =>
  all(a) === 'bool' || isInteger(all(a)) ? same(a.length, all(a)) : undefined;
export const shift: DTypeRule<'same'> = (a) => (isInteger(all(a)) ? same(a.length, all(a)) : undefined);
/** Words of random bits, of a place and a key. */
export const words =
  (result: DType): DTypeRule =>
  (a) =>
    all(a) === 'uint64' ? same(2, 'uint64', result) : undefined;
/** A number that is drawn by a seed, of parameters. */
export const drawn: DTypeRule = ([seed, ...parameters]) =>
  seed === 'uint64' && parameters.every((dtype) => dtype === 'float64')
    ? { args: ['uint64', ...parameters], result: 'float64' }
    : undefined;
/** Rounding to even; booleans go to float16, as in NumPy. */
export const rounding: DTypeRule<'ofNumbers'> = (a) => same(1, all(a) === 'bool' ? 'float16' : all(a));
export const magnitude: DTypeRule<'component'> = (a) => same(1, all(a), component(all(a)));
/** Of integers and booleans, the bit is that of the float they become. */
export const signBit: DTypeRule<'bool'> = (a) =>
  isComplex(all(a)) ? undefined : same(1, floatOf(all(a)), 'bool');
export const choice: DTypeRule<'same'> = ([, x, y]) => ({
  args: ['bool', promote(x!, y!), promote(x!, y!)],
  result: promote(x!, y!),
});

/** The float an integer or boolean is computed in, as NumPy's unary functions choose it. */
export function floatOf(dtype: DType): DType {
  return kindOf(dtype) === 'float' || kindOf(dtype) === 'complex' ? dtype : promote(dtype, 'float16');
}
