// Copies between strided memory and lanes. Compiled once per instruction set: gathers are vector
// instructions.
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

#if defined(__AVX512F__)
// Vectors of memory in which the elements of a vector of lanes lie: where these are few steps apart, whole
// vectors move.
constexpr int64_t kMostApart = 9;

template <typename T>
struct Apart {
  static constexpr int kLanes = 64 / sizeof(T);

  static __m512i placesOf(const T* places) { return _mm512_loadu_si512(places); }
  static __m512i permuted(__m512i places, __m512i from) {
    if constexpr (sizeof(T) == 4) return _mm512_permutexvar_epi32(places, from);
    return _mm512_permutexvar_epi64(places, from);
  }
  static __m512i chosen(__m512i other, uint16_t mask, __m512i places, __m512i from) {
    if constexpr (sizeof(T) == 4) return _mm512_mask_permutexvar_epi32(other, mask, places, from);
    return _mm512_mask_permutexvar_epi64(other, static_cast<__mmask8>(mask), places, from);
  }
};

template <typename T>
constexpr bool movesApart = sizeof(T) == 4 || sizeof(T) == 8;

// All lanes but those of the last vector; how many they are. Vectors of memory begin at cache lines where a
// line begins in the step of some lane: those that lie across two take twice as long. The first lanes are
// moved by themselves, so that no vector begins ahead of the memory.
template <typename T>
int64_t gatherApart(T* d, const T* s, int64_t count, int64_t stride) {
  using A = Apart<T>;
  const auto shiftAt = [&](int64_t i) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(s + i * stride) % 64 / sizeof(T));
  };
  int64_t i = 0;
  const int64_t first = count < 2 * A::kLanes ? count : 2 * A::kLanes;
  for (; i < first && (i < A::kLanes || shiftAt(i) >= stride); i++) d[i] = s[i * stride];
  const int64_t shift = shiftAt(i) < stride ? shiftAt(i) : 0;
  T places[A::kLanes];
  uint16_t masks[kMostApart] = {};
  for (int l = 0; l < A::kLanes; l++) {
    const int64_t place = shift + l * stride;
    places[l] = static_cast<T>(place % A::kLanes);
    masks[place / A::kLanes] |= static_cast<uint16_t>(1 << l);
  }
  const __m512i at = A::placesOf(places);
  for (; i + A::kLanes < count; i += A::kLanes) {
    const T* from = s + i * stride - shift;
    __m512i lanes = A::permuted(at, _mm512_loadu_si512(from));
    for (int64_t v = 1; v < stride; v++)
      lanes = A::chosen(lanes, masks[v], at, _mm512_loadu_si512(from + v * A::kLanes));
    _mm512_storeu_si512(d + i, lanes);
  }
  return i;
}
#endif

template <typename T>
void gather(void* lanes, const void* memory, int64_t count, int64_t stride) {
  T* d = static_cast<T*>(lanes);
  const T* s = static_cast<const T*>(memory);
  int64_t i = 0;
#if defined(__AVX512F__)
  if constexpr (movesApart<T>)
    if (stride > 1 && stride <= kMostApart) i = gatherApart(d, s, count, stride);
#endif
#pragma GCC ivdep
  for (; i < count; i++) d[i] = s[i * stride];
}
template <typename T>
void gatherTable(void* lanes, const void* memory, int64_t count, const int64_t* offsets) {
  T* d = static_cast<T*>(lanes);
  const T* s = static_cast<const T*>(memory);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) d[i] = s[offsets[i]];
}
template <typename T>
void scatter(void* memory, const void* lanes, int64_t count, int64_t stride) {
  T* d = static_cast<T*>(memory);
  const T* s = static_cast<const T*>(lanes);
  for (int64_t i = 0; i < count; i++) d[i * stride] = s[i];
}
template <typename T>
void scatterTable(void* memory, const void* lanes, int64_t count, const int64_t* offsets) {
  T* d = static_cast<T*>(memory);
  const T* s = static_cast<const T*>(lanes);
  for (int64_t i = 0; i < count; i++) d[offsets[i]] = s[i];
}

// Memory is read along the rows, a few lanes at a time, so that each cache line is read once.
template <typename T>
void gatherTile(void* lanes, int64_t laneRowStep, const void* memory, int64_t rows, int64_t count,
                int64_t rowStride, int64_t stride) {
  T* d = static_cast<T*>(lanes);
  const T* s = static_cast<const T*>(memory);
  constexpr int64_t group = 8;
  for (int64_t r0 = 0; r0 < rows; r0 += 16) {
    const int64_t r1 = r0 + 16 < rows ? r0 + 16 : rows;
    int64_t l = 0;
    for (; l + group <= count; l += group) {
      for (int64_t r = r0; r < r1; r++) {
        const T* from = s + r * rowStride + l * stride;
        T* to = d + r * laneRowStep + l;
        for (int64_t k = 0; k < group; k++) to[k] = from[k * stride];
      }
    }
    for (; l < count; l++) {
      for (int64_t r = r0; r < r1; r++) d[r * laneRowStep + l] = s[r * rowStride + l * stride];
    }
  }
}

template <typename T>
void fill(void* chunks, const void* memory, int64_t rows, int64_t rowStride) {
  T* d = static_cast<T*>(chunks);
  const T* s = static_cast<const T*>(memory);
  for (int64_t r = 0; r < rows; r++) {
    const T value = s[r * rowStride];
#pragma GCC ivdep
    for (int64_t l = 0; l < kChunk; l++) d[r * kChunk + l] = value;
  }
}

#if defined(__x86_64__)
void fence() { _mm_sfence(); }
#else
void fence() {}
#endif

template <typename T>
void addMovesOf(Registry& registry) {
  registry.addMoves(sizeof(T),
                    {gather<T>, gatherTable<T>, scatter<T>, scatterTable<T>, gatherTile<T>, fill<T>});
}

}  // namespace

void addMoves(Registry& registry) {
  addMovesOf<uint8_t>(registry);
  addMovesOf<uint16_t>(registry);
  addMovesOf<uint32_t>(registry);
  addMovesOf<uint64_t>(registry);
  addMovesOf<Bytes16>(registry);
  registry.addStreams({streamLines, fence});
}

}  // namespace weft::cpu::WEFT_ISA
