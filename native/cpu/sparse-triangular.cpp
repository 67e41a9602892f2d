// X of A X = B, A the triangle of a sparse matrix given by rows. Each row needs the ones before it, so one
// thread goes through them; threads share columns of B. A sum has the lanes of sparse-product.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "cpu/routines.h"
#include "cpu/scan-numbers.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

constexpr int64_t kMostLanes = 32;
// Columns that one thread solves for side by side.
constexpr int64_t kColumns = 8;

struct Triangle {
  DType dtype, index;
  int64_t rows, stored, width, lanes;
  bool isUpper;
};

Triangle readTriangle(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 7) throw std::invalid_argument("seven numbers");
  const Triangle t{static_cast<DType>(numbers[0]),
                   static_cast<DType>(numbers[1]),
                   numbers[2],
                   numbers[3],
                   numbers[4],
                   numbers[5],
                   numbers[6] != 0};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 32;
  const bool isPower = t.lanes >= 1 && t.lanes <= kMostLanes && (t.lanes & (t.lanes - 1)) == 0;
  const bool isIndex = t.index == DType::int32 || t.index == DType::int64;
  if (t.rows < 1 || t.stored < 1 || t.width < 1 || !isPower || !isIndex || t.stored > kMost ||
      t.rows > kMost / t.width)
    throw std::invalid_argument("a square sparse matrix and right-hand sides");
  return t;
}

double times(double a, double b) { return a * b; }
double minus(double a, double b) { return a - b; }
double over(double a, double b) { return a / b; }

using Pair = ScanPair<double>;
Pair times(Pair a, Pair b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
Pair minus(Pair a, Pair b) { return {a.re - b.re, a.im - b.im}; }
// Smith, "Algorithm 116: complex division" (1962).
Pair over(Pair a, Pair b) {
  if (std::fabs(b.re) >= std::fabs(b.im)) {
    const double ratio = b.im / b.re, whole = b.re + ratio * b.im;
    return {(a.re + a.im * ratio) / whole, (a.im - a.re * ratio) / whole};
  }
  const double ratio = b.re / b.im, whole = ratio * b.re + b.im;
  return {(a.re * ratio + a.im) / whole, (a.im * ratio - a.re) / whole};
}

template <typename Use>
auto withTypes(const Triangle& t, const Use& use) {
  const auto both = [&](auto number) {
    return t.index == DType::int32 ? use(number, int32_t{}) : use(number, int64_t{});
  };
  switch (t.dtype) {
    case DType::float32:
      return both(ScanReal<float, ScanOp::sum>{});
    case DType::float64:
      return both(ScanReal<double, ScanOp::sum>{});
    case DType::complex64:
      return both(ScanComplex<float, ScanOp::sum>{});
    case DType::complex128:
      return both(ScanComplex<double, ScanOp::sum>{});
    default:
      refuseScanType();
  }
}

template <typename N, typename Index>
void solve(const Triangle& t, const RoutineJob& job, Range columns, const std::atomic<bool>* cancel) {
  using Element = typename N::Element;
  using Wide = typename N::Wide;
  const auto* b = reinterpret_cast<const Element*>(job.operands[0]);
  const auto* starts = reinterpret_cast<const Index*>(job.operands[1]);
  const auto* places = reinterpret_cast<const Index*>(job.operands[2]);
  const auto* values = reinterpret_cast<const Element*>(job.operands[3]);
  const auto* diagonal = reinterpret_cast<const Element*>(job.operands[4]);
  auto* x = reinterpret_cast<Element*>(job.results[0]);
  Wide sums[kMostLanes * kColumns];
  const int64_t count = columns.last - columns.first;
  for (int64_t step = 0; step < t.rows; step++) {
    if (step % 4096 == 0 && cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
    const int64_t row = t.isUpper ? t.rows - 1 - step : step;
    const int64_t from = std::clamp<int64_t>(starts[row], 0, t.stored);
    const int64_t to = std::clamp<int64_t>(starts[row + 1], 0, t.stored);
    std::fill(sums, sums + t.lanes * count, Wide{});
    for (int64_t k = from; k < to; k++) {
      const int64_t place = places[k];
      if (place < 0 || place >= t.rows || (t.isUpper ? place <= row : place >= row)) continue;
      const Wide factor = N::widen(values[k]);
      const Element* known = x + place * t.width + columns.first;
      Wide* lane = sums + (k - from) % t.lanes * count;
      for (int64_t c = 0; c < count; c++) lane[c] = N::combine(lane[c], times(factor, N::widen(known[c])));
    }
    for (int64_t apart = t.lanes / 2; apart > 0; apart /= 2)
      for (int64_t k = 0; k < apart * count; k++) sums[k] = N::combine(sums[k], sums[k + apart * count]);
    const Wide pivot = N::widen(diagonal[row]);
    const int64_t at = row * t.width + columns.first;
    for (int64_t c = 0; c < count; c++)
      x[at + c] = N::round(over(minus(N::widen(b[at + c]), sums[c]), pivot));
  }
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Triangle t = readTriangle(numbers);
  return withTypes(t, [&](auto number, auto index) -> RoutineNeed {
    constexpr size_t element = sizeof(typename decltype(number)::Element);
    const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
    const size_t whole = bytes(t.rows * t.width, element);
    return {{whole, bytes(t.rows + 1, sizeof(index)), bytes(t.stored, sizeof(index)),
             bytes(t.stored, element), bytes(t.rows, element)},
            {whole},
            {},
            1};
  });
}

void run(const RoutineJob& job, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Triangle t = readTriangle(job.numbers);
  withTypes(t, [&](auto number, auto index) {
    pool.parallelFor((t.width + kColumns - 1) / kColumns, [&](int64_t task, int) {
      const Range columns{task * kColumns, std::min(t.width, (task + 1) * kColumns)};
      solve<decltype(number), decltype(index)>(t, job, columns, cancel);
    });
    return 0;
  });
}

}  // namespace

const Routine kSparseTriangularSolve{needOf, run};

}  // namespace weft::cpu
