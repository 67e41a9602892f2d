#include "runtime/cpu-sweep.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/failure.h"
#include "runtime/host-pool.h"
#include "runtime/host-sink.h"

namespace weft {
namespace {

// A buffer of a sweep in one run.
struct Track {
  const SweepBuffer& buffer;
  // The whole buffer; its data is null where it is not in memory.
  HostView whole;
  Outside outside;
  // Whether its windows go through slots.
  bool usesSlots;
};

constexpr size_t kPieceByteLength = size_t{4} << 20;
constexpr size_t kReaders = 4;
// Bytes that pass through memory at a time where states of a loop are copied from file to file: so few that
// no budget counts them.
constexpr size_t kStagedByteLength = size_t{64} << 10;

// In place, the rows of windows must lie as kernels expect them: as far apart as in a slot.
bool liesAsInSlots(const SweepBuffer& buffer) {
  for (const SweepWindow& window : buffer.windows) {
    if (window.rows > 0 && liesInRows(buffer, window) && window.pitch != buffer.slotPitch) return false;
  }
  return true;
}

template <typename F>
void eachRow(const SweepWindow& window, size_t slotPitch, std::byte* slot, F body) {
  for (size_t row = 0; row < window.rows; row++)
    body(window.first + row * window.pitch, slot + row * slotPitch, window.rowBytes);
}

class SweepRun {
 public:
  SweepRun(const Sweep& sweep, CpuSteps& steps, const std::vector<Outside>& outside, std::byte* arena,
           Run& run)
      : sweep_(sweep), steps_(steps), arena_(reinterpret_cast<uintptr_t>(arena)), run_(run) {
    for (const SweepBuffer& buffer : sweep.buffers) {
      const HostView whole = steps.views[buffer.buffer];
      const Outside place = whole.data == nullptr ? outside[steps.backing[buffer.buffer]] : Outside{};
      const bool isOutside = place.source != nullptr || place.sinks != nullptr;
      const bool isThere = whole.data != nullptr || isOutside || buffer.direction == SweepDirection::local ||
                           run.program->buffers[buffer.buffer].byteLength == 0;
      const bool inPlace =
          whole.data != nullptr && liesAsInSlots(buffer) && (buffer.slots == 0 || !host::poison());
      if (!isThere || (!inPlace && whole.data != nullptr && buffer.slots == 0))
        throw Failure(FailureCode::internal, "a window has neither memory nor a slot");
      if (isOutside && buffer.slots == 0)
        throw Failure(FailureCode::internal, "a window that is read or written has no slot");
      tracks_.push_back({buffer, whole, place, !inPlace});
      readsAhead_ |= !inPlace && buffer.direction == SweepDirection::in;
    }
  }

  void operator()() {
    std::optional<std::thread> reader;
    if (readsAhead_ && sweep_.tiles > 0) reader.emplace([this] { readAhead(); });
    // The reader is not left alone with what it refers to.
    struct Join {
      SweepRun& sweep;
      std::optional<std::thread>& reader;
      ~Join() {
        if (!reader) return;
        sweep.stop();
        reader->join();
      }
    } const join{*this, reader};
    for (int64_t tile = 0; tile < sweep_.tiles; tile++) {
      checkCancelled(*run_.cancel);
      if (reader) awaitRead(tile);
      bind(tile);
      for (const SweepBody& part : sweep_.body) steps_.runPart(part, tile);
      // A tile that was stopped half way is not written.
      checkCancelled(*run_.cancel);
      writeOut(tile);
      end(tile);
    }
    for (const Track& track : tracks_) steps_.views[track.buffer.buffer] = track.whole;
  }

 private:
  WindowAddress inArena(const Track& track, const SweepWindow& window) const {
    return placeOf(track.buffer, window, weft::slotOf(track.buffer, window.slot, arena_));
  }

  std::byte* slotOf(const Track& track, const SweepWindow& window) const {
    return reinterpret_cast<std::byte*>(inArena(track, window).window);
  }

  // Points the buffers' views to the tile's windows.
  void bind(int64_t tile) {
    for (const Track& track : tracks_) {
      const SweepWindow& window = track.buffer.windows[tile];
      HostView& view = steps_.views[track.buffer.buffer];
      const size_t span = window.rows == 0 ? 0 : (window.rows - 1) * window.pitch + window.rowBytes;
      if (!track.usesSlots) {
        // Large results are written past the caches: how large they are as a whole is what counts.
        const bool isOut = track.buffer.direction == SweepDirection::out;
        view = {track.whole.data, isOut ? 0 : window.first, isOut ? track.whole.last : window.first + span};
        continue;
      }
      const WindowAddress place = inArena(track, window);
      const size_t first = place.window - place.base;
      const size_t length =
          window.rows > 1 ? (window.rows - 1) * track.buffer.slotPitch + window.rowBytes : span;
      view = {reinterpret_cast<std::byte*>(place.base), first, first + length};
      if (track.buffer.direction == SweepDirection::in || window.rows == 0) continue;
      if (track.buffer.direction == SweepDirection::local && window.copies) {
        carry(track, tile);
        continue;
      }
      if (host::poison() && !isAddedTo(track, tile)) poison(track, window);
    }
  }

  // Moves what the window before has of this one to its place here; nothing else of the slot is defined.
  void carry(const Track& track, int64_t tile) {
    const SweepWindow& before = track.buffer.windows[tile - 1];
    const SweepWindow& window = track.buffer.windows[tile];
    const size_t length =
        std::min(before.first + before.rowBytes, window.first + window.rowBytes) - window.first;
    std::byte* const to = slotOf(track, window);
    std::memmove(to, slotOf(track, before) + (window.first - before.first), length);
    if (!host::poison()) return;
    std::byte* const slot = reinterpret_cast<std::byte*>(weft::slotOf(track.buffer, window.slot, arena_));
    std::memset(slot, 0xff, static_cast<size_t>(to - slot));
    std::memset(to + length, 0xff, track.buffer.slotByteLength - static_cast<size_t>(to - slot) - length);
  }

  // Whether the tile goes on with what the one before has left in the slot.
  static bool isAddedTo(const Track& track, int64_t tile) {
    if (track.buffer.direction != SweepDirection::out || tile == 0) return false;
    const SweepWindow& before = track.buffer.windows[tile - 1];
    const SweepWindow& window = track.buffer.windows[tile];
    return before.rows > 0 && !before.copies && before.slot == window.slot && before.first == window.first;
  }

  // Nothing but the window, as it is so far, is defined. Windows that are read are so after this.
  void poison(const Track& track, const SweepWindow& window) {
    std::byte* const slot = reinterpret_cast<std::byte*>(arena_) + track.buffer.offset +
                            static_cast<size_t>(window.slot) * track.buffer.slotByteLength;
    std::memset(slot, 0xff, track.buffer.slotByteLength);
    if (track.buffer.direction != SweepDirection::out) return;
    // Outputs in files are not read back.
    if (track.whole.data != nullptr || track.outside.source != nullptr) copyIn(track, window);
  }

  void copyIn(const Track& track, const SweepWindow& window) {
    eachRow(window, track.buffer.slotPitch, slotOf(track, window),
            [&](size_t offset, std::byte* to, size_t bytes) {
              if (track.whole.data != nullptr)
                std::memcpy(to, track.whole.data + offset, bytes);
              else
                read(*track.outside.source, offset, bytes, to);
            });
  }

  // In pieces, by several threads where there are many: one alone is slower than fast disks.
  void read(HostSource& source, size_t offset, size_t byteLength, std::byte* to) {
    const size_t pieces = (byteLength + kPieceByteLength - 1) / kPieceByteLength;
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    const auto work = [&] {
      try {
        for (size_t piece = next++; piece < pieces && !cancelled(); piece = next++) {
          const size_t at = piece * kPieceByteLength;
          source.read(offset + at, std::min(kPieceByteLength, byteLength - at), to + at);
        }
      } catch (...) {
        next = pieces;
        const std::lock_guard lock(failing);
        failure = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> helpers;
      for (size_t i = 1; i < std::min(pieces, kReaders); i++) helpers.emplace_back(work);
      work();
    }
    if (failure) std::rethrow_exception(failure);
  }
  bool cancelled() const { return run_.cancel->load(std::memory_order_relaxed); }

  void writeOut(int64_t tile) {
    for (const Track& track : tracks_) {
      const SweepWindow& window = track.buffer.windows[tile];
      if (!track.usesSlots || track.buffer.direction != SweepDirection::out || !window.copies) continue;
      eachRow(window, track.buffer.slotPitch, slotOf(track, window),
              [&](size_t offset, const std::byte* from, size_t bytes) {
                if (track.whole.data != nullptr)
                  std::memcpy(track.whole.data + offset, from, bytes);
                else
                  for (const auto& sink : *track.outside.sinks) sink->write(offset, bytes, from);
              });
    }
  }

  // The second thread: reads each tile's windows as soon as the tiles that used their slots have ended.
  void readAhead() {
#ifdef __linux__
    pthread_setname_np(pthread_self(), "weft-read");
#endif
    try {
      // For each buffer and slot, the last tile before that uses it.
      std::vector<std::vector<int64_t>> users;
      for (const Track& track : tracks_) users.emplace_back(track.buffer.slots, -1);
      for (int64_t tile = 0; tile < sweep_.tiles; tile++) {
        for (size_t i = 0; i < tracks_.size(); i++) {
          const Track& track = tracks_[i];
          const SweepWindow& window = track.buffer.windows[tile];
          if (!track.usesSlots || track.buffer.direction != SweepDirection::in || window.rows == 0) continue;
          int64_t& user = users[i][window.slot];
          if (window.copies) {
            if (!awaitEnd(user)) return;
            if (host::poison()) poison(track, window);
            copyIn(track, window);
          }
          user = tile;
        }
        const std::lock_guard lock(mutex_);
        read_ = tile;
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  void awaitRead(int64_t tile) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return read_ >= tile || failure_; });
    if (failure_ && read_ < tile) std::rethrow_exception(failure_);
  }
  // Whether the tile ended; if not, all is to stop.
  bool awaitEnd(int64_t tile) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= tile || stopping_; });
    return ended_ >= tile && !stopping_;
  }
  void end(int64_t tile) {
    run_.tilesDone->fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    ended_ = tile;
    changed_.notify_all();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }

  const Sweep& sweep_;
  CpuSteps& steps_;
  const uintptr_t arena_;
  Run& run_;
  std::vector<Track> tracks_;
  bool readsAhead_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  // The last tile whose windows are there, and the last that ended.
  int64_t read_ = -1;
  int64_t ended_ = -1;
  bool stopping_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void runSweep(const Sweep& sweep, CpuSteps& steps, const std::vector<Outside>& outside, std::byte* arena,
              Run& run) {
  SweepRun(sweep, steps, outside, arena, run)();
}

void copyOutside(const HostView& from, const Outside& source, const HostView& to, const Outside& target,
                 size_t offset) {
  const auto write = [&](size_t at, size_t byteLength, const std::byte* bytes) {
    if (to.data != nullptr) {
      std::memcpy(to.data + offset + at, bytes, byteLength);
    } else {
      for (const auto& sink : *target.sinks) sink->write(offset + at, byteLength, bytes);
    }
  };
  if (from.data != nullptr) return write(0, from.last, from.data);
  std::vector<std::byte> piece(std::min(kStagedByteLength, from.last));
  for (size_t at = 0; at < from.last; at += piece.size()) {
    const size_t byteLength = std::min(piece.size(), from.last - at);
    source.source->read(at, byteLength, piece.data());
    write(at, byteLength, piece.data());
  }
}

}  // namespace weft
