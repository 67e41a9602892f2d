// Fourier transforms of sequences that have a lane each: no vector is filled in part, whatever the factors.
// Included by files that are compiled once per instruction set.
#pragma once
#include "cpu/fft-steps.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// The steps of a plan for sequences of a lane each: `columnOf(j)` gives column j of them as n1 rows of n2,
// `sinkOf(k)` takes column k of n2 rows of n1. Between lie lines of n2 elements and a gap.
template <typename T, typename ColumnOf, typename SinkOf>
WEFT_FFT_INLINE void stepsInLanes(const FftPlan& plan, const ColumnOf& columnOf, const SinkOf& sinkOf,
                                  std::byte* scratch) {
  const int64_t n1 = plan.first->length, n2 = plan.second->length, most = n1 > n2 ? n1 : n2;
  const size_t line = localBytes<T>(most);
  const Local<T> a = localAt<T>(scratch), b = localAt<T>(scratch + line),
                 done = localAt<T>(scratch + 2 * line), between = localAt<T>(scratch + 3 * line);
  for (int64_t j = 0; j < n2; j++) {
    transform<T>(*plan.first, columnOf(j), done, a, b);
    for (int64_t k = 0; k < n1; k++) {
      const Complexes<T> w = twiddleAt<T>(plan, k, j);
      between.set(k * (n2 + 1) + j, times(done.get(k), w.re, w.im));
    }
  }
  for (int64_t k = 0; k < n1; k++)
    transform<T>(*plan.second, Local<T>{between.data + 2 * k * (n2 + 1)}, sinkOf(k), a, b);
}

// Elements of sequences of a lane each, one after the other; behind each `line` of them is a gap. Without it
// those of a column were multiples of 4 KiB apart where lengths are powers of two, and loads would wait for
// stores that they do not depend on.
template <typename T>
class Lined {
 public:
  Lined(Local<T> memory, int64_t line) : at_(memory.data), line_(line), left_(line) {}
  WEFT_FFT_INLINE Complexes<T> get() const { return {at_[0], at_[1]}; }
  WEFT_FFT_INLINE void set(Complexes<T> x) const {
    at_[0] = x.re;
    at_[1] = x.im;
  }
  WEFT_FFT_INLINE void next() {
    at_ += 2;
    if (--left_ > 0) return;
    at_ += 2;
    left_ = line_;
  }

 private:
  Vector<T>* at_;
  int64_t line_, left_;
};

// The sequences that a plan of no chirp reads and writes.
template <typename T>
Lined<T> readBy(const FftPlan& plan, Local<T> memory) {
  return {memory, plan.kind == FftPlan::Kind::direct ? plan.length : plan.second->length};
}

template <typename T>
Lined<T> writtenBy(const FftPlan& plan, Local<T> memory) {
  return {memory, plan.kind == FftPlan::Kind::direct ? plan.length : plan.first->length};
}

template <typename T>
size_t linedBytes(const FftPlan& plan) {
  const int64_t gaps = plan.kind == FftPlan::Kind::direct ? 1 : plan.second->length;
  return localBytes<T>(plan.length + gaps + 2 * kLanes<T>);
}

// The first `count` of a vector's numbers: a loop over them would be a call of memcpy.
template <typename T, int Size = kLanes<T> / 2>
WEFT_FFT_INLINE void copyFew(T* to, const T* from, int64_t count) {
  if ((count & Size) != 0) {
    __builtin_memcpy(to, from, Size * sizeof(T));
    to += Size;
    from += Size;
  }
  if constexpr (Size > 1) copyFew<T, Size / 2>(to, from, count);
}

// Rows of `length` numbers become a lane each, as many numbers at a time as there are lanes: `take(v)` gets a
// vector of each, and others behind the last. Rows are `next` numbers apart.
template <typename T, typename Take>
WEFT_FFT_INLINE void readNumbers(const T* in, int64_t next, int64_t length, int64_t count, const Take& take) {
  constexpr int64_t L = kLanes<T>;
  const T* const end = in + (count - 1) * next + length;
  for (int64_t e = 0; e < length; e += L) {
    Vector<T> v[L];
#pragma GCC unroll 16
    for (int64_t l = 0; l < L; l++) {
      v[l] = Vector<T>{};
      if (l >= count) continue;
      const T* const from = in + l * next + e;
      // Behind a short row numbers of the next are read.
      if (end - from >= L) {
        v[l] = loadVector(from);
      } else {
        T some[L] = {};
        copyFew<T>(some, from, length - e);
        v[l] = loadVector<T>(some);
      }
    }
    transposeVectors<T>(v);
    take(v);
  }
}

// The reverse: `give(v)` fills in the next vectors.
template <typename T, typename Give>
WEFT_FFT_INLINE void writeNumbers(T* out, int64_t next, int64_t length, int64_t count, const Give& give) {
  constexpr int64_t L = kLanes<T>;
  for (int64_t e = 0; e < length; e += L) {
    Vector<T> v[L];
    give(v);
    transposeVectors<T>(v);
    for (int64_t l = 0; l < count; l++) {
      T* const to = out + l * next + e;
      if (length - e >= L) {
        storeVector(to, v[l]);
      } else {
        T some[L];
        storeVector<T>(some, v[l]);
        copyFew<T>(to, some, length - e);
      }
    }
  }
}

// The same of complex numbers.
template <typename T>
void readRows(const FftRows& rows, int64_t n, int64_t count, bool inverse, Lined<T> to) {
  readNumbers(static_cast<const T*>(rows.in), 2 * rows.inNext, 2 * n, count, [&](const Vector<T>* v) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLanes<T>; i += 2, to.next()) to.set(swapped<T>({v[i], v[i + 1]}, inverse));
  });
}

template <typename T>
void writeRows(Lined<T> from, int64_t n, int64_t count, bool inverse, const FftRows& rows) {
  writeNumbers(static_cast<T*>(rows.out), 2 * rows.outNext, 2 * n, count, [&](Vector<T>* v) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLanes<T>; i += 2, from.next()) {
      const Complexes<T> x = swapped(from.get(), inverse);
      v[i] = x.re;
      v[i + 1] = x.im;
    }
  });
}

// Elements of such sequences that are `stride` apart.
template <typename T>
struct Strided {
  Vector<T>* data;
  int64_t stride;
  WEFT_FFT_INLINE Complexes<T> get(int64_t i) const {
    return {data[2 * i * stride], data[2 * i * stride + 1]};
  }
  WEFT_FFT_INLINE void set(int64_t i, Complexes<T> x) const {
    data[2 * i * stride] = x.re;
    data[2 * i * stride + 1] = x.im;
  }
};

// Of a plan of no chirp: memory of `transformLanes` beside the elements.
template <typename T>
size_t lanesScratch(const FftPlan& plan) {
  if (plan.kind == FftPlan::Kind::direct) return localBytes<T>(plan.length);
  return linedBytes<T>(plan) + stepScratch<T>(plan);
}

// Transforms sequences of a lane each from `x` to `result`; what is in `x` is lost.
template <typename T>
void transformLanes(const FftPlan& plan, Local<T> x, Local<T> result, std::byte* scratch) {
  if (plan.kind == FftPlan::Kind::direct) return transform<T>(plan, x, result, localAt<T>(scratch), x);
  const int64_t n2 = plan.second->length, n1 = plan.first->length;
  const auto columns = [&](int64_t j) { return Strided<T>{x.data + 2 * j, n2 + 1}; };
  const auto sinks = [&](int64_t k) { return Strided<T>{result.data + 2 * k, n1 + 1}; };
  stepsInLanes<T>(plan, columns, sinks, scratch);
}

// Up to as many sequences as there are lanes.
template <typename T>
void rowsInLanes(const FftPlan& plan, const FftRows& rows, int64_t count, bool inverse, std::byte* scratch) {
  const size_t line = linedBytes<T>(plan);
  const Local<T> x = localAt<T>(scratch), result = localAt<T>(scratch + line);
  readRows<T>(rows, plan.length, count, inverse, readBy<T>(plan, x));
  transformLanes<T>(plan, x, result, scratch + 2 * line);
  writeRows<T>(writtenBy<T>(plan, result), plan.length, count, inverse, rows);
}

// to = from · factors, which are pairs.
template <typename T>
void multiplyLanes(Lined<T> from, const T* factors, int64_t length, bool swapsFrom, bool swapsTo,
                   Lined<T> to) {
  for (int64_t i = 0; i < length; i++, from.next(), to.next()) {
    const Complexes<T> w = {broadcast<T>(factors[2 * i]), broadcast<T>(factors[2 * i + 1])};
    to.set(swapped(times(swapped(from.get(), swapsFrom), w.re, w.im), swapsTo));
  }
}

// Bytes of the sequences of a cycle beside those of its convolution.
template <typename T>
size_t cycleBytes(const FftPlan& plan) {
  return plan.kind == FftPlan::Kind::cycle ? localBytes<T>(plan.length + 2 * kLanes<T>) : 0;
}

// The same of a sequence in each lane.
template <typename T>
void chirpsInLanes(const FftPlan& plan, const FftRows& rows, int64_t count, bool inverse,
                   std::byte* scratch) {
  const FftPlan& inner = *plan.padded;
  const int64_t n = plan.length, length = inner.length;
  const size_t line = linedBytes<T>(inner);
  const Local<T> x = localAt<T>(scratch), other = localAt<T>(scratch + line);
  std::byte* const rest = scratch + 2 * line;
  const T* const chirp = static_cast<const T*>(plan.chirp);
  readRows<T>(rows, n, count, inverse, readBy<T>(inner, x));
  Lined<T> tail = readBy<T>(inner, x);
  multiplyLanes<T>(tail, chirp, n, false, false, tail);
  const Complexes<T> zero{};
  for (int64_t i = 0; i < length; i++, tail.next())
    if (i >= n) tail.set(zero);
  transformLanes<T>(inner, x, other, rest);
  // Its parts exchanged, the transform is the inverse one.
  multiplyLanes<T>(writtenBy<T>(inner, other), static_cast<const T*>(plan.spectrum), length, false, true,
                   readBy<T>(inner, x));
  transformLanes<T>(inner, x, other, rest);
  const Lined<T> result = writtenBy<T>(inner, other);
  multiplyLanes<T>(result, chirp, n, true, false, result);
  writeRows<T>(result, n, count, inverse, rows);
}

// Sequences of a prime length in the order of a generator's powers, of one in each lane.
template <typename T>
void cyclesInLanes(const FftPlan& plan, const FftRows& rows, int64_t count, bool inverse,
                   std::byte* scratch) {
  const FftPlan& inner = *plan.padded;
  const int64_t n = plan.length, length = inner.length;
  const size_t line = linedBytes<T>(inner);
  const Local<T> x = localAt<T>(scratch), a = localAt<T>(scratch + cycleBytes<T>(plan)),
                 b = {a.data + line / sizeof(Vector<T>)};
  std::byte* const rest = scratch + cycleBytes<T>(plan) + 2 * line;
  readRows<T>(rows, n, count, inverse, {x, n});
  const Complexes<T> first = x.get(0);
  Lined<T> to = readBy<T>(inner, a);
  for (int64_t q = 0; q < length; q++, to.next()) to.set(x.get(plan.places[q]));
  transformLanes<T>(inner, a, b, rest);
  Lined<T> from = writtenBy<T>(inner, b);
  const Complexes<T> sum = first + from.get();
  // Its parts exchanged, the transform is the inverse one.
  const Lined<T> product = readBy<T>(inner, a);
  multiplyLanes<T>(from, static_cast<const T*>(plan.spectrum), length, false, false, product);
  product.set(product.get() + first);
  Lined<T> each = product;
  for (int64_t q = 0; q < length; q++, each.next()) each.set(swapped(each.get(), true));
  transformLanes<T>(inner, a, b, rest);
  x.set(0, sum);
  for (int64_t q = 0; q < length; q++, from.next()) x.set(plan.places[length + q], swapped(from.get(), true));
  writeRows<T>({x, n}, n, count, inverse, rows);
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
