// LaunchUses: the uses of device memory by the threads of one launch (uses.h), for the pages that it touches.
#pragma once
#include <memory>
#include <vector>

#include "core/memory.h"
#include "core/uses.h"

namespace weft::sim {

class LaunchUses {
 public:
  // A launch on a memory of so many bytes.
  void begin(size_t span);
  // Notes an access, by its offset in the device's range. Launches that touch more than kMostPages are
  // watched in the first of them only: a page of uses takes thirty-two times the memory.
  Hazard touch(size_t offset, size_t byteLength, bool write, uint32_t thread, const Epochs& epochs) {
    const size_t place = offset % DeviceMemory::kPage;
    if (place + byteLength > DeviceMemory::kPage) {
      const size_t part = DeviceMemory::kPage - place;
      const Hazard first = touch(offset, part, write, thread, epochs);
      const Hazard rest = touch(offset + part, byteLength - part, write, thread, epochs);
      return first == Hazard::none ? rest : first;
    }
    ByteUses* page = pageAt(offset / DeviceMemory::kPage);
    if (page == nullptr) return Hazard::none;
    Hazard found = Hazard::none;
    for (ByteUses* byte = page + place; byte < page + place + byteLength; byte++) {
      const Hazard hazard = note(*byte, thread, write, epochs);
      if (hazard != Hazard::none) found = hazard;
    }
    return found;
  }
  void end();

 private:
  static constexpr size_t kMostPages = 1024;

  ByteUses* pageAt(size_t page) {
    ByteUses* uses = table_[page];
    return uses == nullptr && used_ < kMostPages ? take(page) : uses;
  }
  ByteUses* take(size_t page);

  std::vector<ByteUses*> table_;
  std::vector<std::unique_ptr<ByteUses[]>> pages_;
  std::vector<size_t> taken_;
  size_t used_ = 0;
};

}  // namespace weft::sim
