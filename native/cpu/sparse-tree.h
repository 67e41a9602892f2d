// The fronts of a sparse factorization, of the pattern of A + Aᵀ in an order of its unknowns: columns of the
// Cholesky factor that have the same rows below them are eliminated together, and a front follows those whose
// rows it needs (Liu, "The multifrontal method for sparse matrix solution", 1992).
#pragma once
#include "cpu/sparse-factors.h"

namespace weft::cpu {

// Steps are the places of unknowns in the order; fronts stand before their parents.
struct FrontTree {
  // The unknown of each step, in an order that fills as much as the given one.
  Line<int64_t> unknowns;
  // Where the steps of each front begin, and the end; the front that reads it, or -1.
  Line<int64_t> firsts, parents;
  // The steps behind a front's own that its columns have elements in, ascending: from starts[front] on.
  Line<int64_t> starts, borders;

  int64_t fronts() const { return static_cast<int64_t>(parents.size()); }
  int64_t width(int64_t front) const { return firsts[front + 1] - firsts[front]; }
  int64_t border(int64_t front) const { return starts[front + 1] - starts[front]; }
  // Multiply-adds of a front, about.
  double work(int64_t front) const;
};

// The unknowns of each element of a matrix.
struct Pairs {
  Line<int64_t> rows, columns;
};

FrontTree frontTree(const Pairs& pairs, const int64_t* order, int64_t n);

}  // namespace weft::cpu
