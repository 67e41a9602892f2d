// State shared by the workers of one run of a tape.
#pragma once
#include <atomic>

#include "cpu/cpu.h"
#include "cpu/tape.h"

namespace weft::cpu {

constexpr int64_t alignedBytes(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Outputs of this size and more are written past the caches: with what is read they take more than the cache
// that cores share, where each line would be read first, and leave before the next kernel reads it.
inline constexpr int64_t kStreamBytes = int64_t{16} << 20;

// Lane operations that are worth waking a thread for.
inline constexpr int64_t kTaskWork = 1 << 17;

// Everything about a run that its workers share.
struct TapeJob {
  const Tape& tape;
  const TapeBuffer* buffers;
  const std::atomic<bool>* cancel;
  // An output lies in an input's memory: loads are copied, results are stored last.
  bool isAliased;
  // Chunks of the tape's constants.
  const char* constants;
  // The next run of a tile reads the values that it writes: nothing goes past the caches, or is asked for
  // ahead.
  bool isRepeated = false;
  // Indices of windowed buffers that are there.
  Range window = {0, INT64_MAX};
  bool streams(int buffer) const {
    if (isRepeated) return false;
    const TapeBuffer& b = buffers[buffer];
    return (b.last - b.first) * byteLengthOf(tape.buffers[buffer].dtype) >= kStreamBytes;
  }
  bool cancelled() const { return cancel && cancel->load(std::memory_order_relaxed); }
};

TapeJob jobOf(const Tape& tape, const TapeBuffer* buffers, const std::atomic<bool>* cancel);

// Lane operations of a tile, about.
int64_t workOfTile(const Tape& tape);

}  // namespace weft::cpu
