#include "core/launch-uses.h"

namespace weft::sim {

void LaunchUses::begin(size_t span) {
  const size_t count = span / DeviceMemory::kPage + 1;
  if (table_.size() < count) table_.resize(count);
}

LaunchUses::Page* LaunchUses::take(size_t page) {
  // Pages are used again as they are: what an earlier launch left in them is of an earlier epoch.
  if (used_ == pages_.size()) pages_.push_back(std::make_unique<Page>());
  taken_.push_back(page);
  table_[page] = pages_[used_++].get();
  table_[page]->isSplit = false;
  return table_[page];
}

void LaunchUses::Page::split() {
  if (!bytes) bytes = std::make_unique<Uses[]>(DeviceMemory::kPage);
  for (size_t i = 0; i < DeviceMemory::kPage; i++) bytes[i] = words[i / kWord];
  isSplit = true;
}

void LaunchUses::end() {
  for (const size_t page : taken_) table_[page] = nullptr;
  taken_.clear();
  used_ = 0;
}

}  // namespace weft::sim
