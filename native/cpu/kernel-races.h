// Accesses of a kernel's threads that have no order, and reads of elements that nothing wrote: for each
// element the last write, the last read, and whether they are ordered by a barrier. Blocks are looked at one
// after the other.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cpu/user-kernel.h"

namespace weft::cpu {

class KernelRaces {
 public:
  explicit KernelRaces(const UserKernel& kernel);
  // A block begins: its shared memory is undefined.
  void begin(const Dim3& block);
  // The threads of the block have met.
  void sync() { phase_++; }
  // A lane has met others of its warp.
  void syncLane(int64_t lane) { warpSyncs_[static_cast<size_t>(lane)]++; }
  // The problem of an access; empty: none.
  std::string look(const KernelInstruction& it, int64_t at, int64_t lane);
  // The first element of an output that nothing wrote; -1: there is none.
  int64_t unwritten(size_t output) const;

 private:
  // A thread at a time between two barriers.
  struct Access {
    int64_t block = -1;
    int64_t phase = 0;
    int32_t lane = 0;
    // Barriers of its warp that the thread has passed.
    int32_t warpSyncs = 0;
    bool isAtomic = false;
  };
  struct Element {
    Access write, read;
    bool isDefined = false;
    // Threads of several warps have read it since; or several of one warp since that one's last barrier.
    bool isReadByWarps = false, isReadByLanes = false;
  };

  bool meets(const Access& before, int64_t lane, bool isShared) const;
  std::string describe(const Access& before, const char* what) const;

  const UserKernel& kernel_;
  std::vector<std::vector<Element>> elements_;
  int64_t block_ = 0;
  int64_t phase_ = 0;
  std::vector<int32_t> warpSyncs_;
};

}  // namespace weft::cpu
