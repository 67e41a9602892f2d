// Tables and plans of Fourier transforms that are kept for the next one of their length.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace weft::cpu {

// Values by length, as long as they are used, and those that were used last within some bytes.
template <typename Value>
class Kept {
 public:
  template <typename Make>
  std::shared_ptr<Value> get(int64_t length, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(latest_.begin(), latest_.end(),
                                    [&](const Entry& entry) { return entry.length == length; });
    if (found != latest_.end()) {
      latest_.splice(latest_.begin(), latest_, found);
      return latest_.front().value;
    }
    auto [value, bytes] = make();
    latest_.push_front({length, value, bytes});
    bytes_ += bytes;
    for (; bytes_ > kMostBytes && latest_.size() > 1; latest_.pop_back()) bytes_ -= latest_.back().bytes;
    return value;
  }

 private:
  struct Entry {
    int64_t length;
    std::shared_ptr<Value> value;
    size_t bytes;
  };
  static constexpr size_t kMostBytes = size_t{64} << 20;
  std::mutex mutex_;
  std::list<Entry> latest_;
  size_t bytes_ = 0;
};

}  // namespace weft::cpu
