/**
 * Casts between dtypes and between a value's form in memory and in a register, as CUDA C expressions.
 *
 * Floats saturate to integers with NaN as 0, integers wrap, anything to bool is `!= 0`; halves go through
 * float32 but for float64 → half, which rounds once. Booleans lie in memory as bytes, of which any but 0 is
 * true.
 */

import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import { type DType, isComplex, isFloat, isHalf, isInteger, kindOf } from '../../graph/dtype.js';

/** The CUDA C type of an element in memory. */
export const STORAGE_TYPE: Readonly<Record<DType, string>> = { ...CUDA_TYPE, bool: 'unsigned char' };

/** A loaded element as a value in a register. */
export const fromStorage = (dtype: DType, loaded: string): string =>
  dtype === 'bool' ? `(${loaded} != 0)` : loaded;
/** A value in a register as an element to store. */
export const toStorage = (dtype: DType, value: string): string =>
  dtype === 'bool' ? `(unsigned char)${value}` : value;

/** `value`, a variable of dtype `from`, in dtype `to`. */
export function castExpression(value: string, from: DType, to: DType): string {
  if (from === to) return value;
  if (isHalf(from))
    return to === 'float32'
      ? `weft_to_float(${value})`
      : castExpression(`weft_to_float(${value})`, 'float32', to);
  if (to === 'bool') return isComplex(from) ? `(${value}.re != 0 || ${value}.im != 0)` : `(${value} != 0)`;
  if (isComplex(to)) return toComplex(value, from, to);
  if (isComplex(from)) return castExpression(`${value}.re`, from === 'complex64' ? 'float32' : 'float64', to);
  if (isHalf(to)) {
    const single = from === 'float32' || from === 'float64' ? value : `(float)${value}`;
    return `weft_to_${to === 'float16' ? 'half' : 'bfloat'}(${single})`;
  }
  if (isFloat(from) && isInteger(to)) return toInteger(value, to);
  return `(${CUDA_TYPE[to]})${value}`;
}

function toComplex(value: string, from: DType, to: DType): string {
  const type = to === 'complex64' ? 'float' : 'double';
  if (isComplex(from)) return `${CUDA_TYPE[to]}{(${type})${value}.re, (${type})${value}.im}`;
  return `${CUDA_TYPE[to]}{(${type})${value}, (${type})0}`;
}

/**
 * Both bounds are powers of two (or 0), so a float holds them exactly; from the upper one on, values
 * saturate.
 */
function toInteger(value: string, to: DType): string {
  const bits = Number(/\d+/.exec(to)![0]);
  const signed = kindOf(to) === 'int';
  const exponent = signed ? bits - 1 : bits;
  return `weft_saturate<${CUDA_TYPE[to]}>(${value}, ${signed ? `-0x1p${exponent}f` : '0.0f'}, 0x1p${exponent}f)`;
}
