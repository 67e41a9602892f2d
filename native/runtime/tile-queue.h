// TileQueue: which of several runs does which part of work that each of them could do. The run that comes to
// a part first has it.
#pragma once
#include <napi.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace weft {

class TileQueue {
 public:
  explicit TileQueue(size_t count) : taken_(count) {}

  size_t count() const { return taken_.size(); }
  // Whether the part is the caller's. Any thread.
  bool take(size_t part) { return !taken_[part].exchange(true); }

 private:
  std::vector<std::atomic<bool>> taken_;
};

struct TileQueueHandle {
  static constexpr const char* kWhat = "tileQueue";
  std::shared_ptr<TileQueue> queue;
};

// createTileQueue(count: number): object
Napi::Value createTileQueue(const Napi::CallbackInfo& info);

}  // namespace weft
