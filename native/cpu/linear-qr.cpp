// QR factors by blocks of Householder reflectors, and the routines that give them and their Q.
#include "cpu/lapack-rows.h"
#include "cpu/linear-reflectors.h"

namespace weft::cpu {

template <typename T>
T makeReflector(int64_t n, T* x) {
  using R = RealOf<T>;
  R most = 0;
  for (int64_t i = 1; i < n; i++)
    most = std::max({most, std::abs(realPart(x[i])), std::abs(imaginaryPart(x[i]))});
  bool isRegular = true;
  for (int64_t i = 0; i < n; i++) isRegular = isRegular && sumOfParts(x[i]) - sumOfParts(x[i]) == 0;
  if (isRegular && most == 0 && imaginaryPart(x[0]) == 0) return T{};
  // Scaled, so that squares neither overflow nor vanish.
  const R scale =
      isRegular ? std::max(most, std::max(std::abs(realPart(x[0])), std::abs(imaginaryPart(x[0])))) : R{1};
  R squares = 0;
  for (int64_t i = 1; i < n; i++) {
    const R re = realPart(x[i]) / scale, im = imaginaryPart(x[i]) / scale;
    squares += re * re + im * im;
  }
  const R re = realPart(x[0]) / scale, im = imaginaryPart(x[0]) / scale;
  const R length = std::sqrt(re * re + im * im + squares);
  const R beta = re > 0 ? -length : length;
  T tau, first;
  if constexpr (kIsComplex<T>) {
    tau = {(beta - re) / beta, -im / beta};
    first = {re - beta, im};
  } else {
    tau = (beta - re) / beta;
    first = re - beta;
  }
  for (int64_t i = 1; i < n; i++) x[i] = (x[i] / scale) / first;
  x[0] = ofReal<T>(beta * scale);
  return tau;
}

int64_t reflectorElements(int64_t rows, int64_t columns) {
  return kReflectors * (rows + 2 * columns + 2 * kReflectors);
}

namespace {

// The reflectors [first, first + count) of a matrix, with their ones and zeros, and T of I - V T Vᴴ.
template <typename T>
struct Block {
  MatrixView<T> v;
  T triangle[kReflectors * kReflectors];
};

template <typename T>
void makeBlock(const Reflectors<T>& q, int64_t first, int64_t count, T* memory, Block<T>& block) {
  const int64_t start = first + q.below, rows = q.a.rows - start;
  block.v = columnMajor(memory, rows, count);
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t k = 0; k < count; k++) {
    T* const v = &block.v.at(0, k);
    std::fill_n(v, k, T{});
    v[k] = ofReal<T>(1);
    std::copy_n(&q.a.at(start + k, first + k) + 1, rows - k - 1, v + k + 1);
    T* const t = block.triangle + k * kReflectors;
    const T tau = q.taus[first + k];
    T sums[kReflectors];
    kernels.dots(rows, k, block.v.data, rows, v, sums);
    for (int64_t i = 0; i < k; i++) {
      T sum{};
      for (int64_t j = i; j < k; j++) sum = sum + block.triangle[j * kReflectors + i] * sums[j];
      t[i] = -(tau * sum);
    }
    t[k] = tau;
  }
}

// c -= V op(T) Vᴴ c.
template <typename T>
void applyBlock(const Block<T>& block, bool isAdjoint, const MatrixView<T>& c, T* memory,
                const LinearWork& work) {
  const int64_t count = block.v.columns;
  const MatrixView<T> w = columnMajor(memory, count, c.columns);
  const MatrixView<T> y = columnMajor(memory + count * c.columns, count, c.columns);
  std::fill_n(w.data, count * c.columns, T{});
  subtractProduct(w.transposed(), c.transposed(), block.v, kIsComplex<T>, work);
  for (int64_t j = 0; j < c.columns; j++) {
    for (int64_t i = 0; i < count; i++) {
      T sum{};
      // Of the triangle above the diagonal, or its adjoint.
      for (int64_t k = isAdjoint ? 0 : i; k < (isAdjoint ? i + 1 : count); k++) {
        const T t =
            isAdjoint ? conjugate(block.triangle[i * kReflectors + k]) : block.triangle[k * kReflectors + i];
        sum = sum - t * w.at(k, j);
      }
      y.at(i, j) = sum;
    }
  }
  subtractProduct(c, block.v, y, false, work);
}

template <typename T>
void factorColumns(const MatrixView<T>& a, T* taus) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t k = 0; k < std::min(a.rows, a.columns); k++) {
    T* const v = &a.at(k, k);
    const int64_t rows = a.rows - k, columns = a.columns - k - 1;
    taus[k] = makeReflector(rows, v);
    if (columns == 0) continue;
    const T kept = *v;
    *v = ofReal<T>(1);
    for (int64_t j = k + 1; j < a.columns; j++) {
      T sum;
      kernels.dots(rows, 1, v, 0, &a.at(k, j), &sum);
      const T factor = -(conjugate(taus[k]) * sum);
      kernels.addColumns(rows, 1, &factor, v, 0, &a.at(k, j));
    }
    *v = kept;
  }
}

// The first columns of Q of few reflectors, one after the other from the last one on, which leaves the
// columns of ones before it as they are.
template <typename T>
void makeSmallQ(const MatrixView<T>& a, const T* taus, int64_t count, const MatrixView<T>& q) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t k = std::min(count, q.columns) - 1; k >= 0; k--) {
    const int64_t below = a.rows - k - 1;
    const T* const v = &a.at(k, k) + 1;
    for (int64_t j = k; j < q.columns; j++) {
      T* const x = &q.at(k, j);
      T sum;
      kernels.dots(below, 1, v, 0, x + 1, &sum);
      const T factor = -(taus[k] * (*x + sum));
      *x = *x + factor;
      kernels.addColumns(below, 1, &factor, v, 0, x + 1);
    }
  }
}

}  // namespace

template <typename T>
void applyReflectors(const Reflectors<T>& q, bool isAdjoint, const MatrixView<T>& c, T* memory,
                     const LinearWork& work) {
  const int64_t blocks = (q.count + kReflectors - 1) / kReflectors;
  for (int64_t k = 0; k < blocks; k++) {
    if (work.cancelled()) return;
    const int64_t first = (isAdjoint ? k : blocks - 1 - k) * kReflectors, start = first + q.below;
    Block<T> block;
    makeBlock(q, first, std::min(kReflectors, q.count - first), memory, block);
    applyBlock(block, isAdjoint, c.part(start, 0, c.rows - start, c.columns), memory + kReflectors * q.a.rows,
               work);
  }
}

template <typename T>
void factorQr(const MatrixView<T>& a, T* taus, T* memory, const LinearWork& work) {
  const int64_t least = std::min(a.rows, a.columns);
  for (int64_t first = 0; first < least; first += kReflectors) {
    if (work.cancelled()) return;
    const int64_t count = std::min(kReflectors, least - first), rest = a.columns - first - count;
    factorColumns(a.part(first, first, a.rows - first, count), taus + first);
    if (rest == 0) return;
    const MatrixView<T> below = a.part(first, first, a.rows - first, a.columns - first);
    Block<T> block;
    makeBlock<T>({below, 0, taus + first, count}, 0, count, memory, block);
    applyBlock(block, true, below.part(0, count, below.rows, rest), memory + kReflectors * a.rows, work);
  }
}

#define WEFT_INSTANTIATE(T)                                                                                  \
  template T makeReflector<T>(int64_t, T*);                                                                  \
  template void applyReflectors<T>(const Reflectors<T>&, bool, const MatrixView<T>&, T*, const LinearWork&); \
  template void factorQr<T>(const MatrixView<T>&, T*, T*, const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

namespace {

// Columns and rows of the factors, and columns of Q.
struct Factors {
  Factors(const std::vector<int64_t>& given, bool hasQ)
      : numbers(given, hasQ ? 5 : 4),
        columns(numbers.next()),
        rows(numbers.next()),
        wanted(hasQ ? numbers.next() : columns) {
    if (wanted > rows && hasQ) throw std::invalid_argument("as many columns of Q as it has rows");
  }
  LinearNumbers numbers;
  int64_t columns, rows, wanted;
  int64_t least() const { return std::min(columns, rows); }
  int64_t size() const { return std::max({columns, rows, wanted}); }
  size_t memoryBytes() const {
    const auto size = static_cast<size_t>(kElementBytes[static_cast<int>(numbers.dtype)]);
    const size_t bytes = static_cast<size_t>(reflectorElements(rows, std::max(columns, wanted))) * size;
    return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  }
  LapackProblem problem(LapackRow row) const { return {row, numbers.dtype, rows, columns, wanted}; }
  size_t workBytes(const LapackChoice& choice) const {
    const size_t products = productBytes(numbers.dtype, size(), kReflectors, kReflectors * size());
    return std::max(choice.bytes(), memoryBytes() + products);
  }
};

template <typename T>
LinearWork behind(const LinearWork& work, size_t bytes) {
  return {work.pool, work.cancel, {work.workspace.data + bytes, work.workspace.byteLength - bytes}};
}

RoutineNeed qrNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Factors f(numbers, false);
  const auto choice = lapackChoice(f.problem(LapackRow::qr));
  return withLinear(f.numbers.dtype, [&](auto zero) -> RoutineNeed {
    const size_t bytes = f.numbers.bytes(f.rows, f.columns, sizeof(zero));
    return {{bytes},
            {bytes, f.numbers.bytes(f.least(), 1, sizeof(zero))},
            matrixNeed(f.size(), f.numbers.count, f.workBytes(*choice), pool),
            f.numbers.count,
            choice};
  });
}

void runQr(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Factors f(job.numbers, false);
  const LapackChoice& choice = choiceOf(job);
  const int64_t elements = f.rows * f.columns;
  withLinear(f.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, f.size(), f.workBytes(choice), pool, cancel,
               [&](int64_t k, const LinearWork& work) {
                 T* const data = matrixAt<T>(job.results, 0, k, elements);
                 copyElements(matrixAt<T>(job.operands, 0, k, elements), data, elements);
                 T* const taus = matrixAt<T>(job.results, 1, k, f.least());
                 if (lapackQr(choice, data, taus, work)) return;
                 factorQr(columnMajor(data, f.rows, f.columns), taus,
                          reinterpret_cast<T*>(work.workspace.data), behind<T>(work, f.memoryBytes()));
               });
  });
}

RoutineNeed qNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Factors f(numbers, true);
  const auto choice = lapackChoice(f.problem(LapackRow::qOfQr));
  return withLinear(f.numbers.dtype, [&](auto zero) -> RoutineNeed {
    return {{f.numbers.bytes(f.rows, f.columns, sizeof(zero)), f.numbers.bytes(f.least(), 1, sizeof(zero))},
            {f.numbers.bytes(f.rows, f.wanted, sizeof(zero))},
            matrixNeed(f.size(), f.numbers.count, f.workBytes(*choice), pool),
            f.numbers.count,
            choice};
  });
}

void runQ(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Factors f(job.numbers, true);
  const LapackChoice& choice = choiceOf(job);
  withLinear(f.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(
        job, units, f.size(), f.workBytes(choice), pool, cancel, [&](int64_t k, const LinearWork& work) {
          const MatrixView<T> q =
              columnMajor(matrixAt<T>(job.results, 0, k, f.rows * f.wanted), f.rows, f.wanted);
          const MatrixView<T> a =
              columnMajor(matrixAt<T>(job.operands, 0, k, f.rows * f.columns), f.rows, f.columns);
          const T* const taus = matrixAt<T>(job.operands, 1, k, f.least());
          if (lapackQ(choice, a.data, taus, f.least(), q.data, work)) return;
          std::fill_n(q.data, f.rows * f.wanted, T{});
          for (int64_t i = 0; i < f.wanted; i++) q.at(i, i) = ofReal<T>(1);
          if (f.size() <= kReflectors) return makeSmallQ(a, taus, f.least(), q);
          applyReflectors<T>({a, 0, taus, f.least()}, false, q, reinterpret_cast<T*>(work.workspace.data),
                             behind<T>(work, f.memoryBytes()));
        });
  });
}

}  // namespace

const Routine kQr{qrNeed, runQr};
const Routine kQOfQr{qNeed, runQ};

}  // namespace weft::cpu
