/**
 * CUDA C of LU factors of small square matrices, and of what they solve: a warp has a matrix, a lane a row, which stays in
 * its registers. Matrices are in column-major order. Launches are made by `exec/calls/small-matrices.ts`.
 */
import { DTYPE_INFO, type DType, isComplex } from '../../../graph/dtype.js';
import { CUDA_TYPE } from '../../../graph/ops.js';

export const SMALL_LU_NAME = 'weft_small_lu';
export const SMALL_SOLVE_NAME = 'weft_small_solve';
/** Rows of a matrix at most, and threads of a block. */
export const WARP = 32;

const REAL = `__device__ __forceinline__ weft_real weft_size(weft_number a) { return fabs(a); }
__device__ __forceinline__ bool weft_is_zero(weft_number a) { return a == 0; }
__device__ __forceinline__ weft_number weft_of_lane(weft_number a, int lane) { return __shfl_sync(0xffffffffu, a, lane); }
__device__ __forceinline__ weft_number weft_less(weft_number a, weft_number b, weft_number c) { return a - b * c; }
__device__ __forceinline__ weft_number weft_over(weft_number a, weft_number b) { return a / b; }
__device__ __forceinline__ weft_number weft_conjugate(weft_number a) { return a; }
`;

// Pivots are chosen by |re| + |im|, as LAPACK chooses them; quotients are Smith's.
const COMPLEX = `__device__ __forceinline__ weft_real weft_size(weft_number a) { return fabs(a.re) + fabs(a.im); }
__device__ __forceinline__ bool weft_is_zero(weft_number a) { return a.re == 0 && a.im == 0; }
__device__ __forceinline__ weft_number weft_of_lane(weft_number a, int lane) {
  return weft_number{__shfl_sync(0xffffffffu, a.re, lane), __shfl_sync(0xffffffffu, a.im, lane)};
}
__device__ __forceinline__ weft_number weft_less(weft_number a, weft_number b, weft_number c) {
  return weft_number{a.re - (b.re * c.re - b.im * c.im), a.im - (b.re * c.im + b.im * c.re)};
}
__device__ __forceinline__ weft_number weft_over(weft_number a, weft_number b) {
  if (fabs(b.re) >= fabs(b.im)) {
    const weft_real ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return weft_number{(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const weft_real ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
  return weft_number{(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
__device__ __forceinline__ weft_number weft_conjugate(weft_number a) { return weft_number{a.re, -a.im}; }
`;

function printNumber(dtype: DType): string {
  if (!isComplex(dtype))
    return `typedef ${CUDA_TYPE[dtype]} weft_number;\ntypedef weft_number weft_real;\n${REAL}`;
  const part = DTYPE_INFO[dtype].component;
  return `typedef ${CUDA_TYPE[part]} weft_real;
struct __align__(${dtype === 'complex64' ? 8 : 16}) weft_number {
  weft_real re, im;
};
${COMPLEX}`;
}

/** Factors with partial pivoting, the first of equal pivots. Where all are 0, the column is left as it is. */
export const printSmallLu = (
  dtype: DType,
  n: number,
): string => `${printNumber(dtype)}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_LU_NAME}(unsigned int first_x, const weft_number* given, weft_number* lu, long long* pivots) {
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  const bool is_row = lane < ${n};
  given += matrix * ${n * n};
  lu += matrix * ${n * n};
  pivots += matrix * ${n};
  weft_number row[${n}];
#pragma unroll
  for (int j = 0; j < ${n}; j++) row[j] = is_row ? given[j * ${n} + lane] : weft_number{};
#pragma unroll
  for (int k = 0; k < ${n}; k++) {
    weft_real most = lane >= k && is_row ? weft_size(row[k]) : (weft_real)-1;
    int at = lane;
    for (int apart = 16; apart > 0; apart /= 2) {
      const weft_real other = __shfl_sync(0xffffffffu, most, lane ^ apart);
      const int other_at = __shfl_sync(0xffffffffu, at, lane ^ apart);
      if (other > most || (other == most && other_at < at)) {
        most = other;
        at = other_at;
      }
    }
    // With NaN lanes may differ.
    at = __shfl_sync(0xffffffffu, at, 0);
    at = at < k ? k : at < ${n} ? at : ${n - 1};
    if (lane == 0) pivots[k] = at + 1;
    const int source = lane == k ? at : lane == at ? k : lane;
#pragma unroll
    for (int j = 0; j < ${n}; j++) row[j] = weft_of_lane(row[j], source);
    const weft_number pivot = weft_of_lane(row[k], k);
    const bool is_below = lane > k && !weft_is_zero(pivot);
    if (is_below) row[k] = weft_over(row[k], pivot);
#pragma unroll
    for (int j = k + 1; j < ${n}; j++) {
      const weft_number above = weft_of_lane(row[j], k);
      if (is_below) row[j] = weft_less(row[j], row[k], above);
    }
  }
#pragma unroll
  for (int j = 0; j < ${n}; j++)
    if (is_row) lu[j * ${n} + lane] = row[j];
}
`;

/** Forms of a matrix: as it is, transposed, transposed and conjugated. */
export type SmallForm = 0 | 1 | 2;

/** Right sides, a column after the other, solved by factors. */
export function printSmallSolve(dtype: DType, n: number, form: SmallForm): string {
  const turned = (i: string, j: string): string =>
    form === 2 ? `weft_conjugate(factors[${i} * ${n} + ${j}])` : `factors[${i} * ${n} + ${j}]`;
  const at = (i: string, j: string): string => (form === 0 ? `factors[${j} * ${n} + ${i}]` : turned(i, j));
  const divided = `      if (lane == k) x = weft_over(x, ${at('k', 'k')});\n`;
  const forward = `    for (int k = 0; k < ${n}; k++) {
${form === 0 ? '' : divided}      const weft_number found = weft_of_lane(x, k);
      if (lane > k && is_row) x = weft_less(x, ${at('lane', 'k')}, found);
    }
`;
  const backward = `    for (int k = ${n - 1}; k >= 0; k--) {
${form === 0 ? divided : ''}      const weft_number found = weft_of_lane(x, k);
      if (lane < k) x = weft_less(x, ${at('lane', 'k')}, found);
    }
`;
  return `${printNumber(dtype)}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_SOLVE_NAME}(unsigned int first_x, const weft_number* given, const weft_number* lu, const long long* pivots,
    weft_number* out, long long sides) {
  __shared__ weft_number factors[${n * n}];
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  const bool is_row = lane < ${n};
  given += matrix * sides * ${n};
  out += matrix * sides * ${n};
  for (int k = lane; k < ${n * n}; k += ${WARP}) factors[k] = lu[matrix * ${n * n} + k];
  __syncwarp();
  // The row that the exchanges bring here. Pivots of users may be none.
  int from = lane;
  for (int k = 0; k < ${n}; k++) {
    const long long other = pivots[matrix * ${n} + k] - 1;
    if (other < 0 || other >= ${n}) continue;
    from = __shfl_sync(0xffffffffu, from, lane == k ? (int)other : lane == other ? k : lane);
  }
  for (long long side = 0; side < sides; side++) {
    weft_number x = is_row ? given[side * ${n} + ${form === 0 ? 'from' : 'lane'}] : weft_number{};
${forward}${backward}    if (is_row) out[side * ${n} + ${form === 0 ? 'lane' : 'from'}] = x;
  }
}
`;
}
