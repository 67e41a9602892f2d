// Trials: work on memory of its own that is repeated to be timed, as products are to choose an algorithm and
// kernels are for `explain()`.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "cuda/resources.h"

namespace weft::cuda {

// A buffer, and the bytes that it consists of before the work, again and again: one at least.
struct Filled {
  size_t byteLength;
  std::vector<uint8_t> pattern;
};

// Memory of the pool, given back once the stream has done what reads it.
class TrialMemory {
 public:
  TrialMemory(Resources& resources, const std::vector<Filled>& buffers) : resources_(resources) {
    for (const Filled& buffer : buffers) {
      blocks_.push_back(std::make_unique<ScopedBlock>(*resources.pool, buffer.byteLength));
      addresses_.push_back(blocks_.back()->address());
      fill(addresses_.back(), buffer);
    }
  }
  // Fails only on a lost device.
  ~TrialMemory() { static_cast<void>(driver().cuStreamSynchronize(resources_.stream)); }
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;

  std::vector<CUdeviceptr>& addresses() { return addresses_; }

 private:
  void fill(CUdeviceptr at, const Filled& buffer) {
    const auto& [byteLength, pattern] = buffer;
    if (pattern.size() == 1) {
      WEFT_CU(cuMemsetD8Async, at, pattern[0], byteLength, resources_.stream);
      return;
    }
    size_t filled = std::min(byteLength, pattern.size());
    WEFT_CU(cuMemcpyHtoDAsync, at, pattern.data(), filled, resources_.stream);
    while (filled < byteLength) {
      const size_t more = std::min(filled, byteLength - filled);
      WEFT_CU(cuMemcpyDtoDAsync, at + filled, at, more, resources_.stream);
      filled += more;
    }
  }

  Resources& resources_;
  std::vector<std::unique_ptr<ScopedBlock>> blocks_;
  std::vector<CUdeviceptr> addresses_;
};

// How often work that takes `seconds` is repeated to take about `round`, and so much that clocks tell.
inline int repeatsIn(double round, double seconds, int most) {
  return std::clamp(static_cast<int>(round / std::max(seconds, 1e-9)), 1, most);
}

}  // namespace weft::cuda
