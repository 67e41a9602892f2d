// Vectors of complex numbers for the kernels of Fourier transforms, and how they are read and written:
// included by files that are compiled once per instruction set.
#pragma once
#include "cpu/isa-scope.h"

// Vectors that are passed to a function that is not inlined go through memory.
#define WEFT_FFT_INLINE __attribute__((always_inline)) inline

namespace weft::cpu::WEFT_ISA {
namespace {

// Real and imaginary parts of one element of as many sequences as there are lanes, or of neighbours of one.
template <typename T>
struct Complexes {
  Vector<T> re, im;
};

template <typename T>
WEFT_FFT_INLINE Vector<T> broadcast(T x) {
  return x - Vector<T>{};
}

template <typename T>
WEFT_FFT_INLINE Complexes<T> operator+(Complexes<T> a, Complexes<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename T>
WEFT_FFT_INLINE Complexes<T> operator-(Complexes<T> a, Complexes<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename T>
WEFT_FFT_INLINE Complexes<T> times(Complexes<T> a, Vector<T> re, Vector<T> im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
// a · -i.
template <typename T>
WEFT_FFT_INLINE Complexes<T> turned(Complexes<T> a) {
  return {a.im, -a.re};
}
template <typename T>
WEFT_FFT_INLINE Complexes<T> swapped(Complexes<T> a, bool swaps) {
  return swaps ? Complexes<T>{a.im, a.re} : a;
}

template <int... I>
struct Places {};
template <int Count, int... I>
struct PlacesTo : PlacesTo<Count - 1, Count - 1, I...> {};
template <int... I>
struct PlacesTo<0, I...> {
  using type = Places<I...>;
};

template <typename T>
struct IndexOf {
  using type = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
};

template <typename T, int... P>
WEFT_FFT_INLINE Vector<T> shuffled(Vector<T> a, Vector<T> b, Places<P...>) {
#ifdef __clang__
  return __builtin_shufflevector(a, b, P...);
#else
  return __builtin_shuffle(a, b, Vector<typename IndexOf<T>::type>{P...});
#endif
}

template <typename T, template <int> class At, int... I>
WEFT_FFT_INLINE Vector<T> shuffledBy(Vector<T> a, Vector<T> b, Places<I...>) {
  return shuffled<T>(a, b, Places<At<I>::place...>());
}

// Places in (a, b) that lanes come from.
template <int Lanes>
struct Lane {
  template <int I>
  struct Even {
    static constexpr int place = 2 * I;
  };
  template <int I>
  struct Odd {
    static constexpr int place = 2 * I + 1;
  };
  template <int I>
  struct Low {
    static constexpr int place = I % 2 * Lanes + I / 2;
  };
  template <int I>
  struct High {
    static constexpr int place = I % 2 * Lanes + Lanes / 2 + I / 2;
  };
  template <int I>
  struct Back {
    static constexpr int place = Lanes - 1 - I;
  };
  template <int D>
  struct Near {
    template <int I>
    struct At {
      static constexpr int place = (I & D) == 0 ? I : Lanes + I - D;
    };
  };
  template <int D>
  struct Far {
    template <int I>
    struct At {
      static constexpr int place = (I & D) == 0 ? I + D : Lanes + I;
    };
  };
};

template <typename T>
using LanesTo = typename PlacesTo<kLanes<T>>::type;

// Pairs in memory, and their parts.
template <typename T>
WEFT_FFT_INLINE Complexes<T> loadPairs(const T* from) {
  using L = Lane<kLanes<T>>;
  const Vector<T> a = loadVector(from), b = loadVector(from + kLanes<T>);
  return {shuffledBy<T, L::template Even>(a, b, LanesTo<T>()),
          shuffledBy<T, L::template Odd>(a, b, LanesTo<T>())};
}
template <typename T>
WEFT_FFT_INLINE void storePairs(T* to, Complexes<T> x) {
  using L = Lane<kLanes<T>>;
  storeVector(to, shuffledBy<T, L::template Low>(x.re, x.im, LanesTo<T>()));
  storeVector(to + kLanes<T>, shuffledBy<T, L::template High>(x.re, x.im, LanesTo<T>()));
}
// The first `count` of them; the other lanes are 0.
template <typename T>
WEFT_FFT_INLINE Complexes<T> loadPairs(const T* from, int64_t count) {
  if (count == kLanes<T>) return loadPairs(from);
  T padded[2 * kLanes<T>] = {};
  for (int64_t i = 0; i < 2 * count; i++) padded[i] = from[i];
  return loadPairs<T>(padded);
}
template <typename T>
WEFT_FFT_INLINE void storePairs(T* to, Complexes<T> x, int64_t count) {
  if (count == kLanes<T>) return storePairs(to, x);
  T padded[2 * kLanes<T>];
  storePairs<T>(padded, x);
  for (int64_t i = 0; i < 2 * count; i++) to[i] = padded[i];
}

template <typename T>
WEFT_FFT_INLINE void storeLanes(T* to, Vector<T> x, int64_t count) {
  if (count == kLanes<T>) return storeVector(to, x);
  T lanes[kLanes<T>];
  storeVector<T>(lanes, x);
  for (int64_t i = 0; i < count; i++) to[i] = lanes[i];
}

template <typename T>
WEFT_FFT_INLINE Vector<T> backwards(Vector<T> a) {
  return shuffledBy<T, Lane<kLanes<T>>::template Back>(a, a, LanesTo<T>());
}

// Lanes become vectors: v[i][l] is v[l][i] afterwards.
template <typename T, int D = 1>
WEFT_FFT_INLINE void transposeVectors(Vector<T>* v) {
  if constexpr (D < kLanes<T>) {
    using L = Lane<kLanes<T>>;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes<T>; i++) {
      if ((i & D) != 0) continue;
      const Vector<T> a = v[i], b = v[i + D];
      v[i] = shuffledBy<T, L::template Near<D>::template At>(a, b, LanesTo<T>());
      v[i + D] = shuffledBy<T, L::template Far<D>::template At>(a, b, LanesTo<T>());
    }
    transposeVectors<T, 2 * D>(v);
  }
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
