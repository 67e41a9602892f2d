// The bins of rows: by keys, or by the edges that keys lie between.
#pragma once
#include "cpu/bin-job.h"
#include "cpu/routines.h"

namespace weft::cpu::bins {

// Rows whose bins are found before they are gathered.
inline constexpr int64_t kBlock = 256;

// The bins of up to kBlock rows; -1: none.
struct Found {
  const int64_t* bins;
  // Whether each row has one.
  bool areAll;
};

// The bins of rows [first, first + count), which are the keys themselves or are written to `room`.
Found findBins(const Job& job, const RoutineJob& arrays, int64_t first, int64_t count, int64_t* room);

// Asks for the keys and values of rows to come while others are added, group by group: these wait for their
// bins, and hardware asks for no more than a page. On a Zen 4 sums in 4096 bins then take 16 ms for 2^24
// rows, 23 without.
class RowsAhead {
 public:
  static constexpr int64_t kGroup = 16;

  RowsAhead(const void* keys, size_t keyBytes, const void* values, size_t valueBytes)
      : keys_(static_cast<const char*>(keys)),
        values_(static_cast<const char*>(values)),
        keyBytes_(static_cast<int64_t>(keyBytes)),
        valueBytes_(static_cast<int64_t>(valueBytes)) {}

  // Calls add(i) for the rows of a block, of which the first one is `first`.
  template <typename Add>
  __attribute__((always_inline)) inline void each(int64_t first, int64_t count, const Add& add) const {
    int64_t i = 0;
    for (; i + kGroup <= count; i += kGroup) {
      ask(keys_, keyBytes_, first + i + kAhead);
      ask(values_, valueBytes_, first + i + kAhead);
      for (int64_t row = 0; row < kGroup; row++) add(i + row);
    }
    for (; i < count; i++) add(i);
  }

 private:
  static constexpr int64_t kAhead = 2 * kBlock;

  // Inlined, as gcc drops calls of a function that only prefetches.
  __attribute__((always_inline)) static inline void ask(const char* rows, int64_t byteLength, int64_t row) {
    for (int64_t line = 0; line < kGroup * byteLength; line += 64)
      __builtin_prefetch(rows + row * byteLength + line);
  }

  const char *keys_, *values_;
  int64_t keyBytes_, valueBytes_;
};

// Runs units of a job (bins.cpp), and the workspace that it takes: results of one unit, and copies for
// threads.
void gatherBins(const Job& job, const RoutineJob& arrays, Range units, ThreadPool& pool,
                const std::atomic<bool>* cancel);
WorkspaceNeed workspaceOfBins(const Job& job, const ThreadPool& pool);

}  // namespace weft::cpu::bins
