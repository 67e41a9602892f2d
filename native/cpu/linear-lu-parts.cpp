// LU factors in C order, P, L and U of A = P L U, and the inverse of A by its factors.
#include "cpu/linear-lu.h"
#include "cpu/linear-turns.h"

namespace weft::cpu {
namespace {

// Columns and rows of the factors, and whether P is the places of its ones.
struct LuParts {
  explicit LuParts(const std::vector<int64_t>& given)
      : numbers(given, 5), columns(numbers.next()), rows(numbers.next()), hasPlaces(numbers.next() != 0) {}
  LinearNumbers numbers;
  int64_t columns, rows;
  bool hasPlaces;
  int64_t least() const { return std::min(columns, rows); }
  int64_t size() const { return std::max(columns, rows); }
  // Row i of L U is row `order[i]` of A.
  size_t orderBytes() const {
    const size_t bytes = static_cast<size_t>(rows) * sizeof(int64_t);
    return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  }
};

// The rows that exchanges bring to each place; those that a cancelled run left are no rows.
void orderOfRows(const int64_t* pivots, int64_t count, int64_t n, int64_t* order) {
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t i = 0; i < count; i++)
    if (pivots[i] >= 1 && pivots[i] <= n) std::swap(order[i], order[pivots[i] - 1]);
}

RoutineNeed partsNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const LuParts p(numbers);
  return withLinear(p.numbers.dtype, [&](auto zero) -> RoutineNeed {
    using T = decltype(zero);
    const size_t permutation = p.hasPlaces ? p.numbers.bytes(p.rows, 1, sizeof(int64_t))
                                           : p.numbers.bytes(p.rows, p.rows, sizeof(RealOf<T>));
    return {{p.numbers.bytes(p.rows, p.columns, sizeof(T)), p.numbers.bytes(p.least(), 1, sizeof(int64_t))},
            {permutation, p.numbers.bytes(p.rows, p.least(), sizeof(T)),
             p.numbers.bytes(p.least(), p.columns, sizeof(T))},
            matrixNeed(p.size(), p.numbers.count, p.orderBytes(), pool),
            p.numbers.count};
  });
}

void runParts(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const LuParts p(job.numbers);
  const int64_t m = p.rows, n = p.columns, least = p.least();
  withLinear(p.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, p.size(), p.orderBytes(), pool, cancel, [&](int64_t k, const LinearWork& work) {
      const MatrixView<T> lu = columnMajor(matrixAt<T>(job.operands, 0, k, m * n), m, n);
      auto* const order = reinterpret_cast<int64_t*>(work.workspace.data);
      orderOfRows(matrixAt<int64_t>(job.operands, 1, k, least), least, m, order);
      if (p.hasPlaces) {
        int64_t* const places = matrixAt<int64_t>(job.results, 0, k, m);
        for (int64_t i = 0; i < m; i++) places[order[i]] = i;
      } else {
        auto* const ones = matrixAt<RealOf<T>>(job.results, 0, k, m * m);
        std::fill_n(ones, m * m, RealOf<T>{});
        for (int64_t i = 0; i < m; i++) ones[order[i] * m + i] = 1;
      }
      turnBack(lu.part(0, 0, m, least), TurnedPart::unitLower, matrixAt<T>(job.results, 1, k, m * least),
               work);
      turnBack(lu.part(0, 0, least, n), TurnedPart::upper, matrixAt<T>(job.results, 2, k, least * n), work);
    });
  });
}

// Triangles of at most so many rows are inverted by a solution with the identity.
constexpr int64_t kInvertedTriangle = 32;

// x = l⁻¹, of a triangle with ones on its diagonal.
template <typename T>
void invertUnitLower(const MatrixView<T>& l, const MatrixView<T>& x, const LinearWork& work) {
  const int64_t n = l.rows;
  if (n <= kInvertedTriangle) {
    for (int64_t j = 0; j < n; j++) {
      std::fill_n(&x.at(0, j), n, T{});
      x.at(j, j) = ofReal<T>(1);
    }
    return solveTriangle(l, {false, true, false}, x, work);
  }
  const int64_t half = n / 2, rest = n - half;
  invertUnitLower(l.part(0, 0, half, half), x.part(0, 0, half, half), work);
  invertUnitLower(l.part(half, half, rest, rest), x.part(half, half, rest, rest), work);
  for (int64_t j = half; j < n; j++) std::fill_n(&x.at(0, j), half, T{});
  const MatrixView<T> below = x.part(half, 0, rest, half);
  for (int64_t j = 0; j < half; j++) std::fill_n(&below.at(0, j), rest, T{});
  subtractProduct(below, l.part(half, 0, rest, half), x.part(0, 0, half, half), false, work);
  solveTriangle(l.part(half, half, rest, rest), {false, true, false}, below, work);
}

// x = a⁻¹ = u⁻¹ l⁻¹ p, columns exchanged at last.
template <typename T>
void invertFactored(const MatrixView<T>& lu, const int64_t* pivots, const MatrixView<T>& x,
                    const LinearWork& work) {
  const int64_t n = lu.rows;
  invertUnitLower(lu, x, work);
  solveTriangle(lu, {true, false, false}, x, work);
  for (int64_t k = n - 1; k >= 0; k--) {
    const int64_t other = pivots[k] - 1;
    if (other != k && other >= 0 && other < n)
      std::swap_ranges(&x.at(0, k), &x.at(0, k) + n, &x.at(0, other));
  }
}

struct Inverting {
  explicit Inverting(const std::vector<int64_t>& given) : numbers(given, 3), n(numbers.next()) {}
  LinearNumbers numbers;
  int64_t n;
  LapackProblem problem() const { return {LapackRow::inverse, numbers.dtype, n, n}; }
  // In column-major order.
  size_t matrixBytes() const {
    const size_t bytes = static_cast<size_t>(n * n * kElementBytes[static_cast<int>(numbers.dtype)]);
    return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  }
  size_t workBytes(const LapackChoice& choice) const {
    return matrixBytes() + std::max(choice.bytes(), luBytes(numbers.dtype, n, n));
  }
};

RoutineNeed inverseNeed(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Inverting v(numbers);
  const auto choice = lapackChoice(v.problem());
  return withLinear(v.numbers.dtype, [&](auto zero) -> RoutineNeed {
    const size_t bytes = v.numbers.bytes(v.n, v.n, sizeof(zero));
    return {{bytes, v.numbers.bytes(v.n, 1, sizeof(int64_t))},
            {bytes},
            matrixNeed(v.n, v.numbers.count, v.workBytes(*choice), pool),
            v.numbers.count,
            choice};
  });
}

void runInverse(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Inverting v(job.numbers);
  const LapackChoice& choice = choiceOf(job);
  const int64_t n = v.n;
  withLinear(v.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, n, v.workBytes(choice), pool, cancel, [&](int64_t k, const LinearWork& work) {
      T* const lu = matrixAt<T>(job.operands, 0, k, n * n);
      const int64_t* const pivots = matrixAt<int64_t>(job.operands, 1, k, n);
      T* const x = reinterpret_cast<T*>(work.workspace.data);
      const size_t own = v.matrixBytes();
      const LinearWork behind{
          work.pool, work.cancel, {work.workspace.data + own, work.workspace.byteLength - own}, work.threads};
      bool isFound = choice.lapack != nullptr;
      if (isFound) {
        std::copy_n(lu, n * n, x);
        isFound = lapackInverse(choice, x, pivots, behind);
      }
      if (!isFound) invertFactored(columnMajor(lu, n, n), pivots, columnMajor(x, n, n), behind);
      turnBack(columnMajor(x, n, n), TurnedPart::all, matrixAt<T>(job.results, 0, k, n * n), work);
    });
  });
}

}  // namespace

const Routine kLuParts{partsNeed, runParts};
const Routine kInverse{inverseNeed, runInverse};

}  // namespace weft::cpu
