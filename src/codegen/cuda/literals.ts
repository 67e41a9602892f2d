/**
 * The few values that stand in the source of generated code: zeros and identities of reductions.
 */

import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import { byteLengthOf, DTYPE_INFO, type DType, type Scalar } from '../../graph/dtype.js';
import { scalarBytes } from '../../graph/scalar-bytes.js';
import { InternalError } from '../../host/errors.js';

/** The zero of a dtype as a CUDA C expression. */
export function zeroLiteral(dtype: DType): string {
  switch (dtype) {
    case 'bool':
      return 'false';
    case 'float32':
      return '0.0f';
    case 'float64':
      return '0.0';
    case 'float16':
    case 'bfloat16':
    case 'complex64':
    case 'complex128':
      return `${CUDA_TYPE[dtype]}()`;
    default:
      return `(${CUDA_TYPE[dtype]})0`;
  }
}

/** One, for products. */
export function oneLiteral(dtype: DType): string {
  switch (dtype) {
    case 'bool':
      return 'true';
    case 'float32':
      return '1.0f';
    case 'float64':
      return '1.0';
    case 'complex64':
      return 'weft_c64{1.0f, 0.0f}';
    case 'complex128':
      return 'weft_c128{1.0, 0.0}';
    default:
      return `(${CUDA_TYPE[dtype]})1`;
  }
}

const LARGEST: Partial<Record<DType, readonly [string, string]>> = {
  bool: ['false', 'true'],
  int8: ['(signed char)-128', '(signed char)127'],
  int16: ['(short)-32768', '(short)32767'],
  // The least of each width has no literal of its own: 2147483648 is not an int.
  int32: ['(-2147483647 - 1)', '2147483647'],
  int64: ['(-9223372036854775807ll - 1)', '9223372036854775807ll'],
  uint8: ['(unsigned char)0', '(unsigned char)255'],
  uint16: ['(unsigned short)0', '(unsigned short)65535'],
  uint32: ['0u', '4294967295u'],
  uint64: ['0ull', '18446744073709551615ull'],
  float32: ['-__int_as_float(0x7f800000)', '__int_as_float(0x7f800000)'],
  float64: ['-__longlong_as_double(0x7ff0000000000000ll)', '__longlong_as_double(0x7ff0000000000000ll)'],
};

function extreme(dtype: DType, side: 0 | 1): string {
  const pair = LARGEST[dtype];
  if (pair === undefined) throw new InternalError(`${dtype} has no extreme value`);
  return pair[side];
}
/** The least value of an ordered dtype (−∞ for floats). */
export const lowestLiteral = (dtype: DType): string => extreme(dtype, 0);
/** The greatest value of an ordered dtype (∞ for floats). */
export const highestLiteral = (dtype: DType): string => extreme(dtype, 1);

/** A value of a user's monoid as a CUDA C expression, which has its bits. */
export function scalarLiteral(dtype: DType, value: Scalar): string {
  if (dtype === 'bool') return value ? 'true' : 'false';
  const { component } = DTYPE_INFO[dtype];
  if (component !== dtype) {
    const { re, im } = typeof value === 'object' ? value : { re: value, im: 0 };
    return `${CUDA_TYPE[dtype]}{${scalarLiteral(component, re)}, ${scalarLiteral(component, im)}}`;
  }
  const hex = Buffer.from(scalarBytes(dtype, value)).reverse().toString('hex');
  if (dtype === 'float32') return `__int_as_float(0x${hex})`;
  if (dtype === 'float64') return `__longlong_as_double(0x${hex}ll)`;
  return `(${CUDA_TYPE[dtype]})0x${hex}${byteLengthOf(dtype) > 4 ? 'ull' : 'u'}`;
}
