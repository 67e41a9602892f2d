// Rows of bins: keys and values where they lie, or as maps give them, a stretch of rows at a time, so that
// neither is in memory.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "cpu/bin-job.h"
#include "cpu/element-map.h"
#include "cpu/routines.h"

namespace weft::cpu::bins {

// One thread's.
class RowsRead {
 public:
  RowsRead(const Job& job, const RoutineJob& arrays, const std::atomic<bool>* cancel);
  RowsRead(const RowsRead&) = delete;
  RowsRead& operator=(const RowsRead&) = delete;

  // Rows behind those before are read up to `last`.
  void until(int64_t last) {
    last_ = last;
    from_ = to_ = 0;
  }
  // The arrays of a job without maps: operands are where row 0 would be, and have rows [first, first +
  // count), no more than kBlock.
  const RoutineJob& read(int64_t first, int64_t count) {
    if (hasMaps() && (first < from_ || first + count > to_)) map(first);
    return own_;
  }
  // Rows that are read up to here.
  int64_t end() const { return hasMaps() ? to_ : last_; }

 private:
  bool hasMaps() const { return keys_ || values_; }
  struct Given {
    Given(const ElementMap& map, const std::atomic<bool>* cancel) : run(map, cancel) {}
    ElementMapRun run;
    std::unique_ptr<std::byte[]> stretch{};
    int64_t room = 0;
  };

  void map(int64_t first);
  void give(Given& given, size_t operand, DType dtype, int64_t width);

  const Job& job_;
  int64_t last_ = 0, from_ = 0, to_ = 0;
  std::optional<Given> keys_, values_;
  std::vector<std::byte*> operands_;
  const RoutineJob own_;
};

}  // namespace weft::cpu::bins
