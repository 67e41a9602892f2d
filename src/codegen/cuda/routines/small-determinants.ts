/**
 * CUDA C of the determinants of small matrices: lanes have rows in their registers, which stay where they are, and the product of
 * pivots is kept as a fraction and a power of two, so that it neither overflows on its way nor loses digits. Launches are made by
 * `exec/calls/small-matrices.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { realDType } from '../../../graph/matrices.js';
import { firstLargest, lanesOf, matricesOfBlock } from './small-matrices.js';
import { printNumber, WARP } from './small-numbers.js';

export const SMALL_DETERMINANTS_NAME = 'weft_small_determinants';

/** The bits of a real number, where its exponent lies in them, what is taken from it, and its least positive normal number. */
const FLOATS = {
  float32: {
    word: 'unsigned int',
    bits: '__float_as_int',
    number: '__int_as_float',
    mantissa: 23,
    bias: 127,
    least: '1.17549435e-38f',
  },
  float64: {
    word: 'unsigned long long',
    bits: '__double_as_longlong',
    number: '__longlong_as_double',
    mantissa: 52,
    bias: 1023,
    least: '2.2250738585072014e-308',
  },
} as const;

/** The power of two by which denormal numbers become normal ones. */
const UP = 64;

function printScaling(dtype: DType): string {
  const { word, bits, number, mantissa, bias, least } = FLOATS[realDType(dtype) as keyof typeof FLOATS];
  return `__device__ __forceinline__ weft_real weft_power_of_two(int exponent) {
  return ${number}((${word})(${bias} + exponent) << ${mantissa});
}
// A number whose larger part is from 1 up to below 4, with its power of two in the exponent; 0, infinities and NaN as they are.
__device__ __forceinline__ weft_number weft_fraction(weft_number a, int& exponent) {
  const weft_real size = weft_part(a);
  if (!(size > 0) || size - size != 0) return a;
  const bool is_denormal = size < ${least};
  const weft_real up = is_denormal ? weft_power_of_two(${UP}) : (weft_real)1;
  const int found = (int)((${word})${bits}(size * up) >> ${mantissa}) - ${bias}, power = found < ${bias} ? found : ${bias - 1};
  exponent += is_denormal ? power - ${UP} : power;
  return weft_power_of_two(-power) * (up * a);
}
// Of a that is 0 or at least 1: rounded once. More than three steps lead to 0 or infinity.
__device__ __forceinline__ weft_number weft_times_power(weft_number a, int exponent) {
  for (int k = 0; k < 4; k++) {
    const int step = exponent < ${1 - bias} ? ${1 - bias} : exponent > ${bias - 1} ? ${bias - 1} : exponent;
    a = weft_power_of_two(step) * a;
    exponent -= step;
  }
  return a;
}
`;
}

/** Determinants, their signs and the logarithms of their moduli. */
export function printSmallDeterminants(dtype: DType, n: number): string {
  const [lanes, together] = [lanesOf(n), matricesOfBlock(n)];
  const own = `(threadIdx.x & ${WARP - lanes})`;
  const ofGroup = (holds: string): string =>
    `(__ballot_sync(0xffffffffu, ${holds}) >> ${own} & ${lanes === WARP ? '0xffffffffu' : `${2 ** lanes - 1}u`})`;
  return `${printNumber(dtype)}${firstLargest(dtype, lanes)}${printScaling(dtype)}__device__ __forceinline__ weft_number weft_sign(weft_number a) {
  ${dtype.startsWith('complex') ? 'return weft_is_zero(a) ? a : weft_parted(a, weft_modulus(a));' : 'return a > 0 ? (weft_real)1 : a < 0 ? (weft_real)-1 : a;'}
}
extern "C" __global__ void __launch_bounds__(${together * lanes})
${SMALL_DETERMINANTS_NAME}(unsigned int first_x, const weft_number* given, weft_number* determinant, weft_number* sign,
    weft_real* logarithm, long long count) {
  const long long matrix = ((long long)blockIdx.x + first_x) * ${together} + threadIdx.x / ${lanes};
  const int lane = threadIdx.x % ${lanes};
  const bool is_row = lane < ${n}, is_there = matrix < count;
  given += matrix * ${n * n};
  // Columns, that lanes load neighbours: the determinant of the transpose is the same.
  weft_number row[${n}];
  bool has_nan = false;
#pragma unroll
  for (int j = 0; j < ${n}; j++) {
    row[j] = is_row && is_there ? given[j * ${n} + lane] : weft_number{};
    has_nan = has_nan || weft_part(row[j]) != weft_part(row[j]);
  }
  has_nan = ${ofGroup('has_nan')} != 0;
  bool is_left = is_row;
  int exponent = 0, exchanges = 0;
  weft_number product = weft_from(1, 0);
#pragma unroll
  for (int k = 0; k < ${n}; k++) {
    const int at = weft_first_largest(weft_size(row[k]), is_left);
    const weft_number pivot = weft_of_lane(row[k], ${own} + at);
    // Rows that are left before the pivot's are those that it passes.
    exchanges += __popc(${ofGroup('is_left && lane < at')});
    is_left = is_left && lane != at;
    product = product * weft_fraction(pivot, exponent);
    const bool is_below = is_left && !weft_is_zero(pivot);
    const weft_number factor = is_below ? weft_over(row[k], pivot) : weft_number{};
#pragma unroll
    for (int j = k + 1; j < ${n}; j++) {
      const weft_number above = weft_of_lane(row[j], ${own} + at);
      if (is_below) row[j] = weft_less(row[j], factor, above);
    }
  }
  if (lane > 0 || !is_there) return;
  const weft_real nan = __int_as_float(0x7fc00000);
  if (exchanges % 2 == 1) product = weft_number{} - product;
  if (has_nan) product = weft_from(nan, nan);
  // No negative zeros.
  determinant[matrix] = weft_times_power(product, exponent) + weft_number{};
  sign[matrix] = weft_sign(product) + weft_number{};
  logarithm[matrix] = (weft_real)(log((double)weft_modulus(product)) + exponent * 0.693147180559945309417);
}
`;
}
