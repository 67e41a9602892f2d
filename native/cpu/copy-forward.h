// Copies of lines, from their beginning on.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::cpu {

// Copies bytes to a place at or before theirs, or apart from them.
void copyBytesForward(const std::byte* from, int64_t byteLength, std::byte* to);

template <typename T>
inline void copyForward(const T* from, int64_t count, T* to) {
  copyBytesForward(reinterpret_cast<const std::byte*>(from), count * static_cast<int64_t>(sizeof(T)),
                   reinterpret_cast<std::byte*>(to));
}

}  // namespace weft::cpu
