// The bins of rows: by keys, or by the edges that keys lie between.
#pragma once
#include "cpu/bin-job.h"
#include "cpu/routines.h"

namespace weft::cpu::bins {

// Rows whose bins are found before they are gathered.
inline constexpr int64_t kBlock = 1024;

// The bins of up to kBlock rows; -1: none.
struct Found {
  const int64_t* bins;
  // Whether each row has one.
  bool areAll;
};

// The bins of rows [first, first + count), which are the keys themselves or are written to `room`.
Found findBins(const Job& job, const RoutineJob& arrays, int64_t first, int64_t count, int64_t* room);

// Runs units of a job (bins.cpp), and the workspace that it takes: results of one unit, and copies for
// threads.
void gatherBins(const Job& job, const RoutineJob& arrays, Range units, ThreadPool& pool,
                const std::atomic<bool>* cancel);
WorkspaceNeed workspaceOfBins(const Job& job, const ThreadPool& pool);

}  // namespace weft::cpu::bins
