// Fourier transforms of short real sequences that have a lane each, with all that real ones add to complex
// ones done in lanes, too. Included by files that are compiled once per instruction set.
#pragma once
#include "cpu/fft-in-lanes.h"
#include "cpu/fft-real.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// The half transform of real sequences to their spectra, and back; elements are in lanes.
template <typename T, bool kJoins>
void pairLanes(const RealTable& table, Local<T> x) {
  const int64_t half = table.half;
  const T *const re = static_cast<const T*>(table.re), *const im = static_cast<const T*>(table.im);
  const Complexes<T> first = x.get(0);
  if (kJoins) {
    const Vector<T> last = x.get(half).re;
    x.set(0, {first.re + last, first.re - last});
  } else {
    x.set(0, {first.re + first.im, Vector<T>{}});
    x.set(half, {first.re - first.im, Vector<T>{}});
  }
  for (int64_t k = 1; k <= half - k; k++) {
    Complexes<T> a = x.get(k), b = x.get(half - k);
    splitPair<T, Vector<T>, kJoins>(a.re, a.im, b.re, b.im, broadcast<T>(re[k]), broadcast<T>(im[k]));
    x.set(half - k, b);
    x.set(k, a);
  }
}

// Half the spectrum of real sequences of an odd length that is one pass: the sums and differences of
// butterflyOdd without what is zero.
template <typename T>
void realPass(const FftPass& pass, Local<T> x, Local<T> result) {
  const int radix = static_cast<int>(pass.radix), half = radix / 2;
  const T* const roots = static_cast<const T*>(pass.roots);
  Vector<T> sum[kMostRadix / 2 + 1], difference[kMostRadix / 2 + 1];
  const Vector<T> first = x.get(0).re;
  Vector<T> total = first;
  for (int j = 1; j <= half; j++) {
    const Vector<T> a = x.get(j).re, b = x.get(radix - j).re;
    sum[j] = a + b;
    difference[j] = a - b;
    total = total + sum[j];
  }
  result.set(0, {total, Vector<T>{}});
  for (int k = 1; k <= half; k++) {
    Vector<T> c = first, s{};
    int at = 0;
    for (int j = 1; j <= half; j++) {
      at += k;
      if (at >= radix) at -= radix;
      c = c + sum[j] * broadcast<T>(roots[2 * at]);
      s = s + difference[j] * broadcast<T>(roots[2 * at + 1]);
    }
    result.set(k, {c, -s});
  }
}

template <typename T>
void oddSpectra(const FftPlan& plan, const T* in, T* out, int64_t count, Local<T> x, Local<T> result,
                std::byte* scratch) {
  const int64_t n = plan.length, kept = n / 2 + 1;
  int64_t at = 0;
  readNumbers(in, n, n, count, [&](const Vector<T>* v) {
    for (int64_t i = 0; i < kLanes<T>; i++) x.set(at++, {v[i], Vector<T>{}});
  });
  if (plan.passCount == 1) {
    realPass<T>(plan.passes[0], x, result);
  } else {
    transformLanes<T>(plan, x, result, scratch);
    // Rounding may leave an imaginary part of the first, which has none.
    result.set(0, {result.get(0).re, Vector<T>{}});
  }
  writeRows<T>({result, kept}, kept, count, false, {nullptr, out, 0, kept});
}

// Up to as many spectra as there are lanes.
template <typename T>
void spectraInLanes(const FftPlan& plan, const RealTable* table, const T* in, T* out, int64_t count,
                    std::byte* scratch) {
  const size_t line = linedBytes<T>(plan);
  const Local<T> x = localAt<T>(scratch), result = localAt<T>(scratch + line);
  if (table == nullptr) return oddSpectra<T>(plan, in, out, count, x, result, scratch + 2 * line);
  const int64_t half = plan.length;
  const FftRows rows{in, out, half, half + 1};
  readRows<T>(rows, half, count, false, {x, half});
  transformLanes<T>(plan, x, result, scratch + 2 * line);
  pairLanes<T, false>(*table, result);
  writeRows<T>({result, half + 1}, half + 1, count, false, rows);
}

template <typename T>
void oddSequences(const FftPlan& plan, const T* in, T* out, int64_t count, Local<T> x, Local<T> result,
                  std::byte* scratch) {
  const int64_t n = plan.length, given = n / 2 + 1;
  readRows<T>({in, nullptr, given, 0}, given, count, true, {x, given});
  x.set(0, {Vector<T>{}, x.get(0).im});
  // Parts are exchanged, as those of inverse transforms are.
  for (int64_t k = 1; k < given; k++) x.set(n - k, {-x.get(k).re, x.get(k).im});
  transformLanes<T>(plan, x, result, scratch);
  int64_t at = 0;
  writeNumbers(out, n, n, count, [&](Vector<T>* v) {
    for (int64_t i = 0; i < kLanes<T>; i++) v[i] = result.get(at++).im;
  });
}

// Up to as many sequences, of spectra, as there are lanes.
template <typename T>
void sequencesInLanes(const FftPlan& plan, const RealTable* table, const T* in, T* out, int64_t count,
                      std::byte* scratch) {
  const size_t line = linedBytes<T>(plan);
  const Local<T> x = localAt<T>(scratch), result = localAt<T>(scratch + line);
  if (table == nullptr) return oddSequences<T>(plan, in, out, count, x, result, scratch + 2 * line);
  const int64_t half = plan.length;
  const FftRows rows{in, out, half + 1, half};
  readRows<T>(rows, half + 1, count, false, {x, half + 1});
  pairLanes<T, true>(*table, x);
  for (int64_t k = 0; k < half; k++) x.set(k, swapped(x.get(k), true));
  transformLanes<T>(plan, x, result, scratch + 2 * line);
  writeRows<T>({result, half}, half, count, true, rows);
}

// `count` rows of real numbers to their spectra, and back where it is `inverse`.
template <typename T>
void realRows(const FftPlan& plan, const RealTable* table, const void* in, void* out, int64_t count,
              bool inverse, std::byte* scratch) {
  const int64_t n = table == nullptr ? plan.length : 2 * plan.length, pairs = 2 * (n / 2 + 1);
  const int64_t inNext = inverse ? pairs : n, outNext = inverse ? n : pairs;
  const auto work = inverse ? sequencesInLanes<T> : spectraInLanes<T>;
  for (int64_t first = 0; first < count; first += kLanes<T>) {
    const int64_t some = count - first < kLanes<T> ? count - first : int64_t{kLanes<T>};
    work(plan, table, static_cast<const T*>(in) + first * inNext, static_cast<T*>(out) + first * outNext,
         some, scratch);
  }
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
