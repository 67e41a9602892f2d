// The LU factors of a sparse matrix: by fronts, in an order of its own that fills as much as the given one,
// or column by column, where the order is to stay or fronts find too few pivots.
#include <limits>
#include <stdexcept>

#include "cpu/sparse-columns.h"
#include "cpu/sparse-multifrontal.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

struct Job {
  DType dtype, index, place;
  int64_t n, stored, bound;
  double threshold;
  bool keepsOrder;
};

// The threshold in millionths.
Job readJob(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 8) throw std::invalid_argument("eight numbers");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 256;
  const Job job{static_cast<DType>(numbers[0]),
                static_cast<DType>(numbers[1]),
                static_cast<DType>(numbers[2]),
                numbers[3],
                numbers[4],
                numbers[5],
                static_cast<double>(numbers[6]) * 1e-6,
                numbers[7] != 0};
  if (job.n < 1 || job.stored < 1 || job.bound < 1 || std::max({job.n, job.stored, job.bound}) > kMost ||
      !(job.threshold >= 0 && job.threshold <= 1))
    throw std::invalid_argument("a square sparse matrix, a bound and a threshold");
  return job;
}

template <typename Use>
auto withElement(DType dtype, const Use& use) {
  if (dtype == DType::float64) return use(double{});
  if (dtype == DType::complex128) return use(Complex<double>{});
  throw std::invalid_argument("a matrix of float64 or complex128");
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Job job = readJob(numbers);
  return withElement(job.dtype, [&](auto element) -> RoutineNeed {
    const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
    const auto index = static_cast<size_t>(byteLengthOf(job.index));
    const auto place = static_cast<size_t>(byteLengthOf(job.place));
    constexpr size_t word = sizeof(int64_t), own = sizeof(element);
    const size_t starts = bytes(job.n + 1, place), places = bytes(job.bound, place),
                 values = bytes(job.bound, own), line = bytes(job.n, word);
    return {{bytes(job.n + 1, index), bytes(job.stored, index), bytes(job.stored, own), line},
            {line, line, starts, places, values, starts, places, values, word},
            {},
            1};
  });
}

template <typename T>
T* resultAt(const RoutineJob& routine, size_t k) {
  return reinterpret_cast<T*>(routine.results[k]);
}

// Stores factors and the unknowns of pivots; gives the status.
template <typename T, typename Place, typename Factors>
int64_t store(const Job& job, const RoutineJob& routine, const Factors& factors, ThreadPool& pool) {
  for (int64_t k = 0; k < job.n; k++) {
    resultAt<int64_t>(routine, 0)[k] = factors.rowOf(k);
    resultAt<int64_t>(routine, 1)[k] = factors.columnOf(k);
  }
  const auto linesFrom = [&](size_t first) {
    return FactorLines<T, Place>{resultAt<Place>(routine, first), resultAt<Place>(routine, first + 1),
                                 resultAt<T>(routine, first + 2), job.bound};
  };
  const auto lower = [&](const auto& use) { factors.eachOfLower(use); };
  const auto upper = [&](const auto& use) { factors.eachOfUpper(use); };
  std::atomic<bool> fits = true;
  pool.parallelFor(2, [&](int64_t task, int) {
    if (!(task == 0 ? storeRows(job.n, linesFrom(2), lower) : storeRows(job.n, linesFrom(5), upper)))
      fits = false;
  });
  return fits ? 0 : -1;
}

template <typename T, typename Index>
SparseElements<T> elementsOf(const Job& job, const SparseLines<Index>& a, const T* values) {
  SparseElements<T> elements{{}, values, job.n};
  elements.places.rows.resize(static_cast<size_t>(job.stored));
  elements.places.columns.resize(static_cast<size_t>(job.stored));
  for (int64_t column = 0; column < job.n; column++) {
    for (int64_t k = a.begin(column), last = a.end(column); k < last; k++) {
      elements.places.rows[static_cast<size_t>(k)] = std::clamp<int64_t>(a.places[k], 0, job.n - 1);
      elements.places.columns[static_cast<size_t>(k)] = column;
    }
  }
  return elements;
}

template <typename T, typename Index, typename Place>
int64_t factor(const Job& job, const RoutineJob& routine, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const auto a = linesAt<Index>(routine, 0, 1, job.stored);
  const auto* values = reinterpret_cast<const T*>(routine.operands[2]);
  const auto* order = reinterpret_cast<const int64_t*>(routine.operands[3]);
  const auto isCancelled = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
  if (!job.keepsOrder) {
    const SparseElements<T> elements = elementsOf(job, a, values);
    Multifrontal<T> fronts(elements, order, job.threshold, pool, cancel);
    const std::optional<int64_t> status = fronts.run();
    if (isCancelled()) return 0;
    if (status.has_value()) return *status == 0 ? store<T, Place>(job, routine, fronts, pool) : *status;
  }
  ColumnFactors<T, Index> columns(job.n, a, values, {order, job.threshold, job.bound});
  const int64_t status = columns.run(cancel);
  return status != 0 || isCancelled() ? status : store<T, Place>(job, routine, columns, pool);
}

void run(const RoutineJob& routine, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Job job = readJob(routine.numbers);
  *resultAt<int64_t>(routine, 8) = withElement(job.dtype, [&](auto element) {
    using T = decltype(element);
    return withIndex(job.index, [&](auto index) {
      using Index = decltype(index);
      return withIndex(job.place, [&](auto place) {
        return factor<T, Index, decltype(place)>(job, routine, pool, cancel);
      });
    });
  });
}

}  // namespace

const Routine kSparseLu{needOf, run};

}  // namespace weft::cpu
