// The bins of rows: by keys, or by the edges that keys lie between.
#pragma once
#include "cpu/bin-job.h"
#include "cpu/routines.h"

namespace weft::cpu::bins {

// Rows whose bins are found before they are gathered.
inline constexpr int64_t kBlock = 1024;

// The bins of rows [first, first + count), at most kBlock; -1: none.
void findBins(const Job& job, const RoutineJob& arrays, int64_t first, int64_t count, int64_t* bins);

}  // namespace weft::cpu::bins
