#include "cublas/matrix.h"

#include <cmath>
#include <complex>
#include <cstring>

namespace weft::sim {
namespace {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

float widen(Half half) {
  const int exponent = half.bits >> 10 & 31, fraction = half.bits & 0x3ff;
  const float size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                     : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (half.bits & 0x8000) != 0 ? -size : size;
}
float widen(Bfloat value) {
  const uint32_t word = static_cast<uint32_t>(value.bits) << 16;
  float result;
  std::memcpy(&result, &word, sizeof result);
  return result;
}
template <typename T>
T widen(T value) {
  return value;
}

// To the nearest, ties to even.
void narrow(float value, Half& out) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) {
    out.bits = 0x7fff;
  } else if (size >= 65520.0) {
    out.bits = static_cast<uint16_t>(sign | 0x7c00);
  } else if (size < 0x1p-14) {
    // Multiples of the least half.
    out.bits = static_cast<uint16_t>(sign | std::lrint(size * 0x1p24));
  } else {
    const int exponent = std::ilogb(size);
    const long fraction = std::lrint(std::ldexp(size, 10 - exponent));
    // The leading bit and a carry go into the exponent.
    out.bits = static_cast<uint16_t>(sign | (((exponent + 14) << 10) + fraction));
  }
}
void narrow(float value, Bfloat& out) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  out.bits = static_cast<uint16_t>(std::isnan(value) ? 0x7fff : (word + 0x7fff + (word >> 16 & 1)) >> 16);
}
template <typename T>
void narrow(T value, T& out) {
  out = value;
}

// To 10 bits of mantissa, ties to even; infinities and NaNs stay what they are.
float toTf32(float value) {
  if (!std::isfinite(value)) return value;
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  word = (word + 0xfff + (word >> 13 & 1)) & ~uint32_t{0x1fff};
  std::memcpy(&value, &word, sizeof word);
  return value;
}

// A factor of a product, as its units take it.
template <typename T>
T factor(T value, bool tf32) {
  if constexpr (std::is_same_v<T, float>) return tf32 ? toTf32(value) : value;
  if constexpr (std::is_same_v<T, std::complex<float>>)
    return tf32 ? T(toTf32(value.real()), toTf32(value.imag())) : value;
  return value;
}

template <typename Accumulator>
Accumulator scalar(const double (&parts)[2]) {
  if constexpr (std::is_floating_point_v<Accumulator>) {
    return static_cast<Accumulator>(parts[0]);
  } else {
    using Part = typename Accumulator::value_type;
    return {static_cast<Part>(parts[0]), static_cast<Part>(parts[1])};
  }
}

// Plain products, without the infinities of C's Annex G.
template <typename T>
T times(T a, T b) {
  return a * b;
}
template <typename T>
std::complex<T> times(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <typename Storage>
Storage* place(const Matrix& matrix, int64_t item, int64_t row, int64_t column) {
  const int64_t i = matrix.transposed ? column : row;
  const int64_t j = matrix.transposed ? row : column;
  return reinterpret_cast<Storage*>(matrix.address) + item * matrix.stride + i + j * matrix.leading;
}

template <typename T>
T activated(T value, Product::Activation activation, bool ofHalves) {
  if constexpr (std::is_same_v<T, float>) {
    // As seen on an H100: a NaN stays one, but of halves it becomes 0.
    if (activation == Product::Activation::relu) return value < 0 || (ofHalves && value != value) ? 0 : value;
    if (activation == Product::Activation::gelu) {
      constexpr float kRoot = 0.7978845608F, kCubic = 0.044715F;
      return 0.5F * value * (1 + std::tanh(kRoot * (value + kCubic * value * value * value)));
    }
  }
  return value;
}

template <typename Storage, typename Accumulator, typename Result>
void multiplyAs(const Product& product) {
  const auto alpha = scalar<Accumulator>(product.alpha);
  const auto beta = scalar<Accumulator>(product.beta);
  const auto* bias = reinterpret_cast<const Result*>(product.bias);
  for (int64_t item = 0; item < product.batch; item++) {
    for (int64_t j = 0; j < product.n; j++) {
      for (int64_t i = 0; i < product.m; i++) {
        Accumulator sum{};
        for (int64_t p = 0; p < product.k; p++) {
          sum += times(factor(Accumulator(widen(*place<Storage>(product.a, item, i, p))), product.tf32),
                       factor(Accumulator(widen(*place<Storage>(product.b, item, p, j))), product.tf32));
        }
        Accumulator value = times(alpha, sum);
        // With a beta of 0 the addend is not read.
        if (beta != Accumulator{})
          value += times(beta, Accumulator(widen(*place<Result>(product.c, item, i, j))));
        if (bias != nullptr) value += Accumulator(widen(bias[i]));
        narrow(activated(value, product.activation, sizeof(Storage) == 2),
               *place<Result>(product.d, item, i, j));
      }
    }
  }
}

// Checks and notes each column of an operand. False: it may not be touched.
bool touch(Simulator& simulator, Context& context, const Product& product, const Matrix& matrix, int type,
           bool write, Accesses& accesses, const std::string& what) {
  const size_t bytes = elementByteLength(type);
  for (int64_t item = 0; item < product.batch; item++) {
    for (int64_t j = 0; j < matrix.columns; j++) {
      const Address start = matrix.address + (item * matrix.stride + j * matrix.leading) * bytes;
      const size_t byteLength = static_cast<size_t>(matrix.rows) * bytes;
      const bool ok = write ? simulator.write(context, start, byteLength, accesses, what)
                            : simulator.read(context, start, byteLength, accesses, what);
      if (!ok) return false;
    }
  }
  return true;
}

}  // namespace

size_t elementByteLength(int type) {
  switch (type) {
    case 0:
      return 4;
    case 1:
    case 4:
      return 8;
    case 5:
      return 16;
    default:
      return 2;
  }
}

void readScalar(const void* from, int type, double (&to)[2]) {
  to[1] = 0;
  if (type == 1 || type == 5) {
    const auto* parts = static_cast<const double*>(from);
    to[0] = parts[0];
    if (type == 5) to[1] = parts[1];
  } else {
    const auto* parts = static_cast<const float*>(from);
    to[0] = parts[0];
    if (type == 4) to[1] = parts[1];
  }
}

bool useWorkspace(Simulator& simulator, Context& context, const Range& workspace, Accesses& accesses,
                  const std::string& what) {
  if (workspace.begin == 0) return true;
  const std::string problem = context.memory->checkRead(workspace.begin, workspace.end - workspace.begin);
  if (!problem.empty()) {
    simulator.report.add("out-of-bounds", what + " " + problem + " (its workspace)");
    return false;
  }
  accesses.writes.push_back(workspace);
  return true;
}

int multiply(Simulator& simulator, Context& context, const Product& product, Accesses& accesses,
             const std::string& what) {
  const bool readsC = product.beta[0] != 0 || product.beta[1] != 0;
  const size_t biasBytes = static_cast<size_t>(product.m) * elementByteLength(product.resultType);
  const auto touches = [&](const Matrix& matrix, int type, bool write) {
    return touch(simulator, context, product, matrix, type, write, accesses, what);
  };
  const bool isGiven =
      touches(product.a, product.type, false) && touches(product.b, product.type, false) &&
      (!readsC || touches(product.c, product.resultType, false)) &&
      (product.bias == 0 || simulator.read(context, product.bias, biasBytes, accesses, what)) &&
      touches(product.d, product.resultType, true);
  if (!isGiven) return kIllegalAddress;
  const bool isWidened = product.resultType == 0;
  switch (product.type) {
    case 0:
      multiplyAs<float, float, float>(product);
      break;
    case 1:
      multiplyAs<double, double, double>(product);
      break;
    case 2:
      isWidened ? multiplyAs<Half, float, float>(product) : multiplyAs<Half, float, Half>(product);
      break;
    case 4:
      multiplyAs<std::complex<float>, std::complex<float>, std::complex<float>>(product);
      break;
    case 5:
      multiplyAs<std::complex<double>, std::complex<double>, std::complex<double>>(product);
      break;
    default:
      isWidened ? multiplyAs<Bfloat, float, float>(product) : multiplyAs<Bfloat, float, Bfloat>(product);
  }
  return kSuccess;
}

}  // namespace weft::sim
