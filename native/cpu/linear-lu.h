// LU factors with partial pivoting of a matrix in column-major order, and what they solve, by a LAPACK where
// one has them.
#pragma once
#include "cpu/lapack-rows.h"

namespace weft::cpu {

// Of work that `factorLu` and `solveLu` do: the larger and the smaller of a matrix's sizes.
size_t luBytes(DType dtype, int64_t wide, int64_t narrow);

// In place; pivots are counted from 1. `choice` is of LapackRow::lu.
template <typename T>
void factorLu(const LapackChoice& choice, bool isFinite, const MatrixView<T>& a, int64_t* pivots,
              const LinearWork& work);

// b = op(a)⁻¹ b by the factors of a. `form`: the matrix, its transpose, the conjugate of that. `choice` is of
// LapackRow::triangle.
template <typename T>
void solveLu(const LapackChoice& choice, const MatrixView<T>& lu, const int64_t* pivots, int64_t form,
             const MatrixView<T>& b, const LinearWork& work);

}  // namespace weft::cpu
