// TileFeed: gives lanes the chunks of tile after tile, without a pause between tiles: while the last chunks
// of one are copied, idle lanes begin the next.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda/staging.h"

namespace weft::cuda {

class TileFeed : public Feed {
 public:
  struct Tiles {
    // Waits until a tile's turn has come, and queues what lanes do not copy of it. Gives what they copy;
    // nothing: there are no more tiles, or all is to stop. Tile after tile, counted from 0.
    std::function<std::optional<std::vector<Transfer>>(int64_t tile)> begin;
    // All copies of a tile are in the stream. Tile after tile.
    std::function<void(int64_t tile)> end;
    // A lane has failed. Waiters in `begin` have to return.
    std::function<void(const std::exception_ptr& error)> stop;
  };
  // Chunks are of at most `most` bytes.
  TileFeed(Tiles tiles, size_t most) : tiles_(std::move(tiles)), most_(most) {}

  std::optional<Chunk> next() override;
  void queued(const Chunk& chunk) override;
  void stop(const std::exception_ptr& error) noexcept override;

 private:
  // Begins the next tile. Whether there is one.
  bool beginTile();
  void endTiles();

  const Tiles tiles_;
  const size_t most_;

  std::mutex nextMutex_;
  int64_t tile_ = 0;
  std::vector<Transfer> chunks_;
  size_t at_ = 0;
  bool isOver_ = false;

  std::mutex leftMutex_;
  // Of the tiles that have been begun and not ended, the first of which is `ended_`: the chunks that are not
  // queued yet.
  std::deque<size_t> left_;
  int64_t ended_ = 0;
};

}  // namespace weft::cuda
