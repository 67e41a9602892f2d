/**
 * Prelude pieces: the near forms of `near.ts`, and what the arithmetic that stands in for them needs.
 */
import { type Piece, piece } from './prelude-piece.js';

export const NEAR_PIECES: readonly Piece[] = [
  piece(`
/* Element e of an array that stays in registers, though e is not known to the compiler. */
template <class T, int N>
__device__ __forceinline__ T weft_pick(const T (&a)[N], int e) {
  T r = a[0];
#pragma unroll
  for (int k = 1; k < N; ++k) r = k == e ? a[k] : r;
  return r;
}
template <class T, int N>
__device__ __forceinline__ void weft_put(T (&a)[N], int e, T value) {
#pragma unroll
  for (int k = 0; k < N; ++k) a[k] = k == e ? value : a[k];
}`),
  piece(`
/* The correctly rounded square root where it is 2^-50 or more and finite (Newton's step on an approximation, as
   CUDA's own); low becomes the least result, NaN where x is 0, negative, infinite or NaN. */
__device__ __forceinline__ float weft_near_sqrt(float x, float& low) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  const float s = x * r;
  const float y = fmaf(fmaf(-s, s, x), 0.5f * r, s);
  low = weft_minimum(low, y);
  return y;
}`),
];
