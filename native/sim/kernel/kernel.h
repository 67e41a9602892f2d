// The part of CUDA C++ that generated kernels use, for g++: what nvrtc.cpp puts in front of a source.
//
// It includes nothing, so that a kernel compiles in well under a tenth of a second. A function that it lacks
// does not compile. The functions that simulate the machine are in core/hooks.cpp.
#pragma once

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ static
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
// Together, so that they can be poisoned before each block.
#define __shared__ static __attribute__((section("weft_shared")))

struct uint3 {
  unsigned x, y, z;
};

extern "C" {
const uint3* weft_sim_place(int which);
void weft_sim_barrier();
void weft_sim_warp_barrier();
void* weft_sim_dynamic_shared();
unsigned long long weft_sim_shuffle(unsigned mask, unsigned long long value, unsigned source);
unsigned weft_sim_ballot(unsigned mask, bool holds);
unsigned weft_sim_lane();
unsigned long long weft_sim_globaltimer();
void weft_sim_atomic(void* address, unsigned byteLength);
void weft_sim_sleep();
}

#define WEFT_SIM_UNCHECKED __attribute__((no_sanitize("thread"), noinline))
WEFT_SIM_UNCHECKED inline uint3 weft_sim_index(int which) { return *weft_sim_place(which); }
#define threadIdx weft_sim_index(0)
#define blockIdx weft_sim_index(1)
#define blockDim weft_sim_index(2)
#define gridDim weft_sim_index(3)

inline void __syncthreads() { weft_sim_barrier(); }
inline unsigned __shfl_xor_sync(unsigned mask, unsigned value, int lanes) {
  return (unsigned)weft_sim_shuffle(mask, value, weft_sim_lane() ^ (unsigned)lanes);
}
// From the lane so many below or above; at the ends from the own one. Values of up to 8 bytes.
template <class T>
inline T weft_sim_shuffle_value(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= 8);
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = weft_sim_shuffle(mask, bits, source);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned lanes) {
  const unsigned own = weft_sim_lane();
  return weft_sim_shuffle_value(mask, value, own < lanes ? own : own - lanes);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned lanes) {
  const unsigned own = weft_sim_lane();
  return weft_sim_shuffle_value(mask, value, own + lanes > 31 ? own : own + lanes);
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane) {
  return weft_sim_shuffle_value(mask, value, (unsigned)lane % 32);
}
inline int __all_sync(unsigned mask, int holds) {
  unsigned all = holds != 0;
  for (int lanes = 16; lanes > 0; lanes /= 2) all &= __shfl_xor_sync(mask, all, lanes);
  return (int)all;
}

inline unsigned __ballot_sync(unsigned mask, int holds) { return weft_sim_ballot(mask, holds != 0); }
inline void __syncwarp() { weft_sim_warp_barrier(); }
inline void __threadfence() {}
inline void __nanosleep(unsigned) { weft_sim_sleep(); }
inline int __popc(unsigned a) { return __builtin_popcount(a); }

// Atomic operations give the value before; nothing else runs meanwhile.
#define WEFT_SIM_ATOMIC(name, T, after)                   \
  WEFT_SIM_UNCHECKED inline T name(T* address, T value) { \
    weft_sim_atomic(address, sizeof(T));                  \
    const T before = *address;                            \
    *address = after;                                     \
    return before;                                        \
  }
#define WEFT_SIM_ATOMICS(T)                                      \
  WEFT_SIM_ATOMIC(atomicMax, T, before < value ? value : before) \
  WEFT_SIM_ATOMIC(atomicMin, T, value < before ? value : before)
WEFT_SIM_ATOMICS(int)
WEFT_SIM_ATOMICS(unsigned)
WEFT_SIM_ATOMICS(long long)
WEFT_SIM_ATOMICS(unsigned long long)
WEFT_SIM_ATOMIC(atomicAdd, unsigned, before + value)
WEFT_SIM_ATOMIC(atomicOr, unsigned, before | value)
WEFT_SIM_ATOMIC(atomicAdd, unsigned long long, before + value)
// A load from the second-level cache, where atomic operations are done: it may stand beside those.
template <class T>
WEFT_SIM_UNCHECKED inline T __ldcg(const T* address) {
  weft_sim_atomic((void*)address, sizeof(T));
  return *address;
}

// C's functions for double and, with an f, for float; CUDA overloads the plain name for both.
#define WEFT_SIM_UNARY(name)       \
  extern "C" double name(double);  \
  extern "C" float name##f(float); \
  inline float name(float a) { return name##f(a); }
#define WEFT_SIM_BINARY(name)             \
  extern "C" double name(double, double); \
  extern "C" float name##f(float, float); \
  inline float name(float a, float b) { return name##f(a, b); }
WEFT_SIM_UNARY(acos)
WEFT_SIM_UNARY(acosh)
WEFT_SIM_UNARY(asin)
WEFT_SIM_UNARY(asinh)
WEFT_SIM_UNARY(atan)
WEFT_SIM_UNARY(atanh)
WEFT_SIM_UNARY(cbrt)
WEFT_SIM_UNARY(ceil)
WEFT_SIM_UNARY(cos)
WEFT_SIM_UNARY(cosh)
WEFT_SIM_UNARY(erf)
WEFT_SIM_UNARY(erfc)
WEFT_SIM_UNARY(exp)
WEFT_SIM_UNARY(exp2)
WEFT_SIM_UNARY(expm1)
WEFT_SIM_UNARY(fabs)
WEFT_SIM_UNARY(floor)
WEFT_SIM_UNARY(log)
WEFT_SIM_UNARY(log10)
WEFT_SIM_UNARY(log1p)
WEFT_SIM_UNARY(log2)
WEFT_SIM_UNARY(rint)
WEFT_SIM_UNARY(sin)
WEFT_SIM_UNARY(sinh)
WEFT_SIM_UNARY(sqrt)
WEFT_SIM_UNARY(tan)
WEFT_SIM_UNARY(tanh)
WEFT_SIM_UNARY(tgamma)
WEFT_SIM_UNARY(trunc)
WEFT_SIM_BINARY(atan2)
WEFT_SIM_BINARY(copysign)
WEFT_SIM_BINARY(fmax)
WEFT_SIM_BINARY(fmod)
WEFT_SIM_BINARY(hypot)
WEFT_SIM_BINARY(nextafter)
WEFT_SIM_BINARY(pow)
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
extern "C" void sincos(double, double*, double*);
extern "C" void sincosf(float, float*, float*);
extern "C" double weft_sim_lgamma(double) __asm__("lgamma");
extern "C" float weft_sim_lgammaf(float) __asm__("lgammaf");
// CUDA's lgamma(-infinity) is -infinity, unlike C's.
inline double lgamma(double a) { return a == -__builtin_inf() ? a : weft_sim_lgamma(a); }
inline float lgammaf(float a) { return a == -__builtin_inff() ? a : weft_sim_lgammaf(a); }
inline double rsqrt(double a) { return 1.0 / sqrt(a); }
inline float rsqrtf(float a) { return 1.0f / sqrtf(a); }
inline int signbit(float a) { return __builtin_signbitf(a) != 0; }
inline int signbit(double a) { return __builtin_signbit(a) != 0; }

template <class To, class From>
inline To weft_sim_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
inline float __int_as_float(int a) { return weft_sim_bits<float>(a); }
inline int __float_as_int(float a) { return weft_sim_bits<int>(a); }
inline double __longlong_as_double(long long a) { return weft_sim_bits<double>(a); }
inline long long __double_as_longlong(double a) { return weft_sim_bits<long long>(a); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dmul_rn(double a, double b) { return a * b; }
// As CUDA documents: 0 where the divisor is beyond 2^126, NaN if the dividend is infinite too.
inline float __fdividef(float a, float b) {
  const bool beyond = fabsf(b) > 0x1p126f && fabsf(b) < 0x1p127f * 2;
  return beyond ? (fabsf(a) > 0x1.fffffep127f ? a - a : copysignf(0.0f, a) * copysignf(1.0f, b)) : a / b;
}
inline float __double2float_rz(double a) {
  const float nearest = (float)a;
  if (a != a || (nearest < 0 ? -(double)nearest : (double)nearest) <= fabs(a)) return nearest;
  return nextafterf(nearest, 0.0f);
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}

// Inline PTX: `asm("op.type …" : "=c"(r) : "c"(a) …)` has become `weft_ptx_op_type(r, a …)`.
inline void weft_ptx_max_NaN_f32(float& r, float a, float b) {
  if (a != a || b != b) {
    r = weft_sim_bits<float>(0x7fffffff);
  } else if (a == b) {
    r = signbit(a) ? b : a;
  } else {
    r = a > b ? a : b;
  }
}
inline void weft_ptx_min_NaN_f32(float& r, float a, float b) {
  if (a != a || b != b) {
    r = weft_sim_bits<float>(0x7fffffff);
  } else if (a == b) {
    r = signbit(a) ? a : b;
  } else {
    r = a < b ? a : b;
  }
}
// An approximation is the device's own: nothing may rest on its bits.
inline void weft_ptx_rsqrt_approx_ftz_f32(float& r, float a) { r = (float)(1.0 / sqrt((double)a)); }
inline void weft_ptx_ex2_approx_ftz_f32(float& r, float a) {
  const float power = (float)exp2((double)a);
  r = power < 0x1p-126f ? 0.0f : power;  // and not where it is NaN
}
inline void weft_ptx_cvt_f32_f16(float& r, unsigned short a) {
  const int exponent = a >> 10 & 31, fraction = a & 0x3ff;
  float size;
  if (exponent == 31) {
    size = weft_sim_bits<float>(fraction != 0 ? 0x7fffffff : 0x7f800000);
  } else if (exponent == 0) {
    size = (float)fraction * 0x1p-24f;
  } else {
    size = weft_sim_bits<float>((exponent + 112) << 23 | fraction << 13);
  }
  r = (a & 0x8000) != 0 ? -size : size;
}
// The nearest float16 of a double, ties to even; exact for floats too.
inline void weft_ptx_cvt_rn_f16_f64(unsigned short& r, double a) {
  const int sign = signbit(a) ? 0x8000 : 0;
  const double size = fabs(a);
  if (a != a) {
    r = 0x7fff;
  } else if (size >= 65520.0) {
    r = (unsigned short)(sign | 0x7c00);
  } else if (size < 0x1p-14) {
    // Multiples of the least half; counting them from zero makes the carry into the exponent come out.
    r = (unsigned short)(sign | (int)rint(size * 0x1p24));
  } else {
    const int exponent = (int)(weft_sim_bits<long long>(size) >> 52) - 1023;
    const double scale = weft_sim_bits<double>((long long)(1023 + 10 - exponent) << 52);
    r = (unsigned short)(sign | (((exponent + 14) << 10) + (int)rint(size * scale)));
  }
}
inline void weft_ptx_cvt_rn_f16_f32(unsigned short& r, float a) { weft_ptx_cvt_rn_f16_f64(r, a); }
inline void weft_ptx_cvt_rn_bf16_f32(unsigned short& r, float a) {
  const unsigned word = weft_sim_bits<unsigned>(a);
  r = (unsigned short)(a != a ? 0x7fff : (word + 0x7fff + (word >> 16 & 1)) >> 16);
}
