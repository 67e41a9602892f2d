// Kernels of Fourier transforms for one instruction set: sequences side by side, sequences one after the
// other, and the passes that real transforms add.
#include "cpu/fft-steps.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// ---------------------------------------------------------------- sequences side by side

template <typename T>
size_t columnsScratch(const FftPlan& plan) {
  switch (plan.kind) {
    case FftPlan::Kind::direct:
      return 2 * localBytes<T>(plan.length);
    case FftPlan::Kind::steps:
      return stepScratch<T>(plan) + localBytes<T>(plan.length);
    default:
      return padded(static_cast<size_t>(plan.length) * 2 * sizeof(T)) * kLanes<T>;
  }
}

template <typename T>
void columnsInSteps(const FftPlan& plan, T* in, T* out, int64_t stride, int64_t count, bool inverse,
                    std::byte* scratch) {
  const int64_t n1 = plan.first->length, n2 = plan.second->length, most = n1 > n2 ? n1 : n2;
  const Local<T> a = localAt<T>(scratch), b = localAt<T>(scratch + localBytes<T>(most)),
                 done = localAt<T>(scratch + 2 * localBytes<T>(most)),
                 between = localAt<T>(scratch + 3 * localBytes<T>(most));
  for (int64_t j = 0; j < n2; j++) {
    transform<T>(*plan.first, Pairs<T>{in + j * stride, n2 * stride, count, inverse}, done, a, b);
    for (int64_t k = 0; k < n1; k++) {
      const Complexes<T> w = twiddleAt<T>(plan, k, j);
      between.set(k * n2 + j, times(done.get(k), w.re, w.im));
    }
  }
  for (int64_t k = 0; k < n1; k++) {
    const Local<T> from{between.data + 2 * k * n2};
    transform<T>(*plan.second, from, Pairs<T>{out + k * stride, n1 * stride, count, inverse}, a, b);
  }
}

// ---------------------------------------------------------------- sequences one after the other

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

template <typename T>
size_t rowsScratch(const FftPlan& plan) {
  switch (plan.kind) {
    case FftPlan::Kind::direct:
      return 3 * localBytes<T>(plan.length + kLanes<T>);
    case FftPlan::Kind::steps:
      return betweenBytes<T>(plan) + stepScratch<T>(plan) + stagedBytes<T>(plan);
    default:
      // As many sequences of the convolution as a direct plan takes at a time.
      return padded(static_cast<size_t>(plan.padded->length) * 2 * sizeof(T)) *
                 (plan.padded->kind == FftPlan::Kind::direct ? kLanes<T> : 1) +
             rowsScratch<T>(*plan.padded);
  }
}

// A lane for each sequence: vectors of neighbours are transposed on the way in and out.
template <typename T>
void directRows(const FftPlan& plan, const FftRows& rows, int64_t count, bool inverse, std::byte* scratch) {
  constexpr int64_t L = kLanes<T>, kElements = L / 2;
  const int64_t n = plan.length;
  const T* const in = static_cast<const T*>(rows.in);
  T* const out = static_cast<T*>(rows.out);
  const size_t line = localBytes<T>(n + L);
  const Local<T> a = localAt<T>(scratch), b = localAt<T>(scratch + line), c = localAt<T>(scratch + 2 * line);
  for (int64_t e = 0; e < n; e += kElements) {
    const int64_t reals = n - e < kElements ? 2 * (n - e) : L;
    Vector<T> v[L];
#pragma GCC unroll 16
    for (int64_t l = 0; l < L; l++) {
      v[l] = Vector<T>{};
      if (l >= count) continue;
      const T* const from = in + 2 * (l * rows.inNext + e);
      if (reals == L) {
        v[l] = loadVector(from);
      } else {
        T some[L] = {};
        for (int64_t i = 0; i < reals; i++) some[i] = from[i];
        v[l] = loadVector<T>(some);
      }
    }
    transposeVectors<T>(v);
    for (int64_t i = 0; i < kElements; i++) a.set(e + i, swapped<T>({v[2 * i], v[2 * i + 1]}, inverse));
  }
  transform<T>(plan, a, c, b, a);
  for (int64_t e = 0; e < n; e += kElements) {
    const int64_t reals = n - e < kElements ? 2 * (n - e) : L;
    Vector<T> v[L];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kElements; i++) {
      const Complexes<T> x = swapped(c.get(e + i), inverse);
      v[2 * i] = x.re;
      v[2 * i + 1] = x.im;
    }
    transposeVectors<T>(v);
    for (int64_t l = 0; l < count; l++) {
      T* const to = out + 2 * (l * rows.outNext + e);
      if (reals == L) {
        storeVector(to, v[l]);
      } else {
        T some[L];
        storeVector<T>(some, v[l]);
        for (int64_t i = 0; i < reals; i++) to[i] = some[i];
      }
    }
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
void rows(const FftPlan& plan, const FftRows& given, int64_t count, bool inverse, std::byte* scratch);

template <typename T>
void chirpRows(const FftPlan& plan, const FftRows& given, int64_t count, bool inverse, std::byte* scratch) {
  const int64_t n = plan.length, length = plan.padded->length;
  const size_t line = padded(static_cast<size_t>(length) * 2 * sizeof(T));
  const auto next = static_cast<int64_t>(line / (2 * sizeof(T)));
  const int64_t together = plan.padded->kind == FftPlan::Kind::direct ? int64_t{kLanes<T>} : 1;
  std::byte* const rest = scratch + static_cast<size_t>(together) * line;
  const T* const chirp = static_cast<const T*>(plan.chirp);
  T* const lines = reinterpret_cast<T*>(scratch);
  for (int64_t first = 0; first < count; first += together) {
    const int64_t some = count - first < together ? count - first : together;
    for (int64_t k = 0; k < some; k++) {
      T* const own = lines + 2 * k * next;
      multiplyPairs<T>(own, static_cast<const T*>(given.in) + 2 * (first + k) * given.inNext, chirp, n,
                       inverse, false);
      for (int64_t i = 2 * n; i < 2 * length; i++) own[i] = 0;
    }
    const FftRows inner{lines, lines, next, next};
    rows<T>(*plan.padded, inner, some, false, rest);
    for (int64_t k = 0; k < some; k++)
      multiplyPairs<T>(lines + 2 * k * next, lines + 2 * k * next, static_cast<const T*>(plan.spectrum),
                       length, false, false);
    rows<T>(*plan.padded, inner, some, true, rest);
    for (int64_t k = 0; k < some; k++)
      multiplyPairs<T>(static_cast<T*>(given.out) + 2 * (first + k) * given.outNext, lines + 2 * k * next,
                       chirp, n, false, inverse);
  }
}

template <typename T>
void rows(const FftPlan& plan, const FftRows& given, int64_t count, bool inverse, std::byte* scratch) {
  if (plan.kind == FftPlan::Kind::chirp) return chirpRows<T>(plan, given, count, inverse, scratch);
  if (plan.kind == FftPlan::Kind::direct) {
    for (int64_t first = 0; first < count; first += kLanes<T>) {
      const int64_t some = count - first < kLanes<T> ? count - first : int64_t{kLanes<T>};
      const FftRows part{static_cast<const T*>(given.in) + 2 * first * given.inNext,
                         static_cast<T*>(given.out) + 2 * first * given.outNext, given.inNext, given.outNext};
      directRows<T>(plan, part, some, inverse, scratch);
    }
    return;
  }
  std::byte* const local = scratch + betweenBytes<T>(plan);
  for (int64_t k = 0; k < count; k++) {
    const T* const in = static_cast<const T*>(given.in) + 2 * k * given.inNext;
    T* const out = static_cast<T*>(given.out) + 2 * k * given.outNext;
    if (stagedBytes<T>(plan) > 0) {
      stagedRow<T>(plan, in, out, inverse, scratch);
    } else {
      firstStep<T>(plan, in, scratch, 0, plan.second->length, inverse, local);
      secondStep<T>(plan, scratch, out, 0, plan.first->length, inverse, local);
    }
  }
}

// Sequences of a chirp are moved apart first.
template <typename T>
void columns(const FftPlan& plan, const void* from, void* to, int64_t stride, int64_t count, bool inverse,
             std::byte* scratch) {
  T* const in = const_cast<T*>(static_cast<const T*>(from));
  T* const out = static_cast<T*>(to);
  const int64_t n = plan.length;
  if (plan.kind == FftPlan::Kind::direct)
    return transform<T>(plan, Pairs<T>{in, 2 * stride, count, inverse},
                        Pairs<T>{out, 2 * stride, count, inverse}, localAt<T>(scratch),
                        localAt<T>(scratch + localBytes<T>(n)));
  if (plan.kind == FftPlan::Kind::steps)
    return columnsInSteps<T>(plan, in, out, 2 * stride, count, inverse, scratch);
  const size_t line = padded(static_cast<size_t>(n) * 2 * sizeof(T));
  const auto next = static_cast<int64_t>(line / (2 * sizeof(T)));
  T* const lines = reinterpret_cast<T*>(scratch);
  for (int64_t i = 0; i < n; i++)
    for (int64_t l = 0; l < count; l++)
      for (int64_t part = 0; part < 2; part++)
        lines[2 * (l * next + i) + part] = in[2 * (i * stride + l) + part];
  chirpRows<T>(plan, {lines, lines, next, next}, count, inverse, scratch + line * kLanes<T>);
  for (int64_t i = 0; i < n; i++)
    for (int64_t l = 0; l < count; l++)
      for (int64_t part = 0; part < 2; part++)
        out[2 * (i * stride + l) + part] = lines[2 * (l * next + i) + part];
}

// ---------------------------------------------------------------- real sequences

// Elements k and half - k of what goes in and out, both by the same arithmetic.
template <typename T, typename V, bool kJoins>
inline void splitPair(V& ar, V& ai, V& br, V& bi, V ur, V ui) {
  // a and the conjugate of b.
  const V sr = ar + br, si = ai - bi, dr = ar - br, di = ai + bi;
  if constexpr (kJoins) {
    const V wr = ur + ur, wi = ui + ui;
    const V or_ = dr * wr + di * wi, oi = di * wr - dr * wi;
    ar = sr + or_;
    ai = si + oi;
    br = sr - or_;
    bi = oi - si;
  } else {
    const V or_ = dr * ur - di * ui, oi = dr * ui + di * ur;
    const T half = static_cast<T>(0.5);
    ar = sr * half + or_;
    ai = si * half + oi;
    br = sr * half - or_;
    bi = oi - si * half;
  }
}

template <typename T, bool kJoins>
inline void pairUp(const RealTable& table, const T* from, T* to) {
  constexpr int64_t L = kLanes<T>;
  const int64_t half = table.half;
  const T *const re = static_cast<const T*>(table.re), *const im = static_cast<const T*>(table.im);
  int64_t k = 1;
  for (; k + L - 1 < half - k - L + 1; k += L) {
    const int64_t other = half - k - L + 1;
    Complexes<T> a = loadPairs<T>(from + 2 * k), b = loadPairs<T>(from + 2 * other);
    b = {backwards<T>(b.re), backwards<T>(b.im)};
    splitPair<T, Vector<T>, kJoins>(a.re, a.im, b.re, b.im, loadVector(re + k), loadVector(im + k));
    storePairs<T>(to + 2 * k, a);
    storePairs<T>(to + 2 * other, {backwards<T>(b.re), backwards<T>(b.im)});
  }
  for (; k <= half - k; k++) {
    const int64_t other = half - k;
    T ar = from[2 * k], ai = from[2 * k + 1], br = from[2 * other], bi = from[2 * other + 1];
    splitPair<T, T, kJoins>(ar, ai, br, bi, re[k], im[k]);
    to[2 * other] = br;
    to[2 * other + 1] = bi;
    to[2 * k] = ar;
    to[2 * k + 1] = ai;
  }
}

template <typename T>
void splitReal(const RealTable& table, void* row) {
  T* const x = static_cast<T*>(row);
  const T re = x[0], im = x[1];
  pairUp<T, false>(table, x, x);
  x[0] = re + im;
  x[1] = 0;
  x[2 * table.half] = re - im;
  x[2 * table.half + 1] = 0;
}

template <typename T>
void joinReal(const RealTable& table, const void* from, void* to) {
  const T* const x = static_cast<const T*>(from);
  T* const z = static_cast<T*>(to);
  const T first = x[0], last = x[2 * table.half];
  pairUp<T, true>(table, x, z);
  z[0] = first + last;
  z[1] = first - last;
}

template <typename T>
size_t allColumnsScratch(const FftPlan& plan) {
  return columnsScratch<T>(plan) + (plan.kind == FftPlan::Kind::chirp ? rowsScratch<T>(plan) : 0);
}

template <typename T>
constexpr FftKernels kKernels{kLanes<T>,    sizeof(T),     rowsScratch<T>,  allColumnsScratch<T>,
                              rows<T>,      columns<T>,    betweenBytes<T>, stepScratch<T>,
                              firstStep<T>, secondStep<T>, splitReal<T>,    joinReal<T>};

}  // namespace

const FftKernels& fftKernels(bool isDouble) { return isDouble ? kKernels<double> : kKernels<float>; }

}  // namespace weft::cpu::WEFT_ISA
