/**
 * Prelude pieces for real numbers: halves, saturating conversion, and the ops of the table that C has no
 * operator or function for. Semantics are NumPy's.
 */
import { type Piece, piece } from './prelude-piece.js';

export const NUMBER_PIECES: readonly Piece[] = [
  piece(`
struct __align__(2) weft_half {
  unsigned short bits;
};`),
  piece(`
struct __align__(2) weft_bfloat {
  unsigned short bits;
};`),
  piece(`
__device__ __forceinline__ float weft_to_float(weft_half a) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a.bits));
  return r;
}`),
  piece(`
__device__ __forceinline__ float weft_to_float(weft_bfloat a) {
  return __int_as_float((int)((unsigned int)a.bits << 16));
}`),
  piece(`
__device__ __forceinline__ weft_half weft_to_half(float a) {
  weft_half r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(a));
  return r;
}
__device__ __forceinline__ weft_half weft_to_half(double a) {
  weft_half r;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r.bits) : "d"(a));
  return r;
}`),
  piece(`
/* As one of two numbers: by itself it is converted at an eighth of that rate (sm_90). */
__device__ __forceinline__ weft_bfloat weft_to_bfloat(float a) {
  weft_bfloat r;
#if __CUDA_ARCH__ >= 800
  unsigned int pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(a));
  r.bits = (unsigned short)pair;
#else
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(a));
#endif
  return r;
}
/* Rounded to odd on the way, so that the second rounding is the only one. */
__device__ __forceinline__ weft_bfloat weft_to_bfloat(double a) {
  float f = __double2float_rz(a);
  if ((double)f != a && a == a) f = __int_as_float(__float_as_int(f) | 1);
  return weft_to_bfloat(f);
}`),
  piece(`
/* Truncates; what lies outside [low, high) goes to the nearest end, NaN to 0. */
template <class I, class F>
__device__ __forceinline__ I weft_saturate(F a, float low, float high) {
  const I most = (I)-1 > (I)0 ? (I)-1 : (I)(((unsigned long long)1 << (8 * sizeof(I) - 1)) - 1);
  if (!(a == a)) return (I)0;
  if (a <= (F)low) return (I)((I)-1 > (I)0 ? (I)0 : (I)(-(long long)most - 1));
  if (a >= (F)high) return most;
  return (I)a;
}`),
  piece(`
__device__ __forceinline__ bool weft_isnan(float a) { return a != a; }
__device__ __forceinline__ bool weft_isnan(double a) { return a != a; }`),
  piece(`
__device__ __forceinline__ bool weft_isinf(float a) { return fabsf(a) == __int_as_float(0x7f800000); }
__device__ __forceinline__ bool weft_isinf(double a) { return fabs(a) == __longlong_as_double(0x7ff0000000000000ll); }`),
  piece(`
__device__ __forceinline__ bool weft_isfinite(float a) { return fabsf(a) < __int_as_float(0x7f800000); }
__device__ __forceinline__ bool weft_isfinite(double a) { return fabs(a) < __longlong_as_double(0x7ff0000000000000ll); }`),
  piece(`
__device__ __forceinline__ bool weft_signbit(float a) { return __float_as_int(a) < 0; }
__device__ __forceinline__ bool weft_signbit(double a) { return __double_as_longlong(a) < 0; }`),
  piece(`
/* NaN if either is NaN; -0 is less than 0. */
template <class T>
__device__ __forceinline__ T weft_maximum(T a, T b) {
  return a > b ? a : b;
}
__device__ __forceinline__ double weft_maximum(double a, double b) {
  const long long both = __double_as_longlong(a) & __double_as_longlong(b);
  return a > b || a != a ? a : a == b ? __longlong_as_double(both) : b;
}
__device__ __forceinline__ float weft_maximum(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}`),
  piece(`
/* NaN if either is NaN; -0 is less than 0. */
template <class T>
__device__ __forceinline__ T weft_minimum(T a, T b) {
  return a < b ? a : b;
}
__device__ __forceinline__ double weft_minimum(double a, double b) {
  const long long both = __double_as_longlong(a) | __double_as_longlong(b);
  return a < b || a != a ? a : a == b ? __longlong_as_double(both) : b;
}
__device__ __forceinline__ float weft_minimum(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}`),
  piece(`
template <class T>
__device__ __forceinline__ T weft_sign(T a) {
  return a > (T)0 ? (T)1 : a < (T)0 ? (T)-1 : a == (T)0 ? (T)0 : a;
}`),
  piece(`
/* Rounds towards minus infinity; 0 for a divisor of 0. The least value divided by -1 wraps. No branches: a divisor that is
   the same for all would have the compiler write every loop again for each of them. */
template <class T>
__device__ __forceinline__ T weft_floor_divide(T a, T b) {
  const bool plain = b != (T)0 && !((T)-1 < (T)0 && b == (T)-1);
  const T d = plain ? b : (T)1;
  const T q = (T)(a / d);
  const T f = (T)(q - (T)(q * d != a && (a < (T)0) != (d < (T)0) ? 1 : 0));
  return plain ? f : (T)(b == (T)0 ? 0ull : 0ull - (unsigned long long)a);
}
/* As NumPy's divmod: from the exact remainder. */
template <class T>
__device__ __forceinline__ T weft_floor_quotient(T a, T b, T r) {
  if (b == (T)0) return a / b;
  T q = (a - r) / b;
  if (r != (T)0 && (b < (T)0) != (r < (T)0)) q -= (T)1;
  if (q == (T)0) return copysign((T)0, a / b);
  const T f = floor(q);
  return q - f > (T)0.5 ? f + (T)1 : f;
}
__device__ __forceinline__ float weft_floor_divide(float a, float b) {
  return weft_floor_quotient(a, b, fmodf(a, b));
}
__device__ __forceinline__ double weft_floor_divide(double a, double b) {
  return weft_floor_quotient(a, b, fmod(a, b));
}`),
  piece(`
/* Has the divisor's sign; 0 for an integer divisor of 0. */
template <class T>
__device__ __forceinline__ T weft_remainder(T a, T b) {
  const bool plain = b != (T)0 && !((T)-1 < (T)0 && b == (T)-1);
  const T r = (T)(a % (plain ? b : (T)1));
  return !plain ? (T)0 : r != (T)0 && (r < (T)0) != (b < (T)0) ? (T)(r + b) : r;
}
__device__ __forceinline__ float weft_remainder(float a, float b) {
  const float r = fmodf(a, b);
  if (r == 0.0f) return copysignf(0.0f, b);
  return (b < 0.0f) != (r < 0.0f) ? r + b : r;
}
__device__ __forceinline__ double weft_remainder(double a, double b) {
  const double r = fmod(a, b);
  if (r == 0.0) return copysign(0.0, b);
  return (b < 0.0) != (r < 0.0) ? r + b : r;
}`),
  piece(`
/* Wraps. A negative power is 0, or 1 or -1 for a base of 1 or -1. */
template <class T>
__device__ __forceinline__ T weft_ipow(T a, T b) {
  if (b < (T)0) return a == (T)1 ? a : a == (T)-1 ? ((b & (T)1) != (T)0 ? a : (T)1) : (T)0;
  unsigned long long base = (unsigned long long)a;
  unsigned long long power = 1;
  for (unsigned long long n = (unsigned long long)b; n != 0; n >>= 1) {
    if (n & 1) power *= base;
    base *= base;
  }
  return (T)power;
}`),
  piece(`
/* 0 once the shift reaches the width, or is negative. */
template <class T>
__device__ __forceinline__ T weft_shift_left(T a, T b) {
  return b >= (T)0 && (unsigned long long)b < 8 * sizeof(T) ? (T)((unsigned long long)a << (unsigned long long)b) : (T)0;
}`),
  piece(`
/* Keeps the sign: 0 or -1 once the shift reaches the width, or is negative. */
template <class T>
__device__ __forceinline__ T weft_shift_right(T a, T b) {
  const bool inside = b >= (T)0 && (unsigned long long)b < 8 * sizeof(T);
  return inside ? (T)(a >> (int)b) : a < (T)0 ? (T)-1 : (T)0;
}`),
  piece(`
__device__ __forceinline__ float weft_logaddexp(float a, float b) {
  if (a == b) return a + 0.693147180559945309417f;
  const float d = a - b;
  return d > 0.0f ? a + log1pf(expf(-d)) : d <= 0.0f ? b + log1pf(expf(d)) : d;
}
__device__ __forceinline__ double weft_logaddexp(double a, double b) {
  if (a == b) return a + 0.693147180559945309417;
  const double d = a - b;
  return d > 0.0 ? a + log1p(exp(-d)) : d <= 0.0 ? b + log1p(exp(d)) : d;
}`),
  piece(`
/* CUDA's gives -infinity for -infinity, C's infinity. */
__device__ __forceinline__ float weft_lgamma(float a) { return weft_isinf(a) ? fabsf(a) : lgammaf(a); }
__device__ __forceinline__ double weft_lgamma(double a) { return weft_isinf(a) ? fabs(a) : lgamma(a); }`),
  // From 105615 on, sinf, cosf and tanf take many steps more, in a loop, which stand apart: where the same
  // condition as theirs is false, the compiler leaves them out. It halves the time that such kernels take to
  // compile.
  piece(`
__device__ __attribute__((noinline)) float weft_far_sincos(float a, bool isCosine) {
  float s, c;
  sincosf(a, &s, &c);
  return isCosine ? c : s;
}`),
  piece(`
__device__ __forceinline__ float weft_sin(float a) { return fabsf(a) >= 105615.0f ? weft_far_sincos(a, false) : sinf(a); }
__device__ __forceinline__ double weft_sin(double a) { return sin(a); }`),
  piece(`
__device__ __forceinline__ float weft_cos(float a) { return fabsf(a) >= 105615.0f ? weft_far_sincos(a, true) : cosf(a); }
__device__ __forceinline__ double weft_cos(double a) { return cos(a); }`),
  piece(`
__device__ __attribute__((noinline)) float weft_far_tan(float a) { return tanf(a); }
__device__ __forceinline__ float weft_tan(float a) { return fabsf(a) >= 105615.0f ? weft_far_tan(a) : tanf(a); }
__device__ __forceinline__ double weft_tan(double a) { return tan(a); }`),
];
