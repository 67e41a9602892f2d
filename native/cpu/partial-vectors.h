// The first lanes of a vector in memory, for the ends of rows and columns. For files compiled once per
// instruction set.
#pragma once
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// Lanes before `count`, none of them where that is negative; the others are loaded as 0, and not stored.
template <typename R>
class PartialVector {
 public:
#if defined(__AVX512F__)
  explicit PartialVector(int64_t count)
      : set_(count >= kLanes<R> ? (1u << kLanes<R>)-1
             : count <= 0       ? 0u
                                : (1u << count) - 1) {}
  Vector<R> load(const R* from) const {
    if constexpr (sizeof(R) == 4)
      return (Vector<R>)_mm512_maskz_loadu_ps(static_cast<__mmask16>(set_), from);
    else
      return (Vector<R>)_mm512_maskz_loadu_pd(static_cast<__mmask8>(set_), from);
  }
  void store(R* to, Vector<R> v) const {
    if constexpr (sizeof(R) == 4)
      _mm512_mask_storeu_ps(to, static_cast<__mmask16>(set_), (__m512)v);
    else
      _mm512_mask_storeu_pd(to, static_cast<__mmask8>(set_), (__m512d)v);
  }

 private:
  unsigned set_;
#elif defined(__AVX2__)
  explicit PartialVector(int64_t count) {
    using Lane = std::conditional_t<sizeof(R) == 4, int32_t, int64_t>;
    Lane lanes[kLanes<R>];
    for (int k = 0; k < kLanes<R>; k++) lanes[k] = k < count ? -1 : 0;
    set_ = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lanes));
  }
  Vector<R> load(const R* from) const {
    if constexpr (sizeof(R) == 4)
      return (Vector<R>)_mm256_maskload_ps(from, set_);
    else
      return (Vector<R>)_mm256_maskload_pd(from, set_);
  }
  void store(R* to, Vector<R> v) const {
    if constexpr (sizeof(R) == 4)
      _mm256_maskstore_ps(to, set_, (__m256)v);
    else
      _mm256_maskstore_pd(to, set_, (__m256d)v);
  }

 private:
  __m256i set_;
#else
  explicit PartialVector(int64_t count) : count_(count < kLanes<R> ? count : kLanes<R>) {}
  Vector<R> load(const R* from) const {
    Vector<R> v{};
    for (int64_t k = 0; k < count_; k++) v[k] = from[k];
    return v;
  }
  void store(R* to, Vector<R> v) const {
    for (int64_t k = 0; k < count_; k++) to[k] = v[k];
  }

 private:
  int64_t count_;
#endif
};

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
