// A row of two sparse matrices, merged by its columns.
#pragma once
#include "cpu/sparse-lines.h"

namespace weft::cpu {

// Calls `use` with each column of a row that is wanted, and its places in A and B, -1 where it is in none.
template <typename Index, typename Use>
void mergeRow(bool isOfBoth, const SparseLines<Index>& a, const SparseLines<Index>& b, int64_t row,
              const Use& use) {
  int64_t i = a.begin(row), j = b.begin(row);
  const int64_t lastA = a.end(row), lastB = b.end(row);
  while (i < lastA && j < lastB) {
    const Index x = a.places[i], y = b.places[j];
    if (x == y) {
      use(x, i++, j++);
    } else if (x < y) {
      if (!isOfBoth) use(x, i, -1);
      i++;
    } else {
      if (!isOfBoth) use(y, -1, j);
      j++;
    }
  }
  if (isOfBoth) return;
  for (; i < lastA; i++) use(a.places[i], i, -1);
  for (; j < lastB; j++) use(b.places[j], -1, j);
}

}  // namespace weft::cpu
