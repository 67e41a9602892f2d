/** CUDA C of how a value is put into a bin, by atomic operations. Used by `bins.ts`. */
import { FLAG_FIELD, FLAGS } from '../../../graph/exact-sums.js';
import { highestLiteral, lowestLiteral } from '../literals.js';
import type { BinForm } from './bin-form.js';

/** Adding 64 bits in shared memory: two halves, for which there is an instruction. */
const ADD_SHARED = `__device__ __forceinline__ void weft_add(unsigned long long* at, unsigned long long value) {
  unsigned int* half = (unsigned int*)at;
  const unsigned int low = (unsigned int)value;
  const unsigned int before = atomicAdd(half, low);
  const unsigned int high = (unsigned int)(value >> 32) + (before + low < low ? 1u : 0u);
  if (high != 0) atomicAdd(half + 1, high);
}
`;
const ADD_GLOBAL = `__device__ __forceinline__ void weft_add(unsigned long long* at, unsigned long long value) {
  if (value != 0) atomicAdd(at, value);
}
`;

/** The extreme of floats, as integers of their order: those of negative numbers go the other way. */
function printFloatExtreme(op: 'min' | 'max', dtype: 'float32' | 'float64'): string {
  const [signed, unsigned, bits] =
    dtype === 'float32'
      ? ['int', 'unsigned int', '__float_as_int']
      : ['long long', 'unsigned long long', '__double_as_longlong'];
  const [ahead, back] = op === 'max' ? ['Max', 'Min'] : ['Min', 'Max'];
  // A NaN of the sign that wins over all numbers.
  const nan =
    dtype === 'float32'
      ? op === 'max'
        ? '0x7fc00000'
        : '(int)0xffc00000u'
      : op === 'max'
        ? '0x7ff8000000000000ll'
        : '(long long)0xfff8000000000000ull';
  return `__device__ __forceinline__ void weft_put(weft_result* at, weft_value value) {
  const ${signed} v = value != value ? ${nan} : ${bits}(value);
  if (v >= 0) atomic${ahead}((${signed}*)at, v);
  else atomic${back}((${unsigned}*)at, (${unsigned})v);
}
`;
}

/** The exponent that a fixed sum is scaled by; see `fixed-sums.ts`. */
const SCALE = `__device__ __forceinline__ int weft_scale(double value) {
  if (value != value) return 8192;
  const long long word = __double_as_longlong(value);
  const int exponent = (int)(word >> 52 & 2047);
  if (exponent == 2047) return 4096;
  return word == (long long)0x8000000000000000ull ? 0 : exponent + 1;
}
`;

/** The parts of a value in units of its bin's scale. */
function printFixed({ bits }: BinForm): string {
  return `__device__ __forceinline__ double weft_power(int e) {
  return __longlong_as_double((long long)(e + 1023) << 52);
}
__device__ __forceinline__ void weft_fix(double value, int scale, unsigned long long* v) {
  const int shift = ${bits + 1022} - (scale < 2 ? 1 : scale - 1);
  const double scaled = scale < 4096 ? value * weft_power(shift / 2) * weft_power(shift - shift / 2) : 0.0;
  const double whole = rint(scaled);
  const unsigned long long plus = scale == 4096 && value == ${highestLiteral('float64')} ? 1ull : 0ull;
  const unsigned long long minus = scale == 4096 && value == ${lowestLiteral('float64')} ? 1ull : 0ull;
  v[0] = scale < 4096 ? (unsigned long long)(long long)whole : plus;
  v[1] = scale < 4096 ? (unsigned long long)(long long)rint((scaled - whole) * weft_power(${bits})) : minus;
}
`;
}

/**
 * The window of a float32, and its multiple of that one's least units; of what is not a finite number or is 0, the window
 * of flags and its flag. See `exact-sums.ts`.
 */
function printExact({ bits, parts }: BinForm): string {
  const flag = (name: keyof typeof FLAGS): string => `1ll << ${FLAG_FIELD * FLAGS[name]}`;
  return `__device__ __forceinline__ int weft_window(float value, long long* number) {
  const unsigned int word = (unsigned int)__float_as_int(value);
  const unsigned int exponent = word >> 23 & 255u;
  const bool minus = word >> 31 != 0;
  if (exponent == 255u || word << 1 == 0) {
    if (value != value) *number = ${flag('nan')};
    else if (exponent == 255u) *number = minus ? ${flag('minusInfinite')} : ${flag('infinite')};
    else *number = minus ? ${flag('minusZero')} : ${flag('zero')};
    return ${parts - 1};
  }
  const unsigned int place = exponent == 0 ? 0 : exponent - 1;
  const unsigned int window = place / ${bits}u;
  const long long whole = (long long)((word & 0x7fffffu) | (exponent == 0 ? 0u : 0x800000u)) << (place - window * ${bits}u);
  *number = minus ? -whole : whole;
  return (int)window;
}
__device__ __forceinline__ void weft_add_window(weft_result* own, long long slots, long long s, int window, long long number) {
  unsigned long long* at = (unsigned long long*)own + window * slots + s;
  if (window < ${parts - 1}) return weft_add(at, (unsigned long long)number);
  // One flag: in the lower half of the word, or in the upper one.
  const bool isUpper = (unsigned int)number == 0;
  atomicOr((unsigned int*)at + isUpper, (unsigned int)(isUpper ? number >> 32 : number));
}
`;
}

export function identityOf({ op, result }: BinForm): string {
  if (op === 'last') return '-1';
  if (op === 'min') return highestLiteral(result);
  return op === 'max' ? lowestLiteral(result) : '0';
}

/** How a value is put into a bin; in device memory, where most change nothing, extremes are looked at before. */
export function printPut(form: BinForm): string {
  const { op, result, sharedBins } = form;
  const isShared = sharedBins !== undefined;
  const extreme = (name: string, value: string): string =>
    `__device__ __forceinline__ void weft_put(weft_result* at, weft_value value) {
  const weft_result v = ${value};
  ${isShared ? '' : `if (__ldcg(at) ${name === 'Max' ? '<' : '>'} v) `}atomic${name}(at, v);
}
`;
  switch (op) {
    case 'count':
      return '__device__ __forceinline__ void weft_put(weft_result* at) { atomicAdd(at, 1u); }\n';
    case 'last':
      return `typedef weft_result weft_value;\n${extreme('Max', 'value')}`;
    case 'sum':
      return `${isShared ? ADD_SHARED : ADD_GLOBAL}__device__ __forceinline__ void weft_put(weft_result* at, weft_value value) {
  weft_add((unsigned long long*)at, (unsigned long long)value);
}
`;
    case 'scale':
      return `${SCALE}${extreme('Max', 'weft_scale((double)value)')}`;
    case 'fixed':
      return `${isShared ? ADD_SHARED : ADD_GLOBAL}${printFixed(form)}`;
    case 'exact':
      return `${ADD_GLOBAL}${printExact(form)}`;
    case 'min':
    case 'max':
      if (result === 'float32' || result === 'float64') return printFloatExtreme(op, result);
      return extreme(op === 'min' ? 'Min' : 'Max', 'value');
  }
}
