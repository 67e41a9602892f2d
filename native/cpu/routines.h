// Routines: calls of Weft's own on the CPU, a row each in routines.cpp. A routine knows what its numbers are;
// its arrays are in C order, its units stretches of them that do not depend on one another.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu/cpu.h"

namespace weft::cpu {

struct ElementMap;  // element-map.h

// The form of a routine's numbers that its runs share, where reading them takes long.
struct PreparedRoutine {
  PreparedRoutine() = default;
  PreparedRoutine(const PreparedRoutine&) = delete;
  PreparedRoutine& operator=(const PreparedRoutine&) = delete;
  virtual ~PreparedRoutine() = default;
  // The library that runs it, for `explain()`; none: Weft's own.
  virtual std::string text() const { return {}; }
};

// The bytes of a routine's arrays and workspace, and its number of units.
struct RoutineNeed {
  std::vector<size_t> operands, results;
  WorkspaceNeed workspace{};
  int64_t units = 0;
  // Null: runs read the numbers.
  std::shared_ptr<const PreparedRoutine> prepared{};
  // Of values that it has in no memory and that a map may be of; 0: none.
  size_t values = 0;
  // How many values a result of its epilogue that it combines has; 0: it combines none.
  size_t folded = 0;
  // The operand behind the first one that a map may give; 0: none.
  size_t weights = 0;
};

// Addresses of arrays, or where their first elements would be: those of the units that run are there.
struct RoutineJob {
  const std::vector<int64_t>& numbers;
  const std::vector<std::byte*>& operands;
  const std::vector<std::byte*>& results;
  Workspace workspace;
  // Of scans and bins: gives the elements of the first operand, which is then not among `operands`. Of
  // attention: maps scores.
  const ElementMap* prologue = nullptr;
  // Of a scan, or of a sparse matrix times dense columns: takes its elements, and writes the result.
  const ElementMap* epilogue = nullptr;
  // Of the numbers.
  const PreparedRoutine* prepared = nullptr;
  // Gives the elements of operand `weights` of its need, which is then not among `operands`.
  const ElementMap* weights = nullptr;
};

struct Routine {
  // Throws std::invalid_argument for numbers that cannot be.
  RoutineNeed (*need)(const std::vector<int64_t>& numbers, const ThreadPool& pool);
  // Runs units [first, last).
  void (*run)(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel);
  // Whether its jobs may have a prologue, and an epilogue.
  bool takesMaps = false;
  bool takesEpilogues = takesMaps;
};

// Null: there is none of that name.
const Routine* findRoutine(const std::string& name);

// attention.cpp
extern const Routine kAttention;
// bins.cpp: by keys, and by edges
extern const Routine kBins;
// bin-sums.cpp
extern const Routine kBinSums;
// compact.cpp
extern const Routine kCompact;
extern const Routine kDistinct;
// labels.cpp
extern const Routine kLabels;
// members.cpp
extern const Routine kMembers;
// run-products.cpp
extern const Routine kRunProducts;
// fft.cpp: of complex numbers, from and to real ones
extern const Routine kFft;
// linear-lu.cpp
extern const Routine kLuFactors;
extern const Routine kLuSolve;
// linear-lu-parts.cpp
extern const Routine kInverse;
extern const Routine kLuParts;
// linear-determinants.cpp
extern const Routine kDeterminants;
// linear-small.cpp
extern const Routine kSolve;
// linear-cholesky.cpp
extern const Routine kCholesky;
extern const Routine kTriangularSolve;
// linear-qr.cpp
extern const Routine kQrParts;
// linear-eigh.cpp
extern const Routine kEigh;
// linear-eig.cpp
extern const Routine kEig;
// linear-svd.cpp
extern const Routine kSvd;
// linear-least-squares.cpp
extern const Routine kLeastSquares;
// scan.cpp
extern const Routine kScan;
extern const Routine kScanTotals;
extern const Routine kScanBefore;
// select.cpp
extern const Routine kRanks;
extern const Routine kTop;
// sparse-lu.cpp
extern const Routine kSparseLu;
// sparse-matmul.cpp
extern const Routine kSparseMatmulCounts;
extern const Routine kSparseMatmul;
// sparse-merge.cpp
extern const Routine kSparseMergeCounts;
extern const Routine kSparseMerge;
extern const Routine kSparseRows;
// sparse-order.cpp
extern const Routine kSparseOrder;
// sparse-product.cpp
extern const Routine kSparseProduct;
// sparse-triangular.cpp
extern const Routine kSparseTriangularSolve;
// user-kernel.cpp
extern const Routine kUserKernel;
// write-row.cpp
extern const Routine kWriteRow;
// sort.cpp
extern const Routine kSort;
extern const Routine kArgsort;

}  // namespace weft::cpu
