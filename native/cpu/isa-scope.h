// For files compiled once per instruction set: the namespace, the vector types, and the loops over lanes.
//
// Such a file must not instantiate inline functions that other files share (most of the standard library), or
// the linker may keep the copy that only newer processors can run: everything here is in an unnamed
// namespace.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/lanes.h"
#include "cpu/ops.h"

#ifndef WEFT_ISA
#error "compiled once per instruction set: see native/cpu/CMakeLists.txt"
#endif

namespace weft::cpu::WEFT_ISA {
namespace {

// How functions of a vector math library are called.
#if defined(__aarch64__)
#define WEFT_VECTOR_CALL __attribute__((aarch64_vector_pcs))
#else
#define WEFT_VECTOR_CALL
#endif

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <typename T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
  typedef T loose __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <typename T>
using Vector = typename VectorOf<T>::type;

template <typename T>
inline Vector<T> loadVector(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::loose*>(p);
}
template <typename T>
inline void storeVector(T* p, Vector<T> v) {
  *reinterpret_cast<typename VectorOf<T>::loose*>(p) = v;
}

// Whether every row follows the one before it, so that the block is one long row.
template <int N>
inline void joinRows(Extent& n, const Operand& out, const Operand* const* args) {
  if (n.rows == 1) return;
  bool joins = out.rowStep == n.chunks * out.chunkStep;
  for (int i = 0; i < N; i++) joins = joins && args[i]->rowStep == n.chunks * args[i]->chunkStep;
  if (joins) n = {1, n.rows * n.chunks};
}

// Copies whole cache lines past the caches; both are aligned to 64 bytes.
inline void streamLines(void* to, const void* from, int64_t byteLength) {
#if defined(__x86_64__)
  char* d = static_cast<char*>(to);
  const char* s = static_cast<const char*>(from);
  for (int64_t i = 0; i < byteLength; i += 64) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(d + i), _mm512_load_si512(s + i));
#else
    for (int64_t k = i; k < i + 64; k += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(d + k),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(s + k)));
    }
#endif
  }
#else
  __builtin_memcpy(to, from, byteLength);
#endif
}

// Where the chunk that goes to `d` is computed, and how it gets there: large results are written past the
// caches line by line, between the computing of one and the next.
template <typename R>
class Chunk {
 public:
  explicit Chunk(bool streams) : streams_(streams) {}
  R* at(R* d) { return streams_ ? reinterpret_cast<R*>(lines_) : d; }
  void done(R* d) {
    if (streams_) streamLines(d, lines_, kChunk * static_cast<int64_t>(sizeof(R)));
  }

 private:
  const bool streams_;
  alignas(64) char lines_[kChunk * sizeof(R)];
};

// Asks for memory that will be read soon, a chunk's worth at a time, while something else is computed:
// hardware prefetchers stop at the end of each page, and lose track between blocks.
//
// Always inlined: gcc takes a function that only prefetches for one without effect, and drops calls of it.
class Prefetch {
 public:
  explicit Prefetch(const Ahead& ahead) : ahead_(ahead) {}
  __attribute__((always_inline)) inline void row(int64_t row) { next_ = ahead_.data + row * ahead_.rowBytes; }
  __attribute__((always_inline)) inline void chunk() {
    if (ahead_.lines == 0) return;
    for (int64_t line = 0; line < ahead_.lines; line++) __builtin_prefetch(next_ + line * 64);
    next_ += ahead_.lines * 64;
  }

 private:
  const Ahead ahead_;
  const char* next_ = nullptr;
};

// An operand's chunks, row by row. It keeps the steps, since the compiler reads an operand anew after each
// vector that is stored, and such loads wait for stores past the caches: 2^25 float32 times 3 plus 1 took
// 16.5 ms of a core, 8.6 with steps in registers.
template <typename T>
class ChunkWalk {
 public:
  explicit ChunkWalk(const Operand& operand)
      : data_(reinterpret_cast<T*>(operand.data)), rowStep_(operand.rowStep), step_(operand.chunkStep) {}
  __attribute__((always_inline)) inline void row(int64_t row) { at_ = data_ + row * rowStep_; }
  __attribute__((always_inline)) inline void next() { at_ += step_; }
  __attribute__((always_inline)) inline T* at() const { return at_; }

 private:
  T* const data_;
  const int64_t rowStep_;
  const int64_t step_;
  T* at_ = nullptr;
};

template <typename R, typename F, typename... A>
inline __attribute__((always_inline)) void eachChunkOf(Extent n, const Operand& out, F body,
                                                       ChunkWalk<const A>... in) {
  Chunk<R> chunk(out.streams);
  Prefetch prefetch(out.ahead);
  ChunkWalk<R> d(out);
  for (int64_t row = 0; row < n.rows; row++) {
    prefetch.row(row);
    d.row(row);
    (in.row(row), ...);
    for (int64_t c = 0; c < n.chunks; c++) {
      prefetch.chunk();
      body(chunk.at(d.at()), in.at()...);
      chunk.done(d.at());
      d.next();
      (in.next(), ...);
    }
  }
}

template <typename R, typename... A, typename F, int... I>
inline __attribute__((always_inline)) void eachChunkAt(Extent n, const Operand& out,
                                                       const Operand* const* args, F body,
                                                       std::integer_sequence<int, I...>) {
  eachChunkOf<R, F, A...>(n, out, body, ChunkWalk<const A>(*args[I])...);
}

// body(out, a...) for each chunk of 64 lanes; A are the types of the arguments' elements.
template <typename R, typename... A, typename F>
inline void eachChunk(Extent n, const Operand& out, const Operand* const* args, F body) {
  joinRows<sizeof...(A)>(n, out, args);
  eachChunkAt<R, A...>(n, out, args, body, std::make_integer_sequence<int, sizeof...(A)>());
}

// Lane functions from a scalar function F::run. The loops vectorise: 64 lanes, no dependence between them.
template <typename F, typename R, typename A>
void unary(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<R, A>(
      n, out, args, [](R * d, const A* a) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (int l = 0; l < kChunk; l++) d[l] = F::run(a[l]);
      });
}

template <typename F, typename R, typename A>
void binary(Extent n, const Operand& out, const Operand* const* args) {
  eachChunk<R, A, A>(
      n, out, args, [](R * d, const A* a, const A* b) __attribute__((always_inline)) {
#pragma GCC ivdep
        for (int l = 0; l < kChunk; l++) d[l] = F::run(a[l], b[l]);
      });
}

template <typename T>
constexpr DType kDTypeOf = std::is_same_v<T, bool>       ? DType::boolean
                           : std::is_same_v<T, int8_t>   ? DType::int8
                           : std::is_same_v<T, int16_t>  ? DType::int16
                           : std::is_same_v<T, int32_t>  ? DType::int32
                           : std::is_same_v<T, int64_t>  ? DType::int64
                           : std::is_same_v<T, uint8_t>  ? DType::uint8
                           : std::is_same_v<T, uint16_t> ? DType::uint16
                           : std::is_same_v<T, uint32_t> ? DType::uint32
                           : std::is_same_v<T, uint64_t> ? DType::uint64
                           : std::is_same_v<T, float>    ? DType::float32
                                                         : DType::float64;

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
