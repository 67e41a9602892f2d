#include "cpu/gemm-vector.h"

#include <algorithm>
#include <cstring>

#include "cpu/threads.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

// Elements of a matrix that are worth a task.
constexpr int64_t kLeastTaskElements = int64_t{1} << 15;

// The vectors of matrix-vector products, where their elements do not lie side by side.
size_t vectorByteLength(const Batch& batch) {
  const GemmProblem& p = batch.problem;
  if (p.b.rowStride == 1) return 0;
  return alignedByteLength((batch.bStride == 0 ? 1 : batch.count) * p.k * p.elementByteLength);
}

// Copies them to `to`, side by side.
void gatherVectors(Batch& batch, std::byte* to, ThreadPool& pool) {
  GemmProblem& p = batch.problem;
  const int64_t size = p.elementByteLength;
  const int64_t pieces = ceilDivide(p.k, kLeastTaskElements);
  pool.parallelFor((batch.bStride == 0 ? 1 : batch.count) * pieces, [&](int64_t task, int) {
    const int64_t vector = task / pieces;
    const int64_t first = task % pieces * kLeastTaskElements;
    const int64_t last = std::min(p.k, first + kLeastTaskElements);
    const std::byte* const from = batch.at(vector).b.data;
    std::byte* const at = to + vector * p.k * size;
    for (int64_t i = first; i < last; i++) std::memcpy(at + i * size, from + i * p.b.rowStride * size, size);
  });
  p.b = {to, 1, p.b.columnStride};
  if (batch.bStride != 0) batch.bStride = p.k;
}

int64_t dotSlots(const GemmProblem& p) { return ceilDivide(p.k, kDotSlot); }

size_t dotByteLength(const Batch& batch) {
  const GemmProblem& p = batch.problem;
  return alignedByteLength(batch.count * p.m * dotSlots(p) * p.elementByteLength);
}

// Few dot products that are long: each is cut into slots of a fixed length, whose sums are added up pairwise,
// so that threads share one, and the bits do not depend on how many there are.
void longDots(const Batch& batch, ThreadPool& pool, std::byte* sums) {
  const GemmProblem& p = batch.problem;
  const int64_t slots = dotSlots(p);
  const int64_t dots = batch.count * p.m;
  pool.parallelFor(dots * slots, [&](int64_t task, int) {
    if (p.cancelled()) return;
    const int64_t dot = task / slots;
    const int64_t begin = task % slots * kDotSlot;
    const GemmProblem one = batch.at(dot / p.m);
    const std::byte* row = one.a.data + (dot % p.m * one.a.rowStride + begin) * p.elementByteLength;
    const std::byte* x = one.b.data + begin * p.elementByteLength;
    std::byte* sum = sums + task * p.elementByteLength;
    p.kernels->rowDots(1, std::min(kDotSlot, p.k - begin), row, 0, x, sum, 0, false);
  });
  for (int64_t dot = 0; dot < dots; dot++) {
    const GemmProblem one = batch.at(dot / p.m);
    std::byte* y = one.c.data + dot % p.m * one.c.rowStride * p.elementByteLength;
    p.kernels->pairwiseSum(slots, sums + dot * slots * p.elementByteLength, y);
  }
}

}  // namespace

bool isVectorProduct(Batch batch, Choice& choice) {
  if (batch.problem.kernels->rowDots == nullptr || !batch.outer.empty()) return false;
  choice.transposed = batch.problem.n != 1;
  if (choice.transposed) transpose(batch);
  const GemmProblem& p = batch.problem;
  if (p.n != 1) return false;
  const bool byRows = p.a.columnStride == 1;
  if (!byRows && p.a.rowStride != 1) return false;
  const bool isLong = p.b.rowStride == 1 && p.k >= 2 * kDotSlot && batch.count * p.m < kManyDots;
  choice.way = !byRows ? Way::columnSums : isLong ? Way::dots : Way::rowDots;
  return true;
}

size_t vectorWorkspace(Batch batch, const Choice& choice) {
  if (choice.transposed) transpose(batch);
  return choice.way == Way::dots && !batch.problem.adds ? dotByteLength(batch) : vectorByteLength(batch);
}

void vectorProduct(Batch batch, const Choice& choice, ThreadPool& pool, Workspace workspace) {
  if (choice.transposed) transpose(batch);
  const GemmProblem& p = batch.problem;
  if (choice.way == Way::dots && !p.adds) return longDots(batch, pool, workspace.data);
  if (p.b.rowStride != 1) gatherVectors(batch, workspace.data, pool);
  const bool byRows = choice.way != Way::columnSums;
  // Tasks are pieces of rows of all products. Their length changes no result.
  const int64_t pieces = batch.count * ceilDivide(p.m * p.k, kLeastTaskElements);
  const int64_t wanted = std::max<int64_t>(1, std::min<int64_t>(pieces, 8 * pool.workers()) / batch.count);
  int64_t piece = std::max<int64_t>(byRows ? 4 : kColumnSumWidth / 8, ceilDivide(p.m, wanted));
  if (!byRows) piece = std::min<int64_t>(piece, kColumnSumWidth);
  const int64_t perProduct = ceilDivide(p.m, piece);
  const int64_t work = batch.count * p.m * p.k;

  pool.parallelFor(
      batch.count * perProduct,
      [&](int64_t task, int) {
        if (p.cancelled()) return;
        const GemmProblem one = batch.at(task / perProduct);
        const int64_t begin = task % perProduct * piece;
        const int64_t count = std::min(piece, p.m - begin);
        const std::byte* x = one.b.data;
        const std::byte* matrix = one.a.data + begin * one.a.rowStride * p.elementByteLength;
        std::byte* y = one.c.data + begin * one.c.rowStride * p.elementByteLength;
        if (byRows) {
          p.kernels->rowDots(count, p.k, matrix, one.a.rowStride, x, y, one.c.rowStride, p.adds);
        } else {
          p.kernels->columnSums(count, p.k, matrix, one.a.columnStride, x, y, one.c.rowStride, p.adds);
        }
      },
      work <= kLeastTaskElements ? 1 : pool.workers());
}

}  // namespace weft::cpu
