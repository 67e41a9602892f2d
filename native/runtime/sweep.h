// Sweep: tiles that run the same steps one after the other, each on ranges of its own and on windows of the
// buffers that are too large to be on a device as a whole. Plain data, read once from a SweepSpec of
// src/exec/native/program-types.ts and then immutable; cpu-sweep.* runs it on the CPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/program.h"

namespace weft {

class Fields;

// Of a buffer, for a tile: `rows` rows of `rowBytes` bytes, `pitch` bytes apart. No rows: the tile does not
// touch it.
struct SweepWindow {
  int slot;
  // Whether to copy it in before the tile, or out after it; if not, it is there, or not wanted yet. Of a
  // value that the sweep makes, on the CPU: whether it begins with what the window of the tile before has of
  // it.
  bool copies;
  size_t first, rowBytes, rows, pitch;
};

enum class SweepDirection { in, out, local };

struct SweepBuffer {
  int buffer;
  SweepDirection direction;
  // In the arena; there may be none where the device works in the buffer's own memory.
  size_t offset, slotByteLength;
  int slots;
  // Bytes from row to row in a slot, for windows of several rows.
  size_t slotPitch;
  // One for each tile.
  std::vector<SweepWindow> windows;
};

// The range of a step that a tile runs: see SweepStep of src/exec/native/program-types.ts.
struct SweepRange {
  int64_t x0, x1, y0, y1, z0, z1;
};

struct SweepBody {
  Step step;
  // One for each tile; of a loop, one for each step of its body.
  std::vector<SweepRange> ranges;
  size_t parts = 1;

  const SweepRange* at(int64_t tile) const { return ranges.data() + static_cast<size_t>(tile) * parts; }
};

// Tiles that a sweep has at most.
inline constexpr int64_t kMostTiles = int64_t{1} << 24;

struct Sweep {
  int64_t tiles;
  // For each tile the part that it belongs to, of those that several runs share; empty: every run does all.
  std::vector<int> queueParts;
  std::vector<SweepBuffer> buffers;
  std::vector<SweepBody> body;
};

// Whether a window lies in its slot as rows that are as far apart as the slot's.
bool liesInRows(const SweepBuffer& buffer, const SweepWindow& window);

// Whether nothing is copied: windows are of values that are made and read in the same tile.
bool isLocal(const Sweep& sweep);

// Whether steps can use a buffer in sweeps only, which have windows of it.
bool isSwept(const Program& program, int buffer);

// Where a window lies in its slot, and the address that the whole buffer's first byte would have: a multiple
// of kDeviceAlignment, so that all is aligned as in the whole buffer. Windows of several rows are as in a
// buffer whose rows are as far apart as the slot's.
struct WindowAddress {
  uintptr_t window;
  uintptr_t base;
};
WindowAddress placeOf(const SweepBuffer& buffer, const SweepWindow& window, uintptr_t slot);
// The address of a slot.
uintptr_t slotOf(const SweepBuffer& buffer, int slot, uintptr_t arena);

// The buffers that a step reads and writes.
std::vector<int> buffersOf(const Step& step);

// Reads a sweep, and checks all that running it relies on.
Step readSweep(const Fields& fields, Program& program);

}  // namespace weft
