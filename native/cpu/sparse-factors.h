// The factors of a sparse matrix as results of a routine: by rows, in the order of columns.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::cpu {

// A vector whose places are signed, as those of matrices.
template <typename T>
struct Line : std::vector<T> {
  using std::vector<T>::vector;
  T& operator[](int64_t k) { return this->data()[k]; }
  const T& operator[](int64_t k) const { return this->data()[k]; }
};

// Lines of a factor, for up to `bound` elements.
template <typename T, typename Index>
struct FactorLines {
  Index *starts, *places;
  T* values;
  int64_t bound;
};

template <typename T, typename Index>
void sortRow(Index* places, T* values, int64_t count) {
  if (std::is_sorted(places, places + count)) return;
  std::vector<std::pair<Index, T>> row(static_cast<size_t>(count));
  for (size_t k = 0; k < row.size(); k++) row[k] = {places[k], values[k]};
  std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t k = 0; k < row.size(); k++) std::tie(places[k], values[k]) = row[k];
}

// Stores the elements that `each` calls a function with, (row, column, value), twice in one order; rows whose
// columns ascend in it are not sorted. Behind the last one nothing is written. False: the bound is too small.
template <typename T, typename Index, typename Each>
bool storeRows(int64_t n, const FactorLines<T, Index>& lines, const Each& each) {
  Line<int64_t> next(static_cast<size_t>(n) + 1, 0);
  each([&](int64_t row, int64_t, T) { next[row + 1]++; });
  std::partial_sum(next.begin(), next.end(), next.begin());
  const int64_t count = next.back();
  if (count > lines.bound) return false;
  std::copy(next.begin(), next.end(), lines.starts);
  each([&](int64_t row, int64_t column, T value) {
    const int64_t to = next[row]++;
    lines.places[to] = static_cast<Index>(column);
    lines.values[to] = value;
  });
  for (int64_t row = 0; row < n; row++) {
    const int64_t begin = lines.starts[row];
    sortRow(lines.places + begin, lines.values + begin, lines.starts[row + 1] - begin);
  }
  return true;
}

}  // namespace weft::cpu
