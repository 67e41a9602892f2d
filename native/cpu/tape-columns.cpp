#include "cpu/tape-columns.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/column-kernels.h"
#include "cpu/isa.h"

namespace weft::cpu {

#define WEFT_DECLARE_COLUMNS(isa)       \
  namespace isa {                       \
  const ColumnKernels* columnKernels(); \
  }
WEFT_DECLARE_COLUMNS(baseline)
#ifdef WEFT_HAS_AVX
WEFT_DECLARE_COLUMNS(avx2)
WEFT_DECLARE_COLUMNS(avx512)
#endif
#undef WEFT_DECLARE_COLUMNS

const ColumnKernels* columnKernels() {
#ifdef WEFT_HAS_AVX
  if (currentIsa() == Isa::avx512) return avx512::columnKernels();
  if (currentIsa() == Isa::avx2) return avx2::columnKernels();
#endif
  return baseline::columnKernels();
}

namespace {

const ColumnKernels& columnKernelsOf(int64_t byteLength) {
  return columnKernels()[std::bit_width(static_cast<uint64_t>(byteLength)) - 1];
}

// Whether an access has elements of rows of as many as they are apart.
bool isColumn(const Instruction& i) {
  const Affine& affine = i.access.affine;
  return affine.mode == LaneMode::stride && affine.lane >= 2 && affine.lane <= kMostColumns &&
         i.access.bounds.empty();
}

bool areOfOneArray(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.affine.loops == b.affine.loops && a.affine.row == b.affine.row &&
         a.affine.lane == b.affine.lane;
}

// Makes one of instructions at positions of a section whose columns follow one another.
void join(Section& section, std::vector<size_t> found) {
  const auto offsetOf = [&](size_t at) { return section[at].access.affine.offset; };
  const size_t first = found.front();
  std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) { return offsetOf(a) < offsetOf(b); });
  if (static_cast<int64_t>(found.size()) != section[first].access.affine.lane) return;
  for (size_t c = 1; c < found.size(); c++)
    if (offsetOf(found[c]) != offsetOf(found[0]) + static_cast<int64_t>(c)) return;
  for (const size_t at : found) section[at].isOfColumns = true;
  section[first].columns = std::make_shared<const Columns>(Columns{std::move(found)});
}

}  // namespace

void markColumns(const Tape& tape, Section& section) {
  const auto canJoin = [&](const Instruction& i) {
    if (!isColumn(i)) return false;
    if (i.code == Opcode::store) return tape.windowIndex < 0;
    // Rows beside one another are read a square at a time.
    const bool isAcross = tape.values[i.value].rows && std::abs(i.access.affine.row) < i.access.affine.lane;
    return tape.values[i.value].lanes && !i.isKept && !isAcross;
  };
  const auto isAlike = [&](const Instruction& a, const Instruction& b) {
    return a.code == b.code && areOfOneArray(a.access, b.access) &&
           tape.values[a.value].rows == tape.values[b.value].rows;
  };
  for (size_t begin = 0; begin < section.size();) {
    // A load whose place is chosen by a value reads that one, and registers of values that nothing reads any
    // more are those of later ones.
    const Opcode code = section[begin].code;
    const bool moves = code == Opcode::store || (code == Opcode::load && section[begin].indexValue < 0);
    size_t end = begin + 1;
    while (moves && end < section.size() && section[end].code == code && section[end].indexValue < 0) end++;
    for (size_t at = begin; moves && at < end; at++) {
      if (section[at].isOfColumns || !canJoin(section[at])) continue;
      std::vector<size_t> found{at};
      for (size_t next = at + 1; next < end; next++)
        if (!section[next].isOfColumns && canJoin(section[next]) && isAlike(section[at], section[next]))
          found.push_back(next);
      if (found.size() > 1) join(section, std::move(found));
    }
    begin = end;
  }
}

void loadColumns(const Tape& tape, const Section& section, const Columns& columns, const Position& at,
                 const TapeBuffer* buffers, char* registers, Operand* operands) {
  const Instruction& first = section[columns.places.front()];
  const Value& value = tape.values[first.value];
  const Affine& affine = first.access.affine;
  const int64_t size = value.byteLength;
  const int64_t rows = value.rows ? at.rows : 1, rowStep = tape.paddedWidth();
  const int64_t padded = at.chunks() * kChunk;
  const auto width = static_cast<int>(columns.places.size());
  const auto* const from =
      static_cast<const char*>(buffers[first.access.buffer].data) + baseOf(affine, at) * size;
  const auto part = columnKernelsOf(size).part;
  for (int64_t r = 0; r < rows; r++) {
    void* lanes[kMostColumns];
    for (int c = 0; c < width; c++) {
      char* const to = registers + section[columns.places[c]].offset + r * rowStep * size;
      std::memset(to + at.valid * size, 0, (padded - at.valid) * size);
      lanes[c] = to;
    }
    part(lanes, from + r * affine.row * size, at.valid, width);
  }
  for (const size_t place : columns.places) {
    const Instruction& i = section[place];
    operands[i.value] = {registers + i.offset, value.rows ? rowStep : 0, kChunk};
  }
}

void storeColumns(const Tape& tape, const Section& section, const Columns& columns, const Position& at,
                  int64_t lanes, const Operand* operands, const TapeBuffer* buffers, bool streams) {
  const auto isInLanes = [&](size_t place) {
    const Operand& value = operands[section[place].value];
    return value.chunkStep == kChunk && !value.edges.areThere();
  };
  if (!std::all_of(columns.places.begin(), columns.places.end(), isInLanes)) {
    for (const size_t place : columns.places)
      store(tape, section[place].access, at, at.rows, lanes, operands[section[place].value], buffers,
            streams);
    return;
  }
  const Access& access = section[columns.places.front()].access;
  const Affine& affine = access.affine;
  const int64_t size = byteLengthOf(tape.buffers[access.buffer].dtype);
  const auto width = static_cast<int>(columns.places.size());
  char* const memory = static_cast<char*>(buffers[access.buffer].data) + baseOf(affine, at) * size;
  const auto join = columnKernelsOf(size).join;
  for (int64_t r = 0; r < at.rows; r++) {
    const void* from[kMostColumns];
    for (int c = 0; c < width; c++) {
      const Operand& value = operands[section[columns.places[c]].value];
      from[c] = value.data + r * value.rowStep * size;
    }
    // Through the caches: past them, lines of memory that the system has just cleared are written twice.
    join(memory + r * affine.row * size, from, lanes, width);
  }
}

}  // namespace weft::cpu
