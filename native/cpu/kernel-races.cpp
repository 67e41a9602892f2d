#include "cpu/kernel-races.h"

#include <algorithm>

namespace weft::cpu {

KernelRaces::KernelRaces(const UserKernel& kernel)
    : kernel_(kernel), warpSyncs_(static_cast<size_t>(kernel.threads())) {
  for (size_t k = 0; k < kernel.arrays.size(); k++) {
    const KernelMemory& memory = kernel.arrays[k];
    const bool isLooked = memory.kind != MemoryKind::input;
    elements_.emplace_back(isLooked ? static_cast<size_t>(kernel.sizeOf(static_cast<int>(k))) : 0);
    if (memory.kind != MemoryKind::output) continue;
    const bool isDefined = kernel.outputs[static_cast<size_t>(memory.at)].initial != Initial::none;
    for (Element& element : elements_.back()) element.isDefined = isDefined;
  }
}

void KernelRaces::begin(const Dim3& block) {
  block_ = block[0] + kernel_.grid[0] * (block[1] + kernel_.grid[1] * block[2]);
  phase_++;
  for (size_t k = 0; k < elements_.size(); k++)
    if (kernel_.arrays[k].kind == MemoryKind::shared)
      std::fill(elements_[k].begin(), elements_[k].end(), Element{});
}

// Whether an access before and one of this lane now may be in either order.
bool KernelRaces::meets(const Access& before, int64_t lane, bool isShared) const {
  if (before.block < 0) return false;
  if (before.block != block_) return !isShared;
  if (before.phase != phase_ || before.lane == lane) return false;
  const bool isOfWarp = before.lane / kWarpLanes == lane / kWarpLanes;
  return !isOfWarp || before.warpSyncs == warpSyncs_[static_cast<size_t>(lane)];
}

std::string KernelRaces::describe(const Access& before, const char* what) const {
  if (before.block != block_) {
    return std::string("elements that one block writes: another block (number ") +
           std::to_string(before.block) + ") " + what + " this one";
  }
  return std::string("a sync() between threads that share an element: thread ") +
         std::to_string(before.lane) + " " + what + " it, too";
}

std::string KernelRaces::look(const KernelInstruction& it, int64_t at, int64_t lane) {
  std::vector<Element>& list = elements_[static_cast<size_t>(it.array)];
  if (list.empty()) return {};
  Element& element = list[static_cast<size_t>(at)];
  const bool isShared = kernel_.arrays[static_cast<size_t>(it.array)].kind == MemoryKind::shared;
  const bool isAtomic = it.code == KernelCode::atomic;
  const bool isWrite = it.code != KernelCode::read;
  std::string problem;
  if (!element.isDefined && (!isWrite || isAtomic)) problem = "an element that was written before it is read";
  const bool isOrdered = isAtomic && element.write.isAtomic;
  if (problem.empty() && !isOrdered && meets(element.write, lane, isShared))
    problem = describe(element.write, "writes");
  const int32_t syncs = warpSyncs_[static_cast<size_t>(lane)];
  const bool isSameSync = element.read.warpSyncs == syncs;
  const bool isReadByOthers = element.isReadByWarps || (element.isReadByLanes && isSameSync);
  const bool isReadNow = element.read.block == block_ && element.read.phase == phase_;
  if (problem.empty() && isWrite && (meets(element.read, lane, isShared) || (isReadNow && isReadByOthers)))
    if (!isAtomic || element.read.block >= 0) problem = describe(element.read, "reads");
  const Access own{block_, phase_, static_cast<int32_t>(lane), syncs, isAtomic};
  if (isWrite) {
    element.write = own;
    element.read = {};
    element.isReadByWarps = element.isReadByLanes = false;
    element.isDefined = true;
  } else {
    const bool isSameWarp = isReadNow && element.read.lane / kWarpLanes == lane / kWarpLanes;
    element.isReadByWarps = isReadNow && (element.isReadByWarps || !isSameWarp);
    element.isReadByLanes = isSameWarp && isSameSync && (element.isReadByLanes || element.read.lane != lane);
    element.read = own;
  }
  return problem;
}

int64_t KernelRaces::unwritten(size_t output) const {
  for (size_t k = 0; k < elements_.size(); k++) {
    const KernelMemory& memory = kernel_.arrays[k];
    if (memory.kind != MemoryKind::output || static_cast<size_t>(memory.at) != output) continue;
    const auto found = std::find_if(elements_[k].begin(), elements_[k].end(),
                                    [](const Element& element) { return !element.isDefined; });
    if (found != elements_[k].end()) return found - elements_[k].begin();
  }
  return -1;
}

}  // namespace weft::cpu
