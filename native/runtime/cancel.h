// Cancel: a token that stops the runs it is given to, between their steps and inside long CPU steps, and
// tells how far they are.
#pragma once
#include <napi.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft {

using CancelFlag = std::atomic<bool>;

// Tiles of sweeps that runs have finished.
using TileCount = std::atomic<int64_t>;

struct Cancel {
  static constexpr const char* kWhat = "a cancel token";
  std::shared_ptr<CancelFlag> flag = std::make_shared<CancelFlag>(false);
  std::shared_ptr<TileCount> tiles = std::make_shared<TileCount>(0);
};

// createCancel(): object
Napi::Value createCancel(const Napi::CallbackInfo& info);
// cancel(token: object): void
Napi::Value cancel(const Napi::CallbackInfo& info);

// tilesDone(token: object): number
Napi::Value tilesDone(const Napi::CallbackInfo& info);

// Throws the failure of an aborted run if the flag is set.
void checkCancelled(const CancelFlag& flag);
[[noreturn]] void throwCancelled();

}  // namespace weft
