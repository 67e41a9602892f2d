// Trials: work on memory of its own that is repeated to be timed, as products are to choose an algorithm and
// kernels are for `explain()`.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "cuda/resources.h"

namespace weft::cuda {

// A buffer, and each of its bytes before the work.
struct Filled {
  size_t byteLength;
  unsigned char fill;
};

// Memory of the pool, given back once the stream has done what reads it.
class TrialMemory {
 public:
  TrialMemory(Resources& resources, const std::vector<Filled>& buffers) : resources_(resources) {
    for (const auto& [byteLength, fill] : buffers) {
      blocks_.push_back(std::make_unique<ScopedBlock>(*resources.pool, byteLength));
      addresses_.push_back(blocks_.back()->address());
      WEFT_CU(cuMemsetD8Async, addresses_.back(), fill, byteLength, resources.stream);
    }
  }
  // Fails only on a lost device.
  ~TrialMemory() { static_cast<void>(driver().cuStreamSynchronize(resources_.stream)); }
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;

  std::vector<CUdeviceptr>& addresses() { return addresses_; }

 private:
  Resources& resources_;
  std::vector<std::unique_ptr<ScopedBlock>> blocks_;
  std::vector<CUdeviceptr> addresses_;
};

// How often work that takes `seconds` is repeated to take about `round`, and so much that clocks tell.
inline int repeatsIn(double round, double seconds, int most) {
  return std::clamp(static_cast<int>(round / std::max(seconds, 1e-9)), 1, most);
}

}  // namespace weft::cuda
