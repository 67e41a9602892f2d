// Sums of rows of a sparse matrix times a dense column, by lanes: lane l has every so-many-th product of its
// row from the l-th on, then lanes are halved.
//
// Rows of few elements that follow one another with equal numbers of them, as on a grid, are summed by a loop
// of that number, unrolled: 0.44 ms for the five-point Laplacian of 447², 1.06 by a loop over the elements of
// each row.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "cpu/sparse-lines.h"
#include "cpu/sparse-numbers.h"

namespace weft::cpu {

template <typename N, typename Index>
struct SparseRow {
  const Index* places;
  const typename N::Element* values;
  int64_t count;
};

template <typename N, typename Index>
struct SparseMatrix {
  const Index* starts;
  const Index* places;
  const typename N::Element* values;
  int64_t stored;

  // Starts that descend, or lie behind the elements, are of rows without any.
  SparseRow<N, Index> row(int64_t at) const {
    const int64_t from = starts[at], to = starts[at + 1];
    if (from < 0 || to < from || to > stored) [[unlikely]]
      return clipped(from, to);
    return {places + from, values + from, to - from};
  }

 private:
  SparseRow<N, Index> clipped(int64_t from, int64_t to) const {
    const auto inside = [&](int64_t start) { return start < 0 ? 0 : start > stored ? stored : start; };
    const int64_t first = inside(from), last = inside(to);
    return {places + first, values + first, last > first ? last - first : 0};
  }
};

template <int lanes, typename Wide, typename Combine>
inline void halveLanes(Wide (&sums)[lanes], int used, const Combine& combine) {
#pragma GCC unroll 5
  for (int apart = lanes / 2; apart > 0; apart /= 2) {
#pragma GCC unroll 16
    for (int lane = 0; lane < apart; lane++)
      if (lane + apart < used) sums[lane] = combine(sums[lane], sums[lane + apart]);
  }
}

// Lanes are numbered when this is compiled, the last ones, too, so that all sums stay in registers.
template <typename N, int lanes, typename Index>
inline typename N::Element rowSum(const SparseRow<N, Index>& row, const typename N::Element* dense,
                                  int64_t inner, int64_t width) {
  typename N::Wide sums[lanes] = {};
  const auto add = [&](int64_t k, int lane) {
    const int64_t place = insideOf(row.places[k], inner);
    sums[lane] = N::combine(sums[lane], times(N::widen(row.values[k]), N::widen(dense[place * width])));
  };
  int64_t k = 0;
  for (; k + lanes <= row.count; k += lanes) {
#pragma GCC unroll 32
    for (int lane = 0; lane < lanes; lane++) add(k + lane, lane);
  }
#pragma GCC unroll 32
  for (int lane = 0; lane < lanes - 1; lane++) {
    if (k + lane >= row.count) break;
    add(k + lane, lane);
  }
  halveLanes<lanes>(sums, lanes, N::combine);
  return N::round(sums[0]);
}

// The sum of a row of `count` elements, with the bits of rowSum: lanes begin with their first product, and a
// zero is added once, which turns a sum of -0 into 0 as lanes that begin with 0 do.
template <typename N, int lanes, int count, typename Index>
inline typename N::Element shortRowSum(const Index* places, const typename N::Element* values,
                                       const typename N::Element* dense, int64_t inner) {
  typename N::Wide sums[lanes];
#pragma GCC unroll 32
  for (int k = 0; k < count; k++) {
    const auto product = times(N::widen(values[k]), N::widen(dense[insideOf(places[k], inner)]));
    sums[k % lanes] = k < lanes ? product : N::combine(sums[k % lanes], product);
  }
  halveLanes<lanes>(sums, count, N::combine);
  return N::round(N::combine(typename N::Wide{}, sums[0]));
}

// Rows from `first` on, as many as follow one another with `count` elements each, up to `last`. Gives the row
// behind them.
template <typename N, int lanes, int count, typename Index>
int64_t sumShortRows(const SparseMatrix<N, Index>& matrix, int64_t first, int64_t last,
                     const typename N::Element* dense, int64_t inner, typename N::Element* out) {
  // One dense row is that of every column, which are not read.
  static constexpr Index kFirst[count] = {};
  const Index* const places = inner == 1 ? kFirst : matrix.places;
  const int64_t ofPlaces = inner == 1 ? 0 : -1;
  int64_t row = first, from = matrix.starts[first];
  do {
    *out++ = shortRowSum<N, lanes, count>(places + (from & ofPlaces), matrix.values + from, dense, inner);
    from += count;
    row++;
  } while (row < last && matrix.starts[row + 1] == from + count && from + count <= matrix.stored);
  return row;
}

// The most elements of a row that has a loop of its own: rows of so many lanes have at most that on average.
constexpr int mostUnrolled(int lanes) { return lanes <= 8 ? 2 * lanes : 0; }

// Rows [first, last) times one column, to `out`.
template <typename N, int lanes, typename Index>
void sumRows(const SparseMatrix<N, Index>& matrix, int64_t first, int64_t last,
             const typename N::Element* dense, int64_t inner, typename N::Element* out) {
  using Short = decltype(&sumShortRows<N, lanes, 1, Index>);
  constexpr bool isUnrolled = std::is_floating_point_v<typename N::Element> && sizeof(Index) == 4;
  constexpr int kMost = isUnrolled ? mostUnrolled(lanes) : 0;
  constexpr auto kShort = []<int... less>(std::integer_sequence<int, less...>) {
    return std::array<Short, kMost>{&sumShortRows<N, lanes, less + 1, Index>...};
  }
  (std::make_integer_sequence<int, kMost>{});
  for (int64_t at = first; at < last;) {
    const SparseRow<N, Index> row = matrix.row(at);
    if (row.count >= 1 && row.count <= kMost) {
      at = kShort[static_cast<size_t>(row.count - 1)](matrix, at, last, dense, inner, out + (at - first));
    } else {
      const bool isOne = inner == 1;
      out[at - first] =
          rowSum<N, lanes>(row, dense, isOne ? std::numeric_limits<int64_t>::max() : inner, isOne ? 0 : 1);
      at++;
    }
  }
}

}  // namespace weft::cpu
