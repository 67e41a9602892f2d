// Matrix products as plain loops: what cublas.cpp queues.
#pragma once
#include <cstdint>
#include <string>

#include "core/simulator.h"

namespace weft::sim {

// One operand: column-major, `leading` elements from a column to the next.
struct Matrix {
  Address address = 0;
  bool transposed = false;
  // Of the operand as it lies in memory, in elements.
  int64_t rows = 0, columns = 0, leading = 0, stride = 0;
};

// d (m, n) = activation(alpha * a (m, k) * b (k, n) + beta * c + bias), for each of a batch.
struct Product {
  int64_t m, n, k, batch;
  // A cudaDataType: 0 float32, 1 float64, 2 float16, 4 complex64, 5 complex128, 14 bfloat16.
  int type;
  // Whether factors are rounded to TF32.
  bool tf32;
  Matrix a, b, c, d;
  // As complex numbers, whatever the type is.
  double alpha[2], beta[2];
  // Of c, d and the bias.
  int resultType;
  // An element for each row; 0: none.
  Address bias = 0;
  enum class Activation { none, relu, gelu } activation = Activation::none;
  // Sums along k consist of so many, which are added in order.
  int64_t parts = 1;
};

size_t elementByteLength(int type);

// A factor of a cudaDataType as a complex number.
void readScalar(const void* from, int type, double (&to)[2]);

// Notes that queued work writes to its workspace, which is undefined afterwards. False, with a report, where
// it may not; an empty one is not looked at.
bool useWorkspace(Simulator& simulator, Context& context, const Range& workspace, Accesses& accesses,
                  const std::string& what);

// Halves and float32 accumulate in float32, in the order of k within a part. Gives a driver status.
int multiply(Simulator& simulator, Context& context, const Product& product, Accesses& accesses,
             const std::string& what);

}  // namespace weft::sim
