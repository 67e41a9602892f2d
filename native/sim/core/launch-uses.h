// LaunchUses: the uses of device memory by the threads of one launch (uses.h), for the pages that it touches.
#pragma once
#include <array>
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
  // watched in the first of them only: a page of uses takes many times the memory.
  Hazard touch(size_t offset, size_t byteLength, AccessKind kind, uint32_t thread, const Epochs& epochs) {
    const size_t place = offset % DeviceMemory::kPage;
    if (place + byteLength > DeviceMemory::kPage) {
      const size_t part = DeviceMemory::kPage - place;
      const Hazard first = touch(offset, part, kind, thread, epochs);
      const Hazard rest = touch(offset + part, byteLength - part, kind, thread, epochs);
      return first == Hazard::none ? rest : first;
    }
    Page* page = pageAt(offset / DeviceMemory::kPage);
    if (page == nullptr) return Hazard::none;
    Uses* uses = page->words.data() + place / kWord;
    size_t count = byteLength / kWord;
    if (page->isSplit || (place | byteLength) % kWord != 0) {
      if (!page->isSplit) page->split();
      uses = page->bytes.get() + place;
      count = byteLength;
    }
    Hazard found = Hazard::none;
    for (Uses* use = uses; use < uses + count; use++) {
      const Hazard hazard = note(*use, thread, kind, epochs);
      if (hazard != Hazard::none) found = hazard;
    }
    return found;
  }
  void end();

 private:
  static constexpr size_t kMostPages = 1024;
  static constexpr size_t kWord = 4;

  // As long as only whole words are touched, the bytes of a word have the same uses.
  struct Page {
    std::array<Uses, DeviceMemory::kPage / kWord> words;
    std::unique_ptr<Uses[]> bytes;
    bool isSplit = false;
    // From here on each byte has its own.
    void split();
  };

  Page* pageAt(size_t page) {
    Page* found = table_[page];
    return found == nullptr && used_ < kMostPages ? take(page) : found;
  }
  Page* take(size_t page);

  std::vector<Page*> table_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<size_t> taken_;
  size_t used_ = 0;
};

}  // namespace weft::sim
