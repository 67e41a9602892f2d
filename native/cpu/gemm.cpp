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

// Products of a matrix and its own transpose, of at least so many rows and so long sums, are computed in rows
// of squares from the diagonal on.
constexpr int64_t kLeastSymmetricSide = 512;
constexpr int64_t kLeastSymmetricDepth = 256;
constexpr int64_t kSquareSide = 160;
constexpr int64_t kMostSquares = 8;
constexpr int64_t kMirroredSide = 64;

bool isSymmetric(const GemmProblem& p, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float64) return false;
  const bool isOwnTranspose =
      p.a.data == p.b.data && p.a.rowStride == p.b.columnStride && p.a.columnStride == p.b.rowStride;
  return isOwnTranspose && p.m == p.n && p.m >= kLeastSymmetricSide && p.k >= kLeastSymmetricDepth &&
         p.c.columnStride == 1 && !p.adds;
}

// Copies columns from `first` on of rows first … last - 1 to where they stand with rows and columns
// exchanged: tile by tile, through one that both sides move along lines.
template <typename T>
void mirror(const GemmProblem& p, int64_t first, int64_t last, ThreadPool& pool) {
  T* const c = reinterpret_cast<T*>(p.c.data);
  const int64_t row = p.c.rowStride;
  pool.parallelFor(ceilDivide(p.m - first, kMirroredSide), [&](int64_t task, int) {
    if (p.cancelled()) return;
    T tile[kMirroredSide][kMirroredSide];
    const int64_t begin = first + task * kMirroredSide, end = std::min(p.m, begin + kMirroredSide);
    for (int64_t some = first; some < std::min(last, end); some += kMirroredSide) {
      const int64_t until = std::min(last, some + kMirroredSide);
      for (int64_t i = some; i < until; i++)
        for (int64_t j = std::max(begin, i + 1); j < end; j++) tile[j - begin][i - some] = c[i * row + j];
      for (int64_t j = begin; j < end; j++)
        if (some < j)
          std::memcpy(c + j * row + some, tile[j - begin], (std::min(until, j) - some) * sizeof(T));
    }
  });
}

// The rows of squares of a product of a matrix and its own transpose, each from the diagonal on.
std::vector<GemmProblem> symmetricParts(const GemmProblem& p) {
  const int64_t squares = std::min(kMostSquares, p.m / kSquareSide);
  const auto edge = [&](int64_t k) { return k == squares ? p.m : p.m * k / squares / 16 * 16; };
  std::vector<GemmProblem> parts(squares, p);
  for (int64_t k = 0; k < squares; k++) {
    const int64_t first = edge(k);
    GemmProblem& part = parts[k];
    part.m = edge(k + 1) - first;
    part.n = p.n - first;
    part.a.data += first * p.a.rowStride * p.elementByteLength;
    part.b.data += first * p.b.columnStride * p.elementByteLength;
    part.c.data += first * (p.c.rowStride + 1) * p.elementByteLength;
  }
  return parts;
}

// Multiplies the parts and copies the rest. An element has the bits of the one across the diagonal, since the
// factors of each product commute.
template <typename Multiply>
void symmetricProduct(const GemmProblem& p, const std::vector<GemmProblem>& parts, ThreadPool& pool,
                      Multiply&& multiply) {
  for (const GemmProblem& part : parts) {
    if (p.cancelled()) return;
    const int64_t first = p.m - part.n, last = first + part.m;
    multiply(part);
    p.elementByteLength == 4 ? mirror<uint32_t>(p, first, last, pool)
                             : mirror<uint64_t>(p, first, last, pool);
  }
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
    const auto blocked = [&](const GemmProblem& one) { blockedProduct(one, pool, threads, workspace); };
    const auto fits = [&](const GemmProblem& one) {
      return blockedWorkspace(one, threads).least <= workspace.byteLength;
    };
    for (int64_t i = 0; i < batch.total() && !p.cancelled(); i++) {
      const GemmProblem one = batch.at(i);
      const auto parts = isSymmetric(one, job.dtype) ? symmetricParts(one) : std::vector<GemmProblem>();
      if (!parts.empty() && std::ranges::all_of(parts, fits)) {
        symmetricProduct(one, parts, pool, blocked);
      } else {
        blocked(one);
      }
    }
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
