#include "cpu/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "cpu/blas.h"
#include "cpu/cpu.h"
#include "cpu/isa.h"
#include "cpu/threads.h"
#include "runtime/host-pool.h"

namespace weft::cpu {
namespace {

// Codes of src/graph/dtype.ts: float16, bfloat16, float32, float64, complex64, complex128.
constexpr int kFirstDType = 9;
constexpr std::array<int64_t, 6> kElementByteLengths = {2, 2, 4, 8, 8, 16};

// Products of at most this many multiply-adds, with a k of at most kSmallDepth, are not packed.
constexpr int64_t kSmallWork = 64 * 64 * 64;
constexpr int64_t kSmallDepth = 256;
constexpr int64_t kSmallColumnBytes = 128;
// Products of at most this many multiply-adds are done by one thread each, when there are this many for each
// thread.
constexpr int64_t kOneThreadWork = int64_t{1} << 26;
constexpr int kProductsPerThread = 4;
// Dot products of at least two slots are cut into slots, unless there are many.
constexpr int64_t kDotSlot = int64_t{1} << 16;
constexpr int64_t kManyDots = 64;
// Least work worth a task: multiply-adds, and elements of a matrix that a matrix-vector product reads.
constexpr int64_t kLeastTaskWork = int64_t{1} << 18;
constexpr int64_t kLeastTaskElements = int64_t{1} << 15;

const GemmKernels& kernelsFor(int dtype) {
  switch (currentIsa()) {
#if defined(__x86_64__)
    case Isa::avx512:
      return gemmKernelsAvx512(dtype);
    case Isa::avx2:
      return gemmKernelsAvx2(dtype);
#elif defined(__aarch64__)
    case Isa::neon:
      return gemmKernelsNeon(dtype);
#endif
    default:
      return gemmKernelsBaseline(dtype);
  }
}

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A batch of products in a form that has fewer cases.
struct Batch {
  GemmProblem problem;
  int64_t count;
  int64_t aStride, bStride, cStride;

  GemmProblem at(int64_t i) const {
    GemmProblem one = problem;
    one.a.data += i * aStride * problem.elementByteLength;
    one.b.data += i * bStride * problem.elementByteLength;
    one.c.data += i * cStride * problem.elementByteLength;
    return one;
  }
};

// c' = b' a'.
void transpose(Batch& batch) {
  GemmProblem& p = batch.problem;
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(batch.aStride, batch.bStride);
  for (GemmOperand* operand : {&p.a, &p.b, &p.c}) *operand = operand->transposed();
}

// Strides along an axis of one element say nothing: makes them those of a dense matrix; and the only row of
// each product of a batch one of many.
void tidyStrides(Batch& batch) {
  GemmProblem& p = batch.problem;
  const auto tidy = [](GemmOperand& operand, int64_t rows, int64_t columns) {
    if (columns == 1) operand.columnStride = 1;
    if (rows == 1) operand.rowStride = columns * operand.columnStride;
  };
  tidy(p.a, p.m, p.k);
  tidy(p.b, p.k, p.n);
  tidy(p.c, p.m, p.n);
  if (p.m == 1 && batch.count > 1) {
    p.a.rowStride = batch.aStride;
    p.c.rowStride = batch.cStride;
  }
}

// A batch whose products share b, with the rows of a and c running on from one to the next, is one taller
// product.
bool joinRows(Batch& batch) {
  GemmProblem& p = batch.problem;
  const bool runsOn =
      batch.bStride == 0 && batch.aStride == p.m * p.a.rowStride && batch.cStride == p.m * p.c.rowStride;
  if (batch.count == 1 || !runsOn) return false;
  p.m *= batch.count;
  batch.count = 1;
  return true;
}

Batch batchOf(const Matmul& job, const std::atomic<bool>* cancel) {
  const auto operand = [](const Matrix& matrix) {
    return GemmOperand{static_cast<std::byte*>(matrix.data), matrix.rowStride, matrix.columnStride};
  };
  GemmProblem problem{.kernels = &kernelsFor(job.dtype),
                      .elementByteLength = kElementByteLengths[job.dtype - kFirstDType],
                      .m = job.m,
                      .n = job.n,
                      .k = job.k,
                      .a = operand(job.a),
                      .b = operand(job.b),
                      .c = operand(job.c),
                      .cancel = cancel};
  Batch batch{problem, job.batch, job.a.batchStride, job.b.batchStride, job.c.batchStride};
  tidyStrides(batch);
  return batch;
}

// What was done to a batch to make it simpler, which is then done to its parts.
struct Form {
  enum { apart, joined, joinedTransposed } rows = apart;
  bool transposed = false;
};

Form simplify(Batch& batch) {
  Form form;
  if (joinRows(batch)) {
    form.rows = Form::joined;
  } else {
    transpose(batch);
    form.transposed = joinRows(batch);
    if (form.transposed)
      form.rows = Form::joinedTransposed;
    else
      transpose(batch);
  }
  const GemmOperand& c = batch.problem.c;
  if (c.columnStride != 1 && c.rowStride == 1) {
    transpose(batch);
    form.transposed = !form.transposed;
  }
  return form;
}

void simplifyAs(const Form& form, Batch& batch) {
  const bool turned = form.rows == Form::joinedTransposed;
  if (turned) transpose(batch);
  if (form.rows != Form::apart) joinRows(batch);
  if (form.transposed != turned) transpose(batch);
}

void advance(GemmOperand& operand, int64_t elements, int64_t elementByteLength) {
  operand.data += elements * elementByteLength;
}

// A part of a batch, before it is simplified.
void restrict(Batch& batch, const MatmulPart& part) {
  GemmProblem& p = batch.problem;
  const int64_t product = part.rows.first / p.m;
  const int64_t row = part.rows.first % p.m;
  const int64_t rows = part.rows.last - part.rows.first;
  p = batch.at(product);
  batch.count = std::max<int64_t>(1, rows / p.m);
  p.m = std::min(rows, p.m);
  p.n = part.columns.last - part.columns.first;
  p.k = part.depth.last - part.depth.first;
  p.adds = part.depth.first > 0;
  advance(p.a, row * p.a.rowStride + part.depth.first * p.a.columnStride, p.elementByteLength);
  advance(p.b, part.depth.first * p.b.rowStride + part.columns.first * p.b.columnStride, p.elementByteLength);
  advance(p.c, row * p.c.rowStride + part.columns.first * p.c.columnStride, p.elementByteLength);
}

void fillZeros(const Batch& batch) {
  const GemmProblem& p = batch.problem;
  for (int64_t i = 0; i < batch.count; i++) {
    const GemmOperand c = batch.at(i).c;
    for (int64_t row = 0; row < p.m; row++) {
      for (int64_t column = 0; column < p.n; column++) {
        const int64_t element = row * c.rowStride + column * c.columnStride;
        std::memset(c.data + element * p.elementByteLength, 0, p.elementByteLength);
      }
    }
  }
}

size_t aligned(int64_t byteLength) {
  return static_cast<size_t>(ceilDivide(byteLength, host::kAlignment)) * host::kAlignment;
}

// The vectors of matrix-vector products, where their elements do not lie side by side.
size_t vectorByteLength(const Batch& batch) {
  const GemmProblem& p = batch.problem;
  if (p.b.rowStride == 1) return 0;
  return aligned((batch.bStride == 0 ? 1 : batch.count) * p.k * p.elementByteLength);
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
  return aligned(batch.count * p.m * dotSlots(p) * p.elementByteLength);
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

// How a product is computed. It decides the order of sums, so that parts are computed as their whole would
// be.
enum class Way { small, blocked, dots, rowDots, columnSums };
struct Choice {
  Way way;
  // For a matrix and a vector: whether the vector is the left operand.
  bool transposed;
};

// Matrix times vector, one of whose axes has its elements side by side.
bool isVectorProduct(Batch batch, Choice& choice) {
  if (batch.problem.kernels->rowDots == nullptr) return false;
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

// Products too small to be worth packing.
bool isSmall(const Batch& batch) {
  const GemmProblem& p = batch.problem;
  if (p.kernels->small == nullptr || p.b.columnStride != 1 || p.c.columnStride != 1) return false;
  return p.k <= kSmallDepth && p.m * p.n <= kSmallWork && p.m * p.n * p.k <= kSmallWork;
}

Choice choose(const Batch& batch) {
  Choice choice{Way::blocked, false};
  if ((batch.problem.m == 1 || batch.problem.n == 1) && isVectorProduct(batch, choice)) return choice;
  return {isSmall(batch) ? Way::small : Way::blocked, false};
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

void smallProducts(const Batch& batch, ThreadPool& pool) {
  const GemmProblem& p = batch.problem;
  const int64_t group = ceilDivide(kLeastTaskWork, p.m * p.n * p.k);
  pool.parallelFor(ceilDivide(batch.count, group), [&](int64_t task, int) {
    if (p.cancelled()) return;
    alignas(64) std::byte scratch[kSmallDepth * kSmallColumnBytes];
    const int64_t end = std::min(batch.count, (task + 1) * group);
    for (int64_t i = task * group; i < end; i++) {
      const GemmProblem one = batch.at(i);
      p.kernels->small(p.m, p.n, p.k, one.a.data, one.a.rowStride, one.a.columnStride, one.b.data,
                       one.b.rowStride, one.c.data, one.c.rowStride, scratch);
    }
  });
}

// Whether the products of a batch are small enough to be done by one thread each.
bool isByThread(const Batch& batch, const ThreadPool& pool) {
  const GemmProblem& p = batch.problem;
  const int64_t work = p.m * p.n * p.k;
  const bool many = batch.count >= int64_t{kProductsPerThread} * pool.workers();
  return batch.count > 1 && (work <= kLeastTaskWork || (many && work <= kOneThreadWork));
}

void largeProducts(const Batch& batch, int dtype, ThreadPool& pool, Workspace workspace) {
  const GemmProblem& p = batch.problem;
  const auto byBlas = [&](int64_t i) { return blasProduct(batch.at(i), dtype, pool.size()); };
  if (byBlas(0)) {
    for (int64_t i = 1; i < batch.count && !p.cancelled(); i++) byBlas(i);
    return;
  }
  const int threads = pool.workers();
  // Each thread has its own part of the workspace.
  const auto own = static_cast<int64_t>(workspace.byteLength) / threads / host::kAlignment * host::kAlignment;
  if (isByThread(batch, pool) && static_cast<size_t>(own) >= blockedWorkspace(p, 1).least) {
    const auto product = [&](int64_t i, int worker) {
      blockedProduct(batch.at(i), pool, 1, {workspace.data + worker * own, static_cast<size_t>(own)});
    };
    pool.parallelFor(batch.count, product, threads);
  } else {
    for (int64_t i = 0; i < batch.count && !p.cancelled(); i++)
      blockedProduct(batch.at(i), pool, threads, workspace);
  }
}

// What a batch that is done in this way uses of a workspace.
WorkspaceNeed needOf(Batch batch, const Choice& choice, const ThreadPool& pool) {
  const auto exactly = [](size_t byteLength) { return WorkspaceNeed{byteLength, byteLength}; };
  if (batch.problem.k == 0) return exactly(0);
  switch (choice.way) {
    case Way::dots:
    case Way::rowDots:
    case Way::columnSums:
      if (choice.transposed) transpose(batch);
      return exactly(choice.way == Way::dots && !batch.problem.adds ? dotByteLength(batch)
                                                                    : vectorByteLength(batch));
    case Way::small:
      if (!batch.problem.adds) return exactly(0);
      break;
    case Way::blocked:
      break;
  }
  WorkspaceNeed need = blockedWorkspace(batch.problem, pool.workers());
  if (isByThread(batch, pool))
    need.most = std::max(
        need.most, pool.workers() * aligned(static_cast<int64_t>(blockedWorkspace(batch.problem, 1).most)));
  return need;
}

}  // namespace

void matmul(const Matmul& job, ThreadPool& pool, const std::atomic<bool>* cancel) {
  matmul(job, {{0, job.batch * job.m}, {0, job.n}, {0, job.k}}, pool, cancel);
}

WorkspaceNeed workspaceOf(const Matmul& job, const ThreadPool& pool) {
  if (std::min({job.m, job.n, job.k, job.batch}) == 0) return {0, 0};
  Batch batch = batchOf(job, nullptr);
  simplify(batch);
  return needOf(batch, choose(batch), pool);
}

void matmul(const Matmul& job, const MatmulPart& part, ThreadPool& pool, const std::atomic<bool>* cancel,
            Workspace workspace) {
  if (job.dtype < kFirstDType || job.dtype >= kFirstDType + static_cast<int>(kElementByteLengths.size())) {
    throw std::invalid_argument("no matrix product of dtype " + std::to_string(job.dtype));
  }
  if (part.rows.first >= part.rows.last || part.columns.first >= part.columns.last) return;
  if (part.depth.first >= part.depth.last && job.k > 0) return;
  Batch whole = batchOf(job, cancel);
  Batch batch = whole;
  restrict(batch, part);
  simplifyAs(simplify(whole), batch);
  if (job.k == 0) return fillZeros(batch);
  if (batch.problem.adds && batch.problem.kernels->round != nullptr) {
    throw std::invalid_argument("products of halves cannot be added to others");
  }
  const Choice choice = choose(whole);
  host::Block own;
  const WorkspaceNeed need = needOf(batch, choice, pool);
  if (workspace.data == nullptr) {
    own = host::allocate(need.most, host::Purpose::work);
    workspace = {own.as<std::byte>(), need.most};
  }
  if (workspace.byteLength < need.least) throw std::logic_error("a matrix product has too little workspace");
  switch (choice.way) {
    case Way::dots:
    case Way::rowDots:
    case Way::columnSums:
      return vectorProduct(batch, choice, pool, workspace);
    case Way::small:
      if (!batch.problem.adds) return smallProducts(batch, pool);
      break;
    case Way::blocked:
      break;
  }
  largeProducts(batch, job.dtype, pool, workspace);
}

}  // namespace weft::cpu
