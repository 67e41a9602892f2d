// Contractions as plain loops: the work that cutensor.cpp queues.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/simulator.h"

namespace weft::sim {

// An operand: for each of its modes, its label in the contraction, and its stride in elements.
struct Tensor {
  Address address = 0;
  std::vector<size_t> labels;
  std::vector<int64_t> strides;
  bool isConjugated = false;
};

// d = alpha * Σ a * b + beta * c over the labels that d lacks.
struct Contraction {
  // A cudaDataType: 0 float32, 1 float64, 2 float16, 4 complex64, 5 complex128, 14 bfloat16.
  int type;
  enum class Factors { full, tf32, tf32x3 } factors = Factors::full;
  // Of each label.
  std::vector<int64_t> sizes;
  Tensor a, b, c, d;
  // As complex numbers, whatever the type is.
  double alpha[2], beta[2];
};

// Halves and float32 accumulate in float32, in the order of the summed labels. Gives a driver status.
int contract(Simulator& simulator, Context& context, const Contraction& contraction, Accesses& accesses,
             const std::string& what);

}  // namespace weft::sim
