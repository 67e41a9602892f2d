// A sparse matrix, given by rows, times dense columns. An element of the result is summed by lanes, each of
// every `lanes`-th stored element of its row, which are then halved, as on a GPU. A map behind the product
// runs on some rows of a thread at a time.
#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "cpu/element-map.h"
#include "cpu/routines.h"
#include "cpu/sparse-row-sums.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

constexpr int64_t kMostLanes = 32;
// Products of a task, about.
constexpr int64_t kTask = 1 << 15;

struct Product {
  DType dtype, index;
  int64_t rows, stored, inner, width, lanes, unitRows;
  int64_t units() const { return (rows + unitRows - 1) / unitRows; }
};

Product readProduct(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 8) throw std::invalid_argument("eight numbers");
  const Product p{static_cast<DType>(numbers[0]),
                  static_cast<DType>(numbers[1]),
                  numbers[2],
                  numbers[3],
                  numbers[4],
                  numbers[5],
                  numbers[6],
                  numbers[7]};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 32;
  const bool isPower = p.lanes >= 1 && p.lanes <= kMostLanes && (p.lanes & (p.lanes - 1)) == 0;
  const bool isIndex = p.index == DType::int32 || p.index == DType::int64;
  if (p.rows < 1 || p.stored < 1 || p.inner < 1 || p.width < 1 || p.unitRows < 1 || !isPower || !isIndex ||
      p.stored > kMost || std::max(p.rows, p.inner) > kMost / p.width)
    throw std::invalid_argument("a sparse matrix and columns that it multiplies");
  return p;
}

template <typename Use>
auto withTypes(const Product& p, const Use& use) {
  return withScanNumbers(p.dtype, ScanOp::sum, [&](auto number) {
    return p.index == DType::int32 ? use(number, int32_t{}) : use(number, int64_t{});
  });
}

// Columns that are summed side by side, in order, by one lane each.
constexpr int kColumns = 16;

template <int columns, typename N, typename Index>
void someColumns(const SparseRow<N, Index>& row, const typename N::Element* dense, int64_t inner,
                 int64_t width, typename N::Element* out) {
  typename N::Wide sums[columns] = {};
  for (int64_t k = 0; k < row.count; k++) {
    const auto* from = dense + std::clamp<int64_t>(row.places[k], 0, inner - 1) * width;
    const auto factor = N::widen(row.values[k]);
    for (int c = 0; c < columns; c++) sums[c] = N::combine(sums[c], times(factor, N::widen(from[c])));
  }
  for (int c = 0; c < columns; c++) out[c] = N::round(sums[c]);
}

// Numbers of columns that are known when this is compiled stay in vector registers.
template <typename N, typename Index>
void columnsOf(const SparseRow<N, Index>& row, const typename N::Element* dense, const Product& p,
               typename N::Element* out) {
  int64_t c = 0;
  for (; c + kColumns <= p.width; c += kColumns)
    someColumns<kColumns>(row, dense + c, p.inner, p.width, out + c);
  for (; c + 4 <= p.width; c += 4) someColumns<4>(row, dense + c, p.inner, p.width, out + c);
  for (; c < p.width; c++) someColumns<1>(row, dense + c, p.inner, p.width, out + c);
}

// Calls `use` with each of some rows, and where its elements go.
template <typename N, typename Index, typename Use>
inline void eachRow(const SparseMatrix<N, Index>& matrix, Range rows, int64_t width, typename N::Element* out,
                    const Use& use) {
  for (int64_t row = rows.first; row < rows.last; row++, out += width) use(matrix.row(row), out);
}

template <int lanes, typename N, typename Index>
void multiplyByLanes(const Product& p, const SparseMatrix<N, Index>& matrix, Range rows,
                     const typename N::Element* dense, typename N::Element* out) {
  using Element = typename N::Element;
  if (p.width == 1) return sumRows<N, lanes>(matrix, rows.first, rows.last, dense, p.inner, out);
  eachRow(matrix, rows, p.width, out, [&](const SparseRow<N, Index>& row, Element* to) {
    for (int64_t c = 0; c < p.width; c++) to[c] = rowSum<N, lanes>(row, dense + c, p.inner, p.width);
  });
}

template <typename N, typename Index>
void multiplyRows(const Product& p, const SparseMatrix<N, Index>& matrix, Range rows,
                  const typename N::Element* dense, typename N::Element* out) {
  if (p.lanes == 1 && p.width > 1) {
    eachRow(matrix, rows, p.width, out,
            [&](const SparseRow<N, Index>& row, typename N::Element* to) { columnsOf(row, dense, p, to); });
    return;
  }
  switch (p.lanes) {
    case 1:
      return multiplyByLanes<1>(p, matrix, rows, dense, out);
    case 2:
      return multiplyByLanes<2>(p, matrix, rows, dense, out);
    case 4:
      return multiplyByLanes<4>(p, matrix, rows, dense, out);
    case 8:
      return multiplyByLanes<8>(p, matrix, rows, dense, out);
    case 16:
      return multiplyByLanes<16>(p, matrix, rows, dense, out);
    default:
      return multiplyByLanes<32>(p, matrix, rows, dense, out);
  }
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Product p = readProduct(numbers);
  return withTypes(p, [&](auto number, auto index) -> RoutineNeed {
    using N = decltype(number);
    const auto bytes = [](int64_t count, size_t size) { return static_cast<size_t>(count) * size; };
    constexpr size_t element = sizeof(typename N::Element);
    return {{bytes(p.inner * p.width, element), bytes(p.rows + 1, sizeof(index)),
             bytes(p.stored, sizeof(index)), bytes(p.stored, element)},
            {bytes(p.rows * p.width, element)},
            {},
            p.units()};
  });
}

// Elements that a map takes at a time: they stay in the first-level cache.
constexpr int64_t kMapped = 2048;

// Where a thread leaves its rows: in the result, or some of them in a stretch for the map that writes it.
template <typename Element>
class Rows {
 public:
  Rows(const RoutineJob& job, int64_t width, const std::atomic<bool>* cancel)
      : width_(width), out_(reinterpret_cast<Element*>(job.results[0])) {
    if (job.epilogue == nullptr) return;
    epilogue_.emplace(*job.epilogue, cancel);
    stretch_.resize(static_cast<size_t>(std::max(kMapped, width)));
  }

  // Calls `some` with stretches of the rows [first, last) and where they go.
  template <typename Some>
  void write(int64_t first, int64_t last, const Some& some) {
    const int64_t most = epilogue_ ? std::max<int64_t>(1, kMapped / width_) : last - first;
    for (int64_t from = first; from < last; from += most) {
      const int64_t to = std::min(last, from + most);
      some(Range{from, to}, epilogue_ ? stretch_.data() : out_ + from * width_);
      if (epilogue_) epilogue_->run({from * width_, to * width_}, stretch_.data(), nullptr);
    }
    // Stores past the caches are complete before other threads read them.
    if (epilogue_) epilogue_->fence();
  }

 private:
  int64_t width_;
  Element* out_;
  std::optional<ElementMapRun> epilogue_;
  std::vector<Element> stretch_;
};

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  if (job.prologue != nullptr) throw std::invalid_argument("dense columns in memory");
  const Product p = readProduct(job.numbers);
  const int64_t first = units.first * p.unitRows, last = std::min(p.rows, units.last * p.unitRows);
  const int64_t perRow = std::max<int64_t>(1, p.stored / p.rows) * p.width;
  const int64_t stretch = std::max<int64_t>(1, kTask / perRow);
  withTypes(p, [&](auto number, auto index) {
    using N = decltype(number);
    using Index = decltype(index);
    using Element = typename N::Element;
    const auto* dense = reinterpret_cast<const Element*>(job.operands[0]);
    const SparseMatrix<N, Index> matrix{reinterpret_cast<const Index*>(job.operands[1]),
                                        reinterpret_cast<const Index*>(job.operands[2]),
                                        reinterpret_cast<const Element*>(job.operands[3]), p.stored};
    std::vector<std::optional<Rows<Element>>> workers(static_cast<size_t>(pool.workers()));
    pool.parallelFor((last - first + stretch - 1) / stretch, [&](int64_t task, int worker) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      std::optional<Rows<Element>>& rows = workers[static_cast<size_t>(worker)];
      if (!rows) rows.emplace(job, p.width, cancel);
      const int64_t begin = first + task * stretch;
      rows->write(begin, std::min(last, begin + stretch),
                  [&](Range some, Element* out) { multiplyRows(p, matrix, some, dense, out); });
    });
    return 0;
  });
}

}  // namespace

const Routine kSparseProduct{needOf, run, true};

}  // namespace weft::cpu
