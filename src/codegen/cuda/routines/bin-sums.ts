/**
 * CUDA C of sums of floats by bin in one pass over the values, where each is a whole number of one unit and of 2^-bits of
 * it, with the bits of `fixed-sums.ts` or `exact-sums.ts`, which are exact there, too (`native/cpu/bin-sums.cpp` does the
 * same). The largest one of a sample says the unit, with some room above it.
 *
 *     begin    sums of all bins = 0; the unit, by a sample
 *     at once  two numbers of each value to its bin's, side by side; `failed` where a value has none
 *     again    only where one failed: the scales of bins and their fixed sums, or exact ones
 *     finish   the sums of bins, rounded once
 *     signs    only where a sum is 0 whose sign is kept: by the zeros among the values of its bin
 *
 * Launches are made by `exec/calls/bin-sums.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { DType } from '../../../graph/dtype.js';
import { FLAG_FIELD, FLAGS } from '../../../graph/exact-sums.js';
import { BIN_THREADS, type BinForm, findBin } from './bin-form.js';
import { printKey } from './bin-keys.js';
import { printPut } from './bin-puts.js';
import {
  type BinRows,
  keyAt,
  keysParameter,
  mapParameters,
  printRowMaps,
  valueAt,
  valuesParameter,
} from './bin-rows.js';
import { MOST_RUNS, printAddRuns, RUN_SUM } from './bin-runs.js';

export interface SumsForm {
  readonly keys: DType;
  readonly values: 'float32' | 'float64';
  readonly result: 'float32' | 'float64';
  readonly mode: BinForm['mode'];
  readonly width: number;
  /** Exact sums of float32: how many numbers of `bits` exponents a bin has; undefined: fixed ones. */
  readonly windows: number | undefined;
  /** Of those numbers. */
  readonly bits: number;
  /** Bits of a value's two numbers each. */
  readonly unitBits: number;
  /** Sums that are 0: always +0, or with their signs and -0 or 0 for exact sums of nothing. */
  readonly zeros: 'positive' | 'minus' | 'plus';
  /** Whether places of numbers, two for each sum, take 64 bits. */
  readonly isLong: boolean;
  /** Maps that give keys and values. */
  readonly rows?: BinRows | undefined;
}

export const SUM_NAMES = {
  begin: 'weft_sums_begin',
  atOnce: 'weft_sums_at_once',
  clearAgain: 'weft_sums_clear_again',
  scales: 'weft_sums_scales',
  again: 'weft_sums_again',
  finish: 'weft_sums_finish',
  zeros: 'weft_sums_zeros',
  signs: 'weft_sums_signs',
} as const;

/** Bytes of the state of a run, which its numbers stand behind. */
export const SUMS_STATE = 256;
/** Rows that a thread has in flight: of float32 it has 39 registers then, and 64 with eight, where a block fewer runs at once. */
const FLIGHT = 2;
/** Threads look whether others have failed at the first of so many times that they go on. */
const LOOK_EACH = 16;
/** Values of the sample, which one block reads while others clear. */
const SAMPLED = 2 ** 12;
/** The exponent of the unit's values is so much above that of the sample's largest. */
const MARGIN = 6;
/** Exponents of factors that are ordinary numbers at most. */
const MOST_EXPONENT = 1000;

const HEAD = `
extern "C" __global__ void __launch_bounds__(${BIN_THREADS})
`;

/** How an element is gathered again; both forms are those of `bins.ts`. */
const binForm = (form: SumsForm, op: 'scale' | 'fixed' | 'exact'): BinForm => ({
  ...form,
  op,
  result: op === 'scale' ? 'int32' : 'int64',
  parts: form.windows ?? 2,
  sharedBins: undefined,
});

/**
 * Goes through all elements, whole warps at once; `use` sees the value `v[j]` and its place, -1 if it has none, `before` and
 * `after` stand around some.
 */
function printWalk(form: SumsForm, use: string, { before = '', after = '' } = {}): string {
  const { width } = form;
  const key = width === 1 ? 'e' : `e / ${width}ll`;
  const place = width === 1 ? 'bin' : `bin < 0 ? -1 : bin * ${width}ll + e % ${width}ll`;
  return `  const long long stride = (long long)blocks * ${BIN_THREADS};
  const unsigned int lane = threadIdx.x % 32;
  for (long long from = ((long long)blockIdx.x + first_x) * ${BIN_THREADS} + threadIdx.x; from - lane < count; from += ${FLIGHT} * stride) {
${before}    weft_key k[${FLIGHT}];
    weft_value v[${FLIGHT}];
    #pragma unroll
    for (int j = 0; j < ${FLIGHT}; ++j) {
      const long long e = from + j * stride;
      if (e < count) {
        k[j] = ${keyAt(form, key)};
        v[j] = ${valueAt(form, 'e')};
      }
    }
    #pragma unroll
    for (int j = 0; j < ${FLIGHT}; ++j) {
      const long long e = from + j * stride;
      if (e - lane >= count) break;
      const long long bin = e < count ? ${findBin(binForm(form, 'fixed'))} : -1;
      const weft_place place = (weft_place)(${place});
      ${use}
    }
${after}  }
`;
}

const rowsOf = (form: SumsForm): string =>
  [
    ...keysParameter(form),
    ...valuesParameter(form),
    'char* work, long long count, long long bins, long long slots, int blocks',
  ].join(', ') + mapParameters(form);

const BASE = `struct weft_sums_state {
  int exponent;
  unsigned int failed, has_zero;
};
typedef unsigned long long weft_number;
/* The two numbers of a sum. */
struct __align__(16) weft_numbers {
  weft_number whole, rest;
};
`;

/** Adds a value's two numbers to those of its place. Two lanes have both of one beside each other, in one sector of memory. */
const printAdd = ({ width, values, windows }: SumsForm): string => {
  const runs =
    width === 1
      ? `  const weft_run run(place);
  if (run.count <= ${MOST_RUNS}) {
    whole = run.sum(whole);
    if (__ballot_sync(0xffffffffu, rest != 0) != 0) rest = run.sum(rest);
    if (!run.is_first || place < 0) return;
    if (whole != 0) atomicAdd(sums + 2 * place, (weft_number)whole);
    if (rest != 0) atomicAdd(sums + 2 * place + 1, (weft_number)rest);
    return;
  }
`
      : '';
  const lanes = `  const int odd = threadIdx.x % 2;
  const unsigned int other_lane = threadIdx.x % 32 ^ 1;
  const weft_place other_place = __shfl_sync(0xffffffffu, place, other_lane);
  const long long other = __shfl_sync(0xffffffffu, odd != 0 ? whole : rest, other_lane);
  const weft_place first = odd != 0 ? other_place : place, second = odd != 0 ? place : other_place;
  const long long first_number = odd != 0 ? other : whole, second_number = odd != 0 ? rest : other;
  if (first >= 0 && first_number != 0) atomicAdd(sums + 2 * first + odd, (weft_number)first_number);
  if (second >= 0 && second_number != 0) atomicAdd(sums + 2 * second + odd, (weft_number)second_number);
`;
  // Few float32 have a second number.
  const alone = `  if (place < 0) return;
  if (whole != 0) atomicAdd(sums + 2 * place, (weft_number)whole);
  if (rest != 0) atomicAdd(sums + 2 * place + 1, (weft_number)rest);
`;
  return `${width === 1 && windows === undefined ? RUN_SUM : ''}__device__ __forceinline__ void weft_add_numbers(weft_number* sums, weft_place place, long long whole, long long rest) {
${runs}${values === 'float32' ? alone : lanes}}
`;
};

const printBegin = (form: SumsForm): string => {
  const { unitBits } = form;
  return `${HEAD}${SUM_NAMES.begin}(unsigned int first_x, ${rowsOf(form)}) {
  weft_sums_state* state = (weft_sums_state*)work;
  weft_numbers* sums = (weft_numbers*)(work + ${SUMS_STATE});
  const long long block = (long long)blockIdx.x + first_x;
  for (long long i = block * ${BIN_THREADS} + threadIdx.x; i < slots; i += (long long)blocks * ${BIN_THREADS}) sums[i] = weft_numbers{0, 0};
  if (block != 0) return;
  __shared__ unsigned long long most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  unsigned long long own = 0;
  const long long step = count <= ${SAMPLED} ? 1 : count / ${SAMPLED};
  #pragma unroll 8
  for (int i = threadIdx.x; i < ${SAMPLED}; i += ${BIN_THREADS}) {
    if (i * step >= count) break;
    const unsigned long long word = (unsigned long long)__double_as_longlong((double)${valueAt(form, 'i * step')}) << 1 >> 1;
    own = word > own ? word : own;
  }
  /* Atomics of 64 bits in shared memory are loops of exchanges. */
  #pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const unsigned long long other = __shfl_down_sync(0xffffffffu, own, lanes);
    own = other > own ? other : own;
  }
  if (threadIdx.x % 32 == 0) atomicMax(&most, own);
  __syncthreads();
  if (threadIdx.x != 0) return;
  const int field = (int)(most >> 52);
  const int e = (field == 0 ? 1 : field) - 1022 + (step == 1 ? 0 : ${MARGIN});
  state->exponent = e;
  state->failed = field == 2047 || ${unitBits} - e > ${MOST_EXPONENT} || e - ${2 * unitBits} < -1022 ? 1u : 0u;
  state->has_zero = 0u;
}
`;
};

const POWER = `__device__ __forceinline__ double weft_power(int e) {
  return __longlong_as_double((long long)(e + 1023) << 52);
}
`;

const printAtOnce = (
  form: SumsForm,
): string => `${HEAD}${SUM_NAMES.atOnce}(unsigned int first_x, ${rowsOf(form)}) {
  weft_sums_state* state = (weft_sums_state*)work;
  weft_number* sums = (weft_number*)(work + ${SUMS_STATE});
  const double scale = weft_power(${form.unitBits} - state->exponent);
  unsigned int step = 0;
${printWalk(
  form,
  `double scaled = place < 0 ? 0.0 : (double)v[j] * scale;
      const double whole = rint(scaled);
      const double rest = (scaled - whole) * weft_power(${form.unitBits});
      /* Beyond the units, NaN, infinite, or lost. */
      if (!(fabs(scaled) < weft_power(${form.unitBits})) || rest != rint(rest) || (scaled == 0 && place >= 0 && v[j] != 0)) {
        fails = true;
        scaled = 0;
      }
      weft_add_numbers(sums, place, scaled == 0 ? 0ll : (long long)whole, scaled == 0 ? 0ll : (long long)rest);`,
  {
    before: `    if (step++ % ${LOOK_EACH}u == 0 && __ballot_sync(0xffffffffu, __ldcg(&state->failed) != 0u) != 0) return;
    bool fails = false;
`,
    after: `    if (__ballot_sync(0xffffffffu, fails) != 0) {
      if (lane == 0) atomicOr(&state->failed, 1u);
      return;
    }
`,
  },
)}}
`;

/** The kernels of values that have no such numbers. */
function printAgain(form: SumsForm): string {
  const { windows } = form;
  const isLeft = '  if (((const weft_sums_state*)work)->failed == 0u) return;\n';
  const sums = `  weft_result* sums = (weft_result*)(work + ${SUMS_STATE});\n`;
  const clear = `${HEAD}${SUM_NAMES.clearAgain}(unsigned int first_x, ${rowsOf(form)}) {
${isLeft}  long long* all = (long long*)(work + ${SUMS_STATE});
  for (long long i = ((long long)blockIdx.x + first_x) * ${BIN_THREADS} + threadIdx.x; i < ${windows ?? 2} * slots; i += (long long)blocks * ${BIN_THREADS}) all[i] = 0;
${
  windows === undefined
    ? `  int* scales = (int*)(all + 2 * slots);
  for (long long i = ((long long)blockIdx.x + first_x) * ${BIN_THREADS} + threadIdx.x; i < slots; i += (long long)blocks * ${BIN_THREADS}) scales[i] = 0;
`
    : ''
}}
`;
  if (windows !== undefined)
    return `${clear}${HEAD}${SUM_NAMES.again}(unsigned int first_x, ${rowsOf(form)}) {
${isLeft}${sums}${printWalk(
  form,
  form.width === 1
    ? `long long number = 0;
      const int window = bin < 0 ? 0 : weft_window(v[j], &number);
      weft_add_runs(sums, slots, bin, window, number);`
    : `if (place < 0) continue;
      long long number;
      const int window = weft_window(v[j], &number);
      weft_add_window(sums, slots, place, window, number);`,
)}}
`;
  return `${clear}${HEAD}${SUM_NAMES.scales}(unsigned int first_x, ${rowsOf(form)}) {
${isLeft}  weft_result* scales = (weft_result*)(work + ${SUMS_STATE} + 16 * slots);
${printWalk(form, 'if (place >= 0) weft_put(scales + place, v[j]);')}}
${HEAD}${SUM_NAMES.again}(unsigned int first_x, ${rowsOf(form)}) {
${isLeft}  weft_number* sums = (weft_number*)(work + ${SUMS_STATE});
  const int* __restrict__ scales = (const int*)(work + ${SUMS_STATE} + 16 * slots);
${printWalk(
  form,
  `weft_number p[2] = {0, 0};
      if (place >= 0) weft_fix((double)v[j], scales[place], p);
      weft_add_numbers(sums, place, (long long)p[0], (long long)p[1]);`,
)}}
`;
}

/** Numbers of 128 bits, as floats. */
const WIDE = `struct weft_wide {
  long long high;
  unsigned long long low;
  /* whole · 2^bits + rest */
  __device__ __forceinline__ weft_wide(long long whole, long long rest, int bits) {
    const long long above = whole + (rest >> bits);
    const unsigned long long below = (unsigned long long)rest & ((1ull << bits) - 1ull);
    high = above >> (64 - bits);
    low = (unsigned long long)above << bits | below;
  }
  /* The nearest float64: what is behind 64 bits says by one of them that it is there. */
  __device__ __forceinline__ double nearest() const {
    unsigned long long top = (unsigned long long)high, all = low;
    if (high < 0) {
      all = ~all + 1ull;
      top = ~top + (all == 0 ? 1ull : 0ull);
    }
    int shift = 0;
    bool is_more = false;
    #pragma unroll
    for (int bits = 32; bits > 0; bits /= 2) {
      if (top >> (bits - 1) == 0) continue;
      is_more = is_more || (all & ((1ull << bits) - 1ull)) != 0;
      all = all >> bits | top << (64 - bits);
      top >>= bits;
      shift += bits;
    }
    const double number = (double)(all | (is_more ? 1ull : 0ull)) * weft_power(shift);
    return high < 0 ? -number : number;
  }
};
`;

/** Adds up the digits of sums from the highest on, as `exact-sums.ts` does: of a whole number of 2^place. */
const printDigits = (
  bits: number,
): string => `__device__ __forceinline__ double weft_digits(weft_wide total, int place) {
  const int shift = place + 149;
  double sum = total.high < 0 ? -1.0 : 0.0;
  for (int window = 126 + shift < 0 ? 0 : (126 + shift) / ${bits}; window >= 0; --window) {
    const int from = window * ${bits} - shift;
    unsigned long long digit = 0;
    if (from >= 64) digit = (unsigned long long)(total.high >> (from > 126 ? 63 : from - 64));
    else if (from > 0) digit = total.low >> from | (unsigned long long)total.high << (64 - from);
    else if (from > -${bits}) digit = total.low << -from;
    sum = sum * ${2 ** bits}.0 + (double)(long long)(digit & ${2n ** BigInt(bits) - 1n}ull);
  }
  return sum * weft_power(-149);
}
`;

const NAN = '__longlong_as_double(0x7ff8000000000000ll)';
const INFINITE = '__longlong_as_double(0x7ff0000000000000ll)';

/** The sum of a bin that was gathered again. */
function printSumAgain({ windows, bits, zeros }: SumsForm): string {
  if (windows === undefined)
    return `__device__ __forceinline__ double weft_sum_again(const char* numbers, long long slots, long long s) {
  const long long* sums = (const long long*)numbers;
  const int scale = ((const int*)(sums + 2 * slots))[s];
  const long long whole = sums[2 * s], rest = sums[2 * s + 1];
  if (scale >= 4096) return scale >= 8192 || (whole > 0 && rest > 0) ? ${NAN} : whole > 0 ? ${INFINITE} : -${INFINITE};
  if (scale == 0) return -0.0;
  const double number = weft_wide(whole, rest, ${bits}).nearest() * weft_power(-${bits});
  return number * weft_power(1 - ${bits}) * weft_power((scale < 2 ? 0 : scale - 2) - 1022);
}
`;
  const last = windows - 1;
  const has = (flag: keyof typeof FLAGS): string => `(flags >> ${FLAG_FIELD * FLAGS[flag]} & 4095) != 0`;
  return `__device__ __forceinline__ double weft_sum_again(const char* numbers, long long slots, long long s) {
  const long long* sums = (const long long*)numbers + s;
  const long long flags = sums[${last} * slots];
  const bool has_plus = ${has('infinite')}, has_minus = ${has('minusInfinite')};
  if (${has('nan')} || (has_plus && has_minus)) return ${NAN};
  if (has_plus || has_minus) return has_plus ? ${INFINITE} : -${INFINITE};
  double digits[${last}];
  long long carry = 0;
  #pragma unroll
  for (int k = 0; k < ${last}; ++k) {
    const long long sum = sums[k * slots] + carry;
    digits[k] = (double)(sum & ${2n ** BigInt(bits) - 1n}ll);
    carry = sum >> ${bits};
  }
  double sum = (double)carry;
  #pragma unroll
  for (int k = ${last - 1}; k >= 0; --k) sum = sum * ${2 ** bits}.0 + digits[k];
  if (sum != 0) return sum * weft_power(-149);
  if (${has('zero')}) return 0.0;
  return ${zeros === 'minus' ? '-0.0' : `${has('minusZero')} ? -0.0 : 0.0`};
}
`;
}

function printFinish(form: SumsForm): string {
  const { windows, bits, unitBits, zeros } = form;
  const place = `exponent - ${2 * unitBits}`;
  const exact =
    windows === undefined
      ? `weft_wide(whole, rest, ${unitBits}).nearest() * weft_power(${place})`
      : `weft_digits(weft_wide(whole, rest, ${unitBits}), ${place})`;
  return `${WIDE}${windows === undefined ? '' : printDigits(bits)}${printSumAgain(form)}${HEAD}${SUM_NAMES.finish}(unsigned int first_x, char* work, weft_sum* out, long long slots) {
  weft_sums_state* state = (weft_sums_state*)work;
  const long long s = ((long long)blockIdx.x + first_x) * ${BIN_THREADS} + threadIdx.x;
  if (s >= slots) return;
  if (state->failed != 0u) {
    out[s] = (weft_sum)weft_sum_again(work + ${SUMS_STATE}, slots, s)${zeros === 'positive' ? ' + (weft_sum)0' : ''};
    return;
  }
  long long* numbers = (long long*)(work + ${SUMS_STATE}) + 2 * s;
  const long long whole = numbers[0], rest = numbers[1];
  const int exponent = state->exponent;
  /* In float64 where that has both parts${windows === undefined ? '' : ', and their sum as it is, so that no digit is rounded'}. */
  const long long above = whole + (rest >> ${unitBits});
  const double high = (double)above, low = (double)(rest & ${2n ** BigInt(unitBits) - 1n}ll) * weft_power(-${unitBits});
  const double both = high + low;
  const bool is_float = above <= 9007199254740992ll && above >= -9007199254740992ll${windows === undefined ? '' : ' && both - high == low'};
  const double sum = is_float ? both * weft_power(exponent - ${unitBits}) : ${exact};
  out[s] = (weft_sum)sum;
${
  zeros === 'positive'
    ? ''
    : `  /* Of a sum of 0: the flags of its values. */
  numbers[0] = sum == 0 ? 0 : 1;
  numbers[1] = 0;
  if (sum == 0) atomicOr(&state->has_zero, 1u);
`
}}
`;
}

/** Signs of sums that are 0, by the zeros and other numbers in their bins. */
function printSigns(form: SumsForm): string {
  if (form.zeros === 'positive') return '';
  const isExact = form.windows !== undefined;
  const isLeft =
    '  if (((const weft_sums_state*)work)->failed != 0u || ((const weft_sums_state*)work)->has_zero == 0u) return;\n';
  return `${HEAD}${SUM_NAMES.zeros}(unsigned int first_x, ${rowsOf(form)}) {
${isLeft}  weft_number* sums = (weft_number*)(work + ${SUMS_STATE});
${printWalk(
  form,
  `if (place < 0 || sums[2 * place] != 0) continue;
      const unsigned int flag = v[j] != 0 ? 2u : signbit(v[j]) ? 4u : 1u;
      unsigned int* seen = (unsigned int*)(sums + 2 * place + 1);
      if ((__ldcg(seen) & flag) == 0) atomicOr(seen, flag);`,
)}}
${HEAD}${SUM_NAMES.signs}(unsigned int first_x, char* work, weft_sum* out, long long slots) {
${isLeft}  const long long s = ((long long)blockIdx.x + first_x) * ${BIN_THREADS} + threadIdx.x;
  const weft_number* sums = (const weft_number*)(work + ${SUMS_STATE});
  if (s >= slots || sums[2 * s] != 0) return;
  const unsigned int seen = (unsigned int)sums[2 * s + 1];
  const bool is_plus = (seen & ${isExact ? '1u' : '3u'}) != 0${isExact && form.zeros === 'plus' ? ' || (seen & 4u) == 0' : ''};
  out[s] = is_plus ? (weft_sum)0 : -(weft_sum)0;
}
`;
}

/** The kernels of a form. */
export function printSums(form: SumsForm): string {
  const isExact = form.windows !== undefined;
  const puts = isExact
    ? `typedef long long weft_result;
${printPut(binForm(form, 'exact'))}${form.width === 1 ? printAddRuns(binForm(form, 'exact')) : ''}`
    : `typedef int weft_result;
${printPut(binForm(form, 'scale'))}${printPut(binForm(form, 'fixed'))}`;
  return [
    printRowMaps(form),
    `typedef ${CUDA_TYPE[form.values]} weft_value;
typedef ${CUDA_TYPE[form.result]} weft_sum;
typedef ${form.isLong ? 'long long' : 'int'} weft_place;
`,
    BASE,
    printKey(binForm(form, 'fixed')),
    puts,
    isExact ? POWER : '',
    printAdd(form),
    printBegin(form),
    printAtOnce(form),
    printAgain(form),
    printFinish(form),
    printSigns(form),
  ].join('');
}
