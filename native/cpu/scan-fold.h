// Reductions of what a scan's epilogue gives, one tile after the other: of each tile and column the extreme,
// or the sum or product of integers, which have one value in any order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/scan-numbers.h"

namespace weft::cpu {

// One thread's.
class ScanFold {
 public:
  virtual ~ScanFold() = default;
  // Where the epilogue puts the elements that are taken next.
  virtual void* elements() = 0;
  // Begins a tile of so many columns.
  virtual void begin(int64_t columns) = 0;
  // Takes so many elements, whole rows.
  virtual void take(int64_t count) = 0;
  // Writes the values of the columns, the first of them at a place of the result.
  virtual void end(int64_t at) = 0;
  // Takes rows of a line each, whose values are at a place of the result and behind it.
  virtual void takeRows(int64_t at, int64_t rows, int64_t length) = 0;
};

// `most` elements are taken at a time at most, of as many columns. Throws std::invalid_argument for an
// operation in which the order matters.
std::unique_ptr<ScanFold> makeScanFold(DType dtype, ScanOp op, std::byte* result, int64_t most);
void checkScanFold(DType dtype, int op);

}  // namespace weft::cpu
