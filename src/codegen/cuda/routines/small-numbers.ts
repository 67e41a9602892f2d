/**
 * CUDA C of the numbers of small matrices, which kernels of a dtype begin with: `small-matrices.ts`, `small-factors.ts`
 * and `small-jacobi.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import { DTYPE_INFO, type DType, isComplex } from '../../../graph/dtype.js';

/** Threads of a block, one warp, which has a matrix. */
export const WARP = 32;

const REAL = `__device__ __forceinline__ weft_real weft_size(weft_number a) { return fabs(a); }
__device__ __forceinline__ bool weft_is_zero(weft_number a) { return a == 0; }
__device__ __forceinline__ weft_number weft_of_lane(weft_number a, int lane) { return __shfl_sync(0xffffffffu, a, lane); }
__device__ __forceinline__ weft_number weft_less(weft_number a, weft_number b, weft_number c) { return a - b * c; }
__device__ __forceinline__ weft_number weft_over(weft_number a, weft_number b) { return a / b; }
__device__ __forceinline__ weft_number weft_conjugate(weft_number a) { return a; }
__device__ __forceinline__ weft_real weft_re(weft_number a) { return a; }
__device__ __forceinline__ weft_real weft_part(weft_number a) { return fabs(a); }
__device__ __forceinline__ bool weft_is_real(weft_number) { return true; }
__device__ __forceinline__ weft_real weft_squared(weft_number a) { return a * a; }
__device__ __forceinline__ weft_real weft_modulus(weft_number a) { return fabs(a); }
__device__ __forceinline__ weft_number weft_from(weft_real re, weft_real) { return re; }
__device__ __forceinline__ weft_number weft_parted(weft_number a, weft_real b) { return a / b; }
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
__device__ __forceinline__ weft_number operator+(weft_number a, weft_number b) { return weft_number{a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ weft_number operator-(weft_number a, weft_number b) { return weft_number{a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ weft_number operator*(weft_number a, weft_number b) {
  return weft_number{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ __forceinline__ weft_number operator*(weft_real a, weft_number b) { return weft_number{a * b.re, a * b.im}; }
__device__ __forceinline__ weft_real weft_re(weft_number a) { return a.re; }
__device__ __forceinline__ weft_real weft_part(weft_number a) { return a.re == a.re && a.im == a.im ? fmax(fabs(a.re), fabs(a.im)) : a.re - a.re + (a.im - a.im); }
__device__ __forceinline__ bool weft_is_real(weft_number a) { return a.im == 0; }
__device__ __forceinline__ weft_real weft_squared(weft_number a) { return a.re * a.re + a.im * a.im; }
__device__ __forceinline__ weft_real weft_modulus(weft_number a) { return hypot(a.re, a.im); }
__device__ __forceinline__ weft_number weft_from(weft_real re, weft_real im) { return weft_number{re, im}; }
__device__ __forceinline__ weft_number weft_parted(weft_number a, weft_real b) { return weft_number{a.re / b, a.im / b}; }
`;

/** The types `weft_number` and `weft_real` of a dtype of linear algebra, and functions of them. */
export function printNumber(dtype: DType): string {
  if (!isComplex(dtype))
    return `typedef ${CUDA_TYPE[dtype]} weft_number;\ntypedef weft_number weft_real;\n${REAL}`;
  const part = DTYPE_INFO[dtype].component;
  return `typedef ${CUDA_TYPE[part]} weft_real;
struct __align__(${dtype === 'complex64' ? 8 : 16}) weft_number {
  weft_real re, im;
};
${COMPLEX}`;
}

/** Sums of the lanes of a warp, in a fixed order, and maxima. */
export const WARP_FOLDS = `__device__ __forceinline__ weft_real weft_warp_sum(weft_real a) {
  for (int apart = 16; apart > 0; apart /= 2) a += __shfl_sync(0xffffffffu, a, threadIdx.x ^ apart);
  return a;
}
__device__ __forceinline__ weft_real weft_warp_max(weft_real a) {
  for (int apart = 16; apart > 0; apart /= 2) a = fmax(a, __shfl_sync(0xffffffffu, a, threadIdx.x ^ apart));
  return a;
}
__device__ __forceinline__ weft_number weft_warp_total(weft_number a) {
  for (int apart = 16; apart > 0; apart /= 2) a = a + weft_of_lane(a, threadIdx.x ^ apart);
  return a;
}
`;
