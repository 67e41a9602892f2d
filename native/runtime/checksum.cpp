#include "runtime/checksum.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/isa.h"

namespace weft {
namespace {

// Bits reversed: bit 31 is x^0.
constexpr uint32_t kPolynomial = 0xedb88320;
// Bytes that are looked up at once.
constexpr size_t kBytesAtOnce = 16;

using Tables = std::array<std::array<uint32_t, 256>, kBytesAtOnce>;

// tables[k][b]: what byte b followed by k zero bytes adds.
constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >> 1) ^ kPolynomial : sum >> 1;
    tables[0][byte] = sum;
  }
  for (size_t k = 1; k < kBytesAtOnce; k++) {
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

// Goes on with a sum, one step of the tables after the other.
uint32_t sumByTables(uint32_t sum, const uint8_t* bytes, size_t byteLength) {
  for (; byteLength >= kBytesAtOnce; bytes += kBytesAtOnce, byteLength -= kBytesAtOnce) {
    uint32_t next = 0;
    for (size_t k = 0; k < kBytesAtOnce; k++) {
      const uint32_t low = k < 4 ? (sum >> (8 * k)) & 0xff : 0;
      next ^= kTables[kBytesAtOnce - 1 - k][bytes[k] ^ low];
    }
    sum = next;
  }
  for (; byteLength > 0; bytes++, byteLength--) sum = (sum >> 8) ^ kTables[0][(sum ^ *bytes) & 0xff];
  return sum;
}

#if defined(__x86_64__)
// Bytes that are folded at once.
constexpr size_t kFold = 64;

// `a` moved by n bytes, plus `next`, which lies so far behind it. `by` has what moves the halves of `a`: two
// powers of x modulo the polynomial.
__attribute__((target("pclmul,sse4.1"))) inline __m128i fold(__m128i a, __m128i by, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(a, by, 0x00);
  const __m128i high = _mm_clmulepi64_si128(a, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// Goes on with a sum over whole folds, at least one: several times as fast as tables. V. Gopal and others,
// Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction, Intel 2009; the constants are
// those of its section on gzip.
__attribute__((target("pclmul,sse4.1"))) uint32_t sumByFolds(uint32_t sum, const uint8_t* bytes,
                                                             size_t byteLength) {
  const auto load = [](const uint8_t* from) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  const __m128i by64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i by16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i a = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128(static_cast<int>(sum)));
  __m128i b = load(bytes + 16);
  __m128i c = load(bytes + 32);
  __m128i d = load(bytes + 48);
  for (size_t at = kFold; at < byteLength; at += kFold) {
    a = fold(a, by64, load(bytes + at));
    b = fold(b, by64, load(bytes + at + 16));
    c = fold(c, by64, load(bytes + at + 32));
    d = fold(d, by64, load(bytes + at + 48));
  }
  a = fold(fold(fold(a, by16, b), by16, c), by16, d);
  // 128 bits to 64, then to 32 by Barrett's reduction.
  const __m128i low32 = _mm_set_epi32(0, -1, 0, -1);
  a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by16, 0x10));
  const __m128i by4 = _mm_set_epi64x(0, 0x0163cd6124);
  a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, low32), by4, 0x00));
  const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  const __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(a, low32), polynomial, 0x10);
  const __m128i product = _mm_clmulepi64_si128(_mm_and_si128(quotient, low32), polynomial, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(a, product), 1));
}

bool canFold() {
  static const bool can = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return can && cpu::currentIsa() != cpu::Isa::baseline;
}
#endif

}  // namespace

uint32_t checksum(const void* data, size_t byteLength) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t sum = ~uint32_t{0};
#if defined(__x86_64__)
  if (byteLength >= kFold && canFold()) {
    const size_t folded = byteLength - byteLength % kFold;
    sum = sumByFolds(sum, bytes, folded);
    bytes += folded;
    byteLength -= folded;
  }
#endif
  return ~sumByTables(sum, bytes, byteLength);
}

uint32_t combineChecksums(uint32_t first, uint32_t second, size_t secondByteLength) {
  uint32_t shift = uint32_t{1} << 31;  // x^0
  for (size_t k = 3; secondByteLength > 0; k++, secondByteLength >>= 1) {
    if (secondByteLength & 1) shift = multiply(kSquares[k % 32], shift);
  }
  return multiply(shift, first) ^ second;
}

}  // namespace weft
