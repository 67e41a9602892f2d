#include "runtime/host-pool.h"

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "runtime/available-memory.h"
#include "runtime/failure.h"
#include "runtime/memory-limit.h"
#include "runtime/recorder.h"
#include "shared/layout.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

namespace weft::host {
namespace {

constexpr size_t KiB = 1024;
constexpr size_t MiB = 1024 * KiB;
constexpr size_t GiB = 1024 * MiB;

// From here on a block begins on a huge page.
constexpr size_t kLeastHuge = 4 * MiB;
constexpr size_t kHugePage = 2 * MiB;
// From here on to ask what is available takes no time against filling the block.
constexpr size_t kLeastAsked = 64 * MiB;
constexpr size_t kMostKept = 8 * GiB;

size_t roundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

size_t capacityFor(size_t byteLength, Purpose purpose) {
  const size_t granule = purpose == Purpose::work ? kHostPage : kHostGranule;
  return roundUp(byteLength, byteLength < kHostLeastPaged ? kHostAlignment : granule);
}

#if defined(__unix__) || defined(__APPLE__)
void* mapHuge(size_t capacity) {
  const size_t mapped = capacity + kHugePage;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t aligned = roundUp(begin, kHugePage);
  if (aligned > begin) munmap(memory, aligned - begin);
  const uintptr_t end = aligned + capacity;
  if (begin + mapped > end) munmap(reinterpret_cast<void*>(end), begin + mapped - end);
#ifdef MADV_HUGEPAGE
  // A hint: a system without huge pages serves small ones.
  madvise(reinterpret_cast<void*>(aligned), capacity, MADV_HUGEPAGE);
#endif
  return reinterpret_cast<void*>(aligned);
}
void unmapHuge(void* data, size_t capacity) { munmap(data, capacity); }
#else
void* mapHuge(size_t capacity) { return ::operator new(capacity, std::align_val_t(kHugePage), std::nothrow); }
void unmapHuge(void* data, size_t) { ::operator delete(data, std::align_val_t(kHugePage)); }
#endif

// Null where there is not as much.
void* takeFromSystem(size_t capacity) {
  if (capacity >= kLeastAsked && !isAvailable(capacity)) return nullptr;
  if (capacity >= kLeastHuge) return mapHuge(capacity);
  return ::operator new(capacity, std::align_val_t(kHostAlignment), std::nothrow);
}

std::atomic<Farewell> theFarewell{nullptr};

void giveToSystemNow(void* data, size_t capacity) {
  if (capacity >= kLeastHuge) {
    unmapHuge(data, capacity);
  } else {
    ::operator delete(data, std::align_val_t(kHostAlignment));
  }
}

void giveToSystem(void* data, size_t capacity, bool isUrgent) {
  if (const Farewell farewell = theFarewell.load()) {
    farewell(data, capacity, isUrgent, giveToSystemNow);
  } else {
    giveToSystemNow(data, capacity);
  }
}

struct Free {
  void* data;
  size_t capacity;
  unsigned uses;
};

void giveToSystem(const std::vector<Free>& blocks, bool isUrgent) {
  for (const Free& block : blocks) giveToSystem(block.data, block.capacity, isUrgent);
}

// The blocks that are kept for reuse.
class Shelf {
 public:
  // The newest block of the least capacity that fits and wastes no more than said, or null.
  Free take(size_t capacity, size_t waste) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.lower_bound({capacity, 0});
    if (found == blocks_.end() || found->first.capacity - capacity > waste) return {nullptr, capacity, 0};
    const Free block = found->second;
    forget(found);
    return block;
  }

  // `most`: how many bytes may be kept.
  void put(const Free& block, size_t most) {
    const size_t capacity = block.capacity;
    std::vector<Free> evicted;
    {
      const std::lock_guard lock(mutex_);
      const uint64_t youth = nextYouth_--;
      blocks_.emplace(Key{capacity, youth}, block);
      capacities_.emplace(youth, capacity);
      bytes_ += capacity;
      evicted = evict(std::min(limit_, most));
    }
    giveToSystem(evicted, false);
  }

  void clear() { shrink(0); }

  // Gives the oldest blocks back until at most `most` bytes are kept.
  void shrink(size_t most) {
    std::vector<Free> evicted;
    {
      const std::lock_guard lock(mutex_);
      evicted = evict(most);
    }
    giveToSystem(evicted, true);
  }

  size_t byteLength() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  // Less is newer, so that the first of equal capacities is the one that may still be in a cache.
  struct Key {
    size_t capacity;
    uint64_t youth;
    auto operator<=>(const Key&) const = default;
  };
  using Blocks = std::map<Key, Free>;

  void forget(Blocks::iterator block) {
    bytes_ -= block->first.capacity;
    capacities_.erase(block->first.youth);
    blocks_.erase(block);
  }

  // Takes out the oldest blocks until at most `limit` bytes are left. The system gets them after the lock is
  // released.
  std::vector<Free> evict(size_t limit) {
    std::vector<Free> evicted;
    while (bytes_ > limit) {
      const auto [youth, capacity] = *capacities_.rbegin();
      const auto block = blocks_.find({capacity, youth});
      evicted.push_back(block->second);
      forget(block);
    }
    return evicted;
  }

  mutable std::mutex mutex_;
  Blocks blocks_;
  std::map<uint64_t, size_t> capacities_;
  uint64_t nextYouth_ = UINT64_MAX;
  size_t bytes_ = 0;
  const size_t limit_ = std::min(usableMemory() / 4, kMostKept);
};

// Bytes that are out, and the most of it.
struct Count {
  std::atomic<size_t> now{0};
  std::atomic<size_t> peak{0};

  void add(size_t byteLength) {
    now.fetch_add(byteLength);
    raisePeak();
  }
  // For bytes that count before they are there, and may never be.
  void reserve(size_t byteLength) { now.fetch_add(byteLength); }
  void raisePeak() {
    const size_t current = now.load();
    size_t most = peak.load();
    while (most < current && !peak.compare_exchange_weak(most, current)) {
    }
  }
  void remove(size_t byteLength) { now.fetch_sub(byteLength); }
  void forgetPeak() { peak.store(now.load()); }
};

struct Pool {
  Shelf shelf;
  Count all, work;
  std::atomic<bool> poison{false};
  // Where the process has a limit: held while memory goes from what is kept to what is out, or back, so that
  // their sum is never more.
  std::mutex limited;
};

// Never destroyed: finalizers free blocks until the process is gone.
Pool& pool() {
  static Pool& it = *new Pool();
  return it;
}

[[noreturn]] void throwOutOfMemory(size_t byteLength, size_t inUse) {
  throw Failure(FailureCode::memory, "[compute] expected " + std::to_string(byteLength) +
                                         " bytes of host memory: about " + std::to_string(availableMemory()) +
                                         " are available, " + std::to_string(inUse) + " are in use by Weft");
}

[[noreturn]] void throwOverLimit(size_t byteLength, size_t limit, size_t inUse) {
  throw Failure(FailureCode::memory, "[cpu] expected " + std::to_string(byteLength) +
                                         " bytes within the limit of " + std::to_string(limit) +
                                         " bytes for this process: " + std::to_string(inUse) +
                                         " are in use by Weft");
}

size_t processLimit() {
  static const size_t usable = usableMemory();
  return memoryLimit("cpu", usable);
}

// The most bytes that the shelf may keep beside those that are out.
size_t mostKept(size_t limit, size_t out) {
  return limit == kNoMemoryLimit ? limit : limit - std::min(limit, out);
}

// Kept memory of at least so many bytes, or null; counted as out. Within the limit of the process, less is
// kept instead.
Free takeCounted(size_t wanted, Purpose purpose) {
  Pool& all = pool();
  const size_t limit = processLimit();
  const bool isLimited = limit != kNoMemoryLimit;
  std::unique_lock<std::mutex> lock;
  if (isLimited) lock = std::unique_lock(all.limited);
  const size_t waste = purpose == Purpose::work || isLimited ? 0 : wanted / 8;
  const Free kept = wanted >= kHostLeastPaged ? all.shelf.take(wanted, waste) : Free{nullptr, wanted, 0};
  if (isLimited) {
    const size_t out = all.all.now.load();
    if (out > limit || kept.capacity > limit - out) {
      if (kept.data != nullptr) all.shelf.put(kept, mostKept(limit, out));
      throwOverLimit(wanted, limit, out);
    }
    all.shelf.shrink(mostKept(limit, out + kept.capacity));
  }
  all.all.reserve(kept.capacity);
  return kept;
}

}  // namespace

Block allocate(size_t byteLength, Purpose purpose) {
  if (byteLength == 0) return {};
  Pool& all = pool();
  const size_t wanted = capacityFor(byteLength, purpose);
  const Free kept = takeCounted(wanted, purpose);
  const size_t capacity = kept.capacity;
  void* data = kept.data;
  if (data == nullptr) data = takeFromSystem(capacity);
  if (data == nullptr) {
    all.shelf.clear();
    data = takeFromSystem(capacity);
  }
  if (data == nullptr) {
    all.all.remove(capacity);
    throwOutOfMemory(wanted, all.all.now.load());
  }
  all.all.raisePeak();
  if (purpose == Purpose::work) all.work.add(capacity);
  if (recorder::isOn()) recorder::sample("host", all.all.now.load());
  if (poison()) std::memset(data, 0xff, capacity);
  return Block(data, capacity, purpose, kept.uses + 1);
}

Block::~Block() {
  if (data_ == nullptr) return;
  Pool& all = pool();
  const size_t limit = processLimit();
  std::unique_lock<std::mutex> lock;
  if (limit != kNoMemoryLimit) lock = std::unique_lock(all.limited);
  all.all.remove(capacity_);
  if (purpose_ == Purpose::work) all.work.remove(capacity_);
  if (recorder::isOn()) recorder::sample("host", all.all.now.load());
  if (capacity_ >= kHostLeastPaged) {
    all.shelf.put({data_, capacity_, uses_}, mostKept(limit, all.all.now.load()));
  } else {
    giveToSystemNow(data_, capacity_);
  }
}

Use use() {
  Pool& all = pool();
  const size_t inUse = all.all.now.load();
  return {inUse, inUse + all.shelf.byteLength(), all.all.peak.load(), all.work.peak.load()};
}

void trim() {
  Pool& all = pool();
  all.shelf.clear();
  all.all.forgetPeak();
  all.work.forgetPeak();
}

void setFarewell(Farewell farewell) { theFarewell.store(farewell); }

void setPoison(bool on) { pool().poison.store(on, std::memory_order_relaxed); }

bool poison() { return pool().poison.load(std::memory_order_relaxed); }

}  // namespace weft::host
