#include "runtime/checksum.h"

#include <array>
#include <cstring>

namespace weft {
namespace {

// Bits reversed: bit 31 is x^0.
constexpr uint32_t kPolynomial = 0xedb88320;
// Bytes that are looked up at once.
constexpr size_t kStep = 16;

using Tables = std::array<std::array<uint32_t, 256>, kStep>;

// tables[k][b]: what byte b followed by k zero bytes adds.
constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >> 1) ^ kPolynomial : sum >> 1;
    tables[0][byte] = sum;
  }
  for (size_t k = 1; k < kStep; k++) {
    for (size_t byte = 0; byte < 256; byte++) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = makeTables();

// a·b modulo the polynomial.
constexpr uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int bit = 31; bit >= 0; bit--) {
    if ((a >> bit) & 1) product ^= b;
    b = b & 1 ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return product;
}

// x^(2^k). From k = 32 on they repeat: x^(2^32) is x.
constexpr std::array<uint32_t, 32> makeSquares() {
  std::array<uint32_t, 32> squares{uint32_t{1} << 30};
  for (size_t k = 1; k < squares.size(); k++) squares[k] = multiply(squares[k - 1], squares[k - 1]);
  return squares;
}

constexpr std::array<uint32_t, 32> kSquares = makeSquares();

}  // namespace

uint32_t checksum(const void* data, size_t byteLength) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t sum = ~uint32_t{0};
  for (; byteLength >= kStep; bytes += kStep, byteLength -= kStep) {
    uint32_t next = 0;
    for (size_t k = 0; k < kStep; k++) {
      const uint32_t low = k < 4 ? (sum >> (8 * k)) & 0xff : 0;
      next ^= kTables[kStep - 1 - k][bytes[k] ^ low];
    }
    sum = next;
  }
  for (; byteLength > 0; bytes++, byteLength--) sum = (sum >> 8) ^ kTables[0][(sum ^ *bytes) & 0xff];
  return ~sum;
}

uint32_t combineChecksums(uint32_t first, uint32_t second, size_t secondByteLength) {
  uint32_t shift = uint32_t{1} << 31;  // x^0
  for (size_t k = 3; secondByteLength > 0; k++, secondByteLength >>= 1) {
    if (secondByteLength & 1) shift = multiply(kSquares[k % 32], shift);
  }
  return multiply(shift, first) ^ second;
}

}  // namespace weft
