#include "core/launch-uses.h"

namespace weft::sim {

void LaunchUses::begin(size_t span) {
  const size_t count = span / DeviceMemory::kPage + 1;
  if (table_.size() < count) table_.resize(count);
}

ByteUses* LaunchUses::take(size_t page) {
  // Pages are used again as they are: what an earlier launch left in them is of an earlier epoch.
  if (used_ == pages_.size()) pages_.push_back(std::make_unique<ByteUses[]>(DeviceMemory::kPage));
  taken_.push_back(page);
  return table_[page] = pages_[used_++].get();
}

void LaunchUses::end() {
  for (const size_t page : taken_) table_[page] = nullptr;
  taken_.clear();
  used_ = 0;
}

}  // namespace weft::sim
