/**
 * CUDA C of a sparse triangular solve without an analysis of levels (Liu, Li, Hogg, Duff and Vinter, "A
 * synchronization-free algorithm for parallel sparse triangular solves", 2016): a warp, or for short rows a thread, has a
 * row, and waits for the rows that it needs. Blocks are numbered as they begin, so that none waits for one that may not have begun. A sum has the
 * lanes and the order of `sparse-product.ts`, so that its bits do not depend on which row is first. Launches are made by
 * `exec/calls/sparse-triangular.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import { type DType, isComplex } from '../../../graph/dtype.js';
import { BEGIN, CLEAR_KERNEL } from './look-back.js';
import { printNumbers } from './scan-numbers.js';

export const SPARSE_TRIANGULAR_NAME = 'weft_sparse_triangular';
export const TRIANGULAR_THREADS = 256;
/** Partial sums that a thread has by itself; of more a warp has them. */
const MOST_OF_THREAD = 4;
/** Rows of a block. */
export const triangularRows = (lanes: number): number =>
  lanes <= MOST_OF_THREAD ? TRIANGULAR_THREADS : TRIANGULAR_THREADS / 32;
/** Bytes of the count of begun blocks, before the words that say which rows are solved. */
export const SOLVED_AT = 256;

export interface TriangularForm {
  /** Of the matrix, the right-hand sides and the result. */
  readonly dtype: DType;
  readonly indexDType: DType;
  readonly lanes: number;
  readonly isUpper: boolean;
}

const REAL = `
__device__ __forceinline__ weft_element weft_known(const weft_element* x) { return *(const volatile weft_element*)x; }
__device__ __forceinline__ void weft_solve(weft_element* x, weft_element value) { *(volatile weft_element*)x = value; }
__device__ __forceinline__ weft_wide weft_times(weft_wide a, weft_wide b) { return __dmul_rn(a, b); }
__device__ __forceinline__ weft_wide weft_minus(weft_wide a, weft_wide b) { return a - b; }
__device__ __forceinline__ weft_wide weft_over(weft_wide a, weft_wide b) { return a / b; }
`;

/** Rows that others solve are read and written past the caches of multiprocessors. Division is Smith's (1962). */
const COMPLEX = `
__device__ __forceinline__ weft_element weft_known(const weft_element* x) {
  const volatile weft_element* at = x;
  return weft_element{at->re, at->im};
}
__device__ __forceinline__ void weft_solve(weft_element* x, weft_element value) {
  volatile weft_element* at = x;
  at->re = value.re;
  at->im = value.im;
}
__device__ __forceinline__ weft_wide weft_times(weft_wide a, weft_wide b) {
  return weft_wide{__dmul_rn(a.re, b.re) - __dmul_rn(a.im, b.im), __dmul_rn(a.re, b.im) + __dmul_rn(a.im, b.re)};
}
__device__ __forceinline__ weft_wide weft_minus(weft_wide a, weft_wide b) { return weft_wide{a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ weft_wide weft_over(weft_wide a, weft_wide b) {
  if (fabs(b.re) >= fabs(b.im)) {
    const double ratio = b.im / b.re, whole = b.re + __dmul_rn(ratio, b.im);
    return weft_wide{(a.re + __dmul_rn(a.im, ratio)) / whole, (a.im - __dmul_rn(a.re, ratio)) / whole};
  }
  const double ratio = b.re / b.im, whole = __dmul_rn(ratio, b.re) + b.im;
  return weft_wide{(__dmul_rn(a.re, ratio) + a.im) / whole, (__dmul_rn(a.im, ratio) - a.re) / whole};
}
`;

interface Rows {
  readonly lanes: number;
  readonly isUpper: boolean;
  /** Whether a row needs the one at `place`. */
  readonly needs: string;
}

/** A warp has a row: its lanes wait for the rows that it needs, then sum. */
const warpRows = ({ lanes, isUpper, needs }: Rows): string => `  const unsigned int lane = threadIdx.x % 32;
  const long long step = block * ${TRIANGULAR_THREADS / 32} + threadIdx.x / 32;
  if (step >= rows) return;
  const long long row = ${isUpper ? 'rows - 1 - step' : 'step'};
  const long long first = weft_within(starts[row], stored), last = weft_within(starts[row + 1], stored);
  for (long long k = first + lane; k < last; k += 32) {
    const long long place = places[k];
    if (${needs})
      while (solved[place] == 0) __nanosleep(20);
  }
  __threadfence();
  __syncwarp();
  const weft_wide pivot = weft_widen(diagonal[row]);
  for (long long column = 0; column < width; ++column) {
    weft_wide sum = {};
    if (lane < ${lanes})
      for (long long k = first + lane; k < last; k += ${lanes}) {
        const long long place = places[k];
        if (${needs})
          sum = weft_combine(sum, weft_times(weft_widen(values[k]), weft_widen(weft_known(x + place * width + column))));
      }
    for (int apart = ${Math.floor(lanes / 2)}; apart > 0; apart /= 2)
      sum = weft_combine(sum, weft_of_lane(sum, (threadIdx.x & 31) + apart & 31));
    const long long at = row * width + column;
    if (lane == 0) weft_solve(x + at, weft_round(weft_over(weft_minus(weft_widen(b[at]), sum), pivot)));
  }
  if (lane == 0) {
    __threadfence();
    solved[row] = 1u;
  }
`;

/**
 * A thread has a row, and its partial sums, so that many more rows are under way. It looks at one needed row at a time
 * and goes on where that is solved; it solves its own within the loop, since threads of its warp may wait for it.
 */
const threadRows = ({
  lanes,
  isUpper,
  needs,
}: Rows): string => `  const long long step = block * ${TRIANGULAR_THREADS} + threadIdx.x;
  if (step >= rows) return;
  const long long row = ${isUpper ? 'rows - 1 - step' : 'step'};
  const long long first = weft_within(starts[row], stored), last = weft_within(starts[row + 1], stored);
  const weft_wide pivot = weft_widen(diagonal[row]);
  weft_wide sums[${lanes}] = {};
  long long k = first, column = 0;
  while (column < width) {
    if (k >= last) {
      for (int apart = ${Math.floor(lanes / 2)}; apart > 0; apart /= 2)
        for (int j = 0; j < apart; ++j) sums[j] = weft_combine(sums[j], sums[j + apart]);
      const long long at = row * width + column;
      weft_solve(x + at, weft_round(weft_over(weft_minus(weft_widen(b[at]), sums[0]), pivot)));
      for (int j = 0; j < ${lanes}; ++j) sums[j] = weft_wide{};
      k = first;
      if (++column == width) {
        __threadfence();
        solved[row] = 1u;
      }
      continue;
    }
    const long long place = places[k];
    if (${needs}) {
      if (column == 0) {
        if (solved[place] == 0) {
          __nanosleep(20);
          continue;
        }
        __threadfence();
      }
      const weft_wide term = weft_times(weft_widen(values[k]), weft_widen(weft_known(x + place * width + column)));
      const int lane = (int)((k - first) % ${lanes});
      for (int j = 0; j < ${lanes}; ++j)
        if (j == lane) sums[j] = weft_combine(sums[j], term);
    }
    ++k;
  }
`;

export function printSparseTriangular({ dtype, indexDType, lanes, isUpper }: TriangularForm): string {
  const needs = `place >= 0 && place < rows && place ${isUpper ? '>' : '<'} row`;
  return `${printNumbers({ dtype, op: 'sum' })}typedef ${CUDA_TYPE[indexDType]} weft_index;
${isComplex(dtype) ? COMPLEX : REAL}${BEGIN}${CLEAR_KERNEL}
__device__ __forceinline__ long long weft_within(long long at, long long size) {
  return at < 0 ? 0 : at < size ? at : size;
}
extern "C" __global__ void __launch_bounds__(${TRIANGULAR_THREADS})
${SPARSE_TRIANGULAR_NAME}(unsigned int first_x, const weft_element* __restrict__ b, const weft_index* __restrict__ starts,
    const weft_index* __restrict__ places, const weft_element* __restrict__ values,
    const weft_element* __restrict__ diagonal, weft_element* x, char* work, long long rows, long long stored, long long width) {
  __shared__ unsigned int begun;
  const long long block = weft_begin((unsigned int*)work, &begun);
  volatile unsigned int* solved = (volatile unsigned int*)(work + ${SOLVED_AT});
${lanes <= MOST_OF_THREAD ? threadRows({ lanes, isUpper, needs }) : warpRows({ lanes, isUpper, needs })}}
`;
}
