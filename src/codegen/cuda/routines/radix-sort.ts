/**
 * CUDA C of a stable radix sort of long rows, least significant digit first (Knuth, The Art of Computer Programming 3,
 * 5.2.5), in one pass over memory for each digit (`radix-pass.ts`). Launches are made by `exec/calls/sort.ts`.
 *
 * One kernel counts all digits of a row; a digit that is the same in all elements needs no pass.
 */
import { BEGIN, CLEAR_KERNEL, printCounts } from './look-back.js';
import { DIGITS, printPass, type RadixForm, skipped } from './radix-pass.js';
import { digitsOf, printKeys } from './sort-keys.js';

export const COUNT_NAME = 'weft_sort_count';
export const BEGIN_NAME = 'weft_sort_begin';

const DIGIT_WARPS = DIGITS / 32;

export const COUNT_THREADS = 256;
/** Elements of which a block counts the digits. */
export const COUNTED_LENGTH = 2 ** 15;
const COUNT_FLIGHT = 8;
/** Bytes of shared memory for the counts of a block and their copies. */
const COUNT_BYTES = 32768;

/** Values of a thread's neighbours before it, summed: a scan over a block (Hillis and Steele, 1986). */
const printScan = (warps: number): string => `
__device__ __forceinline__ weft_count weft_scan(weft_count value, weft_count* sums) {
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  weft_count sum = value;
  #pragma unroll
  for (unsigned int far = 1; far < 32; far *= 2) {
    const weft_count other = __shfl_up_sync(0xffffffffu, sum, far);
    if (lane >= far) sum += other;
  }
  __syncthreads();
  if (lane == 31 && warp < ${warps}) sums[warp] = sum;
  __syncthreads();
  weft_count before = 0;
  #pragma unroll
  for (unsigned int w = 0; w < ${warps}; ++w) before += w < warp ? sums[w] : 0;
  return before + sum - value;
}
`;

/** Copies of the counts keep lanes with equal digits out of each other's way. */
function printCount(form: RadixForm): string {
  const digits = digitsOf(form.dtype);
  let copies = 32;
  while (copies * digits * DIGITS * 4 > COUNT_BYTES) copies /= 2;
  const step = COUNT_THREADS * COUNT_FLIGHT;
  return `
extern "C" __global__ void __launch_bounds__(${COUNT_THREADS})
${COUNT_NAME}(unsigned int first_x, const char* in_base, long long in_at, char* work, long long totals_at, long long n, unsigned int blocks) {
${skipped(form)}  __shared__ unsigned int counted[${digits * DIGITS * copies}];
  for (int i = (int)threadIdx.x; i < ${digits * DIGITS * copies}; i += ${COUNT_THREADS}) counted[i] = 0;
  __syncthreads();
  const unsigned int b = blockIdx.x + first_x;
  const long long row = b / blocks;
  const long long begin = (long long)(b % blocks) * ${COUNTED_LENGTH};
  const weft_key* in = (const weft_key*)(in_base + in_at) + row * n + begin;
  const int size = n - begin < ${COUNTED_LENGTH} ? (int)(n - begin) : ${COUNTED_LENGTH};
  const unsigned int copy = threadIdx.x % ${copies};
  for (int from = (int)threadIdx.x; from < size; from += ${step}) {
    weft_key k[${COUNT_FLIGHT}];
    #pragma unroll
    for (int j = 0; j < ${COUNT_FLIGHT}; ++j)
      if (from + j * ${COUNT_THREADS} < size) k[j] = in[from + j * ${COUNT_THREADS}];
    #pragma unroll
    for (int j = 0; j < ${COUNT_FLIGHT}; ++j) {
      if (from + j * ${COUNT_THREADS} >= size) break;
      const weft_key own = weft_key_of(k[j]);
      #pragma unroll
      for (int d = 0; d < ${digits}; ++d) atomicAdd(&counted[(d * ${DIGITS} + weft_digit(own, d)) * ${copies} + copy], 1u);
    }
  }
  __syncthreads();
  weft_count* totals = (weft_count*)(work + totals_at) + row * ${digits * DIGITS};
  for (int i = (int)threadIdx.x; i < ${digits * DIGITS}; i += ${COUNT_THREADS}) {
    unsigned int sum = 0;
    for (int c = 0; c < ${copies}; ++c) sum += counted[i * ${copies} + c];
    if (sum > 0) atomicAdd(&totals[i], (weft_count)sum);
  }
}
`;
}

/** A row's counts become the places where digits begin, and bits say which digits need a pass: one at least. */
function printBegin(form: RadixForm): string {
  const digits = digitsOf(form.dtype);
  return `${printScan(DIGIT_WARPS)}
extern "C" __global__ void __launch_bounds__(${DIGITS})
${BEGIN_NAME}(unsigned int first_x, char* work, long long totals_at, long long passes_at, long long n) {
${skipped(form)}  __shared__ weft_count sums[${DIGIT_WARPS}];
  __shared__ unsigned int passes;
  const long long row = (long long)blockIdx.x + first_x;
  weft_count* totals = (weft_count*)(work + totals_at) + row * ${digits * DIGITS} + threadIdx.x;
  if (threadIdx.x == 0) passes = ${2 ** digits - 1}u;
  for (int d = 0; d < ${digits}; ++d) {
    const weft_count own = totals[d * ${DIGITS}];
    totals[d * ${DIGITS}] = weft_scan(own, sums);
    if (own == (weft_count)n) passes &= ~(1u << d);
  }
  __syncthreads();
  if (threadIdx.x == 0) ((unsigned int*)(work + passes_at))[row] = passes == 0 ? 1u : passes;
}
`;
}

/** The kernels of a radix sort, before which stand the types of keys and counts. */
export const printRadixKernels = (form: RadixForm): string =>
  [printCount(form), printBegin(form), printPass(form)].join('');

/** All of a radix sort. */
export const printRadixSort = (form: RadixForm): string =>
  [printKeys(form), BEGIN, printCounts(form.countBytes), CLEAR_KERNEL, printRadixKernels(form)].join('');
