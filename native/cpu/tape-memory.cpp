#include "cpu/tape-memory.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "cpu/tape-bounds.h"

namespace weft::cpu {
namespace {

// Reads as any dtype's zero.
alignas(64) char zeroChunk[kChunk * 16];

// Buffers from this size on may not be in the caches when they are read.
constexpr int64_t kFarBytes = int64_t{1} << 20;
// And from this one on not in the last of them either.
constexpr int64_t kMemoryBytes = int64_t{32} << 20;

// Rows from which on lanes that are apart are read a square at a time.
constexpr int64_t kSquareRows = 8;

BlockShape shapeOf(const Tape& tape, const Value& value, const Position& at) {
  return {value.rows ? at.rows : 1, value.lanes ? at.valid : 1, value.lanes ? tape.paddedWidth() : kChunk};
}

Operand operandOf(const Value& value, const BlockShape& shape, char* data) {
  return {data, value.rows ? shape.rowStep : 0, value.lanes ? kChunk : 0};
}

// Lanes [first, last) of one row from memory, where `from` is the row's lane 0.
void moveLanes(const MoveFunctions& moves, const Affine& affine, char* row, const char* from, int64_t first,
               int64_t last, int64_t size) {
  const int64_t count = last - first;
  switch (affine.mode) {
    case LaneMode::splat:
      for (int64_t l = first; l < last; l++) std::memcpy(row + l * size, from, size);
      break;
    case LaneMode::stride:
      if (affine.lane == 1) {
        std::memcpy(row + first * size, from + first * size, count * size);
      } else {
        moves.gather(row + first * size, from + first * affine.lane * size, count, affine.lane);
      }
      break;
    case LaneMode::table:
      moves.gatherTable(row + first * size, from, count, affine.table.data() + first);
      break;
  }
}

Operand loadFree(const Tape& tape, const Instruction& instruction, const Position& at,
                 const TapeBuffer& buffer, char* registers, bool inPlace) {
  const Value& value = tape.values[instruction.value];
  const Affine& affine = instruction.access.affine;
  const BlockShape shape = shapeOf(tape, value, at);
  const int64_t size = value.byteLength;
  const int64_t base = baseOf(affine, at);
  const MoveFunctions& moves = tape.registry->moves(static_cast<int>(size));
  const char* const from = static_cast<const char*>(buffer.data) + base * size;

  if (instruction.isSingle && inPlace) return {const_cast<char*>(from), affine.row, 0};
  if (!value.lanes) {
    moves.fill(registers, from, shape.rows, affine.row);
    return operandOf(value, shape, registers);
  }
  const int64_t padded = (shape.lanes + kChunk - 1) / kChunk * kChunk;
  if (affine.mode == LaneMode::stride && affine.lane == 1 && inPlace) {
    const int64_t lastRow = base + std::max<int64_t>(0, affine.row * (shape.rows - 1));
    if (lastRow + (instruction.endsWithLanes ? shape.lanes : padded) <= buffer.last) {
      const int64_t rowBytes = value.rows ? affine.row * size : 0;
      const int64_t step =
          shape.rows > 1 ? shape.rows * rowBytes : std::min(padded, tape.paddedWidth()) * size;
      const int64_t allBytes = (buffer.last - buffer.first) * size;
      const Ahead ahead =
          allBytes >= kFarBytes ? Ahead{from + step, rowBytes, size, allBytes >= kMemoryBytes} : Ahead{};
      return {const_cast<char*>(from), value.rows ? affine.row : 0, kChunk, false, ahead};
    }
  }
  const bool tiled = affine.mode == LaneMode::stride && shape.rows >= kSquareRows &&
                     std::abs(affine.row) < std::abs(affine.lane);
  if (tiled)
    moves.gatherTile(registers, shape.rowStep, from, shape.rows, shape.lanes, affine.row, affine.lane);
  for (int64_t r = 0; r < shape.rows; r++) {
    char* row = registers + r * shape.rowStep * size;
    if (!tiled) moveLanes(moves, affine, row, from + r * affine.row * size, 0, shape.lanes, size);
    std::memset(row + shape.lanes * size, 0, (padded - shape.lanes) * size);
  }
  return operandOf(value, shape, registers);
}

// Lanes [first, last) of a chunk of a row, zero around them, to where edges are.
void copyEdge(const Operand& operand, int64_t row, int64_t chunk, int64_t first, int64_t last, int64_t size) {
  char* const to = operand.edges.data + operand.edges.placeOf(row, chunk > 0) * size;
  const char* const line = operand.data + row * operand.rowStep * size;
  std::memset(to, 0, kChunk * size);
  std::memcpy(to + (first - chunk) * size, line + first * size, (last - first) * size);
}

// A load that reads in place but for chunks at the edges: what lies outside of bounds or of memory there is
// read into the register.
std::optional<Operand> loadWithEdges(const Tape& tape, const Instruction& instruction, const Position& at,
                                     const TapeBuffer& buffer, char* registers, RowEnds& ends) {
  const Value& value = tape.values[instruction.value];
  const Affine& affine = instruction.access.affine;
  const BlockShape shape = shapeOf(tape, value, at);
  const int64_t chunks = at.chunks();
  if (!value.lanes || affine.mode != LaneMode::stride || affine.lane != 1 || chunks < 3) return {};
  const std::optional<LaneInterval> found = sharedInterval(instruction.access.bounds, at, shape);
  const int64_t tail = (chunks - 1) * kChunk;
  if (!found || found->first >= kChunk || found->last < tail) return {};

  const int64_t base = baseOf(affine, at);
  const int64_t span = affine.row * (shape.rows - 1);
  const int64_t low = base + std::min<int64_t>(0, span);
  const int64_t high = base + std::max<int64_t>(0, span);
  Edges edges{registers, value.rows ? kEdgesOfRow : 0, found->first > 0,
              found->last < shape.lanes || high + chunks * kChunk > buffer.last};
  if (!edges.first && !edges.last) return {};
  const int64_t firstRead = low + (edges.first ? kChunk : 0);
  if (firstRead < buffer.first || high + tail > buffer.last) return {};
  const int64_t size = value.byteLength;
  char* const from = static_cast<char*>(buffer.data) + base * size;
  const Operand operand{from, value.rows ? affine.row : 0, kChunk, false, {}, edges};
  ends = {found->first, found->last, hasFolds(instruction.access.bounds)};
  if (!ends.areCopied) return operand;
  const auto copy = [&](int64_t row, int64_t chunk, int64_t first, int64_t last) {
    char* const to = registers + edges.placeOf(row, chunk > 0) * size;
    char* const line = from + row * affine.row * size;
    copyEdge(operand, row, chunk, first, last, size);
    const auto fold = [&](int64_t begin, int64_t end) {
      for (int64_t l = begin; l < end; l++) {
        const std::optional<int64_t> moved = movedAt(instruction.access.bounds, at, row, l);
        if (moved) std::memcpy(to + (l - chunk) * size, line + (l + *moved) * size, size);
      }
    };
    fold(chunk, first);
    fold(last, std::min(chunk + kChunk, shape.lanes));
  };
  for (int64_t row = 0; row < shape.rows; row++) {
    if (edges.first) copy(row, 0, found->first, kChunk);
    if (edges.last) copy(row, tail, tail, found->last);
  }
  return operand;
}

// Lanes ahead of which a gather asks for elements: about as many as the second-level cache waits for.
constexpr int64_t kGatherAhead = 4 * kChunk;

// Elements of a row at chosen places, chunk by chunk. An element is written after its place is read, which
// may be in the same register.
//
// Those of a large array are asked for ahead, into the second-level cache, which waits for more lines at once
// than the first level does: 2^24 random float32 of 64 MiB take 65 ms of a Zen 4 instead of 117, asked for
// in the first level 112.
template <typename T>
void gatherLanes(T* row, const T* line, int64_t lanes, const int64_t* chosen, int64_t chunkStep,
                 const Affine& affine, int64_t stride, bool isFar) {
  const int64_t step = affine.mode == LaneMode::stride ? affine.lane : 0;
  // Inlined, as gcc drops calls of a function that only prefetches.
  const auto prefetch = [&](int64_t first, int64_t last) __attribute__((always_inline)) {
    for (int64_t l = first; l < std::min(last, lanes); l++) {
      const int64_t index = chosen[l / kChunk * chunkStep + l % kChunk];
      __builtin_prefetch(line + l * step + index * stride, 0, 2);
    }
  };
  if (isFar) prefetch(0, kGatherAhead);
  for (int64_t first = 0; first < lanes; first += kChunk) {
    if (isFar) prefetch(first + kGatherAhead, first + kGatherAhead + kChunk);
    const int64_t* const own = chosen + first / kChunk * chunkStep;
    const int64_t count = std::min(kChunk, lanes - first);
    for (int64_t k = 0; k < count; k++) {
      const T element = line[(first + k) * step + own[k] * stride];
      row[first + k] = element;
    }
  }
}

struct Wide {
  uint64_t low, high;
};

int64_t indexAt(const Operand& indices, int64_t row, int64_t lane) {
  const auto* const data = reinterpret_cast<const int64_t*>(indices.data);
  return data[row * indices.rowStep + lane / kChunk * indices.chunkStep + lane % kChunk];
}

bool isIn(Range window, int64_t index) { return index >= window.first && index < window.last; }

// Calls a function with a zero of an element's size.
template <typename Function>
void withElement(int64_t size, const Function& call) {
  if (size == 1) return call(uint8_t{});
  if (size == 2) return call(uint16_t{});
  if (size == 4) return call(uint32_t{});
  if (size == 8) return call(uint64_t{});
  call(Wide{});
}

}  // namespace

int64_t baseOf(const Affine& affine, const Position& at) {
  int64_t base = affine.offset;
  for (size_t i = 0; i < at.loopCount; i++) base += affine.loops[i] * at.loops[i];
  return base;
}

void copyEnds(const Operand& operand, RowEnds& ends, const Position& at, int64_t size) {
  if (!operand.edges.areThere() || ends.areCopied) return;
  const int64_t tail = (at.chunks() - 1) * kChunk;
  for (int64_t row = 0; row < (operand.edges.rowStep == 0 ? 1 : at.rows); row++) {
    if (operand.edges.first) copyEdge(operand, row, 0, ends.first, kChunk, size);
    if (operand.edges.last) copyEdge(operand, row, tail, tail, ends.last, size);
  }
  ends.areCopied = true;
}

Operand load(const Tape& tape, const Instruction& instruction, const Position& at, const TapeBuffer* buffers,
             char* registers, bool inPlace, RowEnds& ends) {
  const Access& access = instruction.access;
  const TapeBuffer& buffer = buffers[access.buffer];
  if (instruction.hasEdges && inPlace) {
    const std::optional<Operand> found = loadWithEdges(tape, instruction, at, buffer, registers, ends);
    if (found) return *found;
  }
  if (access.bounds.empty()) return loadFree(tape, instruction, at, buffer, registers, inPlace);
  const Value& value = tape.values[instruction.value];
  const BlockShape shape = shapeOf(tape, value, at);
  const BoundsHold where = boundsHold(access.bounds, at, shape);
  if (where == BoundsHold::everywhere) return loadFree(tape, instruction, at, buffer, registers, inPlace);
  if (where == BoundsHold::nowhere) return {zeroChunk, 0, 0};

  const int64_t size = value.byteLength;
  const int64_t base = baseOf(access.affine, at);
  const int64_t padded = (shape.lanes + kChunk - 1) / kChunk * kChunk;
  const MoveFunctions& moves = tape.registry->moves(static_cast<int>(size));
  const bool byLane = hasTable(access.bounds);
  const bool isFolded = hasFolds(access.bounds);
  for (int64_t r = 0; r < shape.rows; r++) {
    char* row = registers + r * shape.rowStep * size;
    const char* from = static_cast<const char*>(buffer.data) + (base + r * access.affine.row) * size;
    std::memset(row, 0, padded * size);
    const auto copy = [&](int64_t first, int64_t last) {
      for (int64_t l = first; l < last; l++) {
        const std::optional<int64_t> moved = movedAt(access.bounds, at, r, l);
        if (moved) std::memcpy(row + l * size, from + (laneOffset(access.affine, l) + *moved) * size, size);
      }
    };
    if (byLane) {
      copy(0, shape.lanes);
    } else {
      const LaneInterval lanes = intervalOf(access.bounds, at, r, shape.lanes);
      if (lanes.first < lanes.last) {
        const int64_t moved = isFolded ? *movedAt(access.bounds, at, r, lanes.first) : 0;
        moveLanes(moves, access.affine, row, from + moved * size, lanes.first, lanes.last, size);
      }
      if (isFolded) {
        copy(0, lanes.first);
        copy(lanes.last, shape.lanes);
      }
    }
    // A value that does not vary along the lanes is read as a whole chunk.
    if (!value.lanes) moves.fill(row, row, 1, 0);
  }
  return operandOf(value, shape, registers);
}

Operand gather(const Tape& tape, const Instruction& instruction, const Position& at,
               const TapeBuffer* buffers, const Operand& indices, Range window, char* registers) {
  const Value& value = tape.values[instruction.value];
  const Affine& affine = instruction.access.affine;
  const BlockShape shape = shapeOf(tape, value, at);
  const int64_t size = value.byteLength;
  const int64_t padded = (shape.lanes + kChunk - 1) / kChunk * kChunk;
  const TapeBuffer& buffer = buffers[instruction.access.buffer];
  const char* const from = static_cast<const char*>(buffer.data) + baseOf(affine, at) * size;
  const bool isFar = indices.chunkStep != 0 && (buffer.last - buffer.first) * size >= kFarBytes;
  const bool isBounded = !instruction.access.bounds.empty();
  const bool isWindowed = instruction.indexValue == tape.windowIndex;
  for (int64_t r = 0; r < shape.rows; r++) {
    char* const row = registers + r * shape.rowStep * size;
    const int64_t* const chosen = reinterpret_cast<const int64_t*>(indices.data) + r * indices.rowStep;
    const char* const line = from + r * affine.row * size;
    const auto place = [&](int64_t l) {
      const int64_t index = chosen[l / kChunk * indices.chunkStep + l % kChunk];
      return laneOffset(affine, l) + index * instruction.indexStride;
    };
    const auto copy = [&](auto zero) {
      using Element = decltype(zero);
      gatherLanes(reinterpret_cast<Element*>(row), reinterpret_cast<const Element*>(line), shape.lanes,
                  chosen, indices.chunkStep, affine, instruction.indexStride, isFar);
    };
    // The register may be that of the indices: each is read before its element is written.
    if (isWindowed) {
      withElement(size, [&](auto zero) {
        using Element = decltype(zero);
        for (int64_t l = 0; l < shape.lanes; l++) {
          const bool isThere = isIn(window, indexAt(indices, r, l)) &&
                               (!isBounded || boundsHoldAt(instruction.access.bounds, at, r, l));
          const Element element = isThere ? reinterpret_cast<const Element*>(line)[place(l)] : zero;
          reinterpret_cast<Element*>(row)[l] = element;
        }
      });
    } else if (isBounded || affine.mode == LaneMode::table) {
      for (int64_t l = 0; l < shape.lanes; l++) {
        if (isBounded && !boundsHoldAt(instruction.access.bounds, at, r, l))
          std::memset(row + l * size, 0, size);
        else
          std::memcpy(row + l * size, line + place(l) * size, size);
      }
    } else {
      withElement(size, copy);
    }
    std::memset(row + shape.lanes * size, 0, (padded - shape.lanes) * size);
    // A value that does not vary along the lanes is read as a whole chunk.
    if (!value.lanes) tape.registry->moves(static_cast<int>(size)).fill(row, row, 1, 0);
  }
  return operandOf(value, shape, registers);
}

Operand index(const Tape& tape, const Instruction& instruction, const Position& at, char* registers) {
  const Value& value = tape.values[instruction.value];
  const Affine& affine = instruction.access.affine;
  const BlockShape shape = shapeOf(tape, value, at);
  const int64_t base = baseOf(affine, at);
  const int64_t padded = (shape.lanes + kChunk - 1) / kChunk * kChunk;
  for (int64_t r = 0; r < shape.rows; r++) {
    int64_t* row = reinterpret_cast<int64_t*>(registers) + r * shape.rowStep;
    const int64_t start = base + r * affine.row;
    if (affine.mode == LaneMode::table) {
      for (int64_t l = 0; l < shape.lanes; l++) row[l] = start + affine.table[l];
      std::fill(row + shape.lanes, row + padded, 0);
    } else {
      const int64_t step = affine.mode == LaneMode::stride ? affine.lane : 0;
      for (int64_t l = 0; l < padded; l++) row[l] = start + step * l;
    }
  }
  return operandOf(value, shape, registers);
}

Operand inside(const Tape& tape, const Instruction& instruction, const Position& at, char* registers) {
  const Value& value = tape.values[instruction.value];
  const BlockShape shape = shapeOf(tape, value, at);
  const int64_t padded = (shape.lanes + kChunk - 1) / kChunk * kChunk;
  const BoundsHold where = boundsHold(instruction.bounds, at, shape);
  const bool byLane = hasTable(instruction.bounds);
  for (int64_t r = 0; r < shape.rows; r++) {
    char* row = registers + r * shape.rowStep;
    std::memset(row, where == BoundsHold::everywhere ? 1 : 0, padded);
    if (where == BoundsHold::somewhere && byLane) {
      for (int64_t l = 0; l < shape.lanes; l++) row[l] = boundsHoldAt(instruction.bounds, at, r, l) ? 1 : 0;
    } else if (where == BoundsHold::somewhere) {
      const LaneInterval lanes = intervalOf(instruction.bounds, at, r, shape.lanes);
      std::memset(row + lanes.first, 1, lanes.last - lanes.first);
    }
    if (!value.lanes) std::memset(row, row[0], padded);
  }
  return operandOf(value, shape, registers);
}

void store(const Tape& tape, const Access& access, const Position& at, int64_t rows, int64_t lanes,
           const Operand& value, const TapeBuffer* buffers, bool streams) {
  const Affine& affine = access.affine;
  const int64_t size = byteLengthOf(tape.buffers[access.buffer].dtype);
  const MoveFunctions& moves = tape.registry->moves(static_cast<int>(size));
  char* const memory = static_cast<char*>(buffers[access.buffer].data) + baseOf(affine, at) * size;
  // Of a result in its place, all but the last chunk of each row is there already.
  if (value.edges.areThere()) {
    const int64_t tail = (lanes - 1) / kChunk * kChunk;
    for (int64_t r = 0; r < rows; r++)
      std::memcpy(memory + (r * affine.row + tail) * size,
                  value.edges.data + value.edges.placeOf(r, true) * size, (lanes - tail) * size);
    return;
  }
  // A result computed in place is there already.
  const bool isDense = affine.mode == LaneMode::stride && affine.lane == 1 && value.chunkStep != 0;
  if (isDense && value.data == memory && (rows == 1 || value.rowStep == affine.row)) return;
  // Values of one chunk are written chunk by chunk.
  const int64_t run = value.chunkStep == 0 ? kChunk : lanes;
  for (int64_t r = 0; r < rows; r++) {
    char* to = memory + r * affine.row * size;
    const char* row = value.data + r * value.rowStep * size;
    if (affine.mode == LaneMode::splat) {
      std::memcpy(to, row, size);
      continue;
    }
    for (int64_t l = 0; l < lanes; l += run) {
      const int64_t count = std::min(run, lanes - l);
      const char* from = row + (value.chunkStep == 0 ? 0 : l) * size;
      if (affine.mode == LaneMode::table) {
        moves.scatterTable(to, from, count, affine.table.data() + l);
      } else if (affine.lane == 1) {
        char* const line = to + l * size;
        const auto bits =
            reinterpret_cast<uintptr_t>(line) | reinterpret_cast<uintptr_t>(from) | (count * size);
        if (streams && bits % 64 == 0)
          tape.registry->streams().copy(line, from, count * size);
        else
          std::memcpy(line, from, count * size);
      } else {
        moves.scatter(to + l * affine.lane * size, from, count, affine.lane);
      }
    }
  }
}

void storeInWindow(const Tape& tape, const Access& access, const Position& at, int64_t rows, int64_t lanes,
                   const Operand& value, const Operand& indices, Range window, const TapeBuffer* buffers) {
  const Affine& affine = access.affine;
  const int64_t size = byteLengthOf(tape.buffers[access.buffer].dtype);
  char* const memory = static_cast<char*>(buffers[access.buffer].data) + baseOf(affine, at) * size;
  const int64_t count = affine.mode == LaneMode::splat ? 1 : lanes;
  for (int64_t r = 0; r < rows; r++) {
    withElement(size, [&](auto zero) {
      using Element = decltype(zero);
      auto* const to = reinterpret_cast<Element*>(memory + r * affine.row * size);
      const auto* const from = reinterpret_cast<const Element*>(value.data) + r * value.rowStep;
      for (int64_t l = 0; l < count; l++) {
        if (isIn(window, indexAt(indices, r, l)))
          to[laneOffset(affine, l)] = from[l / kChunk * value.chunkStep + l % kChunk];
      }
    });
  }
}

}  // namespace weft::cpu
