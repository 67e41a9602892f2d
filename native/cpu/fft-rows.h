// Fourier transforms of sequences whose elements follow each other: a lane for each, or one by one. Included
// by files that are compiled once per instruction set.
#pragma once
#include "cpu/fft-in-lanes.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// Bytes of a sequence as lines of real and of imaginary parts, where both fit the second-level cache: steps
// go over a sequence with strides, which hardware does not prefetch, so that it is read and written in order
// (1024 rows of 1024 complex128: 4.3 ms, and 7.5 with strides).
template <typename T>
size_t stagedBytes(const FftPlan& plan) {
  constexpr size_t kMost = size_t{256} << 10;
  const size_t bytes = 2 * padded(static_cast<size_t>(plan.length + kLanes<T>) * sizeof(T));
  return bytes <= kMost ? bytes : 0;
}

// One sequence in steps, by way of the lines.
template <typename T>
void stagedRow(const FftPlan& plan, const T* in, T* out, bool inverse, std::byte* scratch) {
  constexpr int64_t L = kLanes<T>;
  std::byte *const between = scratch, *const local = between + betweenBytes<T>(plan);
  std::byte* const lines = local + stepScratch<T>(plan);
  const int64_t n = plan.length, n1 = plan.first->length, n2 = plan.second->length;
  T *const re = reinterpret_cast<T*>(lines), *const im = re + stagedBytes<T>(plan) / 2 / sizeof(T);
  for (int64_t i = 0; i < n; i += L) {
    const Complexes<T> x = swapped(loadPairs<T>(in + 2 * i, n - i < L ? n - i : L), inverse);
    storeVector(re + i, x.re);
    storeVector(im + i, x.im);
  }
  const auto sources = [&](int64_t j, int64_t) { return Lines<T>{re + j, im + j, n2, L}; };
  firstStepOf<T>(plan, sources, between, 0, n2, local);
  const auto sinks = [&](int64_t k, int64_t count) { return Lines<T>{re + k, im + k, n1, count}; };
  secondStepOf<T>(plan, between, sinks, 0, n1, local);
  for (int64_t i = 0; i < n; i += L) {
    const Complexes<T> x = swapped<T>({loadVector(re + i), loadVector(im + i)}, inverse);
    storePairs<T>(out + 2 * i, x, n - i < L ? n - i : L);
  }
}

// to = from · factors, in pairs; parts of `from` and of `to` exchanged where asked for.
template <typename T>
void multiplyPairs(T* to, const T* from, const T* factors, int64_t length, bool swapsFrom, bool swapsTo) {
  for (int64_t i = 0; i < length; i += kLanes<T>) {
    const int64_t count = length - i < kLanes<T> ? length - i : int64_t{kLanes<T>};
    const Complexes<T> w = loadPairs<T>(factors + 2 * i, count);
    const Complexes<T> x = times(swapped(loadPairs<T>(from + 2 * i, count), swapsFrom), w.re, w.im);
    storePairs<T>(to + 2 * i, swapped(x, swapsTo), count);
  }
}

template <typename T>
void singleRow(const FftPlan& plan, const T* in, T* out, bool inverse, std::byte* scratch);
// One sequence as a convolution with a chirp.
template <typename T>
void chirpRow(const FftPlan& plan, const T* in, T* out, bool inverse, std::byte* scratch) {
  const int64_t n = plan.length, length = plan.padded->length;
  T* const line = reinterpret_cast<T*>(scratch);
  std::byte* const rest = scratch + padded(static_cast<size_t>(length) * 2 * sizeof(T));
  const T* const chirp = static_cast<const T*>(plan.chirp);
  multiplyPairs<T>(line, in, chirp, n, inverse, false);
  for (int64_t i = 2 * n; i < 2 * length; i++) line[i] = 0;
  singleRow<T>(*plan.padded, line, line, false, rest);
  multiplyPairs<T>(line, line, static_cast<const T*>(plan.spectrum), length, false, false);
  singleRow<T>(*plan.padded, line, line, true, rest);
  multiplyPairs<T>(out, line, chirp, n, false, inverse);
}

// One sequence of a prime length, in the order of a generator's powers.
template <typename T>
void cycleRow(const FftPlan& plan, const T* in, T* out, bool inverse, std::byte* scratch) {
  const int64_t length = plan.padded->length;
  T* const line = reinterpret_cast<T*>(scratch);
  std::byte* const rest = scratch + padded(static_cast<size_t>(length) * 2 * sizeof(T));
  const int re = inverse ? 1 : 0, im = 1 - re;
  const T first[2] = {in[re], in[im]};
  for (int64_t q = 0; q < length; q++) {
    const T* const from = in + 2 * plan.places[q];
    line[2 * q] = from[re];
    line[2 * q + 1] = from[im];
  }
  singleRow<T>(*plan.padded, line, line, false, rest);
  const T sum[2] = {first[0] + line[0], first[1] + line[1]};
  multiplyPairs<T>(line, line, static_cast<const T*>(plan.spectrum), length, false, false);
  line[0] += first[0];
  line[1] += first[1];
  singleRow<T>(*plan.padded, line, line, true, rest);
  out[re] = sum[0];
  out[im] = sum[1];
  for (int64_t q = 0; q < length; q++) {
    T* const to = out + 2 * plan.places[length + q];
    to[re] = line[2 * q];
    to[im] = line[2 * q + 1];
  }
}

template <typename T>
void singleRow(const FftPlan& plan, const T* in, T* out, bool inverse, std::byte* scratch) {
  if (plan.kind == FftPlan::Kind::cycle) return cycleRow<T>(plan, in, out, inverse, scratch);
  if (plan.kind == FftPlan::Kind::chirp) return chirpRow<T>(plan, in, out, inverse, scratch);
  if (plan.kind == FftPlan::Kind::direct) return rowsInLanes<T>(plan, {in, out, 0, 0}, 1, inverse, scratch);
  if (stagedBytes<T>(plan) > 0) return stagedRow<T>(plan, in, out, inverse, scratch);
  std::byte* const local = scratch + betweenBytes<T>(plan);
  firstStep<T>(plan, in, scratch, 0, plan.second->length, inverse, local);
  secondStep<T>(plan, scratch, out, 0, plan.first->length, inverse, local);
}

template <typename T>
size_t singleScratch(const FftPlan& plan) {
  switch (plan.kind) {
    case FftPlan::Kind::direct:
      return 2 * linedBytes<T>(plan) + lanesScratch<T>(plan);
    case FftPlan::Kind::steps:
      return betweenBytes<T>(plan) + stepScratch<T>(plan) + stagedBytes<T>(plan);
    default:
      return padded(static_cast<size_t>(plan.padded->length) * 2 * sizeof(T)) +
             singleScratch<T>(*plan.padded);
  }
}

template <typename T>
size_t rowsScratch(const FftPlan& plan) {
  const size_t single = singleScratch<T>(plan);
  if (!plan.isInLanes()) return single;
  const FftPlan& inner = plan.padded != nullptr ? *plan.padded : plan;
  const size_t lanes = cycleBytes<T>(plan) + 2 * linedBytes<T>(inner) + lanesScratch<T>(inner);
  return lanes > single ? lanes : single;
}

template <typename T>
void rows(const FftPlan& plan, const FftRows& given, int64_t count, bool inverse, std::byte* scratch) {
  const T* const in = static_cast<const T*>(given.in);
  T* const out = static_cast<T*>(given.out);
  // So many take as long one by one.
  const int64_t few = plan.kind == FftPlan::Kind::direct ? 0 : kLanes<T> / 4;
  const int64_t together = plan.isInLanes() ? int64_t{kLanes<T>} : 1;
  for (int64_t first = 0; first < count; first += together) {
    const int64_t some = count - first < together ? count - first : together;
    const FftRows part{in + 2 * first * given.inNext, out + 2 * first * given.outNext, given.inNext,
                       given.outNext};
    if (!plan.isInLanes() || some <= few) {
      for (int64_t k = first; k < first + some; k++)
        singleRow<T>(plan, in + 2 * k * given.inNext, out + 2 * k * given.outNext, inverse, scratch);
    } else if (plan.kind == FftPlan::Kind::chirp) {
      chirpsInLanes<T>(plan, part, some, inverse, scratch);
    } else if (plan.kind == FftPlan::Kind::cycle) {
      cyclesInLanes<T>(plan, part, some, inverse, scratch);
    } else {
      rowsInLanes<T>(plan, part, some, inverse, scratch);
    }
  }
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
