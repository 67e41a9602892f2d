// The parts of CUDA that only kernels of users' own use: vector types, further atomic operations, functions
// of warps and of numbers, and calls of any function by the types of its parameters.
#pragma once

#define __constant__ static const
#define __host__

using size_t = decltype(sizeof(0));

#define WEFT_SIM_VECTORS(T, name, bytes)                     \
  struct alignas(sizeof(T)) name##1 {                        \
    T x;                                                     \
  };                                                         \
  struct alignas(2 * sizeof(T)) name##2 {                    \
    T x, y;                                                  \
  };                                                         \
  struct alignas(bytes) name##4 {                            \
    T x, y, z, w;                                            \
  };                                                         \
  inline name##1 make_##name##1(T x) { return {x}; }         \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; } \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define WEFT_SIM_TRIPLE(T, name) \
  struct name##3 {               \
    T x, y, z;                   \
  };                             \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
WEFT_SIM_VECTORS(signed char, char, 4)
WEFT_SIM_VECTORS(unsigned char, uchar, 4)
WEFT_SIM_VECTORS(short, short, 8)
WEFT_SIM_VECTORS(unsigned short, ushort, 8)
WEFT_SIM_VECTORS(int, int, 16)
WEFT_SIM_VECTORS(unsigned, uint, 16)
WEFT_SIM_VECTORS(long long, longlong, 16)
WEFT_SIM_VECTORS(unsigned long long, ulonglong, 16)
WEFT_SIM_VECTORS(float, float, 16)
WEFT_SIM_VECTORS(double, double, 16)
WEFT_SIM_TRIPLE(signed char, char)
WEFT_SIM_TRIPLE(unsigned char, uchar)
WEFT_SIM_TRIPLE(int, int)
WEFT_SIM_TRIPLE(float, float)
WEFT_SIM_TRIPLE(double, double)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

constexpr int warpSize = 32;

WEFT_SIM_ATOMIC(atomicAdd, int, before + value)
WEFT_SIM_ATOMIC(atomicAdd, float, before + value)
WEFT_SIM_ATOMIC(atomicAdd, double, before + value)
WEFT_SIM_ATOMIC(atomicSub, int, before - value)
WEFT_SIM_ATOMIC(atomicSub, unsigned, before - value)
WEFT_SIM_ATOMIC(atomicExch, float, value)
WEFT_SIM_ATOMIC(atomicInc, unsigned, before >= value ? 0 : before + 1)
WEFT_SIM_ATOMIC(atomicDec, unsigned, before == 0 || before > value ? value : before - 1)
WEFT_SIM_ATOMIC(atomicOr, int, before | value)
WEFT_SIM_ATOMIC(atomicOr, unsigned long long, before | value)
#define WEFT_SIM_BIT_ATOMICS(T)                                           \
  WEFT_SIM_ATOMIC(atomicExch, T, value)                                   \
  WEFT_SIM_ATOMIC(atomicAnd, T, before& value)                            \
  WEFT_SIM_ATOMIC(atomicXor, T, before ^ value)                           \
  WEFT_SIM_UNCHECKED inline T atomicCAS(T* address, T compare, T value) { \
    weft_sim_atomic(address, sizeof(T));                                  \
    const T before = *address;                                            \
    if (before == compare) *address = value;                              \
    return before;                                                        \
  }
WEFT_SIM_BIT_ATOMICS(int)
WEFT_SIM_BIT_ATOMICS(unsigned)
WEFT_SIM_BIT_ATOMICS(unsigned long long)

extern "C" {
unsigned weft_sim_exchange(unsigned mask, unsigned long long value, unsigned long long* values);
void weft_sim_lanes_barrier(unsigned mask);
}

// With the width of a part of the warp.
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width) {
  const unsigned own = weft_sim_lane(), at = own % (unsigned)width + lanes;
  return weft_sim_shuffle_value(mask, value, at >= (unsigned)width ? own : own + lanes);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width) {
  const unsigned own = weft_sim_lane();
  return weft_sim_shuffle_value(mask, value, own % (unsigned)width < lanes ? own : own - lanes);
}
// Of a later part the own value; of an earlier one that of the lane there.
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  const unsigned own = weft_sim_lane(), from = own ^ (unsigned)lanes;
  return weft_sim_shuffle_value(mask, value,
                                from / (unsigned)width > own / (unsigned)width ? own : from % 32);
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, int width) {
  const unsigned own = weft_sim_lane();
  return weft_sim_shuffle_value(mask, value, own - own % (unsigned)width + (unsigned)lane % (unsigned)width);
}
inline int __any_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) != 0; }
// Of a part of the warp, too.
inline int weft_sim_all(unsigned mask, int holds) { return __ballot_sync(mask, !holds) == 0; }
#define __all_sync weft_sim_all
inline void __syncwarp(unsigned mask) { weft_sim_lanes_barrier(mask); }
// Lanes go on by themselves: each may find itself alone.
inline unsigned __activemask() { return 1u << weft_sim_lane(); }

// The lanes whose values have the same bits.
template <class T>
WEFT_SIM_UNCHECKED inline unsigned weft_sim_match(unsigned mask, T value, unsigned* all) {
  static_assert(sizeof(T) <= 8);
  unsigned long long bits = 0, values[warpSize];
  __builtin_memcpy(&bits, &value, sizeof value);
  const unsigned present = weft_sim_exchange(mask, bits, values);
  unsigned same = 0;
  for (int lane = 0; lane < warpSize; lane++)
    if ((present >> lane & 1) != 0 && values[lane] == bits) same |= 1u << lane;
  *all = present;
  return same;
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  unsigned all;
  return weft_sim_match(mask, value, &all);
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* holds) {
  unsigned all;
  *holds = weft_sim_match(mask, value, &all) == all;
  return *holds ? all : 0;
}

#define WEFT_SIM_REDUCE(name, T, combined)                                          \
  WEFT_SIM_UNCHECKED inline T __reduce_##name##_sync(unsigned mask, T value) {      \
    unsigned long long values[warpSize];                                            \
    const unsigned present = weft_sim_exchange(mask, (unsigned)value, values);      \
    T a = value;                                                                    \
    for (int lane = 0; lane < warpSize; lane++) {                                   \
      const T b = (T)(unsigned)values[lane];                                        \
      if ((present >> lane & 1) != 0 && lane != (int)weft_sim_lane()) a = combined; \
    }                                                                               \
    return a;                                                                       \
  }
WEFT_SIM_REDUCE(add, unsigned, a + b)
WEFT_SIM_REDUCE(add, int, (int)((unsigned)a + (unsigned)b))
WEFT_SIM_REDUCE(min, unsigned, b < a ? b : a)
WEFT_SIM_REDUCE(min, int, b < a ? b : a)
WEFT_SIM_REDUCE(max, unsigned, a < b ? b : a)
WEFT_SIM_REDUCE(max, int, a < b ? b : a)
WEFT_SIM_REDUCE(and, unsigned, a& b)
WEFT_SIM_REDUCE(or, unsigned, a | b)
WEFT_SIM_REDUCE(xor, unsigned, a ^ b)

inline void __threadfence_block() {}
inline int __clz(int a) { return a == 0 ? 32 : __builtin_clz((unsigned)a); }
inline int __ffs(int a) { return __builtin_ffs(a); }
template <class T>
inline T __ldg(const T* address) {
  return *address;
}

// CUDA's, for numbers of any types.
template <class A, class B>
inline auto min(A a, B b) -> decltype(a + b) {
  return b < a ? b : a;
}
template <class A, class B>
inline auto max(A a, B b) -> decltype(a + b) {
  return a < b ? b : a;
}
inline int abs(int a) { return a < 0 ? -a : a; }
inline long long abs(long long a) { return a < 0 ? -a : a; }
inline float abs(float a) { return fabsf(a); }
inline double abs(double a) { return fabs(a); }
WEFT_SIM_UNARY(round)
inline float fminf(float a, float b) { return a != a || b < a ? b : a; }
inline double fmin(double a, double b) { return a != a || b < a ? b : a; }
inline float fmin(float a, float b) { return fminf(a, b); }
inline bool isnan(double a) { return a != a; }
inline bool isnan(float a) { return a != a; }
inline bool isinf(double a) { return fabs(a) == __builtin_inf(); }
inline bool isinf(float a) { return fabsf(a) == __builtin_inff(); }
inline bool isfinite(double a) { return fabs(a) < __builtin_inf(); }
inline float rsqrt(float a) { return rsqrtf(a); }
inline double pow(double a, int b) { return pow(a, (double)b); }
inline float pow(float a, int b) { return powf(a, (float)b); }
inline double fma(float a, float b, float c) { return fmaf(a, b, c); }
inline float __expf(float a) { return expf(a); }
inline float __logf(float a) { return logf(a); }
inline float __sinf(float a) { return sinf(a); }
inline float __cosf(float a) { return cosf(a); }
inline float __powf(float a, float b) { return powf(a, b); }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }

// A function of a kernel's, called with pointers to its arguments, and the sizes of those.
template <class... Parameters>
struct weft_sim_function {
  static constexpr unsigned count = sizeof...(Parameters);
  unsigned facts[2 + count] = {0, count, (unsigned)sizeof(Parameters)...};
};
template <class... Parameters>
constexpr weft_sim_function<Parameters...> weft_sim_facts_of(void (*)(Parameters...)) {
  return {};
}
template <size_t... I>
struct weft_sim_indices {};
template <class... Parameters, size_t... I>
WEFT_SIM_UNCHECKED inline void weft_sim_invoke(void (*kernel)(Parameters...), void** a,
                                               weft_sim_indices<I...>) {
  kernel(*(Parameters*)a[I]...);
}
template <class... Parameters>
WEFT_SIM_UNCHECKED inline void weft_sim_invoke(void (*kernel)(Parameters...), void** a) {
  weft_sim_invoke(kernel, a, weft_sim_indices<__integer_pack(sizeof...(Parameters))...>{});
}
