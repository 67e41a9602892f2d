#include "cublas/matrix.h"

#include <cmath>
#include <complex>
#include <vector>

#include "cublas/numbers.h"

namespace weft::sim {
namespace {

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
  // Lines along the summed axis one after the other, each factor converted once.
  std::vector<Accumulator> rows(product.m * product.k), columns(product.n * product.k);
  for (int64_t item = 0; item < product.batch; item++) {
    const auto converted = [&](const Matrix& matrix, int64_t row, int64_t column) {
      return factor(Accumulator(widen(*place<Storage>(matrix, item, row, column))), product.tf32);
    };
    for (int64_t i = 0; i < product.m; i++) {
      for (int64_t p = 0; p < product.k; p++) rows[i * product.k + p] = converted(product.a, i, p);
    }
    for (int64_t j = 0; j < product.n; j++) {
      for (int64_t p = 0; p < product.k; p++) columns[j * product.k + p] = converted(product.b, p, j);
    }
    for (int64_t j = 0; j < product.n; j++) {
      for (int64_t i = 0; i < product.m; i++) {
        const Accumulator* row = rows.data() + i * product.k;
        const Accumulator* column = columns.data() + j * product.k;
        Accumulator sum{};
        for (int64_t part = 0; part < product.parts; part++) {
          Accumulator own{};
          const int64_t last = product.k * (part + 1) / product.parts;
          for (int64_t p = product.k * part / product.parts; p < last; p++) own += times(row[p], column[p]);
          sum = part == 0 ? own : sum + own;
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
