// The innermost loops of compaction by a mask for one instruction set.
#include "cpu/compact-kernels.h"
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

struct Wide {
  uint64_t low, high;
};

// Elements that are counted in bytes before those are added up.
constexpr int64_t kCounted = 128;

int64_t count(const uint8_t* mask, int64_t size) {
  int64_t total = 0;
  int64_t k = 0;
#if defined(__AVX512BW__)
  for (; k + 64 <= size; k += 64) {
    const __m512i bytes = _mm512_loadu_si512(mask + k);
    total += __builtin_popcountll(_mm512_test_epi8_mask(bytes, bytes));
  }
#else
  for (; k + kCounted <= size; k += kCounted) {
    uint8_t counts[16] = {};
    for (int64_t row = 0; row < kCounted; row += 16)
      for (int64_t l = 0; l < 16; l++) counts[l] = static_cast<uint8_t>(counts[l] + (mask[k + row + l] != 0));
    for (const uint8_t lane : counts) total += lane;
  }
#endif
  for (; k < size; k++) total += mask[k] != 0;
  return total;
}

#if defined(__AVX512BW__)
// Writes lanes k … k + 63 that are kept, a vector of lanes at a time, where so many are still to be written
// that none of the vectors reaches behind the last one.
template <int kLanes, typename Write>
void eachWord(const uint8_t* mask, int64_t kept, int64_t& k, int64_t& to, const Write& write) {
  constexpr uint64_t kAll = (uint64_t{1} << kLanes) - 1;
  for (; to + 64 <= kept; k += 64) {
    const __m512i bytes = _mm512_loadu_si512(mask + k);
    uint64_t bits = _mm512_test_epi8_mask(bytes, bytes);
    for (int64_t lane = 0; bits != 0; lane += kLanes, bits >>= kLanes) {
      const uint64_t own = bits & kAll;
      write(own, k + lane, to);
      to += __builtin_popcountll(own);
    }
  }
}
#endif

// Without a branch for each element: masks are as good as random.
void places(const uint8_t* mask, int64_t first, int64_t kept, int64_t* out) {
  int64_t k = 0, to = 0;
#if defined(__AVX512BW__)
  const __m512i lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  eachWord<8>(mask, kept, k, to, [=](uint64_t own, int64_t at, int64_t place) {
    const __m512i all = _mm512_add_epi64(_mm512_set1_epi64(first + at), lanes);
    _mm512_storeu_si512(out + place, _mm512_maskz_compress_epi64(static_cast<__mmask8>(own), all));
  });
#endif
  for (; to < kept; k++) {
    out[to] = first + k;
    to += mask[k] != 0;
  }
}

template <typename T>
void values(const uint8_t* mask, const void* from, int64_t kept, void* result) {
  const T* const in = static_cast<const T*>(from);
  T* const out = static_cast<T*>(result);
  int64_t k = 0, to = 0;
#if defined(__AVX512BW__)
  if constexpr (sizeof(T) == 4) {
    eachWord<16>(mask, kept, k, to, [=](uint64_t own, int64_t at, int64_t place) {
      const __m512i all = _mm512_loadu_si512(in + at);
      _mm512_storeu_si512(out + place, _mm512_maskz_compress_epi32(static_cast<__mmask16>(own), all));
    });
  } else if constexpr (sizeof(T) == 8) {
    eachWord<8>(mask, kept, k, to, [=](uint64_t own, int64_t at, int64_t place) {
      const __m512i all = _mm512_loadu_si512(in + at);
      _mm512_storeu_si512(out + place, _mm512_maskz_compress_epi64(static_cast<__mmask8>(own), all));
    });
  }
#endif
  for (; to < kept; k++) {
    out[to] = in[k];
    to += mask[k] != 0;
  }
}

}  // namespace

const CompactKernels& compactKernels() {
  static constexpr CompactKernels kKernels{
      count, places, {values<uint8_t>, values<uint16_t>, values<uint32_t>, values<uint64_t>, values<Wide>}};
  return kKernels;
}

}  // namespace weft::cpu::WEFT_ISA
