// Copies between strided memory and lanes. Compiled once per instruction set: gathers are vector
// instructions.
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

template <typename T>
void gather(void* lanes, const void* memory, int64_t count, int64_t stride) {
  T* d = static_cast<T*>(lanes);
  const T* s = static_cast<const T*>(memory);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) d[i] = s[i * stride];
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
