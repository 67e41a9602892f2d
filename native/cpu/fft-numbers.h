// The numbers of Fourier transforms as routines, on the CPU and of cuFFT: see src/exec/calls/fft.ts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace weft {

enum class FftKind { complex, fromReal, toReal };

// Arrays [outer, dims…, inner]; real ones have one axis, and no inner ones.
struct FftNumbers {
  FftKind kind;
  bool isDouble, inverse;
  int64_t outer, inner, outerPerUnit;
  std::vector<int64_t> dims;

  size_t realBytes() const { return isDouble ? 8 : 4; }
  int64_t length() const { return dims.front(); }
  int64_t units() const { return (outer + outerPerUnit - 1) / outerPerUnit; }
  // Of one of `outer`.
  int64_t elements() const {
    int64_t product = inner;
    for (const int64_t n : dims) product *= n;
    return product;
  }
  // Bytes of one of `outer` in the operand and in the result.
  size_t inBytes() const { return bytesOf(kind == FftKind::fromReal, kind == FftKind::toReal); }
  size_t outBytes() const { return bytesOf(kind == FftKind::toReal, kind == FftKind::fromReal); }

 private:
  size_t bytesOf(bool isReal, bool isHalf) const {
    if (isReal) return static_cast<size_t>(elements()) * realBytes();
    return static_cast<size_t>(isHalf ? length() / 2 + 1 : elements()) * 2 * realBytes();
  }
};

// Throws std::invalid_argument for numbers that cannot be.
inline FftNumbers readFftNumbers(const std::vector<int64_t>& numbers) {
  if (numbers.size() < 7 || numbers.size() > 9) throw std::invalid_argument("from seven to nine numbers");
  if (numbers[0] < 0 || numbers[0] > 2) throw std::invalid_argument("a kind");
  FftNumbers fft{static_cast<FftKind>(numbers[0]),
                 numbers[1] != 0,
                 numbers[2] != 0,
                 numbers[3],
                 numbers[4],
                 numbers[5],
                 {numbers.begin() + 6, numbers.end()}};
  int64_t all = 1;
  for (size_t i = 3; i < numbers.size(); i++) {
    if (numbers[i] < 1) throw std::invalid_argument("positive sizes");
    if (i == 5) continue;
    if (all > std::numeric_limits<int64_t>::max() / 64 / numbers[i])
      throw std::invalid_argument("fewer elements");
    all *= numbers[i];
  }
  if (fft.kind != FftKind::complex && (fft.dims.size() != 1 || fft.inner != 1))
    throw std::invalid_argument("one axis of a real transform");
  return fft;
}

}  // namespace weft
