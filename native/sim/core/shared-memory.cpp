#include "core/shared-memory.h"

#include <algorithm>
#include <cstring>

#include "core/memory.h"

namespace weft::sim {

void SharedMemory::place(char* begin, size_t byteLength) {
  begin_ = reinterpret_cast<uintptr_t>(begin);
  byteLength_ = byteLength;
  const size_t words = (byteLength + kWord - 1) / kWord;
  if (words_.size() >= words) return;
  words_.resize(words);
  bytes_.resize(words * kWord);
  isSplit_.resize(words);
}

void SharedMemory::split(size_t word) {
  isSplit_[word] = true;
  split_.push_back(word);
  std::fill_n(bytes_.begin() + static_cast<ptrdiff_t>(word * kWord), kWord, words_[word]);
}

void SharedMemory::poison() {
  // Accesses of an earlier block are no hazard any more.
  for (const size_t word : split_) isSplit_[word] = false;
  split_.clear();
  if (byteLength_ > 0) std::memset(reinterpret_cast<void*>(begin_), kPoison, byteLength_);
}

namespace {

constexpr uint32_t kLanes = 32;
bool sameWarp(const SharedUser& a, const SharedUser& b) { return a.thread / kLanes == b.thread / kLanes; }

}  // namespace

bool SharedMemory::collides(const Access& earlier, const Access& now, const Epochs& epochs) {
  // Another block's, or before a barrier of this one.
  if (earlier.epoch < epochs.now || earlier.user.thread == now.user.thread) return false;
  return !sameWarp(earlier.user, now.user) || earlier.user.warpBarriers == now.user.warpBarriers;
}

bool SharedMemory::collides(const Pair& earlier, const Access& now, const Epochs& epochs) {
  return collides(earlier.one, now, epochs) || collides(earlier.other, now, epochs);
}

void SharedMemory::keep(Pair& pair, const Access& now, const Epochs& epochs) {
  const auto isPast = [&](const Access& earlier) {
    return earlier.epoch < epochs.now ||
           (sameWarp(earlier.user, now.user) && !collides(earlier, now, epochs) &&
            earlier.user.thread != now.user.thread);
  };
  if (isPast(pair.one) || pair.one.user.thread == now.user.thread) {
    pair.one = now;
    return;
  }
  const bool keeps =
      !isPast(pair.other) && !sameWarp(pair.one.user, pair.other.user) && sameWarp(pair.one.user, now.user);
  if (!keeps) pair.other = now;
}

Hazard SharedMemory::note(Accesses& place, const Access& now, AccessKind kind, const Epochs& epochs) {
  const bool isRead = kind == AccessKind::read;
  const bool isAtomic = kind == AccessKind::atomic;
  if (collides(place.write, now, epochs) || (!isAtomic && collides(place.atomics, now, epochs)))
    return isRead ? Hazard::readAfterWrite : Hazard::writeAfterWrite;
  if (!isRead && collides(place.reads, now, epochs)) return Hazard::writeAfterRead;
  if (isRead) {
    keep(place.reads, now, epochs);
  } else if (isAtomic) {
    keep(place.atomics, now, epochs);
  } else {
    place.write = now;
  }
  return Hazard::none;
}

const char* SharedMemory::access(uintptr_t address, size_t byteLength, AccessKind kind, SharedUser user,
                                 const Epochs& epochs) {
  const size_t offset = address - begin_;
  if (offset + byteLength > byteLength_) return "reaches beyond the block's shared memory";
  const Access now{epochs.now, user};
  const char* mistake = nullptr;
  // Some byte of eight: a structure's padding is read with it and never written.
  bool written = false;
  const size_t end = offset + byteLength;
  for (size_t at = offset; at < end;) {
    const size_t word = at / kWord;
    const bool isWhole = at % kWord == 0 && end - at >= kWord;
    if (!isWhole && !isSplit_[word]) split(word);
    Accesses& place = isSplit_[word] ? bytes_[at] : words_[word];
    at += isSplit_[word] ? 1 : kWord;
    written |= place.write.epoch >= epochs.block;
    const bool wordEnds = (begin_ + at) % 8 == 0 || at == end;
    if (wordEnds && kind != AccessKind::write && !written)
      mistake = "reads shared memory that no thread of the block wrote";
    if (wordEnds) written = false;
    switch (note(place, now, kind, epochs)) {
      case Hazard::none:
        break;
      case Hazard::readAfterWrite:
        mistake = "reads shared memory that another thread wrote since the last barrier";
        break;
      case Hazard::writeAfterWrite:
        mistake = "writes shared memory that another thread wrote since the last barrier";
        break;
      case Hazard::writeAfterRead:
        mistake = "writes shared memory that another thread read since the last barrier";
        break;
    }
  }
  return mistake;
}

}  // namespace weft::sim
