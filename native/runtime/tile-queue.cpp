#include "runtime/tile-queue.h"

#include "runtime/sweep.h"
#include "runtime/values.h"

namespace weft {

Napi::Value createTileQueue(const Napi::CallbackInfo& info) {
  const auto count = static_cast<size_t>(values::integer(info[0], "count", 1, kMostTiles));
  auto handle = std::make_unique<TileQueueHandle>();
  handle->queue = std::make_shared<TileQueue>(count);
  return values::makeHandle(info.Env(), std::move(handle));
}

}  // namespace weft
