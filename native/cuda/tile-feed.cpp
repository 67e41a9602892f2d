#include "cuda/tile-feed.h"

#include <algorithm>

namespace weft::cuda {
namespace {

// Of the first tile, lanes copy no more than this at a time, so that the bus has not long to wait.
constexpr size_t kFirstByteLength = size_t{1} << 20;

}  // namespace

std::optional<Feed::Chunk> TileFeed::next() {
  // A lane that waits here while another one waits for a tile's turn has nothing else to do.
  const std::lock_guard lock(nextMutex_);
  while (!isOver_ && at_ == chunks_.size()) isOver_ = !beginTile();
  if (isOver_) return std::nullopt;
  return Chunk{chunks_[at_++], tile_ - 1};
}

bool TileFeed::beginTile() {
  // A lane that fails in `begin` leaves nothing for the others, nor does one that finds no more tiles.
  isOver_ = true;
  const std::optional<std::vector<Transfer>> transfers = tiles_.begin(tile_);
  if (!transfers) return false;
  chunks_ = chunksOf(*transfers, tile_ == 0 ? std::min(kFirstByteLength, most_) : most_);
  at_ = 0;
  tile_++;
  const std::lock_guard lock(leftMutex_);
  left_.push_back(chunks_.size());
  endTiles();
  isOver_ = false;
  return true;
}

void TileFeed::queued(const Chunk& chunk) {
  const std::lock_guard lock(leftMutex_);
  left_[static_cast<size_t>(chunk.of - ended_)]--;
  endTiles();
}

void TileFeed::endTiles() {
  while (!left_.empty() && left_.front() == 0) {
    tiles_.end(ended_);
    left_.pop_front();
    ended_++;
  }
}

void TileFeed::stop(const std::exception_ptr& error) noexcept { tiles_.stop(error); }

}  // namespace weft::cuda
