// The packed, blocked matrix product.
//
// The operands are packed in outer blocks, so that what is packed stays within its limit; then the result is
// cut into granules, each a task: it walks k in steps of the kernels' depth, and multiplies its panels of a
// with its panels of b so that they stay in the L2 cache and one panel of b in L1. An operand that is used by
// one granule only (the other is thin) is packed by the task itself, piece by piece, and never goes to
// memory.
#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "cpu/gemm.h"
#include "cpu/threads.h"
#include "runtime/host-pool.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

// Panels in a granule: with the kernels' depth about 120 KiB of a and 256 KiB of b.
constexpr int64_t kGranuleRows = 120;
constexpr int64_t kGranuleColumnBytes = 1024;
// Tasks for each thread that are enough for an even load, and the least work, in multiply-adds, worth a task.
constexpr int64_t kTasksPerThread = 12;
constexpr int64_t kLeastTaskWork = int64_t{1} << 20;
// Least elements worth a packing task.
constexpr int64_t kLeastPackWork = int64_t{1} << 15;
// The least outer step of k, and the largest outer block whose sums are kept apart, in elements.
constexpr int64_t kLeastOuterDepth = 1024;
// Panels of each side that an outer block should have room for, before its steps of k become shorter.
constexpr int64_t kLeastPanels = 4;
constexpr int64_t kOuterSumSide = 1024;

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDivide(a, b) * b; }
int64_t roundDown(int64_t a, int64_t b) { return a / b * b; }
int64_t aligned(int64_t byteLength) { return roundUp(byteLength, kHostAlignment); }

// One side of the product, in panels: a by rows, or b by columns (then turned, so that k is its second axis).
struct Side {
  GemmOperand operand;
  int64_t extent;
  // Width of a panel.
  int64_t panel;
  GemmKernels::Pack pack;
  // Outer block, and granule, along the extent; multiples of the panel's width, but for the extent itself.
  int64_t outer = 0;
  int64_t granule = 0;
  // Whether tasks pack their own pieces.
  bool inTask = false;
  std::byte* packed = nullptr;
  // The block that `packed` holds.
  int64_t packedAt = -1;
  int64_t packedDepthAt = -1;
};

class BlockedProduct {
 public:
  // Chooses blocks whose memory stays within `limit` bytes, or the smallest there are.
  BlockedProduct(const GemmProblem& problem, int threads, int64_t limit);
  int64_t byteLength() const;
  void run(ThreadPool& pool, Workspace workspace);

 private:
  void chooseOuter(int64_t packedBytes);
  void chooseGranules();
  void chooseScratch();
  int64_t packedByteLength(const Side& side) const;
  int64_t sumByteLength() const;
  std::byte* scratchOf(int worker);
  void packShared(Side& side, int64_t at, int64_t depthAt, int64_t depth);
  void multiply(int64_t rowAt, int64_t columnAt, int64_t depthAt, int64_t depth);
  void runGranule(int64_t row, int64_t column, int64_t rowAt, int64_t columnAt, int64_t depthAt,
                  int64_t depth, int worker);
  const std::byte* panels(const Side& side, int64_t begin, int64_t height, int64_t at, int64_t blockBegin,
                          int64_t depthAt, int64_t depth, std::byte* scratch) const;
  void packPiece(const Side& side, std::byte* to, int64_t begin, int64_t end, int64_t depthAt,
                 int64_t depth) const;

  const GemmProblem& problem_;
  const GemmKernels& kernels_;
  ThreadPool* pool_ = nullptr;
  const int threads_;
  Side a_;
  Side b_;
  int64_t outerDepth_ = 0;

  // Sums that are not the result itself (halves): of a granule, in the task's scratch; of an outer block
  // where k takes several outer steps.
  bool outerSums_ = false;
  std::byte* sums_ = nullptr;
  // Of each worker, given to the first of its tasks.
  std::vector<std::byte*> scratch_;
  std::byte* nextScratch_ = nullptr;
  std::mutex givingScratch_;
  int64_t scratchA_ = 0;
  int64_t scratchB_ = 0;
  int64_t scratchBytes_ = 0;
  // Threads that can be busy at once.
  int busy_ = 1;
};

BlockedProduct::BlockedProduct(const GemmProblem& problem, int threads, int64_t limit)
    : problem_(problem),
      kernels_(*problem.kernels),
      threads_(threads),
      a_{.operand = problem.a, .extent = problem.m, .panel = kernels_.rows, .pack = kernels_.packA},
      b_{.operand = problem.b.transposed(),
         .extent = problem.n,
         .panel = kernels_.columns,
         .pack = kernels_.packB} {
  for (auto packed = static_cast<int64_t>(kPackedByteLimit); packed > 0; packed /= 2) {
    chooseOuter(packed);
    chooseGranules();
    chooseScratch();
    if (byteLength() <= limit) return;
  }
}

// Takes the largest outer blocks whose panels stay within the limit: all of k if it can be, else a long step
// of k.
void BlockedProduct::chooseOuter(int64_t packedBytes) {
  const int64_t limit = packedBytes / kernels_.packedByteLength;
  outerSums_ = false;
  const int64_t k = problem_.k;
  a_.outer = roundUp(a_.extent, a_.panel);
  b_.outer = roundUp(b_.extent, b_.panel);
  outerDepth_ = k;
  if ((a_.outer + b_.outer) * k <= limit) return;

  const int64_t depth = kernels_.depth;
  const int64_t leastDepth = std::clamp(roundDown(limit / (kLeastPanels * (a_.panel + b_.panel)), depth),
                                        depth, std::max(depth, roundDown(kLeastOuterDepth, depth)));
  const auto depthFor = [&](int64_t outers) {
    return std::min(k, std::max(leastDepth, roundDown(limit / outers, depth)));
  };
  const auto shrink = [&](int64_t sides) {
    const int64_t half = sides / 2;
    if (a_.outer + b_.outer <= sides) return;
    if (a_.outer <= half) {
      b_.outer = sides - a_.outer;
    } else if (b_.outer <= half) {
      a_.outer = sides - b_.outer;
    } else {
      a_.outer = b_.outer = half;
    }
    a_.outer = std::max(a_.panel, roundDown(a_.outer, a_.panel));
    b_.outer = std::max(b_.panel, roundDown(b_.outer, b_.panel));
  };
  outerDepth_ = depthFor(a_.outer + b_.outer);
  shrink(limit / outerDepth_);
  if (kernels_.round != nullptr && outerDepth_ < k) {
    a_.outer = std::min(a_.outer, roundUp(kOuterSumSide, a_.panel));
    b_.outer = std::min(b_.outer, roundUp(kOuterSumSide, b_.panel));
    outerDepth_ = depthFor(a_.outer + b_.outer);
    outerSums_ = outerDepth_ < k;
  }
}

// Cuts an outer block into granules: few, to read panels seldom; many enough to keep every thread busy.
void BlockedProduct::chooseGranules() {
  const int64_t rows = std::min(a_.outer, a_.extent);
  const int64_t columns = std::min(b_.outer, b_.extent);
  a_.granule = std::min(roundUp(rows, a_.panel), std::max(a_.panel, roundDown(kGranuleRows, a_.panel)));
  b_.granule = std::min(roundUp(columns, b_.panel),
                        roundUp(kGranuleColumnBytes / kernels_.packedByteLength, b_.panel));
  const auto tasks = [&] { return ceilDivide(rows, a_.granule) * ceilDivide(columns, b_.granule); };
  const auto halve = [](Side& side) {
    if (side.granule == side.panel) return false;
    side.granule = roundUp(ceilDivide(side.granule, 2), side.panel);
    return true;
  };
  while (threads_ > 1 && tasks() < kTasksPerThread * threads_ &&
         a_.granule * b_.granule * outerDepth_ > 2 * kLeastTaskWork) {
    Side& larger = b_.granule >= a_.granule ? b_ : a_;
    Side& smaller = b_.granule >= a_.granule ? a_ : b_;
    if (!halve(larger) && !halve(smaller)) break;
  }
  a_.inTask = b_.granule >= columns;
  b_.inTask = a_.granule >= rows;
  busy_ = static_cast<int>(std::min<int64_t>(threads_, tasks()));
}

void BlockedProduct::chooseScratch() {
  const int64_t packed = kernels_.packedByteLength;
  const int64_t depth = std::min<int64_t>(kernels_.depth, outerDepth_);
  scratchA_ = a_.inTask ? aligned(a_.granule * depth * packed) : 0;
  scratchB_ = b_.inTask ? aligned(b_.granule * depth * packed) : 0;
  const bool hasSums = kernels_.round != nullptr && !outerSums_;
  scratchBytes_ =
      scratchA_ + scratchB_ + (hasSums ? aligned(a_.granule * b_.granule * kernels_.sumByteLength) : 0);
}

int64_t BlockedProduct::packedByteLength(const Side& side) const {
  if (side.inTask) return 0;
  return aligned(roundUp(side.outer, side.panel) * outerDepth_ * kernels_.packedByteLength);
}

int64_t BlockedProduct::sumByteLength() const {
  return outerSums_ ? aligned(a_.outer * b_.outer * kernels_.sumByteLength) : 0;
}

int64_t BlockedProduct::byteLength() const {
  return packedByteLength(a_) + packedByteLength(b_) + sumByteLength() + busy_ * scratchBytes_;
}

std::byte* BlockedProduct::scratchOf(int worker) {
  std::byte*& scratch = scratch_[worker];
  if (scratch == nullptr) {
    const std::lock_guard lock(givingScratch_);
    scratch = nextScratch_;
    nextScratch_ += scratchBytes_;
  }
  return scratch;
}

void BlockedProduct::run(ThreadPool& pool, Workspace workspace) {
  if (static_cast<int64_t>(workspace.byteLength) < byteLength())
    throw std::logic_error("a matrix product has too little workspace");
  pool_ = &pool;
  std::byte* next = workspace.data;
  for (Side* side : {&a_, &b_}) {
    side->packed = next;
    next += packedByteLength(*side);
  }
  sums_ = next;
  nextScratch_ = next + sumByteLength();
  scratch_.assign(std::max(pool.workers(), busy_), nullptr);
  for (int64_t row = 0; row < a_.extent; row += a_.outer) {
    for (int64_t column = 0; column < b_.extent; column += b_.outer) {
      for (int64_t k = 0; k < problem_.k; k += outerDepth_) {
        if (problem_.cancelled()) return;
        const int64_t depth = std::min(outerDepth_, problem_.k - k);
        packShared(a_, row, k, depth);
        packShared(b_, column, k, depth);
        multiply(row, column, k, depth);
      }
    }
  }
}

// Packs panels over one piece of k, one after the other.
void BlockedProduct::packPiece(const Side& side, std::byte* to, int64_t begin, int64_t end, int64_t depthAt,
                               int64_t depth) const {
  const int64_t elementBytes = problem_.elementByteLength;
  const GemmOperand& operand = side.operand;
  for (; begin < end; begin += side.panel) {
    const std::byte* from =
        operand.data + (begin * operand.rowStride + depthAt * operand.columnStride) * elementBytes;
    side.pack(to, from, operand.rowStride, operand.columnStride, std::min(side.panel, side.extent - begin),
              depth);
    to += side.panel * depth * kernels_.packedByteLength;
  }
}

// Packs the outer block at `at` over [depthAt, depthAt + depth): for each piece of k, all of the block's
// panels.
void BlockedProduct::packShared(Side& side, int64_t at, int64_t depthAt, int64_t depth) {
  if (side.inTask || (side.packedAt == at && side.packedDepthAt == depthAt)) return;
  const int64_t end = std::min(at + side.outer, side.extent);
  const int64_t panels = ceilDivide(end - at, side.panel);
  const int64_t pieces = ceilDivide(depth, kernels_.depth);
  const int64_t pieceWork = side.panel * std::min<int64_t>(depth, kernels_.depth);
  const int64_t group = std::min(panels, ceilDivide(kLeastPackWork, pieceWork));
  const int64_t groups = ceilDivide(panels, group);
  std::byte* packed = side.packed;
  const auto pack = [&](int64_t task, int) {
    const int64_t piece = task / groups * kernels_.depth;
    const int64_t first = task % groups * group * side.panel;
    const int64_t pieceDepth = std::min<int64_t>(kernels_.depth, depth - piece);
    std::byte* to = packed + (piece * panels * side.panel + first * pieceDepth) * kernels_.packedByteLength;
    packPiece(side, to, at + first, std::min(at + first + group * side.panel, end), depthAt + piece,
              pieceDepth);
  };
  pool_->parallelFor(pieces * groups, pack, threads_);
  side.packedAt = at;
  side.packedDepthAt = depthAt;
}

void BlockedProduct::multiply(int64_t rowAt, int64_t columnAt, int64_t depthAt, int64_t depth) {
  const int64_t rows = std::min(a_.outer, a_.extent - rowAt);
  const int64_t columns = std::min(b_.outer, b_.extent - columnAt);
  const int64_t rowGranules = ceilDivide(rows, a_.granule);
  const int64_t tasks = rowGranules * ceilDivide(columns, b_.granule);
  const auto granule = [&](int64_t task, int worker) {
    if (problem_.cancelled()) return;
    // Neighbours share their columns, whose panels are the larger part.
    const int64_t row = task % rowGranules * a_.granule;
    const int64_t column = task / rowGranules * b_.granule;
    runGranule(row, column, rowAt, columnAt, depthAt, depth, worker);
  };
  pool_->parallelFor(tasks, granule, busy_);
}

// The panels of [begin, begin + extent) within the outer block at `at`, over one piece of k.
const std::byte* BlockedProduct::panels(const Side& side, int64_t begin, int64_t extent, int64_t at,
                                        int64_t piece, int64_t depthAt, int64_t depth,
                                        std::byte* scratch) const {
  if (side.inTask) {
    packPiece(side, scratch, at + begin, at + begin + extent, depthAt + piece, depth);
    return scratch;
  }
  const int64_t outer = roundUp(std::min(side.outer, side.extent - at), side.panel);
  return side.packed + (piece * outer + begin * depth) * kernels_.packedByteLength;
}

void BlockedProduct::runGranule(int64_t row, int64_t column, int64_t rowAt, int64_t columnAt, int64_t depthAt,
                                int64_t depth, int worker) {
  const int64_t height = std::min({a_.granule, a_.outer - row, a_.extent - rowAt - row});
  const int64_t width = std::min({b_.granule, b_.outer - column, b_.extent - columnAt - column});
  std::byte* const scratch = scratchOf(worker);

  const GemmOperand& c = problem_.c;
  std::byte* result = c.data + ((rowAt + row) * c.rowStride + (columnAt + column) * c.columnStride) *
                                   problem_.elementByteLength;
  GemmOperand sums{result, c.rowStride, c.columnStride};
  if (outerSums_) {
    sums = {sums_ + (row * b_.outer + column) * kernels_.sumByteLength, b_.outer, 1};
  } else if (kernels_.round != nullptr) {
    sums = {scratch + scratchA_ + scratchB_, b_.granule, 1};
  }

  for (int64_t piece = 0; piece < depth; piece += kernels_.depth) {
    const int64_t pieceDepth = std::min<int64_t>(kernels_.depth, depth - piece);
    const std::byte* left = panels(a_, row, height, rowAt, piece, depthAt, pieceDepth, scratch);
    const std::byte* right =
        panels(b_, column, width, columnAt, piece, depthAt, pieceDepth, scratch + scratchA_);
    const int64_t panelBytes = pieceDepth * kernels_.packedByteLength;
    for (int64_t j = 0; j < width; j += b_.panel) {
      for (int64_t i = 0; i < height; i += a_.panel) {
        std::byte* to = sums.data + (i * sums.rowStride + j * sums.columnStride) * kernels_.sumByteLength;
        kernels_.tile(pieceDepth, left + i * panelBytes, right + j * panelBytes, to, sums.rowStride,
                      sums.columnStride, std::min(a_.panel, height - i), std::min(b_.panel, width - j),
                      problem_.adds || depthAt + piece > 0);
      }
    }
  }
  if (kernels_.round != nullptr && depthAt + depth == problem_.k) {
    kernels_.round(result, c.rowStride, c.columnStride, sums.data, sums.rowStride, height, width);
  }
}

}  // namespace

void blockedProduct(const GemmProblem& problem, ThreadPool& pool, int threads, Workspace workspace) {
  BlockedProduct(problem, threads, static_cast<int64_t>(workspace.byteLength)).run(pool, workspace);
}

size_t mostBlockedBytes(const GemmProblem& problem, int threads) {
  return static_cast<size_t>(
      BlockedProduct(problem, threads, std::numeric_limits<int64_t>::max()).byteLength());
}

WorkspaceNeed blockedWorkspace(const GemmProblem& problem, int threads) {
  return {mostBlockedBytes(problem, threads),
          static_cast<size_t>(BlockedProduct(problem, threads, 0).byteLength())};
}

}  // namespace weft::cpu
