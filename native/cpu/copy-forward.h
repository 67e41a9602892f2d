// Copies of lines, from their beginning on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::cpu {

// Copies elements to a place at or before theirs, or apart from them. The C library copies lengths between 2
// KiB and the second-level cache's by a string instruction, which takes a Zen processor 1.4 to 3 times as
// long as vectors do where the place is not in a cache.
template <typename T>
inline void copyForward(const T* from, int64_t count, T* to) {
  using Vector [[gnu::vector_size(16)]] = uint8_t;
  constexpr int64_t kVectors = 8, kStep = kVectors * static_cast<int64_t>(sizeof(Vector));
  const auto* source = reinterpret_cast<const std::byte*>(from);
  auto* target = reinterpret_cast<std::byte*>(to);
  int64_t left = count * static_cast<int64_t>(sizeof(T));
  for (; left >= kStep; left -= kStep, source += kStep, target += kStep) {
    Vector vectors[kVectors];
#pragma GCC unroll 8
    for (int64_t k = 0; k < kVectors; k++)
      std::memcpy(vectors + k, source + k * static_cast<int64_t>(sizeof(Vector)), sizeof(Vector));
#pragma GCC unroll 8
    for (int64_t k = 0; k < kVectors; k++)
      std::memcpy(target + k * static_cast<int64_t>(sizeof(Vector)), vectors + k, sizeof(Vector));
  }
  std::memmove(target, source, static_cast<size_t>(left));
}

}  // namespace weft::cpu
