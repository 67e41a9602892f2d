// Bounds of a block: in which of its rows and lanes they hold, and where lanes outside are read from instead.
// Included by tape-memory.cpp.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "cpu/tape-memory.h"

namespace weft::cpu {

// Rows and lanes of a block that a value takes up.
struct BlockShape {
  int64_t rows;
  int64_t lanes;
  // Elements between its rows.
  int64_t rowStep;
};

inline int64_t laneOffset(const Affine& affine, int64_t lane) {
  switch (affine.mode) {
    case LaneMode::splat:
      return 0;
    case LaneMode::stride:
      return affine.lane * lane;
    case LaneMode::table:
      return affine.table[lane];
  }
  return 0;
}

enum class BoundsHold { everywhere, nowhere, somewhere };

inline BoundsHold boundHolds(const Bound& bound, const Position& at, const BlockShape& shape) {
  const Affine& affine = bound.affine;
  int64_t low = baseOf(affine, at);
  int64_t high = low;
  const int64_t rowSpan = affine.row * (shape.rows - 1);
  (rowSpan < 0 ? low : high) += rowSpan;
  if (affine.mode == LaneMode::table) {
    low += affine.tableLow;
    high += affine.tableHigh;
  } else if (affine.mode == LaneMode::stride) {
    const int64_t laneSpan = affine.lane * (shape.lanes - 1);
    (laneSpan < 0 ? low : high) += laneSpan;
  }
  if (low >= 0 && high < bound.size) return BoundsHold::everywhere;
  return high < 0 || low >= bound.size ? BoundsHold::nowhere : BoundsHold::somewhere;
}

inline BoundsHold boundsHold(const std::vector<Bound>& bounds, const Position& at, const BlockShape& shape) {
  BoundsHold all = BoundsHold::everywhere;
  for (const Bound& bound : bounds) {
    const BoundsHold one = boundHolds(bound, at, shape);
    if (one == BoundsHold::nowhere && bound.outside == Outside::zero) return one;
    if (one != BoundsHold::everywhere) all = BoundsHold::somewhere;
  }
  return all;
}

inline bool boundsHoldAt(const std::vector<Bound>& bounds, const Position& at, int64_t row, int64_t lane) {
  for (const Bound& bound : bounds) {
    const int64_t value = baseOf(bound.affine, at) + bound.affine.row * row + laneOffset(bound.affine, lane);
    if (value < 0 || value >= bound.size) return false;
  }
  return true;
}

// How far an index moves to where it is folded back; it is outside of 0 .. n - 1 by n at most.
inline int64_t foldOf(Outside outside, int64_t c, int64_t n) {
  if (c >= 0 && c < n) return 0;
  switch (outside) {
    case Outside::nearest:
      return (c < 0 ? 0 : n - 1) - c;
    case Outside::reflect:
      return (c < 0 ? -1 : 2 * n - 1) - 2 * c;
    case Outside::mirror:
      return (c < 0 ? 0 : 2 * n - 2) - 2 * c;
    case Outside::wrap:
      return c < 0 ? n : -n;
    case Outside::zero:
      break;
  }
  return 0;
}

// Elements by which folds move the place that a lane is read from; nothing: it is zero.
inline std::optional<int64_t> movedAt(const std::vector<Bound>& bounds, const Position& at, int64_t row,
                                      int64_t lane) {
  int64_t moved = 0;
  for (const Bound& bound : bounds) {
    const int64_t value = baseOf(bound.affine, at) + bound.affine.row * row + laneOffset(bound.affine, lane);
    if (value >= 0 && value < bound.size) continue;
    if (bound.outside == Outside::zero) return {};
    moved += bound.stride * foldOf(bound.outside, value, bound.size);
  }
  return moved;
}

inline int64_t flooredQuotient(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// The lanes [first, last) of a row where all bounds hold, but for folds that move the whole row; for bounds
// without tables.
struct LaneInterval {
  int64_t first;
  int64_t last;
};
inline LaneInterval intervalOf(const std::vector<Bound>& bounds, const Position& at, int64_t row,
                               int64_t lanes) {
  LaneInterval found{0, lanes};
  for (const Bound& bound : bounds) {
    const int64_t start = baseOf(bound.affine, at) + bound.affine.row * row;
    const int64_t step = bound.affine.mode == LaneMode::stride ? bound.affine.lane : 0;
    if (step == 0) {
      if (bound.outside == Outside::zero && (start < 0 || start >= bound.size)) return {0, 0};
      continue;
    }
    // 0 <= start + step * l <= size - 1, solved for l.
    const int64_t a = flooredQuotient(step > 0 ? -start + step - 1 : bound.size - 1 - start + step + 1, step);
    const int64_t b = flooredQuotient(step > 0 ? bound.size - 1 - start : -start, step);
    found.first = std::max(found.first, a);
    found.last = std::min(found.last, b + 1);
  }
  return found.first < found.last ? found : LaneInterval{0, 0};
}

inline bool hasTable(const std::vector<Bound>& bounds) {
  return std::any_of(bounds.begin(), bounds.end(),
                     [](const Bound& b) { return b.affine.mode == LaneMode::table; });
}

inline bool hasFolds(const std::vector<Bound>& bounds) {
  return std::any_of(bounds.begin(), bounds.end(), [](const Bound& b) { return b.outside != Outside::zero; });
}

// The lanes of every row where the bounds hold, where they are the same in all rows.
inline std::optional<LaneInterval> sharedInterval(const std::vector<Bound>& bounds, const Position& at,
                                                  const BlockShape& shape) {
  for (const Bound& bound : bounds) {
    const bool isOfLanes = bound.affine.mode == LaneMode::stride && bound.affine.row == 0;
    if (!isOfLanes && boundHolds(bound, at, shape) != BoundsHold::everywhere) return {};
  }
  return intervalOf(bounds, at, 0, shape.lanes);
}

}  // namespace weft::cpu
