// Sorting networks of vectors: so many rows of lanes are sorted as columns by Batcher's merge exchange
// (Knuth, "The Art of Computer Programming", volume 3, 5.2.2, algorithm M), then neighbouring columns are
// merged until all lanes are one sequence, row by row. A merge is bitonic; while it has several rows its
// steps exchange rows alone, without blends, as in Wassenberg, Blacher, Giesen and Sanders, "Vectorized and
// performance-portable Quicksort" (2022). Included by files that are compiled once per instruction set.
#pragma once
#include <utility>

#include "cpu/isa-scope.h"

#define WEFT_SORT_INLINE __attribute__((always_inline)) inline

namespace weft::cpu::WEFT_ISA {
namespace {

template <typename T>
WEFT_SORT_INLINE Vector<T> leastOf(Vector<T> a, Vector<T> b) {
  return a < b ? a : b;
}
template <typename T>
WEFT_SORT_INLINE Vector<T> mostOf(Vector<T> a, Vector<T> b) {
  return a < b ? b : a;
}
template <typename T>
WEFT_SORT_INLINE Vector<T> everyLane(T x) {
  return x - Vector<T>{};
}

template <int kCount>
using Indices = std::make_integer_sequence<int, kCount>;

// Lane i of the result is lane i ^ kBits.
template <typename T, int kBits, int... I>
WEFT_SORT_INLINE Vector<T> crossed(Vector<T> v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I ^ kBits)...);
}
template <typename T, int kBits>
WEFT_SORT_INLINE Vector<T> crossed(Vector<T> v) {
  return crossed<T, kBits>(v, Indices<kLanes<T>>{});
}

// The greater ones in lanes whose number has the bit, the lesser ones in others.
template <typename T, int kBit, int... I>
WEFT_SORT_INLINE Vector<T> ordered(Vector<T> a, Vector<T> b, std::integer_sequence<int, I...>) {
#if defined(__AVX512F__)
  constexpr unsigned kSet = (((I & kBit) != 0 ? 1u << I : 0u) | ...);
  const auto least = (__m512i)leastOf<T>(a, b);
  if constexpr (sizeof(T) == 4) return (Vector<T>)_mm512_mask_max_epi32(least, kSet, (__m512i)a, (__m512i)b);
  if constexpr (sizeof(T) == 8) return (Vector<T>)_mm512_mask_max_epi64(least, kSet, (__m512i)a, (__m512i)b);
#else
  return __builtin_shufflevector(leastOf<T>(a, b), mostOf<T>(a, b), ((I & kBit) != 0 ? kLanes<T> + I : I)...);
#endif
}

// The rows that algorithm M exchanges, in order.
template <int kRows>
struct Exchanges {
  int count = 0;
  int low[kRows * 4] = {}, high[kRows * 4] = {};
  constexpr Exchanges() {
    for (int p = 1; p < kRows; p *= 2)
      for (int k = p; k >= 1; k /= 2)
        for (int j = k % p; j + k < kRows; j += 2 * k)
          for (int i = j; i < j + k && i + k < kRows; i++) {
            if (i / (2 * p) != (i + k) / (2 * p)) continue;
            low[count] = i;
            high[count++] = i + k;
          }
  }
};
template <int kRows>
constexpr Exchanges<kRows> kExchanges{};

// Rows `low` and `high`, of which the lanes of the second are crossed.
template <typename T, int kBits>
WEFT_SORT_INLINE void exchange(Vector<T>& low, Vector<T>& high) {
  const Vector<T> other = kBits == 0 ? high : crossed<T, kBits>(high);
  high = mostOf<T>(low, other);
  low = leastOf<T>(low, other);
}

template <typename T, int kRows, int... I>
WEFT_SORT_INLINE void sortColumns(Vector<T>* v, std::integer_sequence<int, I...>) {
  (exchange<T, 0>(v[kExchanges<kRows>.low[I]], v[kExchanges<kRows>.high[I]]), ...);
}

// The steps of a merge that rows are exchanged in: row r of each group of rows with the one as far from its
// end.
template <typename T, int kRows, int kGroup, int kBits, int... I>
WEFT_SORT_INLINE void exchangeRows(Vector<T>* v, std::integer_sequence<int, I...> pairs) {
  constexpr int kHalf = kGroup / 2;
  (exchange<T, kBits>(v[I / kHalf * kGroup + I % kHalf], v[I / kHalf * kGroup + kGroup - 1 - I % kHalf]),
   ...);
  if constexpr (kHalf > 1) exchangeRows<T, kRows, kHalf, kBits>(v, pairs);
}

template <typename T, int kBit, int kBits>
WEFT_SORT_INLINE void exchangeLanes(Vector<T>& v) {
  v = ordered<T, kBit>(v, crossed<T, kBits>(v), Indices<kLanes<T>>{});
}

// Half-cleaners of lanes so far apart, and of all nearer ones.
template <typename T, int kApart, int... I>
WEFT_SORT_INLINE void cleanLanes(Vector<T>* v, std::integer_sequence<int, I...> rows) {
  if constexpr (kApart > 0) {
    (exchangeLanes<T, kApart, kApart>(v[I]), ...);
    cleanLanes<T, kApart / 2>(v, rows);
  }
}

// Merges columns so many lanes wide, by twos, until there is one.
template <typename T, int kRows, int kWidth, int... I>
WEFT_SORT_INLINE void mergeColumns(Vector<T>* v, std::integer_sequence<int, I...> rows) {
  if constexpr (kWidth < kLanes<T>) {
    if constexpr (kRows > 1) exchangeRows<T, kRows, kRows, 2 * kWidth - 1>(v, Indices<kRows / 2>{});
    (exchangeLanes<T, kWidth, 2 * kWidth - 1>(v[I]), ...);
    cleanLanes<T, kWidth / 2>(v, rows);
    mergeColumns<T, kRows, 2 * kWidth>(v, rows);
  }
}

// Rows that fit the registers.
constexpr int kMostRows = kVectorBytes == 64 ? 16 : 8;
template <typename T>
constexpr int kNetworkLength = kMostRows* kLanes<T>;

// The first so many lanes of a vector in memory.
template <typename T>
struct FirstLanes {
#if defined(__AVX512F__)
  explicit FirstLanes(int64_t count) : set((1u << count) - 1) {}
  WEFT_SORT_INLINE Vector<T> load(const T* from, Vector<T> others) const {
    if constexpr (sizeof(T) == 4)
      return (Vector<T>)_mm512_mask_loadu_epi32((__m512i)others, static_cast<__mmask16>(set), from);
    else
      return (Vector<T>)_mm512_mask_loadu_epi64((__m512i)others, static_cast<__mmask8>(set), from);
  }
  WEFT_SORT_INLINE void store(T* to, Vector<T> v) const {
    if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(set), (__m512i)v);
    else
      _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(set), (__m512i)v);
  }

 private:
  const unsigned set;
#else
  explicit FirstLanes(int64_t count) : FirstLanes(count, Indices<kLanes<T>>{}) {}
  WEFT_SORT_INLINE Vector<T> load(const T* from, Vector<T> others) const {
    const auto given = sizeof(T) == 4
                           ? _mm256_maskload_epi32(reinterpret_cast<const int*>(from), (__m256i)set)
                           : _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), (__m256i)set);
    return (Vector<T>)_mm256_blendv_epi8((__m256i)others, given, (__m256i)set);
  }
  WEFT_SORT_INLINE void store(T* to, Vector<T> v) const {
    if constexpr (sizeof(T) == 4)
      _mm256_maskstore_epi32(reinterpret_cast<int*>(to), (__m256i)set, (__m256i)v);
    else
      _mm256_maskstore_epi64(reinterpret_cast<long long*>(to), (__m256i)set, (__m256i)v);
  }

 private:
  template <int... I>
  FirstLanes(int64_t count, std::integer_sequence<int, I...>)
      : set((Vector<T>)(everyLane<T>(static_cast<T>(count)) > Vector<T>{I...})) {}
  const Vector<T> set;
#endif
};

// Of so many keys, those of a row.
template <typename T>
WEFT_SORT_INLINE FirstLanes<T> lanesOfRow(int64_t count, int row) {
  const int64_t behind = count - row * kLanes<T>;
  return FirstLanes<T>(behind < 0 ? 0 : behind < kLanes<T> ? behind : kLanes<T>);
}

// Sorts `count` keys, of which more than half of the rows are full. Behind them the greatest key stands.
template <typename T, int kRows>
void sortRows(T* keys, int64_t count) {
  constexpr int kFull = kRows / 2;
  const Vector<T> none = everyLane<T>(static_cast<T>(~(T{1} << (8 * sizeof(T) - 1))));
  Vector<T> v[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; r++) {
    const T* const from = keys + r * kLanes<T>;
    v[r] = r < kFull ? loadVector(from) : lanesOfRow<T>(count, r).load(from, none);
  }
  if constexpr (kRows > 1) sortColumns<T, kRows>(v, Indices<kExchanges<kRows>.count>{});
  mergeColumns<T, kRows, 1>(v, Indices<kRows>{});
#pragma GCC unroll 16
  for (int r = 0; r < kRows; r++) {
    T* const to = keys + r * kLanes<T>;
    if (r < kFull)
      storeVector(to, v[r]);
    else
      lanesOfRow<T>(count, r).store(to, v[r]);
  }
}

// Sorts up to kNetworkLength keys.
template <typename T>
void sortFew(T* keys, int64_t count) {
  const int64_t rows = (count + kLanes<T> - 1) / kLanes<T>;
  if (rows <= 1) return sortRows<T, 1>(keys, count);
  if (rows <= 2) return sortRows<T, 2>(keys, count);
  if (rows <= 4) return sortRows<T, 4>(keys, count);
  if (kMostRows == 8 || rows <= 8) return sortRows<T, 8>(keys, count);
  if constexpr (kMostRows > 8) sortRows<T, 16>(keys, count);
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
