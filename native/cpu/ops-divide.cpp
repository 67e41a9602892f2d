// Division by what repeats along a block's rows or lanes, through its reciprocal. Compiled once per
// instruction set; only sets where the processor's own division is slow beside fused multiply-adds have it.
//
// The quotient is the one that division gives, to the bit: with the reciprocal r rounded to nearest, each
// step q + (a - q d) r, whose remainder is exact, brings q closer, until it is rounded to nearest itself
// (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990). Where an
// exponent is such that a part of it might overflow or lose bits, a chunk is divided as usual.
#include "cpu/scalar-ops.h"

namespace weft::cpu::WEFT_ISA {
namespace {

#if defined(__AVX512F__)

// Most chunks of a row whose reciprocals are kept; fewer rows or chunks than this are not worth them.
constexpr int64_t kMostKept = 16;
constexpr int64_t kLeastUses = 4;

constexpr uint32_t power32(int e) { return static_cast<uint32_t>(127 + e) << 23; }
constexpr uint64_t power64(int e) { return static_cast<uint64_t>(1023 + e) << 52; }

// Powers of two, as bits, that magnitudes of the numerator and the divisor lie between.
template <typename T>
struct Exponents {
  static constexpr uint32_t kLow = power32(-100), kHigh = power32(100);
  static constexpr uint32_t kLowDivisor = power32(-24), kHighDivisor = power32(24);
};
template <>
struct Exponents<double> {
  static constexpr uint64_t kLow = power64(-900), kHigh = power64(900);
  static constexpr uint64_t kLowDivisor = power64(-100), kHighDivisor = power64(100);
};

inline uint32_t lanesWithin(Vector<float> v, uint32_t low, uint32_t high) {
  const __m512i bits = _mm512_and_si512(reinterpret_cast<__m512i>(v), _mm512_set1_epi32(0x7fffffff));
  const __m512i above = _mm512_sub_epi32(bits, _mm512_set1_epi32(static_cast<int>(low)));
  return _mm512_cmple_epu32_mask(above, _mm512_set1_epi32(static_cast<int>(high - low)));
}
inline uint32_t lanesWithin(Vector<double> v, uint64_t low, uint64_t high) {
  const __m512i bits = _mm512_and_si512(reinterpret_cast<__m512i>(v), _mm512_set1_epi64(INT64_MAX));
  const __m512i above = _mm512_sub_epi64(bits, _mm512_set1_epi64(static_cast<int64_t>(low)));
  return _mm512_cmple_epu64_mask(above, _mm512_set1_epi64(static_cast<int64_t>(high - low)));
}
inline Vector<float> multiplyAdd(Vector<float> a, Vector<float> b, Vector<float> c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline Vector<double> multiplyAdd(Vector<double> a, Vector<double> b, Vector<double> c) {
  return _mm512_fmadd_pd(a, b, c);
}

template <typename T>
constexpr int kChunkVectors = kChunk / kLanes<T>;

// A chunk of divisors.
template <typename T>
struct Divisors {
  Vector<T> value[kChunkVectors<T>];
  Vector<T> reciprocal[kChunkVectors<T>];
  bool isOrdinary;

  void set(const T* d) {
    uint32_t within = ~uint32_t{0};
    for (int v = 0; v < kChunkVectors<T>; v++) {
      value[v] = loadVector(d + v * kLanes<T>);
      reciprocal[v] = 1 / value[v];
      within &= lanesWithin(value[v], Exponents<T>::kLowDivisor, Exponents<T>::kHighDivisor);
    }
    isOrdinary = within == (uint32_t{1} << kLanes<T>)-1;
  }

  inline __attribute__((always_inline)) void divide(T* to, const Vector<T>* a) const {
    uint32_t within = isOrdinary ? ~uint32_t{0} : 0;
#pragma GCC unroll 8
    for (int v = 0; v < kChunkVectors<T>; v++)
      within &= lanesWithin(a[v], Exponents<T>::kLow, Exponents<T>::kHigh);
    if (within != (uint32_t{1} << kLanes<T>)-1) {
      for (int v = 0; v < kChunkVectors<T>; v++) storeVector(to + v * kLanes<T>, a[v] / value[v]);
      return;
    }
#pragma GCC unroll 8
    for (int v = 0; v < kChunkVectors<T>; v++) {
      Vector<T> q = a[v] * reciprocal[v];
      q = multiplyAdd(multiplyAdd(-q, value[v], a[v]), reciprocal[v], q);
      q = multiplyAdd(multiplyAdd(-q, value[v], a[v]), reciprocal[v], q);
      storeVector(to + v * kLanes<T>, q);
    }
  }
};

// args: the numerator, or the two whose difference it is; the divisor.
template <typename T, bool IsDifference>
void divide(Extent n, const Operand& out, const Operand* const* args) {
  const Operand& divisor = *args[IsDifference ? 2 : 1];
  const bool perRow = divisor.chunkStep == 0 && n.chunks >= kLeastUses;
  const bool perColumn = divisor.rowStep == 0 && n.rows >= kLeastUses && n.chunks <= kMostKept;
  if (!perRow && !perColumn) {
    if constexpr (IsDifference) {
      eachChunk<T, T, T, T>(
          n, out, args, [](T * d, const T* a, const T* b, const T* c) __attribute__((always_inline)) {
#pragma GCC ivdep
            for (int l = 0; l < kChunk; l++) d[l] = (a[l] - b[l]) / c[l];
          });
    } else {
      binary<Divide, T, T>(n, out, args);
    }
    return;
  }
  const auto rowOf = [](const Operand& operand, int64_t row) {
    return reinterpret_cast<T*>(operand.data) + row * operand.rowStep;
  };
  Divisors<T> kept[kMostKept];
  if (!perRow) {
    for (int64_t c = 0; c < n.chunks; c++) kept[c].set(rowOf(divisor, 0) + c * divisor.chunkStep);
  }
  Chunk<T> chunk(out.streams);
  Prefetch prefetch(out.ahead);
  ChunkWalk<T> d(out);
  ChunkWalk<const T> a(*args[0]);
  ChunkWalk<const T> b(*args[IsDifference ? 1 : 0]);
  for (int64_t row = 0; row < n.rows; row++) {
    prefetch.row(row);
    d.row(row);
    a.row(row);
    b.row(row);
    if (perRow) kept[0].set(rowOf(divisor, row));
    for (int64_t c = 0; c < n.chunks; c++) {
      prefetch.chunk();
      Vector<T> x[kChunkVectors<T>];
#pragma GCC unroll 8
      for (int v = 0; v < kChunkVectors<T>; v++) {
        x[v] = loadVector(a.at() + v * kLanes<T>);
        if constexpr (IsDifference) x[v] -= loadVector(b.at() + v * kLanes<T>);
      }
      kept[perRow ? 0 : c].divide(chunk.at(d.at()), x);
      chunk.done(d.at());
      d.next();
      a.next();
      b.next();
    }
  }
}

template <typename T>
void addDivisions(Registry& registry) {
  registry.addOp("divide", kDTypeOf<T>, divide<T, false>);
  registry.addOp("divide.subtract.0", kDTypeOf<T>, divide<T, true>);
}

#endif

}  // namespace

void addDivision([[maybe_unused]] Registry& registry) {
#if defined(__AVX512F__)
  addDivisions<float>(registry);
  addDivisions<double>(registry);
#endif
}

}  // namespace weft::cpu::WEFT_ISA
