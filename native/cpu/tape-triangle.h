// Runs a kernel of pairs whose values are the same with both axes exchanged by half of its tiles: squares on
// and above the diagonal, each stored in its place and, transposed, in that of its mirror image. For
// tape-run.cpp.
#pragma once
#include "cpu/tape-job.h"
#include "cpu/threads.h"

namespace weft::cpu {

void runTriangle(const TapeJob& job, ThreadPool& pool);

}  // namespace weft::cpu
