// Systems with small matrices in C order: elimination with partial pivoting, right sides along with it.
#include "cpu/linear.h"

namespace weft::cpu {
namespace {

constexpr int64_t kMostRows = 32;

struct Small {
  explicit Small(const std::vector<int64_t>& given)
      : numbers(given, 4), n(numbers.next()), sides(numbers.next()) {
    if (n > kMostRows) throw std::invalid_argument("matrices of at most 32 rows");
  }
  LinearNumbers numbers;
  int64_t n, sides;
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const Small s(numbers);
  return withLinear(s.numbers.dtype, [&](auto zero) -> RoutineNeed {
    const size_t sides = s.numbers.bytes(s.n, s.sides, sizeof(zero));
    return {{s.numbers.bytes(s.n, s.n, sizeof(zero)), sides},
            {sides, s.numbers.bytes(1, 1, sizeof(int32_t))},
            matrixNeed(s.n, s.numbers.count, 0, pool),
            s.numbers.count};
  });
}

// y -= factor x.
template <typename T>
void takeOff(int64_t count, T factor, const T* x, T* y) {
  for (int64_t j = 0; j < count; j++) y[j] = y[j] - factor * x[j];
}

// The first of the largest; NaN is none.
template <typename T>
int64_t pivotOf(const T* a, int64_t n, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < n; i++)
    if (sumOfParts(a[i * n + k]) > sumOfParts(a[best * n + k])) best = i;
  return best;
}

// Gives 0, or the number of the first pivot that is 0, counted from 1.
template <typename T>
int32_t solveOne(int64_t n, int64_t sides, const T* given, T* x) {
  T a[kMostRows * kMostRows];
  std::copy_n(given, n * n, a);
  int32_t status = 0;
  for (int64_t k = 0; k < n; k++) {
    const int64_t pivot = pivotOf(a, n, k);
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
      std::swap_ranges(x + k * sides, x + (k + 1) * sides, x + pivot * sides);
    }
    const T* const row = a + k * n;
    if (row[k] == T{}) {
      if (status == 0) status = static_cast<int32_t>(k + 1);
      continue;
    }
    for (int64_t i = k + 1; i < n; i++) {
      const T factor = a[i * n + k] / row[k];
      takeOff(n - k - 1, factor, row + k + 1, a + i * n + k + 1);
      takeOff(sides, factor, x + k * sides, x + i * sides);
    }
  }
  for (int64_t k = n - 1; k >= 0; k--) {
    for (int64_t j = 0; j < sides; j++) x[k * sides + j] = x[k * sides + j] / a[k * n + k];
    for (int64_t i = 0; i < k; i++) takeOff(sides, a[i * n + k], x + k * sides, x + i * sides);
  }
  return status;
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Small s(job.numbers);
  withLinear(s.numbers.dtype, [&](auto zero) {
    using T = decltype(zero);
    eachMatrix(job, units, s.n, 0, pool, cancel, [&](int64_t k, const LinearWork&) {
      T* const x = matrixAt<T>(job.results, 0, k, s.n * s.sides);
      copyElements(matrixAt<T>(job.operands, 1, k, s.n * s.sides), x, s.n * s.sides);
      *matrixAt<int32_t>(job.results, 1, k, 1) =
          solveOne(s.n, s.sides, matrixAt<T>(job.operands, 0, k, s.n * s.n), x);
    });
  });
}

}  // namespace

const Routine kSolve{needOf, run};

}  // namespace weft::cpu
