// Shared by the routines of cuSOLVER: the numbers of their steps, where their matrices are, and checked
// calls.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "cuda/library-status.h"
#include "cuda/pointer.h"
#include "cuda/solver.h"
#include "shared/layout.h"

namespace weft::cuda {

// Throws where the library was not found.
const Cusolver& cusolver();

#define WEFT_CUSOLVER_CALL(name, ...) checkStatus(cusolver().name(__VA_ARGS__), kCusolverNames, #name)

// Of `LibraryRoutine::prepare`: the device's handle lives as long as the device, so that graphs need keep
// nothing.
using Kept = std::shared_ptr<const void>;

// Where the workspace of a call begins, behind the `info` of those whose results have none.
inline constexpr size_t kInfoBytes = 256;
inline constexpr int kLower = 0, kUpper = 1;

// The numbers of a step; see src/exec/calls/linear.ts.
struct LinearSizes {
  LinearSizes(const std::vector<int64_t>& numbers, size_t count);
  size_t bytes(int64_t rows, int64_t columns) const { return bytesOf(rows * columns, elementBytes); }
  size_t bytesOf(int64_t each, size_t size) const { return static_cast<size_t>(matrices * each) * size; }
  size_t each(int64_t rows, int64_t columns) const {
    return static_cast<size_t>(rows * columns) * elementBytes;
  }
  // Of a real number of the dtype.
  size_t realBytes() const { return dtype == DType::float32 || dtype == DType::complex64 ? 4 : 8; }
  // The cudaDataType of elements, and of real numbers beside them.
  int type() const;
  int realType() const { return realBytes() == 4 ? 0 : 1; }

  DType dtype;
  int64_t matrices;
  std::vector<int64_t> rest;
  size_t elementBytes;
};

// Copies the matrices of the job's units, of so many bytes each, from an operand to a result.
void copyMatrices(const LibraryJob& job, size_t operand, size_t result, size_t each, CUstream stream);

inline size_t aligned(size_t bytes) { return (bytes + kInfoBytes - 1) / kInfoBytes * kInfoBytes; }

// Throws where a plan has less workspace than the library asks for, beside `own` bytes of ours.
void checkWorkspace(const Solver::Bytes& need, const LibraryJob& job, size_t own = 0);

}  // namespace weft::cuda
