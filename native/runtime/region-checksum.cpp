#include "runtime/region-checksum.h"

#include <algorithm>
#include <list>
#include <tuple>

#include "runtime/checksum.h"
#include "runtime/file.h"

namespace weft {
namespace {

using Key = std::tuple<uint64_t, uint64_t, uint64_t, int64_t, uint64_t, uint64_t, uint32_t>;

// Regions that are known at a time: a few hundred bytes each.
constexpr size_t kKept = 4096;

struct Known {
  std::mutex mutex;
  // The one that was used last comes first.
  std::list<std::pair<Key, std::shared_ptr<RegionChecksum>>> used;
  std::map<Key, decltype(used)::iterator> places;
};

// Never freed: threads may read while the process ends.
Known& known() {
  static Known& all = *new Known;
  return all;
}

}  // namespace

bool RegionChecksum::take(uint64_t offset, const void* data, size_t byteLength) {
  const auto* bytes = static_cast<const std::byte*>(data);
  std::unique_lock lock(mutex_);
  while (verdict_ == Verdict::open) {
    const std::optional<Range> range = missing(offset, offset + byteLength);
    if (!range) return true;
    lock.unlock();
    const uint32_t sum = checksum(bytes + (range->begin - offset), range->end - range->begin);
    lock.lock();
    // Another thread may have taken some of them meanwhile.
    const std::optional<Range> now = missing(range->begin, range->end);
    if (now && now->begin == range->begin && now->end == range->end) insert(*range, sum);
  }
  return verdict_ == Verdict::right;
}

std::optional<RegionChecksum::Range> RegionChecksum::missing(uint64_t begin, uint64_t end) const {
  auto next = spans_.upper_bound(begin);
  if (next != spans_.begin()) begin = std::max(begin, std::prev(next)->second.end);
  if (next != spans_.end()) end = std::min(end, next->first);
  return begin < end ? std::optional<Range>({begin, end}) : std::nullopt;
}

void RegionChecksum::insert(const Range& range, uint32_t sum) {
  auto at = spans_.emplace(range.begin, Span{range.end, sum}).first;
  const auto join = [&](std::map<uint64_t, Span>::iterator first, std::map<uint64_t, Span>::iterator second) {
    Span& span = first->second;
    span.sum = combineChecksums(span.sum, second->second.sum, second->second.end - second->first);
    span.end = second->second.end;
    spans_.erase(second);
    return first;
  };
  if (at != spans_.begin() && std::prev(at)->second.end == at->first) at = join(std::prev(at), at);
  const auto next = std::next(at);
  if (next != spans_.end() && at->second.end == next->first) at = join(at, next);
  if (at->first > 0 || at->second.end < byteLength_) return;
  verdict_ = at->second.sum == expected_ ? Verdict::right : Verdict::wrong;
  spans_.clear();
}

std::shared_ptr<RegionChecksum> regionChecksum(const FileStamp& file, uint64_t byteOffset,
                                               uint64_t byteLength, uint32_t expected) {
  Known& all = known();
  const Key key(file.device, file.inode, file.byteLength, file.modifiedNanoseconds, byteOffset, byteLength,
                expected);
  const std::lock_guard lock(all.mutex);
  const auto found = all.places.find(key);
  if (found != all.places.end()) {
    all.used.splice(all.used.begin(), all.used, found->second);
    return all.used.front().second;
  }
  all.used.emplace_front(key, std::make_shared<RegionChecksum>(byteLength, expected));
  all.places[key] = all.used.begin();
  if (all.used.size() > kKept) {
    all.places.erase(all.used.back().first);
    all.used.pop_back();
  }
  return all.used.front().second;
}

}  // namespace weft
