// Columns whose elements are neighbours in memory, as channels of pixels: rows of a few elements each are
// taken apart into lanes, and put together from them, in one pass over memory.
//
// Vectors of as many rows as they have lanes go through registers: two, four and eight columns by shuffles of
// pairs, as cards are riffled; with AVX-512 all others by permutations under masks.
#include "cpu/column-kernels.h"
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

template <typename T>
constexpr bool kMovesColumns = sizeof(T) == 4 || sizeof(T) == 8;

template <typename T, int... Lane>
inline __attribute__((always_inline)) Vector<T> riffled(Vector<T> a, Vector<T> b, bool isUpper,
                                                        std::integer_sequence<int, Lane...>) {
  constexpr int n = kLanes<T>;
  if (isUpper) return __builtin_shufflevector(a, b, ((Lane + n) % 2 * n + (Lane + n) / 2)...);
  return __builtin_shufflevector(a, b, (Lane % 2 * n + Lane / 2)...);
}
template <typename T, int... Lane>
inline __attribute__((always_inline)) Vector<T> everyOther(Vector<T> a, Vector<T> b, bool isOdd,
                                                           std::integer_sequence<int, Lane...>) {
  if (isOdd) return __builtin_shufflevector(a, b, (2 * Lane + 1)...);
  return __builtin_shufflevector(a, b, (2 * Lane)...);
}

// Vectors of `C` columns, a power of two, as rows one after the other, and back.
template <typename T, int C>
struct Riffles {
  using All = std::make_integer_sequence<int, kLanes<T>>;

  static inline __attribute__((always_inline)) void join(Vector<T>* v) {
#pragma GCC unroll 3
    for (int turn = 1; turn < C; turn *= 2) {
      Vector<T> next[C];
#pragma GCC unroll 4
      for (int k = 0; k < C / 2; k++) {
        next[2 * k] = riffled<T>(v[k], v[k + C / 2], false, All());
        next[2 * k + 1] = riffled<T>(v[k], v[k + C / 2], true, All());
      }
#pragma GCC unroll 8
      for (int k = 0; k < C; k++) v[k] = next[k];
    }
  }
  static inline __attribute__((always_inline)) void part(Vector<T>* v) {
#pragma GCC unroll 3
    for (int turn = 1; turn < C; turn *= 2) {
      Vector<T> next[C];
#pragma GCC unroll 4
      for (int k = 0; k < C / 2; k++) {
        next[k] = everyOther<T>(v[2 * k], v[2 * k + 1], false, All());
        next[k + C / 2] = everyOther<T>(v[2 * k], v[2 * k + 1], true, All());
      }
#pragma GCC unroll 8
      for (int k = 0; k < C; k++) v[k] = next[k];
    }
  }
};

#if defined(__AVX512F__)
// The same of any number of columns. Each result is made of lanes of all vectors.
template <typename T, int C>
struct Permutes {
  static constexpr int n = kLanes<T>;
  struct Table {
    alignas(64) T places[C][n] = {};
    uint16_t masks[C][C] = {};
  };
  // Of result `v`, lane `l` is lane places[v][l] of the vector whose mask has it.
  template <typename From>
  static constexpr Table tableOf(From from) {
    Table table;
    for (int v = 0; v < C; v++) {
      for (int l = 0; l < n; l++) {
        const auto [vector, lane] = from(v, l);
        table.places[v][l] = static_cast<T>(lane);
        table.masks[v][vector] = static_cast<uint16_t>(table.masks[v][vector] | 1 << l);
      }
    }
    return table;
  }
  struct Place {
    int vector, lane;
  };
  static constexpr Table kJoin = tableOf([](int v, int l) {
    return Place{(v * n + l) % C, (v * n + l) / C};
  });
  static constexpr Table kPart = tableOf([](int v, int l) {
    return Place{(l * C + v) / n, (l * C + v) % n};
  });

  static inline __attribute__((always_inline)) __m512i permuted(__m512i to, uint16_t mask, __m512i places,
                                                                __m512i from) {
    if constexpr (sizeof(T) == 4) return _mm512_mask_permutexvar_epi32(to, mask, places, from);
    return _mm512_mask_permutexvar_epi64(to, static_cast<__mmask8>(mask), places, from);
  }
  static inline __attribute__((always_inline)) void move(Vector<T>* v, const Table& table) {
    __m512i made[C];
#pragma GCC unroll 9
    for (int k = 0; k < C; k++) {
      const __m512i places = _mm512_load_si512(table.places[k]);
      made[k] = places;
#pragma GCC unroll 9
      for (int from = 0; from < C; from++)
        made[k] = permuted(made[k], table.masks[k][from], places, reinterpret_cast<__m512i>(v[from]));
    }
#pragma GCC unroll 9
    for (int k = 0; k < C; k++) v[k] = reinterpret_cast<Vector<T>>(made[k]);
  }
  static inline __attribute__((always_inline)) void join(Vector<T>* v) { move(v, kJoin); }
  static inline __attribute__((always_inline)) void part(Vector<T>* v) { move(v, kPart); }
};
constexpr bool kPermutes = true;
#else
template <typename T, int C>
using Permutes = Riffles<T, C>;
constexpr bool kPermutes = false;
#endif

// Bytes ahead of what is taken apart that are asked for: a block is a stretch of memory that hardware's
// prefetchers find anew.
constexpr int64_t kAhead = 4096;

// Whole vectors of rows; how many rows they are.
template <typename T, int C>
int64_t joinVectors(T* memory, const T* const* columns, int64_t count) {
  using By = std::conditional_t<(C & (C - 1)) == 0, Riffles<T, C>, Permutes<T, C>>;
  constexpr int n = kLanes<T>;
  int64_t i = 0;
  for (; i + n <= count; i += n) {
    Vector<T> v[C];
#pragma GCC unroll 9
    for (int c = 0; c < C; c++) v[c] = loadVector(columns[c] + i);
    By::join(v);
#pragma GCC unroll 9
    for (int c = 0; c < C; c++) storeVector(memory + i * C + c * n, v[c]);
  }
  return i;
}
template <typename T, int C>
int64_t partVectors(T* const* columns, const T* memory, int64_t count) {
  using By = std::conditional_t<(C & (C - 1)) == 0, Riffles<T, C>, Permutes<T, C>>;
  constexpr int n = kLanes<T>;
  int64_t i = 0;
  for (; i + n <= count; i += n) {
    Vector<T> v[C];
#pragma GCC unroll 9
    for (int c = 0; c < C; c++) {
      const T* const from = memory + i * C + c * n;
      __builtin_prefetch(from + kAhead / sizeof(T), 0, 2);
      v[c] = loadVector(from);
    }
    By::part(v);
#pragma GCC unroll 9
    for (int c = 0; c < C; c++) storeVector(columns[c] + i, v[c]);
  }
  return i;
}

// Calls `move` with the number of columns, where vectors move so many.
template <typename Move>
inline __attribute__((always_inline)) int64_t withColumns(int columns, const Move& move) {
  const auto of = [&](auto count) { return move(count); };
  switch (columns) {
    case 2:
      return of(std::integral_constant<int, 2>());
    case 4:
      return of(std::integral_constant<int, 4>());
    case 8:
      return of(std::integral_constant<int, 8>());
    default:
      break;
  }
  if constexpr (kPermutes) {
    switch (columns) {
      case 3:
        return of(std::integral_constant<int, 3>());
      case 5:
        return of(std::integral_constant<int, 5>());
      case 6:
        return of(std::integral_constant<int, 6>());
      case 7:
        return of(std::integral_constant<int, 7>());
      case 9:
        return of(std::integral_constant<int, 9>());
      default:
        break;
    }
  }
  return 0;
}

template <typename T>
void joinColumns(void* memory, const void* const* columns, int64_t count, int width) {
  T* d = static_cast<T*>(memory);
  const T* s[kMostColumns];
  for (int c = 0; c < width; c++) s[c] = static_cast<const T*>(columns[c]);
  int64_t i = 0;
  if constexpr (kMovesColumns<T>)
    i = withColumns(width, [&](auto w) { return joinVectors<T, decltype(w)::value>(d, s, count); });
  for (; i < count; i++) {
    for (int c = 0; c < width; c++) d[i * width + c] = s[c][i];
  }
}
template <typename T>
void partColumns(void* const* columns, const void* memory, int64_t count, int width) {
  T* d[kMostColumns];
  const T* s = static_cast<const T*>(memory);
  for (int c = 0; c < width; c++) d[c] = static_cast<T*>(columns[c]);
  int64_t i = 0;
  if constexpr (kMovesColumns<T>)
    i = withColumns(width, [&](auto w) { return partVectors<T, decltype(w)::value>(d, s, count); });
  for (; i < count; i++) {
    for (int c = 0; c < width; c++) d[c][i] = s[i * width + c];
  }
}

struct SixteenBytes {
  uint64_t low, high;
};

template <typename T>
constexpr ColumnKernels kColumns{joinColumns<T>, partColumns<T>};

}  // namespace

const ColumnKernels* columnKernels() {
  static constexpr ColumnKernels kKernels[] = {kColumns<uint8_t>, kColumns<uint16_t>, kColumns<uint32_t>,
                                               kColumns<uint64_t>, kColumns<SixteenBytes>};
  return kKernels;
}

}  // namespace weft::cpu::WEFT_ISA
