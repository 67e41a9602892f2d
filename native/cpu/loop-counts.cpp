#include "cpu/loop-counts.h"

#include <atomic>

namespace weft::cpu {
namespace {

std::array<std::atomic<int64_t>, kLoopForms> counts;
std::atomic<int64_t> chainCodeCount;

}  // namespace

void countLoopBlock(LoopForm form) {
  counts[static_cast<size_t>(form)].fetch_add(1, std::memory_order_relaxed);
}

std::array<int64_t, kLoopForms> loopBlocks() {
  std::array<int64_t, kLoopForms> blocks{};
  for (size_t k = 0; k < blocks.size(); k++) blocks[k] = counts[k].load(std::memory_order_relaxed);
  return blocks;
}

void countChainCode() { chainCodeCount.fetch_add(1, std::memory_order_relaxed); }
int64_t chainCodes() { return chainCodeCount.load(std::memory_order_relaxed); }

}  // namespace weft::cpu
