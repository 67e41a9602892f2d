#include "cpu/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "cpu/blas.h"
#include "cpu/cpu.h"
#include "cpu/gemm-vector.h"
#include "cpu/isa.h"
#include "cpu/threads.h"
#include "runtime/host-pool.h"
#include "runtime/product-batches.h"

namespace weft::cpu {
namespace {

// Products of at most this many multiply-adds, with a k of at most kSmallDepth, are not packed.
constexpr int64_t kSmallWork = 64 * 64 * 64;
constexpr int64_t kSmallDepth = 256;
constexpr int64_t kSmallColumnBytes = 128;
// Products of at most this many multiply-adds are done by one thread each, when there are this many for each
// thread.
constexpr int64_t kOneThreadWork = int64_t{1} << 26;
constexpr int kProductsPerThread = 4;
// Least work worth a task, in multiply-adds.
constexpr int64_t kLeastTaskWork = int64_t{1} << 18;

const GemmKernels& kernelsFor(DType dtype) {
  switch (currentIsa()) {
#ifdef WEFT_HAS_AVX
    case Isa::avx512:
      return gemmKernelsAvx512(dtype);
    case Isa::avx2:
      return gemmKernelsAvx2(dtype);
#elif defined(WEFT_HAS_NEON)
    case Isa::neon:
      return gemmKernelsNeon(dtype);
#endif
    default:
      return gemmKernelsBaseline(dtype);
  }
}

Batch batchOf(const Matmul& job, const std::atomic<bool>* cancel) {
  const auto operand = [](const Matrix& matrix) {
    return GemmOperand{static_cast<std::byte*>(matrix.data), matrix.rowStride, matrix.columnStride};
  };
  GemmProblem problem{.kernels = &kernelsFor(job.dtype),
                      .elementByteLength = kElementBytes[static_cast<int>(job.dtype)],
                      .m = job.m,
                      .n = job.n,
                      .k = job.k,
                      .a = operand(job.a),
                      .b = operand(job.b),
                      .c = operand(job.c),
                      .cancel = cancel};
  Batch batch{problem,           job.batch, job.a.batchStride, job.b.batchStride,
              job.c.batchStride, {},        isCutOuter(job)};
  for (size_t axis = 0; axis < job.outer.size(); axis++)
    batch.outer.push_back(
        {job.outer[axis], job.a.outerStrides[axis], job.b.outerStrides[axis], job.c.outerStrides[axis]});
  tidyStrides(batch);
  return batch;
}

void fillZeros(const Batch& batch) {
  const GemmProblem& p = batch.problem;
  for (int64_t i = 0; i < batch.total(); i++) {
    const GemmOperand c = batch.at(i).c;
    for (int64_t row = 0; row < p.m; row++) {
      for (int64_t column = 0; column < p.n; column++) {
        const int64_t element = row * c.rowStride + column * c.columnStride;
        std::memset(c.data + element * p.elementByteLength, 0, p.elementByteLength);
      }
    }
  }
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

void smallProducts(const Batch& batch, ThreadPool& pool) {
  const GemmProblem& p = batch.problem;
  const int64_t group = ceilDivide(kLeastTaskWork, p.m * p.n * p.k);
  pool.parallelFor(ceilDivide(batch.total(), group), [&](int64_t task, int) {
    if (p.cancelled()) return;
    alignas(64) std::byte scratch[kSmallDepth * kSmallColumnBytes];
    const int64_t end = std::min(batch.total(), (task + 1) * group);
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
  const bool many = batch.total() >= int64_t{kProductsPerThread} * pool.workers();
  return batch.total() > 1 && (work <= kLeastTaskWork || (many && work <= kOneThreadWork));
}

void largeProducts(const Batch& batch, const Matmul& job, ThreadPool& pool, Workspace workspace) {
  const GemmProblem& p = batch.problem;
  const auto byBlas = [&](int64_t i) { return blasProduct(batch.at(i), job.dtype, pool.size()); };
  if (!job.ownKernels && byBlas(0)) {
    for (int64_t i = 1; i < batch.total() && !p.cancelled(); i++) byBlas(i);
    return;
  }
  const int threads = pool.workers();
  // Each thread has its own part of the workspace.
  const auto own = static_cast<int64_t>(workspace.byteLength) / threads / kHostAlignment * kHostAlignment;
  if (isByThread(batch, pool) && static_cast<size_t>(own) >= blockedWorkspace(p, 1).least) {
    const auto product = [&](int64_t i, int worker) {
      blockedProduct(batch.at(i), pool, 1, {workspace.data + worker * own, static_cast<size_t>(own)});
    };
    pool.parallelFor(batch.total(), product, threads);
  } else {
    for (int64_t i = 0; i < batch.total() && !p.cancelled(); i++)
      blockedProduct(batch.at(i), pool, threads, workspace);
  }
}

// The workspace of a batch that is done in this way.
WorkspaceNeed needOf(const Batch& batch, const Choice& choice, const ThreadPool& pool) {
  const auto exactly = [](size_t byteLength) { return WorkspaceNeed{byteLength, byteLength}; };
  if (batch.problem.k == 0) return exactly(0);
  switch (choice.way) {
    case Way::dots:
    case Way::rowDots:
    case Way::columnSums:
      return exactly(vectorWorkspace(batch, choice));
    case Way::small:
      if (!batch.problem.adds) return exactly(0);
      break;
    case Way::blocked:
      break;
  }
  WorkspaceNeed need = blockedWorkspace(batch.problem, pool.workers());
  if (isByThread(batch, pool))
    need.most = std::max(
        need.most,
        pool.workers() * alignedByteLength(static_cast<int64_t>(blockedWorkspace(batch.problem, 1).most)));
  return need;
}

}  // namespace

void matmul(const Matmul& job, ThreadPool& pool, const std::atomic<bool>* cancel) {
  matmul(job, {{0, lineCount(job)}, {0, job.n}, {0, job.k}}, pool, cancel);
}

WorkspaceNeed workspaceOf(const Matmul& job, const ThreadPool& pool) {
  if (std::min({job.m, job.n, job.k, matrixCount(job)}) == 0) return {0, 0};
  Batch batch = batchOf(job, nullptr);
  simplify(batch);
  return needOf(batch, choose(batch), pool);
}

WorkspaceNeed addWorkspace(const Matmul& job, const ThreadPool& pool) {
  return blockedWorkspace(batchOf(job, nullptr).problem, pool.workers());
}

void addProduct(const Matmul& job, ThreadPool& pool, const std::atomic<bool>* cancel, Workspace workspace) {
  Batch batch = batchOf(job, cancel);
  batch.problem.adds = true;
  const size_t most = mostBlockedBytes(batch.problem, pool.workers());
  host::Block own;
  if (workspace.byteLength < most &&
      workspace.byteLength < blockedWorkspace(batch.problem, pool.workers()).least) {
    own = host::allocate(most, host::Purpose::work);
    workspace = {own.as<std::byte>(), most};
  }
  largeProducts(batch, job, pool, workspace);
}

void matmul(const Matmul& job, const MatmulPart& part, ThreadPool& pool, const std::atomic<bool>* cancel,
            Workspace workspace) {
  if (job.dtype < DType::float16) {
    throw std::invalid_argument("no matrix product of dtype " + std::to_string(static_cast<int>(job.dtype)));
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
  largeProducts(batch, job, pool, workspace);
}

}  // namespace weft::cpu
