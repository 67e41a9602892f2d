// Partition of keys in place, a vector at a time: lanes above a pivot go to one end, the others to the other,
// as in Bramas, "A novel hybrid quicksort algorithm vectorized using AVX-512 on Intel Skylake" (2017). Some
// vectors of each end are set aside first; keys are then read from the end that has less room, so that both
// always have room for all that is read. Included by files that are compiled once per instruction set.
#pragma once
#include "cpu/sort-network.h"

namespace weft::cpu::WEFT_ISA {
namespace {

#if !defined(__AVX512F__)
// For each set of lanes: the others in order, then those. As pairs of words where keys have 64 bits.
template <int kLaneCount>
struct Orders {
  alignas(64) int32_t words[1 << kLaneCount][8] = {};
  constexpr Orders() {
    constexpr int kWords = 8 / kLaneCount;
    for (int set = 0; set < 1 << kLaneCount; set++) {
      int to = 0;
      for (int isIn = 0; isIn < 2; isIn++)
        for (int lane = 0; lane < kLaneCount; lane++) {
          if ((set >> lane & 1) != isIn) continue;
          for (int w = 0; w < kWords; w++) words[set][to++] = lane * kWords + w;
        }
    }
  }
};
template <int kLaneCount>
constexpr Orders<kLaneCount> kOrders{};
#endif

#if defined(__AVX512F__)
template <typename T>
WEFT_SORT_INLINE unsigned lanesAbove(Vector<T> keys, Vector<T> pivot) {
  if constexpr (sizeof(T) == 4) return _mm512_cmpgt_epi32_mask((__m512i)keys, (__m512i)pivot);
  return _mm512_cmpgt_epi64_mask((__m512i)keys, (__m512i)pivot);
}
template <typename T>
WEFT_SORT_INLINE Vector<T> compressed(Vector<T> keys, unsigned set) {
  if constexpr (sizeof(T) == 4)
    return (Vector<T>)_mm512_maskz_compress_epi32(static_cast<__mmask16>(set), (__m512i)keys);
  return (Vector<T>)_mm512_maskz_compress_epi64(static_cast<__mmask8>(set), (__m512i)keys);
}
#endif

// The room between the keys that are in their halves.
template <typename T>
struct Gap {
  T *low, *high;

  // There is room for a vector at both ends.
  WEFT_SORT_INLINE void put(Vector<T> keys, Vector<T> pivot) {
#if defined(__AVX512F__)
    const unsigned set = lanesAbove<T>(keys, pivot);
    const int64_t highs = __builtin_popcount(set);
    storeVector(low, compressed<T>(keys, ~set));
    FirstLanes<T>(highs).store(high - highs, compressed<T>(keys, set));
#else
    const auto isHigh = (__m256i)(keys > pivot);
    const int set = sizeof(T) == 4 ? _mm256_movemask_ps((__m256)isHigh) : _mm256_movemask_pd((__m256d)isHigh);
    const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(kOrders<kLanes<T> >.words[set]));
    const auto ordered = (Vector<T>)_mm256_permutevar8x32_epi32((__m256i)keys, order);
    storeVector(low, ordered);
    storeVector(high - kLanes<T>, ordered);
    const int64_t highs = __builtin_popcount(static_cast<unsigned>(set));
#endif
    low += kLanes<T> - highs;
    high -= highs;
  }

  // So many keys in memory, with room for them.
  WEFT_SORT_INLINE void putFew(const T* keys, int64_t count, T pivot) {
#if defined(__AVX512F__)
    for (int64_t i = 0; i < count; i += kLanes<T>) {
      const int64_t some = count - i < kLanes<T> ? count - i : kLanes<T>;
      const unsigned all = (1u << some) - 1;
      const Vector<T> v = FirstLanes<T>(some).load(keys + i, Vector<T>{});
      const unsigned set = lanesAbove<T>(v, everyLane<T>(pivot)) & all;
      const int64_t highs = __builtin_popcount(set);
      FirstLanes<T>(some - highs).store(low, compressed<T>(v, all & ~set));
      FirstLanes<T>(highs).store(high - highs, compressed<T>(v, set));
      low += some - highs;
      high -= highs;
    }
#else
    for (int64_t i = 0; i < count; i++) {
      *low = keys[i];
      high[-1] = keys[i];
      const int64_t isHigh = keys[i] > pivot ? 1 : 0;
      low += 1 - isHigh;
      high -= isHigh;
    }
#endif
  }
};

// Gives how many keys are not above the pivot; those are then first.
template <typename T>
int64_t partition(T* keys, int64_t count, T pivot) {
  constexpr int64_t kWide = kLanes<T>;
  // Vectors that are read at a time.
  constexpr int kSome = kMostRows / 2;
  constexpr int64_t kPiece = kSome * kWide;
  const Vector<T> pivots = everyLane<T>(pivot);
  T aside[3 * kPiece];
  // Of each end as many are set aside as are read at a time, and as many more that pieces are left.
  const bool isShort = count < 3 * kPiece;
  const int64_t rest = isShort ? count : kPiece + count % kPiece;
  const T *first = keys + (isShort ? 0 : kPiece), *last = keys + count - rest;
  const int64_t before = first - keys, asideCount = before + rest;
  __builtin_memcpy(aside, keys, static_cast<size_t>(before) * sizeof(T));
  __builtin_memcpy(aside + before, keys + count - rest, static_cast<size_t>(rest) * sizeof(T));
  Gap<T> gap{keys, keys + count};
  while (!isShort && first < last) {
    const T* from = first;
    if (first - gap.low <= gap.high - last) {
      first += kPiece;
    } else {
      last -= kPiece;
      from = last;
    }
    Vector<T> v[kSome];
#pragma GCC unroll 8
    for (int i = 0; i < kSome; i++) v[i] = loadVector(from + i * kWide);
#pragma GCC unroll 8
    for (int i = 0; i < kSome; i++) gap.put(v[i], pivots);
  }
  int64_t i = 0;
  for (; i + 2 * kWide <= asideCount; i += kWide) gap.put(loadVector(aside + i), pivots);
  gap.putFew(aside + i, asideCount - i, pivot);
  return gap.low - keys;
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
