// Routines that a library computes on a GPU, a row each: steps of kind `routine` there, as those of
// cpu/routines.h are on the CPU. Arrays are in C order, units stretches of them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cpu/routines.h"
#include "cuda/driver.h"
#include "runtime/program.h"

namespace weft::cuda {

class CudaDevice;

struct LibraryJob {
  CudaDevice& device;
  const std::vector<int64_t>& numbers;
  // Where the first elements of whole arrays are, or would be.
  std::vector<CUdeviceptr> operands, results;
  CUdeviceptr workspace;
  size_t workspaceBytes;
  cpu::Range units;
};

struct LibraryRoutine {
  // Throws std::invalid_argument for numbers that cannot be.
  cpu::RoutineNeed (*need)(const std::vector<int64_t>& numbers);
  // Makes the objects of the library that the job needs, which cannot be made while a stream is captured.
  // They exist at least as long as the result does: graphs of the job keep it.
  std::shared_ptr<const void> (*prepare)(const LibraryJob& job);
  void (*queue)(const LibraryJob& job, CUstream stream);
  // Whether what it queues can be a part of a CUDA graph.
  bool isRecorded = true;
  // About the launches that `queue` makes. Null: it may wait, and is left to the executor's thread.
  size_t (*launches)(const std::vector<int64_t>& numbers) = nullptr;
  // Whether `prepare` has nothing to make for the job, whose arrays need not be there, nor to destroy.
  bool (*isPrepared)(const LibraryJob& job) = nullptr;
};

// Null: there is none of that name.
const LibraryRoutine* findLibraryRoutine(const std::string& name);

}  // namespace weft::cuda
