// CRC-32 as zip has it, of bytes, and of two ranges of bytes one after the other.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft {

uint32_t checksum(const void* data, size_t byteLength);

// The checksum of both ranges together. Appending n bytes multiplies the first by x^(8n) modulo the
// polynomial; powers are made by squaring, as zlib's crc32_combine makes them.
uint32_t combineChecksums(uint32_t first, uint32_t second, size_t secondByteLength);

}  // namespace weft
