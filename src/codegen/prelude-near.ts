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
/* The correctly rounded square root where x is 2^-100 or more and finite (Newton's step on an approximation, as
   CUDA's own); NaN where x is infinite. To reciprocals is added about 1 / x: at least 2^100 where x is less, NaN where it
   is negative or NaN. Sums of products take half the time of a minimum. */
__device__ __forceinline__ float weft_near_sqrt(float x, float& reciprocals) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  const float s = x * r;
  reciprocals = fmaf(r, r, reciprocals);
  return fmaf(fmaf(-s, s, x), 0.5f * r, s);
}`),
  piece(`
/* The same; reciprocals becomes NaN where x is infinite, too. */
__device__ __forceinline__ float weft_near_sqrt_hidden(float x, float& reciprocals) {
  const float y = weft_near_sqrt(x, reciprocals);
  reciprocals = fmaf(y, 0.0f, reciprocals);
  return y;
}`),
  piece(`
/* e raised to x, of which at most 87 is the size: two to the rounded p = x / ln 2, and the rest to first order. Within
   2.5 units in the last place while |x| is below 20, and within 5 up to 87, where the rounding of ln 2 is seen. */
__device__ __forceinline__ float weft_exp_within(float x) {
  const float p = x * 1.44269504088896340736f;
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(p));
  return fmaf(power, fmaf(p, -0.693147180559945309417f, x), power);
}
/* e raised to x. Farther out it is the square of half the way, so that it becomes subnormal, 0 or infinite as it should;
   no branches: a few more instructions where there is always some argument out there and some within. */
__device__ __forceinline__ float weft_exp(float x) {
  const bool far = !(fabsf(x) <= 87.0f);
  const float power = weft_exp_within(far ? weft_minimum(weft_maximum(0.5f * x, -60.0f), 60.0f) : x);
  return far ? __fmul_rn(power, power) : power;
}`),
  piece(`
/* The same where x is at most 87 in size; exponents becomes the largest size. */
__device__ __forceinline__ float weft_near_exp(float x, float& exponents) {
  exponents = fmaxf(exponents, fabsf(x));
  return weft_exp_within(x);
}`),
];
