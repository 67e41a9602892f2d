// The numbers of a tape from front to back, as src/codegen/cpu/tape.ts wrote them, and the ops that they
// name.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/layout.h"

namespace weft::cpu {

[[noreturn]] inline void malformed(const std::string& what) {
  throw std::invalid_argument("malformed tape: " + what);
}

// Numbers of lists and bytes stay below.
constexpr int64_t kMany = int64_t{1} << 31;

class TapeWords {
 public:
  TapeWords(const double* data, size_t length, std::vector<std::string> ops, std::vector<double> weights)
      : data_(data), length_(length), ops_(std::move(ops)), weights_(std::move(weights)) {
    if (weights_.size() != ops_.size()) malformed("weights are not as many as ops");
  }
  int64_t next() {
    if (position_ >= length_) malformed("it ends early");
    return static_cast<int64_t>(data_[position_++]);
  }
  int64_t next(int64_t low, int64_t high, const char* what) {
    const int64_t word = next();
    if (word < low || word > high) malformed(std::string(what) + " is " + std::to_string(word));
    return word;
  }
  bool atEnd() const { return position_ == length_; }
  DType dtype() { return static_cast<DType>(next(0, kDTypes - 1, "dtype")); }
  const std::string& op() {
    const int64_t at = next(0, static_cast<int64_t>(ops_.size()) - 1, "op");
    weightRead_ += weights_[at];
    return ops_[at];
  }
  // The sum of the weights of all ops that were read, each as often as it was.
  double weightRead() const { return weightRead_; }

 private:
  const double* data_;
  size_t length_;
  std::vector<std::string> ops_;
  std::vector<double> weights_;
  double weightRead_ = 0;
  size_t position_ = 0;
};

}  // namespace weft::cpu
