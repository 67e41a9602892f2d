// A load and the additions, subtractions and multiplications after it as one step of a chain, which keeps the
// loaded group in registers: what reads the same elements again, or neighbours of theirs, takes them from
// there. Neighbours do not lie on vectors' bounds, and to read such vectors takes about twice as long.
//
// Each lane sees the same operations in the same order as by steps of their own. For files compiled once per
// instruction set; only where there are registers for two groups.
#pragma once
#include "cpu/chain-steps.h"

namespace weft::cpu::WEFT_ISA {
namespace {

#if defined(__AVX512F__)
// Lanes of a and, after them, of b.
inline Vector<float> shifted(Vector<float> a, Vector<float> b, __m512i lanes) {
  return _mm512_permutex2var_ps(a, lanes, b);
}
inline Vector<double> shifted(Vector<double> a, Vector<double> b, __m512i lanes) {
  return _mm512_permutex2var_pd(a, lanes, b);
}
template <typename T>
inline __m512i lanesFrom(int64_t shift) {
  if constexpr (sizeof(T) == 4) {
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(shift)));
  } else {
    return _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(shift));
  }
}

template <typename S>
struct ArithmeticRun;

template <typename T, int... I>
struct ArithmeticRun<Steps<T, Indices<I...>>> {
  using S = Steps<T, Indices<I...>>;
  using VectorGroup = typename S::VectorGroup;
  static constexpr int kVectors = S::kVectors;
  // Vectors that lie in a row: all, or half of a wide group.
  static constexpr int kRow = S::kIsWide ? kVectors / 2 : kVectors;
  struct Values {
    Vector<T> v[kVectors];
  };

  static void run(ChainStep* s, typename S::template V<I>...) {
    const VectorGroup kept = S::operand(s, 0);
    const Values x{{S::at(kept, I)...}};
    Values sum = x;
    for (s++; s->arithmetic != Arithmetic::none; s++) {
      switch (s->arithmetic) {
        case Arithmetic::none:
          break;
        case Arithmetic::add:
          take(s, kept, x, [&](auto y) { ((sum.v[I] = sum.v[I] + y(I)), ...); });
          break;
        case Arithmetic::subtract:
          take(s, kept, x, [&](auto y) { ((sum.v[I] = sum.v[I] - y(I)), ...); });
          break;
        case Arithmetic::subtractFrom:
          take(s, kept, x, [&](auto y) { ((sum.v[I] = y(I) - sum.v[I]), ...); });
          break;
        case Arithmetic::multiply:
          take(s, kept, x, [&](auto y) { ((sum.v[I] = sum.v[I] * y(I)), ...); });
          break;
      }
    }
    return reinterpret_cast<typename S::Run>(s->run)(s, sum.v[I]...);
  }

 private:
  // Calls `body` with the operand, as a function of the vector's number.
  template <typename F>
  __attribute__((always_inline)) static void take(ChainStep* s, const VectorGroup& kept, const Values& x,
                                                  F body) {
    if (s->half[0] == 0) {
      const Vector<T> y = S::repeatedOperand(s, 0);
      return body([&](int) __attribute__((always_inline)) { return y; });
    }
    const VectorGroup group = S::operand(s, 0);
    const int64_t shift = group.first - kept.first;
    if (S::kIsWide && group.second - kept.second != shift)
      return body([&](int i) __attribute__((always_inline)) { return S::at(group, i); });
    if (shift == 0) return body([&](int i) __attribute__((always_inline)) { return x.v[i]; });
    if (shift > 0 && shift < kLanes<T>) {
      const __m512i lanes = lanesFrom<T>(shift);
      return body([&](int i) __attribute__((always_inline)) {
        return i % kRow == kRow - 1 ? S::at(group, i) : shifted(x.v[i], x.v[(i + 1) % kVectors], lanes);
      });
    }
    if (shift < 0 && shift > -kLanes<T>) {
      const __m512i lanes = lanesFrom<T>(kLanes<T> + shift);
      return body([&](int i) __attribute__((always_inline)) {
        return i % kRow == 0 ? S::at(group, i) : shifted(x.v[(i + kVectors - 1) % kVectors], x.v[i], lanes);
      });
    }
    return body([&](int i) __attribute__((always_inline)) { return S::at(group, i); });
  }
};

struct LoadAndArithmetic {
  static constexpr int kOperands = 1;
  template <typename S>
  static StepForm of() {
    return {reinterpret_cast<void (*)()>(ArithmeticRun<S>::run)};
  }
};

template <typename T>
inline void addArithmeticRuns(Registry& registry) {
  addStep<T, LoadAndArithmetic>(registry, "load and arithmetic");
}
#else
template <typename T>
inline void addArithmeticRuns(Registry&) {}
#endif

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
