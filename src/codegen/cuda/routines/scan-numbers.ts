/**
 * CUDA C of the numbers that scans combine: elements, the wider numbers that they are combined as, and how.
 * The identity combined with a number gives that number, bit by bit; so what is beyond an end needs no
 * condition.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import { byteLengthOf, DTYPE_INFO, type DType, isComplex, isFloat } from '../../../graph/dtype.js';
import { carriedDType, type ScanOp } from '../../../graph/scan-tiles.js';
import { highestLiteral, lowestLiteral } from '../literals.js';

export interface ScanNumbers {
  readonly dtype: DType;
  readonly op: ScanOp;
}

/** Bytes of a number that elements are combined as. */
export const wideBytes = ({ dtype, op }: ScanNumbers): number => byteLengthOf(carriedDType(op, dtype));

/** Words of 64 bits by which a tile tells such a number. */
export const toldWords = (numbers: ScanNumbers): 1 | 2 =>
  wideBytes(numbers) > 8 || (wideBytes(numbers) === 8 && !isFloat(carriedDType(numbers.op, numbers.dtype)))
    ? 2
    : 1;

/**
 * The types, and conversions between them; the identity, and how two numbers are combined, the earlier one
 * first.
 */
export function printNumbers(numbers: ScanNumbers): string {
  if (numbers.op === 'logsumexp') return printExponentials(numbers) + printPairs('most', 'sum');
  return isComplex(numbers.dtype)
    ? printComplex(numbers) + printPairs('re', 'im')
    : printReal(numbers) + printSingle(numbers);
}

function printReal({ dtype, op }: ScanNumbers): string {
  const element = CUDA_TYPE[dtype];
  const isSelected = op === 'min' || op === 'max';
  // Sums and products of integers wrap, which signed ones may not; those of floats are rounded once.
  const wide = isSelected ? element : isFloat(dtype) ? 'double' : 'unsigned long long';
  // The first NaN stays: `b` is taken where it is better or NaN, and `a` is not. Branches for NaN take 0.76 ms for 0.66.
  const isBetter = op === 'min' ? ['b < a', '!(b >= a) && a == a'] : ['b > a', '!(b <= a) && a == a'];
  const combined = isSelected
    ? `  return ${isBetter[isFloat(dtype) ? 1 : 0]} ? b : a;`
    : `  return a ${op === 'sum' ? '+' : '*'} b;`;
  const extreme = op === 'min' ? highestLiteral : lowestLiteral;
  // Of maxima with a constant the compiler makes an instruction that gives one NaN for all, so results have that one.
  const rounded = isSelected && dtype === 'float32' ? '__fmul_rn(a, 1.0f)' : '(weft_element)a';
  const identity = isSelected ? extreme(dtype) : op === 'prod' ? '1' : isFloat(dtype) ? '-0.0' : '0';
  return `typedef ${element} weft_element;
typedef ${wide} weft_wide;
__device__ __forceinline__ weft_wide weft_widen(weft_element a) { return (weft_wide)a; }
__device__ __forceinline__ weft_element weft_round(weft_wide a) { return ${rounded}; }
__device__ __forceinline__ weft_wide weft_identity() { return (weft_wide)(${identity}); }
__device__ __forceinline__ weft_wide weft_combine(weft_wide a, weft_wide b) {
${combined}
}
`;
}

function printComplex({ dtype, op }: ScanNumbers): string {
  const part = CUDA_TYPE[DTYPE_INFO[dtype].component];
  const combined =
    op === 'sum'
      ? '  return weft_wide{a.re + b.re, a.im + b.im};'
      : `  if (a.re == 1.0 && a.im == 0.0) return b;
  if (b.re == 1.0 && b.im == 0.0) return a;
  return weft_wide{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};`;
  return `struct __align__(${dtype === 'complex64' ? 8 : 16}) weft_element {
  ${part} re, im;
};
struct __align__(16) weft_wide {
  double re, im;
};
__device__ __forceinline__ weft_wide weft_widen(weft_element a) { return weft_wide{(double)a.re, (double)a.im}; }
__device__ __forceinline__ weft_element weft_round(weft_wide a) {
  return weft_element{(${part})a.re, (${part})a.im};
}
__device__ __forceinline__ weft_wide weft_identity() { return weft_wide{${op === 'sum' ? '-0.0, -0.0' : '1.0, 0.0'}}; }
__device__ __forceinline__ weft_wide weft_combine(weft_wide a, weft_wide b) {
${combined}
}
`;
}

/** A sum of exponentials as its largest exponent, and the sum relative to that one. */
function printExponentials({ dtype }: ScanNumbers): string {
  const element = CUDA_TYPE[dtype];
  return `typedef ${element} weft_element;
struct __align__(16) weft_wide {
  double most, sum;
};
__device__ __forceinline__ weft_wide weft_widen(weft_element a) { return weft_wide{(double)a, 1.0}; }
__device__ __forceinline__ weft_element weft_round(weft_wide a) { return (weft_element)(a.most + log(a.sum)); }
__device__ __forceinline__ weft_wide weft_identity() {
  return weft_wide{${lowestLiteral('float64')}, 0.0};
}
__device__ __noinline__ weft_wide weft_combine(weft_wide a, weft_wide b) {
  if (a.most == b.most) return weft_wide{a.most, a.sum + b.sum};
  if (a.sum == 0.0) return b;
  if (b.sum == 0.0) return a;
  if (a.most > b.most) return weft_wide{a.most, a.sum + b.sum * exp(b.most - a.most)};
  return weft_wide{b.most, a.sum * exp(a.most - b.most) + b.sum};
}
`;
}

const ALL = '0xffffffffu';

/**
 * Bits of a signalling NaN, which no arithmetic gives, unlike those of all bits set, which stand for missing values in
 * some files.
 */
const LEAST_LIKELY = '0xfff49e3779b97f4aull';

/**
 * Exchange between the lanes of a warp, and between tiles: words of which none is 0 once it is written, so that a tile
 * that reads one sees whether it is there, and no fence orders a flag behind it. The word of a float64 is how its bits
 * differ from those of one NaN, which is written as another NaN; 32 bits have a bit of their own above.
 */
const WORDS = `__device__ __forceinline__ unsigned long long weft_heard(const unsigned long long* at) {
  return *(const volatile unsigned long long*)at;
}
__device__ __forceinline__ unsigned long long weft_word(double a) {
  const unsigned long long word = ${LEAST_LIKELY} ^ (unsigned long long)__double_as_longlong(a);
  return word == 0 ? 1ull : word;
}
__device__ __forceinline__ unsigned long long weft_word(unsigned int a) { return 1ull << 32 | a; }
__device__ __forceinline__ double weft_double(unsigned long long word) { return __longlong_as_double((long long)(${LEAST_LIKELY} ^ word)); }
`;

function printSingle(numbers: ScanNumbers): string {
  const { dtype, op } = numbers;
  const lanes = `__device__ __forceinline__ weft_wide weft_up(weft_wide a, unsigned int lanes) {
  return __shfl_up_sync(${ALL}, a, lanes);
}
__device__ __forceinline__ weft_wide weft_of_lane(weft_wide a, int lane) { return __shfl_sync(${ALL}, a, lane); }
`;
  const told = (written: string, read: string): string =>
    `${WORDS}__device__ __forceinline__ void weft_write(volatile unsigned long long* at, weft_wide a) { ${written} }
__device__ __forceinline__ weft_wide weft_told(${read}
`;
  const carried = carriedDType(op, dtype);
  if (carried === 'float64')
    return lanes + told('*at = weft_word(a);', 'unsigned long long word) { return weft_double(word); }');
  if (toldWords(numbers) === 2)
    return (
      lanes +
      told(
        'at[0] = weft_word((unsigned int)a); at[1] = weft_word((unsigned int)((unsigned long long)a >> 32));',
        'unsigned long long low, unsigned long long high) { return (weft_wide)(high << 32 | (low & 0xffffffffull)); }',
      )
    );
  const [bits, back] =
    carried === 'float32'
      ? ['(unsigned int)__float_as_int(a)', '__int_as_float((int)(unsigned int)word)']
      : ['(unsigned int)a', '(weft_wide)(unsigned int)word'];
  return lanes + told(`*at = weft_word(${bits});`, `unsigned long long word) { return ${back}; }`);
}

const printPairs = (
  a: string,
  b: string,
): string => `${WORDS}__device__ __forceinline__ weft_wide weft_up(weft_wide a, unsigned int lanes) {
  return weft_wide{__shfl_up_sync(${ALL}, a.${a}, lanes), __shfl_up_sync(${ALL}, a.${b}, lanes)};
}
__device__ __forceinline__ weft_wide weft_of_lane(weft_wide a, int lane) {
  return weft_wide{__shfl_sync(${ALL}, a.${a}, lane), __shfl_sync(${ALL}, a.${b}, lane)};
}
__device__ __forceinline__ void weft_write(volatile unsigned long long* at, weft_wide a) {
  at[0] = weft_word(a.${a});
  at[1] = weft_word(a.${b});
}
__device__ __forceinline__ weft_wide weft_told(unsigned long long a, unsigned long long b) {
  return weft_wide{weft_double(a), weft_double(b)};
}
`;
