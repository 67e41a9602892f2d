#include "core/races.h"

#include <algorithm>

namespace weft::sim {
namespace {

// The first range in both; an empty one: none.
Range overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Range common{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (common.begin < common.end) return common;
    a[i].end < b[j].end ? i++ : j++;
  }
  return {0, 0};
}

void tidy(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const Range range : ranges) {
    if (kept > 0 && range.begin <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

}  // namespace

void Clock::advance(size_t stream, uint64_t count) {
  if (counts_.size() <= stream) counts_.resize(stream + 1);
  counts_[stream] = std::max(counts_[stream], count);
}

void Clock::join(const Clock& other) {
  for (size_t i = 0; i < other.counts_.size(); i++) advance(i, other.counts_[i]);
}

void Clock::meet(const Clock& other) {
  for (size_t i = 0; i < counts_.size(); i++) counts_[i] = std::min(counts_[i], other.at(i));
}

void Races::add(const std::string& what, size_t stream, const Clock& clock, Accesses accesses,
                Report& report) {
  tidy(accesses.reads);
  tidy(accesses.writes);
  for (const Past& past : past_) {
    if (clock.at(past.stream) >= past.number) continue;
    struct Pair {
      const std::vector<Range>&first, &second;
      const char* how;
    };
    for (const Pair& pair :
         {Pair{past.accesses.writes, accesses.writes, "both write"},
          Pair{past.accesses.writes, accesses.reads, "the first writes and the second reads"},
          Pair{past.accesses.reads, accesses.writes, "the first reads and the second writes"}}) {
      const Range common = overlap(pair.first, pair.second);
      if (common.begin == common.end) continue;
      report.add("race", past.what + " and " + what + " are not ordered: " + pair.how + " " +
                             std::to_string(common.end - common.begin) + " bytes");
      break;
    }
  }
  past_.push_back({what, stream, clock.at(stream), std::move(accesses)});
}

void Races::forget(const Clock& known) {
  const auto old = [&](const Past& past) { return known.at(past.stream) >= past.number; };
  past_.erase(std::remove_if(past_.begin(), past_.end(), old), past_.end());
}

}  // namespace weft::sim
