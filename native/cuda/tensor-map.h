// A tensor map of a launch as the driver encodes it, for the address that its buffer has in a run.
#pragma once
#include <array>
#include <vector>

#include "cuda/driver.h"
#include "runtime/program.h"

namespace weft::cuda {

// Of a buffer that does not begin at 16 bytes there is none: its words are zeros, and its kernel, which knows
// the address as well, does not use it.
class EncodedTensorMap {
 public:
  explicit EncodedTensorMap(const TensorMap& map) : map_(map) {}
  // Encodes it anew where its buffer is somewhere else than before.
  void encode(const std::vector<CUdeviceptr>& addresses);
  const void* words() const { return words_.data(); }

 private:
  // CUtensorMap.
  alignas(64) std::array<uint64_t, 16> words_{};
  const TensorMap& map_;
  CUdeviceptr address_ = 0;
};

}  // namespace weft::cuda
