// Running sums, products and extremes of rows in tiles, each from the value before it, which is an operand:
// tiles do not depend on one another, and threads take them by turns. Floating-point numbers are combined in
// double, one after the other, and rounded once.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "cpu/routines.h"
#include "cpu/tape.h"
#include "cpu/threads.h"
#include "shared/layout.h"

namespace weft::cpu {
namespace {

// Elements that a thread takes at a time at least.
constexpr int64_t kLeastElements = 1 << 14;

// As SCAN_OPS of src/graph/routines.ts.
enum class Op { sum, prod, min, max };
constexpr int kOps = 4;

struct Tiles {
  DType dtype;
  Op op;
  int64_t rows, length, tile, tilesPerUnit;
  bool isCarried;

  int64_t perRow() const { return (length + tile - 1) / tile; }
  int64_t count() const { return rows * perRow(); }
  int64_t units() const { return (count() + tilesPerUnit - 1) / tilesPerUnit; }
};

Tiles readTiles(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 7) throw std::invalid_argument("seven numbers");
  if (numbers[0] < 0 || numbers[0] >= kDTypes) throw std::invalid_argument("a dtype");
  if (numbers[1] < 0 || numbers[1] >= kOps) throw std::invalid_argument("an operation");
  const Tiles t{static_cast<DType>(numbers[0]),
                static_cast<Op>(numbers[1]),
                numbers[2],
                numbers[3],
                numbers[4],
                numbers[5],
                numbers[6] > 1};
  if (t.rows < 1 || t.length < 1 || t.tile < 1 || t.tilesPerUnit < 1 ||
      t.rows > std::numeric_limits<int64_t>::max() / 16 / t.length)
    throw std::invalid_argument("rows with elements");
  if (!t.isCarried && t.tile < t.length) throw std::invalid_argument("rows of one tile");
  return t;
}

template <typename Part>
struct Complex {
  Part re, im;
};

// Elements, the numbers that they are combined as, and how. Sums and products of integers wrap.
template <typename T, Op op>
struct Real {
  static constexpr bool kSelects = op == Op::min || op == Op::max;
  using Element = T;
  using Wide =
      std::conditional_t<kSelects, T, std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>>;
  static Wide widen(Element a) { return static_cast<Wide>(a); }
  static Element round(Wide a) { return static_cast<Element>(a); }
  static Wide identity() {
    using Limits = std::numeric_limits<T>;
    if constexpr (op == Op::sum) return std::is_floating_point_v<T> ? static_cast<Wide>(-0.0) : Wide{0};
    if constexpr (op == Op::prod) return Wide{1};
    if constexpr (op == Op::min) return Limits::has_infinity ? Limits::infinity() : Limits::max();
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  static Wide combine(Wide a, Wide b) {
    if constexpr (op == Op::sum) return a + b;
    if constexpr (op == Op::prod) return a * b;
    // NaN once there was one.
    if (a != a) return a;
    if (b != b) return b;
    return (op == Op::min ? b < a : b > a) ? b : a;
  }
};

template <typename Part, Op op>
struct ComplexNumbers {
  using Element = Complex<Part>;
  using Wide = Complex<double>;
  static Wide widen(Element a) { return {static_cast<double>(a.re), static_cast<double>(a.im)}; }
  static Element round(Wide a) { return {static_cast<Part>(a.re), static_cast<Part>(a.im)}; }
  static Wide identity() { return op == Op::sum ? Wide{-0.0, -0.0} : Wide{1.0, 0.0}; }
  static Wide combine(Wide a, Wide b) {
    if constexpr (op == Op::sum) return {a.re + b.re, a.im + b.im};
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

template <typename N>
struct Scanner {
  static constexpr size_t kWideBytes = sizeof(typename N::Wide);

  static void tile(const Tiles& t, const RoutineJob& job, int64_t k) {
    const int64_t start = k % t.perRow() * t.tile;
    const int64_t first = k / t.perRow() * t.length + start;
    const int64_t count = std::min(t.tile, t.length - start);
    const auto* in = reinterpret_cast<const typename N::Element*>(job.operands[0]) + first;
    auto* out = reinterpret_cast<typename N::Element*>(job.results[0]) + first;
    auto sum = N::identity();
    if (t.isCarried) sum = reinterpret_cast<const typename N::Wide*>(job.operands[1])[k];
    for (int64_t i = 0; i < count; i++) {
      sum = N::combine(sum, N::widen(in[i]));
      out[i] = N::round(sum);
    }
  }

  static void run(const Tiles& t, const RoutineJob& job, Range units, ThreadPool& pool,
                  const std::atomic<bool>* cancel) {
    const int64_t first = units.first * t.tilesPerUnit;
    const int64_t last = std::min(t.count(), units.last * t.tilesPerUnit);
    const int64_t together = std::max<int64_t>(1, kLeastElements / t.tile);
    pool.parallelFor((last - first + together - 1) / together, [&](int64_t task, int) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      const int64_t from = first + task * together;
      for (int64_t k = from; k < std::min(last, from + together); k++) tile(t, job, k);
    });
  }
};

// Calls `use` with the scanner of a dtype and an operation.
template <Op op, typename Use>
auto withScanner(const Tiles& t, const Use& use) {
  constexpr bool selects = op == Op::min || op == Op::max;
  switch (t.dtype) {
    case DType::int64:
      return use(Scanner<Real<int64_t, op>>{});
    case DType::uint64:
      return use(Scanner<Real<uint64_t, op>>{});
    case DType::float32:
      return use(Scanner<Real<float, op>>{});
    case DType::float64:
      return use(Scanner<Real<double, op>>{});
    case DType::complex64:
      if constexpr (!selects) return use(Scanner<ComplexNumbers<float, op>>{});
      break;
    case DType::complex128:
      if constexpr (!selects) return use(Scanner<ComplexNumbers<double, op>>{});
      break;
    case DType::boolean:
    case DType::uint8:
      if constexpr (selects) return use(Scanner<Real<uint8_t, op>>{});
      break;
    case DType::uint16:
      if constexpr (selects) return use(Scanner<Real<uint16_t, op>>{});
      break;
    case DType::uint32:
      if constexpr (selects) return use(Scanner<Real<uint32_t, op>>{});
      break;
    case DType::int8:
      if constexpr (selects) return use(Scanner<Real<int8_t, op>>{});
      break;
    case DType::int16:
      if constexpr (selects) return use(Scanner<Real<int16_t, op>>{});
      break;
    case DType::int32:
      if constexpr (selects) return use(Scanner<Real<int32_t, op>>{});
      break;
    default:
      break;
  }
  throw std::invalid_argument("a dtype that the operation has");
}

template <typename Use>
auto withOp(const Tiles& t, const Use& use) {
  switch (t.op) {
    case Op::sum:
      return withScanner<Op::sum>(t, use);
    case Op::prod:
      return withScanner<Op::prod>(t, use);
    case Op::min:
      return withScanner<Op::min>(t, use);
    default:
      return withScanner<Op::max>(t, use);
  }
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Tiles t = readTiles(numbers);
  const size_t wide = withOp(t, [](auto scanner) { return decltype(scanner)::kWideBytes; });
  const size_t bytes = static_cast<size_t>(t.rows * t.length) * byteLengthOf(t.dtype);
  RoutineNeed need{{bytes}, {bytes}, {}, t.units()};
  if (t.isCarried) need.operands.push_back(static_cast<size_t>(t.count()) * wide);
  return need;
}

void runScan(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Tiles t = readTiles(job.numbers);
  withOp(t, [&](auto scanner) {
    decltype(scanner)::run(t, job, units, pool, cancel);
    return size_t{0};
  });
}

}  // namespace

const Routine kScan{needOf, runScan};

}  // namespace weft::cpu
