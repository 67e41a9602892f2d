// One sequence of a Fourier transform in two steps: the columns of the sequence as a matrix, which twiddles
// and a transpose bring to the lines between, then the columns of those. Included by files that are compiled
// once per instruction set.
#pragma once
#include "cpu/fft-passes.h"

namespace weft::cpu::WEFT_ISA {
namespace {

constexpr size_t padded(size_t bytes) {
  return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
}

template <typename T>
size_t localBytes(int64_t length) {
  return static_cast<size_t>(length) * 2 * kVectorBytes;
}

template <typename T>
Local<T> localAt(std::byte* memory) {
  return {reinterpret_cast<Vector<T>*>(memory)};
}

// The lines between the steps: for each j2, elements k1, padded.
template <typename T>
int64_t betweenLine(const FftPlan& plan) {
  return (plan.first->length + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}
template <typename T>
size_t betweenBytes(const FftPlan& plan) {
  return 2 * padded(static_cast<size_t>(plan.second->length * betweenLine<T>(plan)) * sizeof(T));
}
template <typename T>
T* imaginary(const FftPlan& plan, std::byte* between) {
  return reinterpret_cast<T*>(between + betweenBytes<T>(plan) / 2);
}

// Of as many sequences as `stepScratch` is for: elements of one, and two lines to go to and fro.
template <typename T>
size_t stepScratch(const FftPlan& plan) {
  const int64_t n1 = plan.first->length, n2 = plan.second->length;
  return 3 * localBytes<T>(n1 > n2 ? n1 : n2);
}

// Twiddles k1 = k of the neighbours from j2 = j on, which is a multiple of the lanes.
template <typename T>
WEFT_FFT_INLINE Complexes<T> twiddlesAt(const FftPlan& plan, int64_t k, int64_t j) {
  const int64_t line = plan.tableLine();
  const T* const table = static_cast<const T*>(plan.table) + 2 * k * line;
  if (plan.isWhole()) return {loadVector(table + j), loadVector(table + line + j)};
  const T *const coarse = table + j / kFine, *const fine = static_cast<const T*>(plan.fine) + 2 * k * kFine;
  const Complexes<T> w = {loadVector(fine + j % kFine), loadVector(fine + kFine + j % kFine)};
  return times(w, broadcast<T>(coarse[0]), broadcast<T>(coarse[line]));
}
// The one at j in every lane.
template <typename T>
WEFT_FFT_INLINE Complexes<T> twiddleAt(const FftPlan& plan, int64_t k, int64_t j) {
  const int64_t line = plan.tableLine();
  const T* const table = static_cast<const T*>(plan.table) + 2 * k * line;
  if (plan.isWhole()) return {broadcast<T>(table[j]), broadcast<T>(table[line + j])};
  const T *const coarse = table + j / kFine, *const fine = static_cast<const T*>(plan.fine) + 2 * k * kFine;
  const Complexes<T> w = {broadcast<T>(fine[j % kFine]), broadcast<T>(fine[kFine + j % kFine])};
  return times(w, broadcast<T>(coarse[0]), broadcast<T>(coarse[line]));
}

// Columns [first, last) of the sequence as n1 rows of n2.
// `sourceOf(j, count)` gives the columns from j on.
template <typename T, typename SourceOf>
WEFT_FFT_INLINE void firstStepOf(const FftPlan& plan, const SourceOf& sourceOf, std::byte* between,
                                 int64_t first, int64_t last, std::byte* scratch) {
  constexpr int64_t L = kLanes<T>;
  const int64_t n1 = plan.first->length, n2 = plan.second->length, line = betweenLine<T>(plan);
  T *const re = reinterpret_cast<T*>(between), *const im = imaginary<T>(plan, between);
  const Local<T> a = localAt<T>(scratch), b = localAt<T>(scratch + localBytes<T>(n1)),
                 done = localAt<T>(scratch + 2 * localBytes<T>(n1));
  for (int64_t j = first; j < last; j += L) {
    const int64_t count = last - j < L ? last - j : L;
    transform<T>(*plan.first, sourceOf(j, count), done, a, b);
    for (int64_t k = 0; k < n1; k += L) {
      Vector<T> reals[L], imaginaries[L];
#pragma GCC unroll 16
      for (int64_t i = 0; i < L; i++) {
        Complexes<T> x{};
        if (k + i < n1) {
          const Complexes<T> w = twiddlesAt<T>(plan, k + i, j);
          x = times(done.get(k + i), w.re, w.im);
        }
        reals[i] = x.re;
        imaginaries[i] = x.im;
      }
      transposeVectors<T>(reals);
      transposeVectors<T>(imaginaries);
      for (int64_t i = 0; i < count; i++) {
        storeVector(re + (j + i) * line + k, reals[i]);
        storeVector(im + (j + i) * line + k, imaginaries[i]);
      }
    }
  }
}

template <typename T>
void firstStep(const FftPlan& plan, const void* from, std::byte* between, int64_t first, int64_t last,
               bool inverse, std::byte* scratch) {
  T* const in = const_cast<T*>(static_cast<const T*>(from));
  const int64_t stride = 2 * plan.second->length;
  const auto columns = [&](int64_t j, int64_t count) { return Pairs<T>{in + 2 * j, stride, count, inverse}; };
  firstStepOf<T>(plan, columns, between, first, last, scratch);
}

// Columns [first, last) of n2 rows of n1.
template <typename T, typename SinkOf>
WEFT_FFT_INLINE void secondStepOf(const FftPlan& plan, const std::byte* between, const SinkOf& sinkOf,
                                  int64_t first, int64_t last, std::byte* scratch) {
  constexpr int64_t L = kLanes<T>;
  const int64_t n1 = plan.first->length, n2 = plan.second->length, line = betweenLine<T>(plan);
  const T* const re = reinterpret_cast<const T*>(between);
  const T* const im = imaginary<T>(plan, const_cast<std::byte*>(between));
  const Local<T> a = localAt<T>(scratch), b = localAt<T>(scratch + localBytes<T>(n2));
  for (int64_t k = first; k < last; k += L) {
    const int64_t count = last - k < L ? last - k : L;
    transform<T>(*plan.second, Lines<T>{const_cast<T*>(re) + k, const_cast<T*>(im) + k, line, L},
                 sinkOf(k, count), a, b);
  }
}

template <typename T>
void secondStep(const FftPlan& plan, const std::byte* between, void* to, int64_t first, int64_t last,
                bool inverse, std::byte* scratch) {
  T* const out = static_cast<T*>(to);
  const int64_t stride = 2 * plan.first->length;
  const auto columns = [&](int64_t k, int64_t count) {
    return Pairs<T>{out + 2 * k, stride, count, inverse};
  };
  secondStepOf<T>(plan, between, columns, first, last, scratch);
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
