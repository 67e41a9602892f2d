#include "cpu/scratch.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::cpu {
namespace {

constexpr size_t kKept = 64;
constexpr size_t kLargestKept = size_t{4} << 20;
constexpr size_t kLeast = size_t{64} << 10;
// Of the block that a thread keeps for itself.
constexpr size_t kLargestOwn = size_t{1} << 20;

}  // namespace

struct Scratch::Pool {
  std::mutex mutex;
  std::vector<Block> blocks;
};

// The block that a thread worked in last: its next one without a lock, and still in its cache.
Scratch::Block& Scratch::own() {
  thread_local Block block{};
  return block;
}

// Never destroyed: threads may outlive static destructors.
Scratch::Pool& Scratch::shared() {
  static Pool& pool = *new Pool;
  return pool;
}

Scratch::~Scratch() {
  if (Block& kept = own(); !kept.data && block_.byteLength <= kLargestOwn) {
    kept = std::move(block_);
    return;
  }
  Pool& pool = shared();
  const std::lock_guard lock(pool.mutex);
  if (pool.blocks.size() < kKept && block_.byteLength <= kLargestKept) {
    pool.blocks.push_back(std::move(block_));
  }
}

Scratch::Block Scratch::acquire(size_t byteLength) {
  if (Block& kept = own(); kept.data && kept.byteLength >= byteLength) return std::move(kept);
  {
    Pool& pool = shared();
    const std::lock_guard lock(pool.mutex);
    for (Block& block : pool.blocks) {
      if (block.byteLength < byteLength) continue;
      Block found = std::move(block);
      block = std::move(pool.blocks.back());
      pool.blocks.pop_back();
      return found;
    }
  }
  const size_t rounded = std::max<size_t>(std::bit_ceil(byteLength), kLeast);
  return {std::unique_ptr<char, Free>(static_cast<char*>(operator new(rounded, kAlignment))), rounded};
}

}  // namespace weft::cpu
