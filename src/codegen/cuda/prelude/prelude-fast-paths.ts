/**
 * Prelude pieces: the fast paths of `fast-paths.ts`, and what the arithmetic that stands in for them needs.
 */
import { type Piece, piece } from './prelude-piece.js';

export const FAST_PIECES: readonly Piece[] = [
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
/* Two raised to p; 0 where that is subnormal. */
__device__ __forceinline__ float weft_two_to(float p) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(p));
  return power;
}
/* power = 2^p, where p is x / ln 2 but for its rounding, becomes e^x: times what p leaves of x, to first order. */
__device__ __forceinline__ float weft_exp_about(float x, float p, float power) {
  return fmaf(power, fmaf(p, -0.693147180559945309417f, x), power);
}`),
  piece(`
/* e raised to x as a term of a sum, which has a fast path of fewer steps than expf: within 2.5 units in the last place while
   |x| is below 20, and within 5 farther out, where the rounding of ln 2 is seen. Powers that may be subnormal are computed 2^24 times
   as large; an x whose power is infinite gives way to one that leaves more than 0, or the end were NaN. */
__device__ __forceinline__ float weft_term_exp(float x) {
  const float c = weft_maximum(x >= 88.72283935546875f ? 88.72285461425781f : x, -110.0f);
  const float p = __fmul_rn(c, 1.44269504088896340736f);
  const bool low = p < -125.0f;
  const float y = weft_exp_about(c, p, weft_two_to(low ? p + 24.0f : p));
  return low ? __fmul_rn(y, 5.9604644775390625e-8f) : y;
}`),
  piece(`
/* The same where the size of p is at most 125; exponents becomes the largest size. */
__device__ __forceinline__ float weft_near_exp(float x, float& exponents) {
  const float p = __fmul_rn(x, 1.44269504088896340736f);
  exponents = fmaxf(exponents, fabsf(p));
  return weft_exp_about(x, p, weft_two_to(p));
}`),
  piece(`
/* About 1 / x, within 2 units in the last place: 0 or infinite where that, or x, is not a normal number. */
__device__ __forceinline__ float weft_reciprocal_about(float x) {
  float r;
#if __CUDA_ARCH__ >= 800
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
#else
  r = 1.0f / x;
#endif
  return r;
}`),
  piece(`
/* a / b to be rounded to bfloat16, of numbers of bfloat16. A quotient of two numbers of 8 bits is at least 2^-17 of itself
   away from each number of 9 bits that it is not, and is none, so one within 2^-21 rounds to the same; of quotients that are
   subnormal, infinite, 0 or NaN the division is taken. */
__device__ __forceinline__ float weft_bfloat_quotient(float a, float b) {
  float q = a * weft_reciprocal_about(b);
  const float size = fabsf(q);
  if (!(size >= 1.17549435e-38f && size <= 3.40282347e38f)) q = a / b;
  return q;
}`),
];
