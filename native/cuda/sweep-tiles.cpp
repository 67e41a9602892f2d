// Which tiles a run of a sweep does, in which order, and what their slots have to wait for.
#include <algorithm>

#include "cuda/sweep.h"

namespace weft::cuda {
namespace {

// Tiles of a shared sweep that a run takes ahead of the last one that its device has done: as many as fill
// the slots, and one that is got ready.
constexpr int64_t kClaimedAhead = 4;
// Between two looks at a device that has enough to do.
constexpr std::chrono::nanoseconds kTileNap = std::chrono::microseconds(20);

bool isSame(const SweepWindow* held, const SweepWindow& window) {
  return held != nullptr && held->first == window.first && held->rowBytes == window.rowBytes &&
         held->rows == window.rows;
}

}  // namespace

// Parts that other runs have are passed by. They are asked for as late as keeps the device at work, so that
// none waits here that another device could do at once.
std::optional<int64_t> SweepRun::nextTile(int64_t place) {
  bool isReady = false;
  for (; next_ < sweep_.tiles; next_++) {
    if (sweep_.queueParts.empty() || sweep_.queueParts[next_] == ownPart_) return next_++;
    const int part = sweep_.queueParts[next_];
    if (next_ > 0 && sweep_.queueParts[next_ - 1] == part) continue;
    if (!isReady && !awaitDevice(place)) return std::nullopt;
    isReady = true;
    if (!run_.tileQueue->take(static_cast<size_t>(part))) continue;
    ownPart_ = part;
    return next_++;
  }
  return std::nullopt;
}

bool SweepRun::awaitDevice(int64_t place) {
  const int64_t before = place - kClaimedAhead;
  if (before < 0) return true;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || computed_ > before; });
    if (stopping_) return false;
  }
  while (!copies_->computed.isReached(before)) {
    checkCancelled(*run_.cancel);
    nap(kTileNap);
  }
  return true;
}

void SweepRun::take(int64_t place) {
  const std::optional<int64_t> tile = nextTile(place);
  const std::lock_guard lock(mutex_);
  if (tile) {
    taken_.push_back(takenAs(*tile, place));
  } else {
    end_ = place;
  }
  changed_.notify_all();
}

SweepRun::Taken SweepRun::takenAs(int64_t tile, int64_t place) {
  Taken taken{tile};
  for (Track& track : tracks_) {
    const SweepWindow& window = track.buffer.windows[tile];
    track.brings = false;
    if (track.uses.empty() || window.rows == 0) continue;
    SlotUse& use = track.uses[window.slot];
    if (track.buffer.direction == SweepDirection::in) {
      // A claimed part begins with all of its windows, of which some may be those of the part before.
      track.brings = window.copies && (sweep_.queueParts.empty() || !isSame(use.window, window));
      if (track.brings) {
        taken.inUser = std::max(taken.inUser, use.user);
        use.window = &window;
      }
      use.user = place;
    } else if (track.buffer.direction == SweepDirection::out) {
      // Steps write to the slot, of a tile whose results are copied out now or later.
      taken.outUser = std::max(taken.outUser, use.user);
      // Slots that were only computed into are ordered in the stream of the steps.
      if (window.copies) use.user = place;
    }
  }
  return taken;
}

}  // namespace weft::cuda
