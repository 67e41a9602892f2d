// The elements of a block, one after the other, for the lanes of loops.
#pragma once
#include <algorithm>
#include <cstdint>

#include "cpu/lanes.h"

namespace weft::cpu {

// A lane, and an element of a block.
struct Taken {
  int64_t lane, row, place;
};

inline int64_t placeIn(const Operand& operand, const Taken& each) {
  return each.row * operand.rowStep + each.place / kChunk * operand.chunkStep + each.place % kChunk;
}

// The elements of a block that no lane has taken, row by row.
class ElementQueue {
 public:
  ElementQueue(Extent extent, int64_t valid)
      : rows_(valid > 0 ? extent.rows : 0), count_(std::min(valid, extent.chunks * kChunk)) {}
  bool isEmpty() const { return row_ == rows_; }
  // Of a queue that nothing was taken from.
  int64_t count() const { return rows_ * count_; }
  Taken first() const { return {0, row_, place_}; }
  // Takes up to so many neighbours of the first element's row; how many.
  int64_t takeRow(int64_t most) {
    const int64_t taken = std::min(most, count_ - place_);
    place_ += taken;
    if (place_ == count_) {
      place_ = 0;
      row_++;
    }
    return taken;
  }
  Taken next(int64_t lane) {
    const Taken taken{lane, row_, place_};
    if (++place_ == count_) {
      place_ = 0;
      row_++;
    }
    return taken;
  }

 private:
  int64_t rows_, count_, row_ = 0, place_ = 0;
};

}  // namespace weft::cpu
