// How lines along the middle axis of three are cut into tiles for scans, as src/exec/calls/scan.ts gives it
// in numbers.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <vector>

#include "cpu/scan-numbers.h"

namespace weft::cpu {

// Columns that a thread goes along at a time where tiles are scanned in their order: a tile stays in the
// second-level cache.
inline constexpr int64_t kOrderedColumns = 128;

inline DType readScanDType(int64_t dtype) {
  if (dtype < 0 || dtype >= kDTypes) throw std::invalid_argument("a dtype");
  return static_cast<DType>(dtype);
}
inline ScanOp readScanOp(int64_t op) {
  if (op < 0 || op >= kScanOps) throw std::invalid_argument("an operation");
  return static_cast<ScanOp>(op);
}
inline void checkScanSizes(int64_t outer, int64_t length, int64_t inner) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  if (outer < 1 || length < 1 || inner < 1 || outer > kMost / length || outer * length > kMost / inner)
    throw std::invalid_argument("lines with elements");
}

inline void checkScanColumns(int64_t inner, int64_t columns, std::initializer_list<int64_t> pitches) {
  if (columns < 0) throw std::invalid_argument("columns of a unit");
  for (const int64_t pitch : pitches) {
    if (pitch < 1 || (columns == 0 && pitch != inner)) throw std::invalid_argument("rows apart");
  }
}

struct ScanTiles {
  DType dtype;
  ScanOp op;
  bool isReverse;
  int64_t outer, length, inner, tile, tilesPerUnit;
  bool isCarried;
  // Units are tiles or, where `columns` is not 0, so many columns of all of them, whose rows may be further
  // apart than they are long.
  int64_t columns, pitchOfOperand, pitchOfBefore, pitchOfResult;

  int64_t perLine() const { return (length + tile - 1) / tile; }
  int64_t count() const { return outer * perLine(); }
  int64_t units() const {
    return columns == 0 ? (count() + tilesPerUnit - 1) / tilesPerUnit : (inner + columns - 1) / columns;
  }
  // Bytes of the states of tiles that are scanned in their order, before values of up to 16 bytes.
  size_t stateBytes() const {
    return (static_cast<size_t>(count() * groups()) * sizeof(std::atomic<int32_t>) + 15) / 16 * 16;
  }
  // Whether the values before tiles are found on the way, in one unit.
  bool isOrdered() const { return !isCarried && tile < length; }
  int64_t width() const { return std::min(inner, kOrderedColumns); }
  int64_t groups() const { return (inner + width() - 1) / width(); }
};

inline ScanTiles readScanTiles(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 13) throw std::invalid_argument("13 numbers");
  const ScanTiles t{readScanDType(numbers[0]),
                    readScanOp(numbers[1]),
                    numbers[2] != 0,
                    numbers[3],
                    numbers[4],
                    numbers[5],
                    numbers[6],
                    numbers[7],
                    numbers[8] > 1,
                    numbers[9],
                    numbers[10],
                    numbers[11],
                    numbers[12]};
  checkScanSizes(t.outer, t.length, t.inner);
  checkScanColumns(t.inner, t.columns, {t.pitchOfOperand, t.pitchOfBefore, t.pitchOfResult});
  if (t.tile < 1 || t.tilesPerUnit < 1) throw std::invalid_argument("tiles with elements");
  return t;
}

// Calls `each` with stretches of so many rows of a tile, first and count, in the order of the scan; a row is
// the elements at a place along the axis.
template <typename Each>
void inStretches(const ScanTiles& t, int64_t k, int64_t rows, const Each& each) {
  const int64_t start = k % t.perLine() * t.tile;
  const int64_t count = std::min(t.tile, t.length - start);
  const int64_t first = k / t.perLine() * t.length + start;
  for (int64_t done = 0; done < count; done += rows) {
    const int64_t some = std::min(rows, count - done);
    each(first + (t.isReverse ? count - done - some : done), some);
  }
}
// Calls `each` with the rows of a stretch in the order of the scan.
template <typename Each>
void alongStretch(const ScanTiles& t, int64_t first, int64_t count, const Each& each) {
  if (t.isReverse) {
    for (int64_t i = first + count - 1; i >= first; i--) each(i);
  } else {
    for (int64_t i = first; i < first + count; i++) each(i);
  }
}

}  // namespace weft::cpu
