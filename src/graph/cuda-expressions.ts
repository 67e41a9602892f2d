/** The forms in which elementwise ops are CUDA C, and the types that values have there. */
import { type DType, isComplex, isInteger } from './dtype.js';
import type { CudaExpression } from './op-row.js';

/**
 * A function of CUDA's math library: `expf` for float32, `exp` for float64, the prelude's `weft_exp` for
 * complex.
 */
export const call =
  (name: string): CudaExpression =>
  (args, dtype) =>
    `${isComplex(dtype) ? `weft_${name}` : dtype === 'float32' ? `${name}f` : name}(${args.join(', ')})`;

/** A function of float64 of the generated prelude (`native/shared`), through which float32 goes too. */
export const special =
  (name: string): CudaExpression =>
  (args, dtype) =>
    dtype === 'float32'
      ? `((float)weft_${name}(${args.map((arg) => `(double)${arg}`).join(', ')}))`
      : `weft_${name}(${args.join(', ')})`;

/** A function of the generated prelude, overloaded on its argument types. */
export const prelude =
  (name: string): CudaExpression =>
  (args) =>
    `weft_${name}(${args.join(', ')})`;

/** An infix operator; signed integers go through unsigned, where overflow is defined. */
export const infix =
  (operator: string): CudaExpression =>
  ([a, b], dtype) => {
    if (isComplex(dtype)) return `(${a} ${operator} ${b})`;
    if (!isInteger(dtype)) return `(${a} ${operator} ${b})`;
    const wide = dtype.endsWith('64') ? 'unsigned long long' : 'unsigned int';
    return `((${CUDA_TYPE[dtype]})((${wide})${a} ${operator} (${wide})${b}))`;
  };
/** A negated value, of a literal with a sign, too. */
export const opposite = (a: string): string => (a.startsWith('-') ? `-(${a})` : `-${a}`);
export const compare =
  (operator: string): CudaExpression =>
  ([a, b]) =>
    `(${a} ${operator} ${b})`;
/** One expression for integers and booleans, another for floats and complex. */
export const byKind =
  (integer: CudaExpression, other: CudaExpression): CudaExpression =>
  (args, dtype) =>
    isInteger(dtype) || dtype === 'bool' ? integer(args, dtype) : other(args, dtype);
export const unchanged: CudaExpression = ([a]) => a!;
export const bitwise =
  (operator: string): CudaExpression =>
  ([a, b], dtype) =>
    `((${CUDA_TYPE[dtype]})(${a} ${operator} ${b}))`;

/** The CUDA C type that holds a value of each dtype in a register. Halves are held as their bits. */
export const CUDA_TYPE: Readonly<Record<DType, string>> = {
  bool: 'bool',
  int8: 'signed char',
  int16: 'short',
  int32: 'int',
  int64: 'long long',
  uint8: 'unsigned char',
  uint16: 'unsigned short',
  uint32: 'unsigned int',
  uint64: 'unsigned long long',
  float16: 'weft_half',
  bfloat16: 'weft_bfloat',
  float32: 'float',
  float64: 'double',
  complex64: 'weft_c64',
  complex128: 'weft_c128',
};
