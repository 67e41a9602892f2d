#include "cpu/tape-reads.h"

#include <algorithm>

namespace weft::cpu {
namespace {

// Bytes of a window, about: what the second-level cache of a core holds, as a quarter of that takes a fifth
// longer to read, and of less than 256 MiB a 256th, since a window may go beyond what its thread has to do.
constexpr int64_t kLeastWindowBytes = int64_t{1} << 18, kMostWindowBytes = int64_t{1} << 20;
constexpr int64_t kWindowsOfAll = 256;

// Bytes of which the system hears at a time that they will be read, where a window waits for the disk, so
// that it reads them while others are computed on.
constexpr int64_t kAnnouncedBytes = int64_t{4} << 20;

// The elements [first, last) that a load takes.
Range rangeOf(const Value& value, const Affine& affine, const Position& at) {
  const int64_t base = baseOf(affine, at);
  Range range{base, base};
  const auto extend = [&](int64_t way) { (way < 0 ? range.first : range.last) += way; };
  if (value.rows) extend(affine.row * (at.rows - 1));
  if (value.lanes && affine.mode == LaneMode::stride) extend(affine.lane * (at.valid - 1));
  if (value.lanes && affine.mode == LaneMode::table) {
    extend(affine.tableLow);
    extend(affine.tableHigh);
  }
  range.last++;
  return range;
}

}  // namespace

bool hasReads(const Tape& tape, const TapeBuffer* buffers) {
  return std::any_of(buffers, buffers + tape.buffers.size(), [](const TapeBuffer& b) { return b.source; });
}

bool isReadByOneLoad(const Tape& tape, size_t buffer) {
  int loads = 0;
  const auto count = [&](const Section& section) {
    for (const Instruction& i : section) {
      if (i.code != Opcode::load || i.access.buffer != static_cast<int>(buffer)) continue;
      // Elements outside of bounds would be read as well.
      loads += i.access.bounds.empty() ? 1 : 2;
    }
  };
  for (const Section& section : tape.rowSections) count(section);
  for (const Section& section : tape.walks) count(section);
  return loads == 1;
}

TapeReads::TapeReads(const Tape& tape, const TapeBuffer* buffers)
    : tape_(tape),
      whole_(buffers),
      buffers_(buffers, buffers + tape.buffers.size()),
      windows_(buffers_.size()) {
  for (TapeBuffer& buffer : buffers_)
    if (buffer.source != nullptr) buffer.last = buffer.first;
}

const TapeBuffer* TapeReads::with(const Instruction& load, const Position& at) {
  const int buffer = load.access.buffer;
  const TapeBuffer& whole = whole_[buffer];
  if (whole.source == nullptr) return buffers_.data();
  const Range range = rangeOf(tape_.values[load.value], load.access.affine, at);
  const int64_t first = std::max(range.first, whole.first);
  const int64_t last = std::min(range.last, whole.last);
  const TapeBuffer& here = buffers_[buffer];
  if (first < here.first || last > here.last) fill(buffer, first, last);
  return buffers_.data();
}

// Reads as many blocks like [first, last) as a window takes, and the rest of the last one's chunk.
void TapeReads::fill(int buffer, int64_t first, int64_t last) {
  const TapeBuffer& whole = whole_[buffer];
  const int64_t size = byteLengthOf(tape_.buffers[buffer].dtype);
  const int64_t block = std::max<int64_t>(1, last - first);
  const int64_t share = (whole.last - whole.first) * size / kWindowsOfAll;
  const int64_t bytes = std::clamp(share, kLeastWindowBytes, kMostWindowBytes);
  const int64_t blocks = std::max<int64_t>(1, bytes / (block * size));
  const int64_t end = std::min(whole.last, first + blocks * block + kChunk);
  Window& window = windows_[buffer];
  if (window.capacity < end - first) {
    window.capacity = blocks * block + kChunk;
    window.memory.reset();
    window.memory.emplace(window.capacity * size);
  }
  TapeBuffer& here = buffers_[buffer];
  here.last = here.first;
  const int64_t soon = std::max<int64_t>(0, std::min(whole.last, first + kAnnouncedBytes / size) - end);
  whole.source->readOn(first * size, (end - first) * size, soon * size, window.memory->data());
  here.data = window.memory->data() - first * size;
  here.first = first;
  here.last = end;
}

}  // namespace weft::cpu
