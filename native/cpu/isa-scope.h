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

// body(out, a) for each chunk of 64 lanes.
template <typename R, typename A, typename F>
inline void eachChunk(Extent n, const Operand& out, const Operand* const* args, F body) {
  joinRows<1>(n, out, args);
  Chunk<R> chunk(out.streams);
  Prefetch prefetch(out.ahead);
  for (int64_t row = 0; row < n.rows; row++) {
    prefetch.row(row);
    R* d = reinterpret_cast<R*>(out.data) + row * out.rowStep;
    const A* a = reinterpret_cast<const A*>(args[0]->data) + row * args[0]->rowStep;
    for (int64_t c = 0; c < n.chunks; c++) {
      prefetch.chunk();
      body(chunk.at(d), a);
      chunk.done(d);
      d += out.chunkStep;
      a += args[0]->chunkStep;
    }
  }
}

template <typename R, typename A, typename B, typename F>
inline void eachChunk2(Extent n, const Operand& out, const Operand* const* args, F body) {
  joinRows<2>(n, out, args);
  Chunk<R> chunk(out.streams);
  Prefetch prefetch(out.ahead);
  for (int64_t row = 0; row < n.rows; row++) {
    prefetch.row(row);
    R* d = reinterpret_cast<R*>(out.data) + row * out.rowStep;
    const A* a = reinterpret_cast<const A*>(args[0]->data) + row * args[0]->rowStep;
    const B* b = reinterpret_cast<const B*>(args[1]->data) + row * args[1]->rowStep;
    for (int64_t c = 0; c < n.chunks; c++) {
      prefetch.chunk();
      body(chunk.at(d), a, b);
      chunk.done(d);
      d += out.chunkStep;
      a += args[0]->chunkStep;
      b += args[1]->chunkStep;
    }
  }
}

template <typename R, typename A, typename B, typename C, typename F>
inline void eachChunk3(Extent n, const Operand& out, const Operand* const* args, F body) {
  joinRows<3>(n, out, args);
  Chunk<R> chunk(out.streams);
  Prefetch prefetch(out.ahead);
  for (int64_t row = 0; row < n.rows; row++) {
    prefetch.row(row);
    R* d = reinterpret_cast<R*>(out.data) + row * out.rowStep;
    const A* a = reinterpret_cast<const A*>(args[0]->data) + row * args[0]->rowStep;
    const B* b = reinterpret_cast<const B*>(args[1]->data) + row * args[1]->rowStep;
    const C* c = reinterpret_cast<const C*>(args[2]->data) + row * args[2]->rowStep;
    for (int64_t k = 0; k < n.chunks; k++) {
      prefetch.chunk();
      body(chunk.at(d), a, b, c);
      chunk.done(d);
      d += out.chunkStep;
      a += args[0]->chunkStep;
      b += args[1]->chunkStep;
      c += args[2]->chunkStep;
    }
  }
}

// Four arguments of one type.
template <typename R, typename A, typename F>
inline void eachChunk4(Extent n, const Operand& out, const Operand* const* args, F body) {
  joinRows<4>(n, out, args);
  Chunk<R> chunk(out.streams);
  Prefetch prefetch(out.ahead);
  for (int64_t row = 0; row < n.rows; row++) {
    prefetch.row(row);
    R* d = reinterpret_cast<R*>(out.data) + row * out.rowStep;
    const A* in[4];
    for (int i = 0; i < 4; i++) in[i] = reinterpret_cast<const A*>(args[i]->data) + row * args[i]->rowStep;
    for (int64_t k = 0; k < n.chunks; k++) {
      prefetch.chunk();
      body(chunk.at(d), in[0], in[1], in[2], in[3]);
      chunk.done(d);
      d += out.chunkStep;
      for (int i = 0; i < 4; i++) in[i] += args[i]->chunkStep;
    }
  }
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
  eachChunk2<R, A, A>(
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
